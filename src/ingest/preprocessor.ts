/** Decoding and resizing off the main thread, which belongs to ROS and the 70 Hz timer. */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { OxygenError } from '../core/errors';
import type { PreprocessImage, PreprocessJob, PreprocessResult } from './preprocess';
import type { WorkerReply, WorkerRequest } from './preprocess-worker';

export type { PreprocessFailure, PreprocessImage, PreprocessJob, PreprocessResult } from './preprocess';

interface Pending {
  readonly resolve: (result: PreprocessResult) => void;
  readonly reject: (error: OxygenError) => void;
}

/** Own memory for the bytes: transferred, they are not copied again, and a view never drags its whole buffer along. */
const ownCopy = (data: Uint8Array): Uint8Array<ArrayBuffer> => {
  const copy = new Uint8Array(new ArrayBuffer(data.byteLength));
  copy.set(data);
  return copy;
};

const withOwnData = (image: PreprocessImage): { image: PreprocessImage; buffer: ArrayBuffer } => {
  const data = ownCopy(image.kind === 'raw' ? image.image.data : image.data);
  const { buffer } = data;
  return image.kind === 'raw'
    ? { image: { ...image, image: { ...image.image, data } }, buffer }
    : { image: { ...image, data }, buffer };
};

/**
 * One worker thread. Jobs are done in the order of `run`.
 *
 * Buffers: the job's data stays the caller's and may be reused as soon as `run` has returned its promise (the bytes
 * are copied once on the calling thread, about 0.3 ms per MB); the result belongs to the caller.
 */
export class Preprocessor {
  readonly #workerFile: string;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | null;
  #closed = false;
  #nextId = 0;

  /** The worker starts at once, so that the first frame does not wait for it. */
  constructor(workerFile = join(__dirname, 'preprocess-worker.js')) {
    this.#workerFile = workerFile;
    this.#worker = this.#start();
  }

  /**
   * Images that cannot be used are listed in the result.
   *
   * @throws PREPROCESSOR_DOWN when the worker ends before the job does, or after `close`.
   */
  async run(job: PreprocessJob): Promise<PreprocessResult> {
    if (this.#closed) {
      throw new OxygenError('PREPROCESSOR_DOWN', 'The image preprocessor is closed.');
    }
    this.#worker ??= this.#start();
    const images = job.images.map(withOwnData);
    const id = this.#nextId++;
    const request: WorkerRequest = { id, job: { ...job, images: images.map(({ image }) => image) } };
    this.#worker.postMessage(
      request,
      images.map(({ buffer }) => buffer),
    );
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
  }

  /** Ends the worker; unfinished jobs are rejected. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(this.#workerFile);
    let reason: unknown;
    worker.on('message', ({ id, result }: WorkerReply) => {
      this.#pending.get(id)?.resolve(result);
      this.#pending.delete(id);
    });
    worker.on('error', error => {
      reason = error;
    });
    worker.on('exit', code => this.#onExit(code, reason));
    return worker;
  }

  #onExit(code: number, reason: unknown): void {
    this.#worker = null;
    const why = this.#closed ? 'closed' : reason instanceof Error ? reason.message : `exit code ${code}`;
    const error = new OxygenError('PREPROCESSOR_DOWN', `The image preprocessing worker ended: ${why}.`, {
      details: { exitCode: code },
      cause: reason,
    });
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}
