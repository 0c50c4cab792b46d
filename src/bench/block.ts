/** Runs one block through the real scheduler: a frame is always at hand, requests come with their frames. */
import { lastValueFrom, tap } from 'rxjs';
import { greedyRequest } from '../core/requests';
import type { SchedulerEvent } from '../core/scheduler-io';
import { deploy, type Deployment, type EngineSessions } from '../engine/deployment';
import type { RunMonitor } from '../engine/run-watch';
import { longest } from './arrivals';
import { readEnergy, spentJoules } from './energy';
import { requestsOf, rowsOf, type Block, type Frames } from './workload';

/** A counted frame: from its start to the start of the next. */
export interface FrameMeasure {
  readonly ms: number;
  /** Start to chunk. */
  readonly firstActionMs: number;
  /** Inside model runs. */
  readonly runMs: number;
  /** Said by all requests. */
  readonly tokens: number;
  readonly decodeSteps: number;
  /** Sum over the steps of their rows. */
  readonly rowSteps: number;
  readonly batch: number;
}

/** A request that came with a counted frame; it may have ended after the last of them. */
export interface RequestMeasure {
  readonly id: string;
  readonly tokenIds: readonly number[];
  /** Top-2 margin of each token. */
  readonly margins: readonly number[];
  readonly firstTokenMs: number;
  readonly totalMs: number;
}

export interface BlockResult {
  readonly frames: readonly FrameMeasure[];
  readonly requests: readonly RequestMeasure[];
  /** Of the counted frames, [H·A] each. */
  readonly chunks: readonly Float32Array[];
  /** Of this process during the counted frames. */
  readonly cpuSeconds: number;
  /** Of the machine during the counted frames; null: it does not tell. */
  readonly energyJoules: number | null;
  readonly kvBytes: number;
  /** What went wrong; the figures are worthless then. */
  readonly failures: readonly string[];
}

export interface BlockHooks {
  /** A frame is about to start; `ready` is called when it may. */
  readonly frame: (ready: () => void) => void;
}

export async function runBlock(
  sessions: EngineSessions,
  frames: Frames,
  block: Block,
  hooks: BlockHooks,
): Promise<BlockResult> {
  const recorder = new Recorder(block, frames, hooks);
  const deployment = deploy(sessions, deploymentOptions(sessions, block), recorder.monitor);
  const { scheduler, cache } = deployment;
  const finished = lastValueFrom(
    scheduler.events$.pipe(tap(event => recorder.onEvent(event, scheduler))),
    { defaultValue: null }, // prettier-ignore
  );
  scheduler.post({ type: 'epoch', epoch: 0, endAll: false });
  await finished;
  return recorder.result(cache.bytes);
}

function deploymentOptions({ manifest }: Pick<EngineSessions, 'manifest'>, b: Block) {
  return {
    attention: manifest.attention,
    denoiseSteps: b.denoiseSteps,
    seed: BigInt(b.seed),
    cameras: manifest.model.cameraSlots.length,
    maxRequests: rowsOf(b),
    maxQueue: Number.MAX_SAFE_INTEGER,
    maxTokens: longest(b.arrivals, b.tokens),
    maxSeedTokens: 0,
    mode: b.mode,
    tunables: { tokensPerFrame: b.tokensPerFrame, replanRateHz: 0, executeMs: b.executeMs, standing: [] },
    ageingMs: 0,
    stopIds: [],
  };
}

type Running = { -readonly [K in keyof FrameMeasure]: FrameMeasure[K] };

/** Answers the scheduler and takes the time. Frames are numbered from -warmUp; those from 0 on count. */
class Recorder {
  readonly #block: Block;
  readonly #frames: Frames;
  readonly #hooks: BlockHooks;
  readonly #measures: FrameMeasure[] = [];
  readonly #chunks: Float32Array[] = [];
  readonly #open = new Set<string>();
  readonly #texts = new Map<string, { tokenIds: number[]; margins: number[] }>();
  readonly #requests: RequestMeasure[] = [];
  readonly #failures: string[] = [];
  #next: number;
  #startMs = 0;
  #running: Running = emptyFrame();
  /** Requests that the present decode step gave a token; a run may hold several steps. */
  readonly #step = new Set<string>();
  #before = resources();
  #spent = { cpuSeconds: 0, energyJoules: null as number | null };
  #draining = false;

  /** Sees every model run. */
  readonly monitor: RunMonitor = {
    begin: () => this.#step.clear(),
    end: (_, ms) => {
      this.#running.runMs += ms;
    },
  };

  constructor(block: Block, frames: Frames, hooks: BlockHooks) {
    this.#block = block;
    this.#frames = frames;
    this.#hooks = hooks;
    this.#next = -block.warmUp;
  }

  onEvent(e: SchedulerEvent, scheduler: Deployment['scheduler']): void {
    switch (e.type) {
      case 'ask':
        return this.#onAsk(scheduler);
      case 'chunk':
        this.#running.firstActionMs = performance.now() - this.#startMs;
        if (this.#next > 0 && !this.#draining) this.#chunks.push(e.actions.slice());
        return;
      case 'token': {
        this.#running.tokens += 1;
        // The first token comes of the prefix, every other one is a row of a decode step.
        if (e.sequence > 0) {
          if (this.#step.has(e.id)) this.#step.clear();
          if (this.#step.size === 0) this.#running.decodeSteps += 1;
          this.#step.add(e.id);
          this.#running.rowSteps += 1;
          this.#running.batch = Math.max(this.#running.batch, this.#step.size);
        }
        const text = this.#texts.get(e.id);
        text?.tokenIds.push(e.tokenId);
        text?.margins.push(e.margin);
        return;
      }
      case 'done':
        return this.#onDone(e, scheduler);
      case 'drop':
      case 'language-off':
        this.#failures.push(e.error.message);
        return;
      case 'frame-end':
    }
  }

  result(kvBytes: number): BlockResult {
    return {
      frames: this.#measures,
      requests: this.#requests,
      chunks: this.#chunks,
      ...this.#spent,
      kvBytes,
      failures: this.#failures,
    };
  }

  /** A frame is due: the one before has ended. */
  #onAsk(scheduler: Deployment['scheduler']): void {
    if (this.#draining) return scheduler.post({ type: 'no-frame' });
    if (this.#next > 0) this.#measures.push({ ...this.#running, ms: performance.now() - this.#startMs });
    if (this.#next === 0) this.#before = resources();
    if (this.#next < this.#block.frames) return this.#hooks.frame(() => this.#start(scheduler));
    this.#spent = spentSince(this.#before);
    this.#draining = true;
    if (this.#open.size === 0) return scheduler.close();
    scheduler.post({ type: 'no-frame' });
  }

  #start(scheduler: Deployment['scheduler']): void {
    const index = this.#next++;
    const asked = requestsOf(this.#block, index);
    const frame = this.#frames.at(this.#block.first + index);
    for (const { id } of asked) {
      this.#open.add(id);
      if (index >= 0) this.#texts.set(id, { tokenIds: [], margins: [] });
    }
    this.#running = emptyFrame();
    this.#startMs = performance.now();
    for (const a of asked) scheduler.post({ type: 'request', request: greedyRequest(a.id, a.tokens) });
    scheduler.post({ type: 'frame', frame });
  }

  #onDone(e: Extract<SchedulerEvent, { type: 'done' }>, scheduler: Deployment['scheduler']): void {
    const { id, reason, firstTokenMs, totalMs, error } = e;
    this.#open.delete(id);
    if (reason !== 'length' || firstTokenMs === null)
      this.#failures.push(`request ${id} ended ${reason}${error ? `: ${error.message}` : ''}`);
    const text = this.#texts.get(id);
    if (text && firstTokenMs !== null) this.#requests.push({ id, ...text, firstTokenMs, totalMs });
    if (this.#draining && this.#open.size === 0) scheduler.close();
  }
}

const emptyFrame = (): Running => ({
  ms: 0,
  firstActionMs: 0,
  runMs: 0,
  tokens: 0,
  decodeSteps: 0,
  rowSteps: 0,
  batch: 0,
});

const resources = () => ({ cpu: process.cpuUsage(), energy: readEnergy() });

function spentSince(before: ReturnType<typeof resources>) {
  const { user, system } = process.cpuUsage(before.cpu);
  return { cpuSeconds: (user + system) / 1e6, energyJoules: spentJoules(before.energy, readEnergy()) };
}
