/**
 * Where the model runs. ONNX Runtime lists providers that are not installed and falls back to none by itself, so they
 * are tried in turn, and every step down is told with its reason.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OxygenError } from '../core/errors';
import { bindingFolder } from '../machine/machine';
import { CUDA_FAILURE, NO_MEMORY } from './gpu-errors';

/** From the fastest down. */
export const PROVIDERS = ['tensorrt', 'cuda', 'cpu'] as const;
export type Provider = (typeof PROVIDERS)[number];

export interface ProviderWish {
  /** In order of preference. */
  readonly wanted: readonly Provider[];
  /** Nothing below it is good enough; null: anything wanted is. */
  readonly required: Provider | null;
}

/** What the ladder asks of the engine and of this machine. */
export interface ProviderLadder<Engine> {
  /** What keeps the provider from being tried: each with its cure; none: it is tried. */
  obstacles(provider: Provider): readonly string[];
  /** Rejects when this machine cannot run the engine there. */
  load(provider: Provider): Promise<Engine>;
}

export interface ProviderChoice<Engine> {
  readonly provider: Provider;
  readonly engine: Engine;
  /** One line for each provider that was wanted more: why it is not used. */
  readonly notes: readonly string[];
}

/**
 * The first of the wanted providers that works and is not below the required one. What is wrong on the CPU, where every
 * machine can run an engine, is the engine's fault and no reason to look further: it is thrown as it is.
 * @throws OxygenError PROVIDER_MISSING with every reason and the cure when there is none.
 */
export async function chooseProvider<Engine>(
  { wanted, required }: ProviderWish,
  ladder: ProviderLadder<Engine>,
): Promise<ProviderChoice<Engine>> {
  const notes: string[] = [];
  for (const provider of wanted.filter(p => required === null || !isBelow(p, required))) {
    const reasons = [...ladder.obstacles(provider)];
    if (reasons.length === 0) {
      try {
        return { provider, engine: await ladder.load(provider), notes };
      } catch (error) {
        if (provider === 'cpu') throw error;
        reasons.push(reasonOf(error));
      }
    }
    notes.push(`${provider} is not used: ${reasons.join('; and ')}`);
  }
  throw refusal({ wanted, required }, notes);
}

const isBelow = (provider: Provider, other: Provider): boolean =>
  PROVIDERS.indexOf(provider) > PROVIDERS.indexOf(other);

function refusal({ wanted, required }: ProviderWish, notes: readonly string[]): OxygenError {
  const list = `execution_providers [${wanted.join(', ')}]`;
  if (required === null) {
    const cure = 'Cure that, or add cpu to the list';
    return new OxygenError('PROVIDER_MISSING', `none of ${list} can be used: ${notes.join('. ')}. ${cure}`);
  }
  const why =
    notes.length > 0
      ? `${notes.join('. ')}. Cure that, or set required_provider to '' to run below it`
      : `${list} names none that is good enough. Add ${required} to the list, or set required_provider to ''`;
  return new OxygenError('PROVIDER_MISSING', `required_provider ${required} cannot be had: ${why}`);
}

const GUIDE = 'see docs/nvidia.md; `oxygen doctor` checks each library';

/** What ONNX Runtime and CUDA say, and what it means. */
const MEANINGS: readonly (readonly [RegExp, (match: RegExpExecArray) => string])[] = [
  [
    /(lib[\w.+-]+\.so[.\d]*): cannot open shared object file/,
    m => `the library ${m[1]} is missing (${GUIDE})`,
  ],
  [
    /driver version is insufficient|(?:CUDA|cuda)\D{0,12}\b35\b/i,
    () => `the NVIDIA driver is too old for the CUDA libraries: install a newer driver (${GUIDE})`,
  ],
  [
    /no CUDA-capable device|(?:CUDA|cuda) (?:failure|error) 100\b/i,
    () => 'there is no NVIDIA GPU that this process can see (try nvidia-smi)',
  ],
  [NO_MEMORY, () => 'the GPU has too little free memory for the engine (nvidia-smi shows who uses it)'],
  [
    /no kernel image is available|(?:CUDA|cuda) (?:failure|error) 209\b/i,
    () => 'ONNX Runtime has no kernels for this GPU',
  ],
  [
    /(?:CUDA|cuda) (?:failure|error) 803\b/i,
    () =>
      'the libraries of the NVIDIA driver and its kernel module are of different versions: restart the machine; in a container, take out the driver libraries that the image brings',
  ],
  [
    /(?:CUDA|cuda) (?:failure|error) 804\b/i,
    () =>
      `a libcuda.so.1 for forward compatibility (cuda-compat, often in images) is used, which this GPU does not support: take it off the linker's path and install a newer driver (${GUIDE})`,
  ],
  [
    /CUDNN failure/,
    m =>
      `the linker finds a libcudnn.so.9 that does not work here (${m.input}): install cuDNN 9 for the CUDA that the provider wants, or take it off the linker's path (${GUIDE})`,
  ],
  [
    /failed to load shared library/i,
    () => `its libraries cannot be loaded: one that it needs is missing or of another version (${GUIDE})`,
  ],
];

/** Why a provider cannot run an engine, in one line: with the cure where the message is known. */
export function reasonOf(error: unknown): string {
  const { code, cause } = error instanceof OxygenError ? error : { code: null, cause: error };
  const whole = String(cause instanceof Error ? cause.message : (cause ?? error));
  // Around the words of CUDA lie hundreds of characters of C++.
  const failure = CUDA_FAILURE.exec(whole)?.[0];
  const message = failure ?? whole;
  for (const [pattern, meaning] of MEANINGS) {
    const match = pattern.exec(message);
    if (match) return meaning(match);
  }
  // What this project says itself has its cure with it.
  if (code !== null && cause === undefined) return (error as OxygenError).message;
  return failure ?? (message.split('\n')[0] as string).replace(/^.*?onnxruntime::\S+\s*/, '');
}

const file = (name: string): string => `libonnxruntime_providers_${name}.so`;

/** The libraries of a provider that lie beside ONNX Runtime's own. An engine for TensorRT decodes on CUDA: both. */
export const PROVIDER_FILES: Readonly<Record<Provider, readonly string[]>> = {
  tensorrt: [file('shared'), file('cuda'), file('tensorrt')],
  cuda: [file('shared'), file('cuda')],
  cpu: [],
};

/** The provider's libraries that the package onnxruntime-node lacks; `folder`: where its binary lies. */
export function missingLibraries(
  provider: Provider,
  folder = bindingFolder(process.platform, process.arch),
): readonly string[] {
  return PROVIDER_FILES[provider].filter(name => folder === null || !existsSync(join(folder, name)));
}

/** Null when they are all there. */
export function libraryObstacle(provider: Provider, folder?: string): string | null {
  const missing = missingLibraries(provider, folder);
  if (missing.length === 0) return null;
  const what = missing.length === 1 ? 'lacks the library' : 'lacks the libraries';
  return `onnxruntime-node ${what} ${missing.join(' and ')} (${GUIDE})`;
}
