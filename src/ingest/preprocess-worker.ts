/** The worker thread behind `Preprocessor`: one job after the other. */
import { constants, getPriority, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import sharp from 'sharp';
import { preprocess, type PreprocessJob, type PreprocessResult } from './preprocess';

/** The data of each image fills a buffer of its own, which is transferred. */
export interface WorkerRequest {
  readonly id: number;
  readonly job: PreprocessJob;
}

export interface WorkerReply {
  readonly id: number;
  readonly result: PreprocessResult;
  /** The buffers of the request, on their way back. */
  readonly buffers: ArrayBuffer[];
}

// No picture comes twice, and the model needs the cores.
sharp.cache(false);
sharp.concurrency(1);

// The thread that started this one may come before others; pictures can wait for its commands.
if (getPriority() < constants.priority.PRIORITY_NORMAL) setPriority(constants.priority.PRIORITY_NORMAL);

const port = parentPort!;
let last = Promise.resolve();
port.on('message', ({ id, job }: WorkerRequest) => {
  last = last.then(async () => {
    const result = await preprocess(job);
    const data = job.images.map(image => (image.kind === 'raw' ? image.image.data : image.data));
    const buffers = data.map(({ buffer }) => buffer as ArrayBuffer);
    port.postMessage({ id, result, buffers } satisfies WorkerReply, [
      result.images.buffer as ArrayBuffer,
      ...buffers,
    ]);
  });
});
