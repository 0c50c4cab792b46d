/** The bench's side of one of its processes. */
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { OxygenError } from '../core/errors';
import type { FromChild, Order, Replies, ToChild } from './messages';

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: OxygenError) => void;
}

const STOP_TIMEOUT_MS = 3_000;

export class BenchProcess {
  readonly #child: ChildProcess;
  readonly #name: string;
  #waiting: Waiting | null = null;
  /** Why it is not there any more. */
  #ended: OxygenError | null = null;
  #onFrame: () => void = () => undefined;

  private constructor(name: string) {
    this.#name = name;
    this.#child = fork(join(__dirname, 'child.js'), [], {
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child.on('message', message => this.#onMessage(message as FromChild));
    this.#child.on('exit', (code, signal) => this.#onExit(signal ?? `code ${String(code)}`));
    this.#child.on('error', error => this.#onExit(error.message));
  }

  /** Resolves when the process runs and has not loaded anything yet. `name` is for messages. */
  static async start(name: string): Promise<BenchProcess> {
    const process = new BenchProcess(name);
    await new Promise<void>((resolve, reject) => (process.#waiting = { resolve, reject }));
    return process;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** `onFrame` is called when a frame of a block is about to start. Rejects with what went wrong there. */
  order<T extends Order>(order: T, onFrame: () => void = () => undefined): Promise<Replies[T['type']]> {
    this.#onFrame = onFrame;
    return new Promise((resolve, reject) => {
      // It may have ended while nobody waited for it.
      if (this.#ended) return reject(this.#ended);
      this.#waiting = { resolve, reject };
      this.#send(order);
    });
  }

  /** Lets a paced frame start. */
  go(): void {
    this.#send({ type: 'go' });
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise<void>(resolve => child.once('exit', () => resolve()));
    this.#send({ type: 'stop' });
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
  }

  #send(message: ToChild): void {
    if (this.#child.connected) this.#child.send(message);
  }

  #onMessage(message: FromChild): void {
    switch (message.type) {
      case 'frame':
        return this.#onFrame();
      case 'started':
        return this.#settle(({ resolve }) => resolve(undefined as never));
      case 'reply':
        return this.#settle(({ resolve }) => resolve(message.value as never));
      case 'failed':
        return this.#settle(({ reject }) => reject(new OxygenError(message.code, message.message)));
    }
  }

  #onExit(how: string): void {
    const hint = how === 'SIGKILL' ? '; memory may have run out' : '';
    const ended = new OxygenError(
      'ENGINE_DOWN',
      `the bench process for ${this.#name} was ended by ${how}${hint}`,
    );
    this.#ended ??= ended;
    this.#settle(({ reject }) => reject(ended));
  }

  #settle(how: (waiting: Waiting) => void): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting) how(waiting);
  }
}
