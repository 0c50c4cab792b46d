/** An engine folder on the best provider that this machine has for it. */
import { cpuEngine, readManifest, type Manifest, type Target } from '../model/manifest';
import { CudaSessions } from './cuda-sessions';
import type { EngineSessions } from './deployment';
import { ModelSessions } from './model-sessions';
import {
  chooseProvider,
  libraryObstacle,
  type Provider,
  type ProviderChoice,
  type ProviderWish,
} from './providers';
import { loadTensorRt } from './tensorrt-engine';

/** Throws ENGINE_*, RUNTIME_VERSION, or PROVIDER_MISSING with every reason. */
export async function openEngine(
  dir: string,
  threads: number,
  wish: ProviderWish,
): Promise<ProviderChoice<EngineSessions>> {
  const manifest = readManifest(dir);
  const held = heldBy(dir, manifest);
  const obstacles = (provider: Provider): string[] => {
    const graphs = held.includes(provider) ? null : graphsObstacle(dir, provider, held);
    return [libraryObstacle(provider), graphs].filter(reason => reason !== null);
  };
  const choice = await chooseProvider(wish, {
    obstacles,
    load: provider => loadFor(dir, provider, threads, 0, manifest),
  });
  return { ...choice, notes: [...unasked(manifest.target, wish), ...choice.notes] };
}

/** An engine for a GPU that nobody wants there: a slow robot must say why. */
function unasked(target: Target, { wanted }: ProviderWish): readonly string[] {
  const [best] = RUNS_ON[target];
  if (target === 'cpu' || RUNS_ON[target].some(provider => wanted.includes(provider))) return [];
  return [`${best} is not used: the engine was built for it, but execution_providers does not name it`];
}

/** What an engine's own graphs can run on. */
const RUNS_ON: Readonly<Record<Target, readonly Provider[]>> = {
  cpu: ['cpu'],
  cuda: ['cuda'],
  tensorrt: ['tensorrt', 'cuda'],
};

/** Where the graphs of a target run on a robot. */
export const runsOn = (target: Target): readonly Provider[] => RUNS_ON[target];

/** What the folder has graphs for, those of the CPU's engine inside it included. */
function heldBy(dir: string, manifest: Pick<Manifest, 'target'>): readonly Provider[] {
  const own = RUNS_ON[manifest.target];
  return manifest.target === 'cpu' || cpuEngine(dir, manifest) === null ? own : [...own, 'cpu'];
}

const graphsObstacle = (dir: string, provider: Provider, held: readonly Provider[]): string =>
  `${dir} has graphs for ${held.join(' and ')} only (oxygen build --target ${provider} makes an engine for it)`;

/** `spinUs` as in Pool; `manifest`: where it was read already, which hashes files. */
export function loadFor(
  dir: string,
  provider: Provider,
  threads: number,
  spinUs = 0,
  manifest = readManifest(dir),
): Promise<EngineSessions> {
  switch (provider) {
    case 'cpu': {
      const inside = manifest.target === 'cpu' ? null : cpuEngine(dir, manifest);
      return inside === null
        ? ModelSessions.load(dir, threads, spinUs, manifest)
        : ModelSessions.load(inside, threads, spinUs);
    }
    case 'cuda':
      return CudaSessions.load(dir, threads, spinUs, 'cuda', undefined, manifest);
    case 'tensorrt':
      return loadTensorRt(dir, threads, spinUs, undefined, undefined, manifest);
  }
}
