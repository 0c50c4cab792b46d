/**
 * Whether this process can still run the model. After an error of the GPU (an illegal access, a reset, a suspended
 * machine) CUDA answers every later call with it, and only a new process helps.
 */
import { OxygenError } from '../core/errors';
import { isDeviceFailure } from './gpu-errors';

/** Frames in a row whose runs failed, whatever was said, after which a new process is tried. */
export const MAX_FAILED_FRAMES = 5;

export class RunHealth {
  #failedFrames = 0;

  /** A frame gave its chunk. */
  good(): void {
    this.#failedFrames = 0;
  }

  /** A frame was lost. Why the process has to end, or null: it goes on. */
  frameFailed(error: OxygenError): OxygenError | null {
    if (error.code !== 'RUN_FAILED') return null;
    if (++this.#failedFrames < MAX_FAILED_FRAMES) return this.runFailed(error);
    return ending(error, `the runs of ${MAX_FAILED_FRAMES} frames in a row failed`);
  }

  /** A run failed, of a frame or of a text. */
  runFailed(error: OxygenError): OxygenError | null {
    if (error.code !== 'RUN_FAILED' || !isDeviceFailure(error.message)) return null;
    return ending(error, 'such an error stays until the process ends');
  }
}

const ending = (error: OxygenError, why: string): OxygenError =>
  new OxygenError('RUN_FAILED', `${error.message.trim()} (${why}, so the engine process ends)`, {
    cause: error,
  });
