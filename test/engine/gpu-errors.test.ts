/** What failed runs of a GPU mean: less memory (O-21), an end of the process, or one lost frame. */
import { OxygenError } from '../../src/core/errors';
import { MAX_FAILED_FRAMES, RunHealth } from '../../src/engine/run-health';
import { runError } from '../../src/engine/session-run';

/** As ONNX Runtime 1.30 puts the words of a library into its own. */
const said = (words: string): string =>
  `${words} ; GPU=0 ; hostname=robot ; file=/onnxruntime_src/onnxruntime/core/providers/cuda/gpu_data_transfer.cc ; line=91 ; expr=cudaMemcpyAsync(dst_data, src_data, bytes, kind); `;

test.each([
  said('CUDA failure 2: out of memory'),
  said('CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED'),
  said('CUDNN failure 4: CUDNN_STATUS_ALLOC_FAILED'),
  'TensorRT EP failed: Error Code 2: OutOfMemory (Requested size was 1073741824 bytes.)',
  'bfc_arena.cc:376 AllocateRawInternal Failed to allocate memory for requested buffer of size 42',
  'std::bad_alloc',
])('without memory, and the process goes on: %s', text => {
  const error = runError('decode', new Error(text));
  expect(error.code).toBe('OUT_OF_MEMORY');
  const health = new RunHealth();
  for (let i = 0; i < 2 * MAX_FAILED_FRAMES; i++) {
    expect(health.frameFailed(error)).toBeNull();
    expect(health.runFailed(error)).toBeNull();
  }
});

test.each([
  said('CUDA failure 700: an illegal memory access was encountered'),
  said('CUDA failure 719: unspecified launch failure'),
  said('CUBLAS failure 13: CUBLAS_STATUS_EXECUTION_FAILED'),
  said('CUDNN failure 5000: CUDNN_STATUS_EXECUTION_FAILED'),
])('the process ends, told in the words of the library: %s', text => {
  const error = runError('frame', new Error(text));
  for (const lost of [new RunHealth().frameFailed(error), new RunHealth().runFailed(error)]) {
    expect(lost).toMatchObject({ code: 'RUN_FAILED' });
    expect(lost!.message).toContain(text.split(' ;')[0]);
  }
});

test('any other failure costs the frame; after several in a row the process ends, a chunk in between counts anew', () => {
  const error = runError('frame', new Error('Non-zero status code returned while running MatMul node'));
  const health = new RunHealth();
  for (let round = 0; round < 3; round++) {
    for (let i = 1; i < MAX_FAILED_FRAMES; i++) expect(health.frameFailed(error)).toBeNull();
    health.good();
  }
  for (let i = 1; i < MAX_FAILED_FRAMES; i++) expect(health.frameFailed(error)).toBeNull();
  expect(health.frameFailed(error)?.message).toMatch(/MatMul node \(the runs of 5 frames in a row failed/);
});

test('what comes in or goes out wrong says nothing about the process', () => {
  const health = new RunHealth();
  for (const code of ['NON_FINITE', 'STATE_INVALID', 'PROMPT_TOO_LONG'] as const)
    for (let i = 0; i <= MAX_FAILED_FRAMES; i++)
      expect(health.frameFailed(new OxygenError(code, 'CUDA failure 700: as a quoted text'))).toBeNull();
});
