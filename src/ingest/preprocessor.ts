/** Decoding and resizing off the main thread, which belongs to ROS and the 70 Hz timer. */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { OxygenError } from '../core/errors';
import type { PreprocessImage, PreprocessJob, PreprocessResult } from './preprocess';
import type { WorkerReply, WorkerRequest } from './preprocess-worker';

export type { PreprocessFailure, PreprocessImage, PreprocessJob, PreprocessResult } from './preprocess';

const CLOSE_PATIENCE_MS = 1000;

interface Pending {
  readonly resolve: (result: PreprocessResult) => void;
  readonly reject: (error: OxygenError) => void;
}

const dataOf = (image: PreprocessImage): Uint8Array => (image.kind === 'raw' ? image.image.data : image.data);

const withData = (image: PreprocessImage, data: Uint8Array): PreprocessImage =>
  image.kind === 'raw' ? { ...image, image: { ...image.image, data } } : { ...image, data };

/**
 * One worker thread. Jobs are done in the order of `run`.
 *
 * Buffers: the job's data stays the caller's and may be reused as soon as `run` has returned its promise. The bytes
 * are copied once on the calling thread (about 0.2 ms per MB) into memory that goes to the worker and back; the result
 * belongs to the caller.
 */
export class Preprocessor {
  readonly #workerFile: string;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | null;
  /** Buffers of the last finished job: the next one has the same cameras, and fresh pages cost more than the copy. */
  #spares: ArrayBuffer[] = [];
  /** Settles with the newest job, and so with all: they are done in order. */
  #last: Promise<unknown> = Promise.resolve();
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
    if (this.#closed) throw new OxygenError('PREPROCESSOR_DOWN', 'The image preprocessor is closed.');
    const copies = job.images.map(image => this.#copy(dataOf(image)));
    const images = job.images.map((image, i) => withData(image, copies[i]!));
    const id = this.#nextId++;
    this.#worker ??= this.#start();
    this.#worker.postMessage(
      { id, job: { ...job, images } } satisfies WorkerRequest,
      copies.map(({ buffer }) => buffer),
    );
    const done = new Promise<PreprocessResult>((resolve, reject) =>
      this.#pending.set(id, { resolve, reject }),
    );
    this.#last = done.catch(() => undefined);
    return done;
  }

  /**
   * Lets the jobs end that run, then ends the worker: a native decode in a thread that is taken away can end the whole
   * process. Jobs that take longer than a second are rejected.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const late = new Promise<void>(resolve => setTimeout(resolve, CLOSE_PATIENCE_MS).unref());
    await Promise.race([this.#last, late]);
    await this.#worker?.terminate();
  }

  /** In memory of its own: a view would drag its whole buffer along, and what is transferred is not copied again. */
  #copy(data: Uint8Array): Uint8Array<ArrayBuffer> {
    const at = this.#spares.findIndex(spare => spare.byteLength === data.byteLength);
    const buffer = at === -1 ? new ArrayBuffer(data.byteLength) : this.#spares.splice(at, 1)[0]!;
    const copy = new Uint8Array(buffer);
    copy.set(data);
    return copy;
  }

  #start(): Worker {
    const worker = new Worker(this.#workerFile);
    let reason: unknown;
    worker.on('message', ({ id, result, buffers }: WorkerReply) => {
      this.#spares = buffers;
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
    const why = this.#closed ? 'closed' : reason === undefined ? `exit code ${code}` : String(reason);
    const error = new OxygenError('PREPROCESSOR_DOWN', `The image preprocessing worker ended: ${why}.`, {
      details: { exitCode: code },
      cause: reason,
    });
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}
