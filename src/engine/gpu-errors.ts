/** What ONNX Runtime, CUDA, TensorRT and the C++ library say when a run or a provider fails. */

/** An allocation failed; what runs with less may work. */
export const NO_MEMORY =
  /failed to allocate memory|bad_alloc|bad allocation|out of memory|ALLOC_FAILED|OutOfMemory/i;

/** The words of CUDA or one of its libraries, without the C++ around them: `CUDA failure 700: an illegal memory …`. */
export const CUDA_FAILURE = /\bCU[A-Z]+ failure \d+: [^;]*[^;\s]/;

/** After most of these every later call of the process fails the same way; only a new process has the GPU again. */
export const isDeviceFailure = (message: string): boolean =>
  CUDA_FAILURE.test(message) && !NO_MEMORY.test(message);
