/** The node's side of the engine process: starts it, watches it, starts it again, and never lets a request vanish. */
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { Subject, type Observable } from 'rxjs';
import { OxygenError, type ErrorCode } from '../core/errors';
import type { EngineInfo, EngineOptions, FromEngine, ToEngine } from './protocol';
import { Watchdog } from './watchdog';

export type EngineEvent =
  | FromEngine
  | { readonly type: 'up'; readonly info: EngineInfo }
  | { readonly type: 'down'; readonly reason: string; readonly willRestart: boolean };

/** A request that was sent, or that the engine asks itself and that has spoken. */
interface OpenRequest {
  /** Next sequence number. */
  readonly sequence: number;
  readonly frameStampNs: bigint;
  /** When it was sent, or first heard. */
  readonly sinceMs: number;
  readonly firstTokenMs: number | null;
}

export interface EngineClient {
  /** Every request that was sent or has spoken gets exactly one `done`, also when the process dies. */
  readonly events$: Observable<EngineEvent>;
  readonly restarts: number;
  /** Why the process ended last; empty while it never did. */
  readonly lastError: string;
  /** It failed too often: no further start is tried. */
  readonly givenUp: boolean;
  readonly pid: number | undefined;
  /** Resolves when the engine is ready; rejects with an OxygenError when it cannot be loaded. */
  start(): Promise<EngineInfo>;
  /** False while the process is down: nothing was sent. */
  send(message: ToEngine): boolean;
  /** Cooperative: the present run is finished, then the process exits. */
  stop(): Promise<void>;
}

/** Failures in a row after which the engine stays down. */
const MAX_FAILURES = 5;
const FIRST_BACKOFF_MS = 250;
const LONGEST_BACKOFF_MS = 30_000;
/** Chunks after which the engine counts as healthy again. */
const HEALTHY_CHUNKS = 10;
const STOP_TIMEOUT_MS = 4_000;

export function createEngineClient(options: EngineOptions, log: (line: string) => void): EngineClient {
  return new ForkedEngine(options, log);
}

class ForkedEngine implements EngineClient {
  readonly #events$ = new Subject<EngineEvent>();
  readonly events$ = this.#events$.asObservable();
  readonly #log: (line: string) => void;
  readonly #open = new Map<string, OpenRequest>();
  readonly #watchdog = new Watchdog(
    () => performance.now(),
    reason => this.#kill(reason),
  );
  #options: EngineOptions;
  /** What the present process was started with. */
  #configured: EngineOptions;
  #child: ChildProcess | null = null;
  #ready = false;
  #epoch: ToEngine | null = null;
  #failures = 0;
  #goodChunks = 0;
  #restarts = 0;
  #lastError = '';
  #givenUp = false;
  #stopping = false;
  #retry: NodeJS.Timeout | null = null;
  #killReason: string | null = null;
  #fatal: { code: ErrorCode; message: string } | null = null;
  #first: { resolve: (info: EngineInfo) => void; reject: (error: OxygenError) => void } | null = null;

  constructor(options: EngineOptions, log: (line: string) => void) {
    this.#options = this.#configured = options;
    this.#log = log;
  }

  get restarts(): number {
    return this.#restarts;
  }

  get lastError(): string {
    return this.#lastError;
  }

  get givenUp(): boolean {
    return this.#givenUp;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  start(): Promise<EngineInfo> {
    return new Promise((resolve, reject) => {
      this.#first = { resolve, reject };
      this.#spawn();
    });
  }

  send(message: ToEngine): boolean {
    // What must survive a restart.
    if (message.type === 'tunables') this.#options = { ...this.#options, tunables: message.tunables };
    if (message.type === 'epoch') this.#epoch = message;
    if (!this.#ready || !this.#child?.connected) return false;
    if (message.type === 'request') this.#open.set(message.request.id, unheard());
    this.#child.send(message);
    return true;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#watchdog.stop();
    if (this.#retry) clearTimeout(this.#retry);
    const child = this.#child;
    if (child?.pid === undefined) return;
    const exited = new Promise<void>(resolve => child.once('exit', () => resolve()));
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    if (child.connected) child.send({ type: 'stop' } satisfies ToEngine);
    else child.kill('SIGTERM');
    if (!this.#ready) child.kill('SIGKILL'); // loading cannot be interrupted in another way, and nothing is lost
    await exited;
    clearTimeout(timer);
  }

  #spawn(): void {
    this.#fatal = null;
    this.#killReason = null;
    const child = fork(join(__dirname, 'process.js'), [], {
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child = child;
    child.on('message', messages => (messages as FromEngine[]).forEach(m => this.#onMessage(m)));
    child.on('exit', (code, signal) =>
      this.#onExit(signal ? `was ended by ${signal}` : `ended with code ${String(code)}`),
    );
    child.on('error', error => {
      // One that never ran has no exit.
      if (child.pid === undefined && this.#child === child)
        this.#onExit(`could not be started: ${error.message}`);
      else this.#log(`engine process: ${error.message}`);
    });
    this.#configured = this.#options;
    if (child.pid !== undefined)
      child.send({ type: 'configure', options: this.#configured } satisfies ToEngine);
    this.#watchdog.start();
  }

  /** What was said while the process was loading. */
  #catchUp(): void {
    const { tunables } = this.#options;
    if (this.#epoch) this.#child?.send(this.#epoch);
    if (tunables !== this.#configured.tunables) this.#child?.send({ type: 'tunables', tunables });
  }

  #onMessage(message: FromEngine): void {
    this.#watchdog.heard(message);
    switch (message.type) {
      case 'ready':
        this.#ready = true;
        this.#catchUp();
        this.#first?.resolve(message.info);
        this.#first = null;
        this.#events$.next({ type: 'up', info: message.info });
        break;
      case 'fatal':
        this.#fatal = message;
        break;
      case 'token':
        this.#open.set(message.id, heard(message, this.#open.get(message.id) ?? unheard()));
        break;
      case 'done':
        this.#open.delete(message.id);
        break;
      case 'chunk':
        if (++this.#goodChunks >= HEALTHY_CHUNKS) this.#failures = 0;
        break;
      default:
    }
    this.#events$.next(message);
  }

  /** `how`: what became of the process. */
  #onExit(how: string): void {
    this.#watchdog.stop();
    this.#child = null;
    this.#ready = false;
    this.#goodChunks = 0;
    const reason =
      this.#killReason ??
      (this.#fatal ? `${this.#fatal.code}: ${this.#fatal.message}` : `the engine process ${how}`);
    this.#failOpenRequests(reason);
    if (this.#first) {
      this.#first.reject(new OxygenError(this.#fatal?.code ?? 'ENGINE_DOWN', this.#fatal?.message ?? reason));
      this.#first = null;
      return;
    }
    if (this.#stopping) return;
    this.#failures++;
    const willRestart = this.#failures < MAX_FAILURES;
    this.#lastError = reason;
    this.#givenUp = !willRestart;
    this.#events$.next({ type: 'down', reason, willRestart });
    if (!willRestart) {
      this.#log(`ENGINE_DOWN: ${reason}; ${this.#failures} failures in a row, giving up`);
      return;
    }
    const delay = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (this.#failures - 1));
    this.#log(`ENGINE_DOWN: ${reason}; starting again in ${delay} ms`);
    this.#retry = setTimeout(() => {
      this.#restarts++;
      this.#spawn();
    }, delay);
  }

  #failOpenRequests(reason: string): void {
    const open = [...this.#open];
    this.#open.clear();
    const error = { code: 'ENGINE_DOWN', message: reason } as const;
    for (const [id, { sinceMs, ...rest }] of open) {
      const totalMs = performance.now() - sinceMs;
      this.#events$.next({ type: 'done', id, reason: 'failed', text: '', error, totalMs, ...rest });
    }
  }

  #kill(reason: string): void {
    this.#killReason = reason;
    this.#child?.kill('SIGKILL');
  }
}

const unheard = (): OpenRequest => ({
  sequence: 0,
  frameStampNs: 0n,
  sinceMs: performance.now(),
  firstTokenMs: null,
});

const heard = (token: Extract<FromEngine, { type: 'token' }>, open: OpenRequest): OpenRequest => ({
  sequence: token.sequence + 1,
  frameStampNs: token.frameStampNs,
  sinceMs: open.sinceMs,
  firstTokenMs: open.firstTokenMs ?? performance.now() - open.sinceMs,
});
