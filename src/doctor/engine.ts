/** Checks of an engine folder: everything that loading checks, and what would take too long there. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { leftBy } from '../draft';
import { CudaSessions } from '../engine/cuda-sessions';
import { ModelSessions } from '../engine/model-sessions';
import { tensorRtEngines, tensorRtMachine } from '../engine/tensorrt-key';
import { TensorRtSessions } from '../engine/tensorrt-sessions';
import type { Progress } from '../cli/progress';
import { cpuEngine, hashFile, readManifest, type Manifest } from '../model/manifest';
import { LISTS_OF_MODE } from '../policies/norm-stats';
import { fault, faultsOf, ok, warning, type Check, type Outcome } from './check';
import { externalRanges } from './external-data';
import { normStatsCheck, robotFitCheck, tokenizerCheck, tokenizerNeeds } from './files';
import { freeDisk, roomOutcomes } from './machine';

/** What to type. */
export const BUILD = 'oxygen build --checkpoint DIR --out DIR';

export interface EngineCheckOptions {
  /** Robot file to compare with, or null. */
  readonly robot: string | null;
  /** Shown while files are hashed: some have gigabytes. */
  readonly progress: Pick<Progress, 'update' | 'end'>;
}

/** One check; the others follow when engine.json is sound. */
export const engineCheck = (dir: string, options: EngineCheckOptions): Check => ({
  name: 'engine',
  cure: BUILD,
  run: () => {
    const manifest = readManifest(dir);
    return ok(describeEngine(dir, manifest), [
      filesCheck(dir, manifest, options),
      externalDataCheck(dir, manifest),
      engineTokenizerCheck(dir, manifest),
      statisticsCheck(dir, manifest),
      ...(options.robot === null ? [] : [robotFitCheck(options.robot, manifest)]),
      leftoversCheck(dir),
      roomCheck(dir, manifest),
      sessionsCheck(dir, manifest),
      ...(manifest.target === 'tensorrt' ? [tensorRtCheck(dir, manifest)] : []),
      ...(manifest.target === 'cpu' ? [] : [cpuInsideCheck(dir, manifest, options)]),
    ]);
  },
});

/** What kind of engine it is, in one line. */
export function describeEngine(dir: string, m: Manifest): string {
  return (
    `${dir}: ${m.model.name}, ${m.precision} for ${m.target} from ${m.sourceDtype}, builder ${m.builder}, prompt ${m.promptProfile}, ` +
    `resize ${m.resize}, cameras ${m.model.cameraSlots.join(' ')}, state ${m.stateDim}, actions ${m.actionDims} x ${m.model.horizon}`
  );
}

/** Loading hashes small files only. */
const filesCheck = (dir: string, manifest: Manifest, { progress }: EngineCheckOptions): Check => ({
  name: 'engine files',
  cure: BUILD,
  run: () => {
    const files = Object.entries(manifest.files);
    const total = bytesOf(manifest);
    let done = 0;
    const altered = files.filter(([file, { bytes, sha256 }]) => {
      progress.update(done, total, file);
      done += bytes;
      return hashFile(join(dir, file)) !== sha256;
    });
    progress.end();
    if (altered.length > 0) return altered.map(([file]) => fault(`${file} was altered`, BUILD));
    return ok(`${files.length} files, ${(total / 1e6).toFixed(1)} MB, all as they were written`);
  },
});

/** Weights must lie inside files of this folder that engine.json lists: nothing else is checked or moved with it. */
const externalDataCheck = (dir: string, { files }: Manifest): Check => ({
  name: 'external data',
  cure: BUILD,
  run: () => {
    const graphs = Object.keys(files).filter(file => file.endsWith('.onnx'));
    const ranges = graphs.flatMap(graph => {
      const found = externalRanges(readFileSync(join(dir, graph)), join(dir, graph));
      return found.map(range => ({ graph, ...range }));
    });
    const faults = ranges.flatMap(({ graph, tensor, location, offset, length }) => {
      const where = `${graph}: weight ${tensor}`;
      const bytes = files[location]?.bytes;
      if (bytes === undefined)
        return [fault(`${where} lies in ${location}, which engine.json does not list`, BUILD)];
      return offset >= 0 && offset + (length ?? 0) <= bytes
        ? []
        : [fault(`${where} ends at byte ${offset + (length ?? 0)}, ${location} has ${bytes}`, BUILD)];
    });
    if (faults.length > 0) return faults;
    return ok(`${ranges.length} weights of ${graphs.length} graphs lie inside the folder`);
  },
});

/** An engine without one can be measured: a warning. */
function engineTokenizerCheck(dir: string, manifest: Manifest): Check {
  const file = 'tokenizer.json';
  if (manifest.files[file]) return tokenizerCheck(join(dir, file), tokenizerNeeds(manifest));
  const cure = 'build it again with --tokenizer FILE';
  return { name: 'tokenizer', cure, run: () => warning('there is none; the node refuses this engine', cure) };
}

function statisticsCheck(dir: string, manifest: Manifest): Check {
  const modes = [manifest.normalization.state, manifest.normalization.actions];
  if (modes.some(mode => LISTS_OF_MODE[mode].length > 0)) {
    return normStatsCheck(join(dir, 'norm_stats.json'), manifest);
  }
  const cure = 'build it again with --norm-stats FILE, or set raw_units if raw model numbers are wanted';
  const missing = warning('the checkpoint came without statistics; the node refuses this engine', cure);
  const run = () =>
    modes.includes('missing') ? missing : ok('none are needed: values go in and out as they are');
  return { name: 'norm_stats', cure, run };
}

/** A build that was killed leaves its temporary folder beside the engine. */
const leftoversCheck = (dir: string): Check => ({
  name: 'leftovers',
  cure: 'give a readable folder',
  run: () => {
    const parent = dirname(resolve(dir));
    const left = readdirSync(parent).filter(name => {
      const pid = leftBy(name);
      return pid !== null && !isRunning(pid);
    });
    return left.map(name => warning(`an interrupted build left ${join(parent, name)}`, 'remove that folder'));
  },
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const bytesOf = (manifest: Manifest): number =>
  Object.values(manifest.files).reduce((sum, { bytes }) => sum + bytes, 0);

/** What runs on a GPU is read from disk piece by piece: only the CPU's weights must fit into memory. */
const roomCheck = (dir: string, manifest: Manifest): Check => ({
  name: 'room',
  cure: 'give a readable folder',
  run: () => {
    const memory = manifest.target === 'cpu' ? process.availableMemory() : null;
    return roomOutcomes(bytesOf(manifest), memory, freeDisk(dir));
  },
});

/** Times the bytes of the files that loading takes here: float16 becomes float32, and each session has its own. */
const LOADING: Readonly<Record<Manifest['target'], number>> = { cpu: 1, cuda: 4, tensorrt: 4 };

/**
 * All graphs on the CPU, whatever they are for. Only where the weights fit, which `roomCheck` tells: a doctor must not
 * push a robot's machine into swapping.
 */
const sessionsCheck = (dir: string, manifest: Manifest): Check => ({
  name: 'sessions',
  cure: BUILD,
  run: async (): Promise<readonly Outcome[]> => {
    if (LOADING[manifest.target] * bytesOf(manifest) > process.availableMemory()) return [];
    const start = performance.now();
    for (const load of LOADERS[manifest.target]) await (await load(dir)).release();
    return [ok(`all graphs load, in ${((performance.now() - start) / 1000).toFixed(1)} s`)];
  },
});

type Loader = (dir: string) => Promise<{ release(): Promise<void> }>;

const CUDA_LOADER: Loader = dir => CudaSessions.load(dir, 1, 0, 'cpu');
const LOADERS: Readonly<Record<Manifest['target'], readonly Loader[]>> = {
  cpu: [dir => ModelSessions.load(dir, 1)],
  cuda: [CUDA_LOADER],
  tensorrt: [CUDA_LOADER, dir => TensorRtSessions.load(dir, { threads: 1, spinUs: 0 }, { on: 'cpu' })],
};

/** A robot without them starts on CUDA, so a warning. */
const tensorRtCheck = (dir: string, manifest: Manifest): Check => ({
  name: 'tensorrt engines',
  cure: BUILD,
  run: () => {
    try {
      return ok(`${tensorRtEngines(dir, manifest, tensorRtMachine())} fits this machine`);
    } catch (error) {
      const cure = 'run build.sh of the engine folder on the machine that will use it: docs/nvidia.md';
      return faultsOf(error).map(what => warning(what, cure));
    }
  },
});

/** The engine in the folder that the ladder of providers ends with. */
const cpuInsideCheck = (dir: string, manifest: Manifest, options: EngineCheckOptions): Check => ({
  name: 'engine for the CPU inside',
  cure: BUILD,
  run: () => {
    const inside = cpuEngine(dir, manifest);
    if (inside !== null) return ok(inside, [engineCheck(inside, options)]);
    const what = 'there is none, so the node cannot start where the GPU cannot be used';
    return warning(what, 'build it again with --cpu int8, or accept that');
  },
});
