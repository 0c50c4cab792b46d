/** Where the model runs (O-19): the ladder tries what is wanted, tells every step down, and never goes below what is required. */
import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OxygenError } from '../../src/core/errors';
import { openEngine } from '../../src/engine/open-engine';
import {
  chooseProvider,
  libraryObstacle,
  missingLibraries,
  reasonOf,
  type Provider,
  type ProviderWish,
} from '../../src/engine/providers';
import { engineDir } from '../support/engines';

const GPU: readonly Provider[] = ['tensorrt', 'cuda', 'cpu'];
const wish = (wanted: readonly Provider[], required: Provider | null = null): ProviderWish => ({
  wanted,
  required,
});
const ladder = (works: readonly Provider[], obstacles: Partial<Record<Provider, string[]>> = {}) => {
  const tried: Provider[] = [];
  return {
    tried,
    obstacles: (provider: Provider) => obstacles[provider] ?? [],
    load: (provider: Provider): Promise<string> => {
      tried.push(provider);
      if (works.includes(provider)) return Promise.resolve(`on ${provider}`);
      return Promise.reject(new Error(`${provider} is broken`));
    },
  };
}; // prettier-ignore
const refused = async (promise: Promise<unknown>): Promise<OxygenError> => {
  const error: unknown = await promise.then(
    () => null,
    (e: unknown) => e,
  );
  if (error instanceof OxygenError) return error;
  throw new Error(`no refusal: ${String(error)}`);
};

test('the first that works, and one line for each that was wanted more', async () => {
  expect(await chooseProvider(wish(GPU), ladder(['cpu']))).toEqual({
    provider: 'cpu',
    engine: 'on cpu',
    notes: ['tensorrt is not used: tensorrt is broken', 'cuda is not used: cuda is broken'],
  });
  expect(await chooseProvider(wish(['cuda', 'cpu']), ladder(['cuda', 'cpu']))).toEqual({
    provider: 'cuda',
    engine: 'on cuda',
    notes: [],
  });
});

test('what is known to be missing is not tried, and all of it is told at once', async () => {
  const l = ladder(['cpu'], { cuda: ['its library is missing', 'the engine has no graphs'] });
  const { notes } = await chooseProvider(wish(['cuda', 'cpu']), l);
  expect(notes).toEqual(['cuda is not used: its library is missing; and the engine has no graphs']);
  expect(l.tried).toEqual(['cpu']);
});

test('none: an error with every reason and the cure', async () => {
  const { code, message } = await refused(chooseProvider(wish(['tensorrt', 'cuda']), ladder([])));
  expect(code).toBe('PROVIDER_MISSING');
  expect(message).toBe(
    'none of execution_providers [tensorrt, cuda] can be used: tensorrt is not used: tensorrt is broken. ' +
      'cuda is not used: cuda is broken. Cure that, or add cpu to the list',
  );
});

describe('required_provider', () => {
  test('is met by itself and by what is above it', async () => {
    expect(await chooseProvider(wish(GPU, 'cuda'), ladder(['cuda', 'cpu']))).toMatchObject({
      provider: 'cuda',
      notes: ['tensorrt is not used: tensorrt is broken'],
    });
    expect(await chooseProvider(wish(GPU, 'cuda'), ladder(['tensorrt']))).toMatchObject({
      provider: 'tensorrt',
    });
    expect(await chooseProvider(wish(['cpu', 'cuda'], 'cuda'), ladder(['cuda', 'cpu']))).toMatchObject({
      provider: 'cuda',
    });
  });

  test('nothing below it is tried; the refusal has the reasons and the cure', async () => {
    const l = ladder(['cpu']);
    const { code, message } = await refused(chooseProvider(wish(GPU, 'cuda'), l));
    expect(code).toBe('PROVIDER_MISSING');
    expect(message).toMatch(/^required_provider cuda cannot be had: tensorrt is not used: .* cuda is not used: /);
    expect(message).toMatch(/Cure that, or set required_provider to '' to run below it$/);
    expect(l.tried).toEqual(['tensorrt', 'cuda']);
  }); // prettier-ignore

  test('a list that names none that is good enough', async () => {
    const { message } = await refused(chooseProvider(wish(['cpu'], 'cuda'), ladder(['cpu'])));
    expect(message).toMatch(
      /execution_providers \[cpu\] names none that is good enough\. Add cuda to the list/,
    );
  });
});

test('a fault of the engine on the CPU is no step down', async () => {
  const broken = {
    obstacles: () => [],
    load: () => Promise.reject(new OxygenError('ENGINE_INVALID', 'language.onnx was altered')),
  };
  expect(await refused(chooseProvider(wish(['cpu']), broken))).toMatchObject({ code: 'ENGINE_INVALID' });
});

const SOURCE =
  '/onnxruntime_src/onnxruntime/core/session/provider_bridge_ort.cc:1988 onnxruntime::Provider& Get()';
/** A status of `CudaCall` as ONNX Runtime 1.30 writes it: the C++ around the words twice. */
const cudaCall = (type: string, words: string): string => {
  const call = `std::conditional_t<THRW, void, onnxruntime::common::Status> onnxruntime::CudaCall(ERRTYPE, const char*, const char*, SUCCTYPE, const char*, const char*, int) [with ERRTYPE = ${type}; bool THRW = true; SUCCTYPE = ${type}; std::conditional_t<THRW, void, common::Status> = void]`;
  const file = '/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_call.cc';
  return `${file}:154 ${call} ${file}:146 ${call} ${words} ; GPU=0 ; hostname=robot ; file=/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_execution_provider.cc ; line=352 ; expr=cudaSetDevice(info_.device_id); `;
};
test.each([
  [cudaCall('cudaError', 'CUDA failure 999: unknown error'), /^CUDA failure 999: unknown error$/],
  [cudaCall('cudaError', 'CUDA failure 46: CUDA-capable device(s) is/are busy or unavailable'), /^CUDA failure 46: .*unavailable$/],
  [cudaCall('cublasStatus_t', 'CUBLAS failure 1: CUBLAS_STATUS_NOT_INITIALIZED'), /^CUBLAS failure 1: CUBLAS_STATUS_NOT_INITIALIZED$/],
  [cudaCall('cudaError', 'CUDA failure 803: system has unsupported display driver / cuda driver combination'), /^the libraries of the NVIDIA driver and its kernel module.*restart/],
  [cudaCall('cudaError', 'CUDA failure 804: forward compatibility was attempted on non supported HW'), /^a libcuda\.so\.1 for forward compatibility \(cuda-compat.*take it off/],
  [cudaCall('cudnnStatus_t', 'CUDNN failure 3000: CUDNN_STATUS_NOT_SUPPORTED'), /^the linker finds a libcudnn\.so\.9 that does not work here \(CUDNN failure 3000: CUDNN_STATUS_NOT_SUPPORTED\): install cuDNN 9/],
  [cudaCall('cublasStatus_t', 'CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED'), /too little free memory/],
  [`${SOURCE} [ONNXRuntimeError] : 1 : FAIL : Failed to load library /x/libonnxruntime_providers_cuda.so with error: libcublasLt.so.13: cannot open shared object file: No such file or directory`, /^the library libcublasLt\.so\.13 is missing \(see docs\/nvidia\.md/],
  ['OrtSessionOptionsAppendExecutionProvider_Cuda: Failed to load shared library', /^its libraries cannot be loaded: one that it needs is missing/],
  ['CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version ; GPU=-1 ; hostname=robot', /driver is too old for the CUDA libraries: install a newer/],
  ['CUDA failure 100: no CUDA-capable device is detected ; GPU=0', /no NVIDIA GPU that this process can see/],
  ['CUDA failure 2: out of memory ; GPU=0', /too little free memory/],
  ['CUDA error cudaErrorNoKernelImageForDevice:no kernel image is available for execution on the device', /no kernels for this GPU/],
  ['/onnxruntime_src/core/session/provider.cc:12 onnxruntime::Load libcuda is odd\nstack', /^libcuda is odd$/],
])('what ONNX Runtime says: %s', (message, meaning) => {
  expect(reasonOf(new Error(message))).toMatch(meaning);
  // wrapped, as a session that cannot be opened is
  const cause = new Error(message);
  expect(reasonOf(new OxygenError('ENGINE_INVALID', 'frame.onnx cannot be loaded', { cause }))).toMatch(meaning);
}); // prettier-ignore

test('what this project says itself is told as it is', () => {
  const stale = new OxygenError('ENGINE_INVALID', 'its TensorRT engine is of another GPU; run build.sh');
  expect(reasonOf(stale)).toBe(stale.message);
});

describe('the libraries beside ONNX Runtime', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'oxygen-binding-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  test('each that is missing is named', () => {
    expect(libraryObstacle('cuda', folder)).toMatch(
      /lacks the libraries libonnxruntime_providers_shared\.so and libonnxruntime_providers_cuda\.so \(see docs/,
    );
    writeFileSync(join(folder, 'libonnxruntime_providers_shared.so'), '');
    // it decodes on CUDA
    expect(missingLibraries('tensorrt', folder)).toEqual([
      'libonnxruntime_providers_cuda.so',
      'libonnxruntime_providers_tensorrt.so',
    ]);
    writeFileSync(join(folder, 'libonnxruntime_providers_cuda.so'), '');
    expect(missingLibraries('tensorrt', folder)).toEqual(['libonnxruntime_providers_tensorrt.so']);
    expect(libraryObstacle('cuda', folder)).toBeNull();
  });

  test('the CPU needs none', () => {
    expect(libraryObstacle('cpu', join(folder, 'nowhere'))).toBeNull();
  });
});

describe('the plain npm package', () => {
  test('[tensorrt, cuda, cpu] starts on the CPU with two clear lines', async () => {
    const { provider, engine, notes } = await openEngine(engineDir('tiny'), 1, wish(GPU));
    await engine.release();
    expect(provider).toBe('cpu');
    expect(notes).toHaveLength(2);
    for (const [i, name] of (['tensorrt', 'cuda'] as const).entries()) {
      expect(notes[i]).toMatch(new RegExp(`^${name} is not used: onnxruntime-node lacks the libraries (?:\\S+ and )+libonnxruntime_providers_${name}.so \\(see docs/nvidia.md`));
      expect(notes[i]).toMatch(new RegExp(`has graphs for cpu only \\(oxygen build --target ${name} makes`));
    }
  }); // prettier-ignore

  test.each(['tiny', 'tiny-cuda'] as const)('files are hashed once for each folder: %s', async name => {
    const open = jest.spyOn(fs, 'openSync');
    const { engine } = await openEngine(engineDir(name), 1, wish(GPU));
    const tokenizers = open.mock.calls.map(([path]) => String(path)).filter(path => path.endsWith('tokenizer.json'));
    open.mockRestore();
    await engine.release();
    expect(tokenizers.length).toBeGreaterThan(0);
    expect(new Set(tokenizers).size).toBe(tokenizers.length);
  }); // prettier-ignore

  test('an engine for CUDA runs on the engine for the CPU inside it', async () => {
    const { provider, engine, notes } = await openEngine(engineDir('tiny-cuda'), 1, wish(GPU));
    await engine.release();
    expect(provider).toBe('cpu');
    expect(engine.manifest).toMatchObject({ target: 'cpu' });
    expect(notes[0]).toMatch(/^tensorrt is not used: .* has graphs for cuda and cpu only/);
    expect(notes[1]).toMatch(/^cuda is not used: onnxruntime-node lacks .*each library\)$/);
  });

  test('an engine for CUDA that nobody wants there says so', async () => {
    const { provider, engine, notes } = await openEngine(engineDir('tiny-cuda'), 1, wish(['cpu']));
    await engine.release();
    expect([provider, notes]).toEqual([
      'cpu',
      ['cuda is not used: the engine was built for it, but execution_providers does not name it'],
    ]);
  });

  test('required_provider: cuda refuses with the cure', async () => {
    const error = await refused(openEngine(engineDir('tiny'), 1, wish(GPU, 'cuda')));
    expect(error.code).toBe('PROVIDER_MISSING');
    expect(error.message).toMatch(
      /^required_provider cuda cannot be had: .*libonnxruntime_providers_cuda\.so \(see docs\/nvidia\.md.*required_provider to ''/s,
    );
  });
});
