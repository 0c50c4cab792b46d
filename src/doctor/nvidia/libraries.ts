/** The provider libraries beside onnxruntime-node's binding, and what these want of CUDA, cuDNN and TensorRT. */
import { join } from 'node:path';
import { PROVIDER_FILES, type Provider } from '../../engine/providers';
import { libraryVersion } from '../../engine/tensorrt-key';
import { ok, warning, type fault, type Outcome } from '../check';
import { neededLibraries } from '../../machine/elf';
import { compareVersions } from '../machine';
import { jetsonRelease } from './jetson';
import type { Finder } from '../../machine/linker';
import type { Machine } from '../../machine/machine';

export type NvidiaProvider = Exclude<Provider, 'cpu'>;

/** What the published providers of 1.30.0 want; known before they are there. An own build may want others. */
const PUBLISHED: Readonly<Record<NvidiaProvider, readonly string[]>> = {
  cuda: ['libcudart.so.13', 'libcublas.so.13', 'libcublasLt.so.13', 'libcurand.so.10', 'libcuda.so.1'],
  tensorrt: ['libcudnn.so.9', 'libnvinfer.so.10', 'libnvonnxparser.so.10'],
};

export const PUBLISHED_CUDA = 13;

const GUIDE = 'docs/nvidia.md';

/** Are they compiled in, and do the provider files lie where ONNX Runtime looks for them: beside its binding? */
export async function providerFileOutcomes(
  machine: Machine,
  provider: NvidiaProvider,
  bad: typeof fault,
): Promise<readonly Outcome[]> {
  const folder = machine.libraries;
  if (folder === null) {
    return [bad(`onnxruntime-node has no binding for ${machine.platform} ${machine.arch}`, `see ${GUIDE}`)];
  }
  const backends = await machine.backends();
  if (!backends.includes(provider)) {
    return [
      bad(
        `this build of onnxruntime-node knows ${backends.join(', ')} only, not ${provider}`,
        `build ONNX Runtime 1.30.0 with its Node.js binding and ${provider} on this machine: ${GUIDE}`,
      ),
    ];
  }
  const missing = PROVIDER_FILES[provider].filter(file => !machine.exists(join(folder, file)));
  if (missing.length === 0) return [ok(`${PROVIDER_FILES[provider].join(', ')} lie in ${folder}`)];
  const cure =
    machine.arch === 'x64'
      ? `copy them from the Python package onnxruntime-gpu 1.30.0 into that folder: ${GUIDE}`
      : `copy them from your own build of ONNX Runtime 1.30.0 into that folder: ${GUIDE}`;
  return [bad(`${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not in ${folder}`, cure)];
}

/** Can the linker find everything that the providers want? */
export function dependencyOutcomes(
  machine: Machine,
  provider: NvidiaProvider,
  find: Finder,
  bad: typeof fault,
): readonly Outcome[] {
  const wanted = wantedLibraries(machine, provider);
  if ('damaged' in wanted) return [bad(wanted.damaged, 'copy the file again')];
  const missing = wanted.names.filter(name => find(name) === null);
  const found = wanted.names.filter(name => !missing.includes(name));
  const outcomes = missing.map(name =>
    bad(`${name} is not found by the dynamic linker`, cureOf(name, machine)),
  );
  if (found.length > 0)
    outcomes.push(ok(found.map(name => `${name} in ${folderOf(find(name)!)}`).join(', ')));
  return [...outcomes, ...cudnnOutcomes(machine, find), ...tensorRtOutcomes(machine, provider, find)];
}

/** No graph of ours needs it, but the CUDA provider takes one that it finds and fails when that one does not work. */
function cudnnOutcomes(machine: Machine, find: Finder): readonly Outcome[] {
  const path = find(CUDNN);
  if (path === null) return [];
  const where = `${CUDNN} in ${folderOf(path)} will be used`;
  return [
    ok(`${where}: it must be the one for CUDA ${cudaMajor(machine)}, else take it off the linker's path`),
  ];
}

const CUDNN = 'libcudnn.so.9';

/** What the published provider was built against; TensorRT runs nothing that was built against a newer one. */
export const LEAST_TENSORRT = '10.14.1';

/** The published provider is for x64; whether a file there is an own build, which may take an older one, is not seen. */
function tensorRtOutcomes(machine: Machine, provider: NvidiaProvider, find: Finder): readonly Outcome[] {
  const version = provider === 'tensorrt' && machine.arch === 'x64' ? libraryVersion(machine, find) : null;
  if (version === null || compareVersions(version, LEAST_TENSORRT) >= 0) return [];
  return [
    warning(
      `TensorRT is ${version}; the published provider wants ${LEAST_TENSORRT} or a later 10, only an own build takes an older one`,
      `install TensorRT ${LEAST_TENSORRT} or a later 10, then run build.sh of each engine folder: ${GUIDE}`,
    ),
  ];
}

const folderOf = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf('/')));

type Wanted = { readonly names: readonly string[] } | { readonly damaged: string };

/** Those of the files that are there, for an own build has majors of its own; else those of the published ones. */
function wantedLibraries(machine: Machine, provider: NvidiaProvider): Wanted {
  const names = new Set<string>();
  for (const kind of provider === 'cuda' ? (['cuda'] as const) : (['cuda', 'tensorrt'] as const)) {
    const wanted = wantedBy(machine, kind);
    if ('damaged' in wanted) return wanted;
    wanted.names.forEach(name => names.add(name));
  }
  return { names: [...names] };
}

function wantedBy(machine: Machine, kind: NvidiaProvider): Wanted {
  const file = join(machine.libraries ?? '', `libonnxruntime_providers_${kind}.so`);
  if (!machine.exists(file)) return { names: PUBLISHED[kind] };
  try {
    const read = (offset: number, length: number) => machine.bytes(file, offset, length);
    return { names: neededLibraries(read).filter(isNvidia) };
  } catch (error) {
    return { damaged: `${file} cannot be read as a library: ${(error as Error).message}` };
  }
}

/** The CUDA that the provider's file wants: 13 for the published one, for which a file that is missing or damaged counts. */
export function cudaMajor(machine: Machine): number {
  const wanted = wantedBy(machine, 'cuda');
  const names = 'names' in wanted ? wanted.names : [];
  const majors = names.map(name => Number(/^libcudart\.so\.(\d+)$/.exec(name)?.[1]));
  return majors.find(Number.isInteger) ?? PUBLISHED_CUDA;
}

const isNvidia = (name: string): boolean => /^lib(cu|nv)/.test(name);

/** What to install for a library, by its name without `lib` and version. */
const PARTS: Readonly<Record<string, string>> = {
  cudart: 'the CUDA runtime',
  cublas: 'cuBLAS',
  cublasLt: 'cuBLAS',
  curand: 'cuRAND',
  cudnn: 'cuDNN',
  nvinfer: 'TensorRT',
  nvonnxparser: 'TensorRT',
};

function cureOf(name: string, machine: Machine): string {
  const [, library = '', major = ''] = /^lib(\w+)\.so\.(\d+)/.exec(name) ?? [];
  if (library === 'cuda') return 'it comes with the NVIDIA driver; in a container start it with `--gpus all`';
  const source = jetsonRelease(machine) === null ? '' : ' of JetPack';
  return `install ${PARTS[library] ?? library} ${major}${source}, or put the folder that holds ${name} into LD_LIBRARY_PATH: ${GUIDE}`;
}
