/** The file that replaces the noise of every frame (tests). */
import { describeError, OxygenError } from '../core/errors';
import { readSmallFile } from '../model/small-file';

/** Raw float32 [horizon·actionDim]. Throws CONFIG_INVALID. */
export function readNoise(
  path: string,
  { horizon, actionDim }: { readonly horizon: number; readonly actionDim: number },
): Float32Array {
  const wanted = 4 * horizon * actionDim;
  let bytes: Uint8Array;
  try {
    bytes = readSmallFile(path, wanted);
  } catch (error) {
    throw new OxygenError('CONFIG_INVALID', `noise_file ${path}: ${describeError(error)}`);
  }
  if (bytes.byteLength !== wanted) {
    throw new OxygenError(
      'CONFIG_INVALID',
      `noise_file ${path} has ${bytes.byteLength} bytes, ${horizon}x${actionDim} float32 are ${wanted}`,
    );
  }
  return new Float32Array(Uint8Array.from(bytes).buffer); // a copy: the Buffer of a small file is a view of a pool
}
