/** The worker thread behind `Preprocessor`: one job after the other. */
import { parentPort } from 'node:worker_threads';
import sharp from 'sharp';
import { preprocess, type PreprocessJob, type PreprocessResult } from './preprocess';

export interface WorkerRequest {
  readonly id: number;
  readonly job: PreprocessJob;
}

export interface WorkerReply {
  readonly id: number;
  readonly result: PreprocessResult;
}

// No picture comes twice, and the model needs the cores.
sharp.cache(false);
sharp.concurrency(1);

const port = parentPort!;
let last = Promise.resolve();
port.on('message', ({ id, job }: WorkerRequest) => {
  last = last.then(async () => {
    const result = await preprocess(job);
    port.postMessage({ id, result } satisfies WorkerReply, [result.images.buffer as ArrayBuffer]);
  });
});
