/** The provider libraries beside onnxruntime-node's binding, and what these want of CUDA, cuDNN and TensorRT. */
import { join } from 'node:path';
import { ok, type fault, type Outcome } from '../check';
import { neededLibraries } from '../../machine/elf';
import { jetsonRelease } from './driver';
import type { Finder } from '../../machine/linker';
import type { Machine } from '../../machine/machine';

export type NvidiaProvider = 'cuda' | 'tensorrt';

/** An engine for TensorRT decodes on CUDA, so it needs both. */
const FILES: Readonly<Record<NvidiaProvider, readonly string[]>> = {
  cuda: ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'],
  tensorrt: [
    'libonnxruntime_providers_shared.so',
    'libonnxruntime_providers_cuda.so',
    'libonnxruntime_providers_tensorrt.so',
  ],
};

/** What the published providers of 1.30.0 want; known before they are there. An own build may want others. */
const PUBLISHED: Readonly<Record<NvidiaProvider, readonly string[]>> = {
  cuda: ['libcudart.so.13', 'libcublas.so.13', 'libcublasLt.so.13', 'libcurand.so.10', 'libcuda.so.1'],
  tensorrt: ['libcudnn.so.9', 'libnvinfer.so.10', 'libnvonnxparser.so.10'],
};

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
  const missing = FILES[provider].filter(file => !machine.exists(join(folder, file)));
  if (missing.length === 0) return [ok(`${FILES[provider].join(', ')} lie in ${folder}`)];
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
  if (found.length === 0) return outcomes;
  return [...outcomes, ok(found.map(name => `${name} in ${folderOf(find(name)!)}`).join(', '))];
}

const folderOf = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf('/')));

type Wanted = { readonly names: readonly string[] } | { readonly damaged: string };

/** Those of the files that are there, for an own build has majors of its own; else those of the published ones. */
function wantedLibraries(machine: Machine, provider: NvidiaProvider): Wanted {
  const names = new Set<string>();
  for (const kind of provider === 'cuda' ? (['cuda'] as const) : (['cuda', 'tensorrt'] as const)) {
    const file = join(machine.libraries ?? '', `libonnxruntime_providers_${kind}.so`);
    if (!machine.exists(file)) {
      PUBLISHED[kind].forEach(name => names.add(name));
      continue;
    }
    try {
      const read = (offset: number, length: number) => machine.bytes(file, offset, length);
      neededLibraries(read)
        .filter(isNvidia)
        .forEach(name => names.add(name));
    } catch (error) {
      return { damaged: `${file} cannot be read as a library: ${(error as Error).message}` };
    }
  }
  return { names: [...names] };
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
