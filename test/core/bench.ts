/** A scheduler in virtual time with a fake executor and a camera; invariants are checked as each run begins. */
import { VirtualTimeScheduler } from 'rxjs';
import { KvCache } from '../../src/core/kv-cache';
import type { Executor } from '../../src/core/ports';
import { RunCosts, type CostTable } from '../../src/core/run-costs';
import { Scheduler } from '../../src/core/scheduler';
import type { SchedulerEvent, SchedulerInput, SchedulerOptions } from '../../src/core/scheduler-io';
import type { Frame, LanguageRequest, StandingRequest, TokensPerFrame, Tunables } from '../../src/core/types';
import { FakeExecutor, SHAPE, type Costs, type Run } from './fake-executor';
import { checkInvariants, checkPlan } from './invariants';

export const COSTS: Costs = { prefill: 200, denoise: 50, seed: 5, decode: 10 };

export const fixed = (steps: number): TokensPerFrame => ({ kind: 'fixed', steps });
export const auto = (minSteps: number): TokensPerFrame => ({ kind: 'auto', minSteps });
export const tunables = (more: Partial<Tunables> = {}): Tunables => ({
  tokensPerFrame: fixed(5),
  replanRateHz: 0,
  executeMs: 0,
  standing: [],
  ...more,
});

export const OPTIONS: SchedulerOptions = {
  mode: 'oxygen',
  tunables: tunables(),
  maxQueue: 8,
  maxPrefixLength: 8,
  stopIds: [],
  ageingMs: 0,
};

const ASKED = {
  seedIds: [], maxTokens: 8, temperature: 0, topK: 0, topP: 1, samplingSeed: 0, priority: 0, keepOnInstruction: false,
}; // prettier-ignore
export const request = (id: string, more: Partial<LanguageRequest> = {}): LanguageRequest => ({
  id,
  deadlineMs: null,
  ...ASKED,
  ...more,
});
export const standing = (name: string, more: Partial<StandingRequest> = {}): StandingRequest => ({
  name,
  every: { kind: 'ended' },
  deadlineInMs: null,
  ...ASKED,
  ...more,
});

export type Timed<T> = T & { readonly atMs: number };

export interface Camera {
  /** A new picture every so many ms; 0: there is always one. */
  readonly periodMs: number;
  /** From asking to having it. */
  readonly latencyMs: number;
}

export class Bench {
  readonly time = new VirtualTimeScheduler();
  readonly costs: RunCosts;
  readonly executor: FakeExecutor;
  readonly cache: KvCache;
  readonly scheduler: Scheduler;
  readonly options: SchedulerOptions;
  readonly events: Timed<SchedulerEvent>[] = [];
  readonly prompts = new Map<bigint, readonly number[]>();
  /** `asked`: an answer is on its way; `starved`: there is no new picture. */
  credit: 'none' | 'asked' | 'starved' = 'none';
  epoch = 0;
  /** Prompt of frame `id`. */
  prompt = (id: number): readonly number[] => [2, 100 + (id % 7), 3 + id].slice(0, 2 + (id % 2));
  /** What should not have happened; `run` throws it, because an error in a subscriber would be reported too late. */
  readonly violations: string[] = [];
  onRun: ((run: Run) => void) | null = null;
  onEvent: ((e: Timed<SchedulerEvent>) => void) | null = null;
  readonly #camera: Camera;
  #frames = 0;
  /** Number of the newest picture that was used. */
  #shown = -1;

  constructor(
    options: Partial<SchedulerOptions> = {},
    costs: Partial<Costs> = {},
    maxRequests = 4,
    camera: Partial<Camera> = {},
    table: CostTable | null = null,
    /** What the scheduler runs, on top of the fake. */
    wrap: (fake: FakeExecutor, bench: Pick<Bench, 'costs' | 'time'>) => Executor = fake => fake,
  ) {
    this.costs = new RunCosts(table);
    this.#camera = { periodMs: 1000 / 30, latencyMs: 0, ...camera };
    this.options = { ...OPTIONS, ...options };
    this.executor = new FakeExecutor({ ...COSTS, ...costs }, this.time, this.costs);
    this.cache = new KvCache({ ...SHAPE, maxRequests, capacity: 40 });
    const { time, cache } = this;
    this.scheduler = new Scheduler(wrap(this.executor, this), cache, time, this.costs, this.options, time);
    this.executor.onRun = run => {
      this.#check();
      this.onRun?.(run);
    };
    this.scheduler.events$.subscribe(e => {
      const event = { ...e, atMs: time.now() };
      this.events.push(event);
      if (e.type === 'ask') this.#onAsk();
      this.onEvent?.(event);
    });
  }

  frame(): Frame {
    const id = this.#frames++;
    const promptIds = this.prompt(id);
    const stampNs = BigInt(id + 1);
    this.prompts.set(stampNs, promptIds);
    return { id, stampNs, epoch: this.epoch, cameras: [], images: new Uint8Array(), promptIds };
  }

  post(input: SchedulerInput): void {
    this.scheduler.post(input);
  }

  ask(id: string, more: Partial<LanguageRequest> = {}): void {
    this.post({ type: 'request', request: request(id, more) });
  }

  tune(more: Partial<Tunables>): void {
    this.post({ type: 'tunables', tunables: { ...this.options.tunables, ...more } });
  }

  at(ms: number, act: () => void): void {
    this.time.schedule(act, Math.max(0, ms));
  }

  /** Starts the scheduler and lets virtual time pass. */
  run(untilMs: number): this {
    this.at(0, () => this.post({ type: 'no-frame' }));
    this.time.maxFrames = untilMs;
    this.time.flush();
    this.#check();
    if (this.violations.length > 0) throw new Error(this.violations[0]);
    return this;
  }

  of<T extends SchedulerEvent['type']>(type: T): Timed<Extract<SchedulerEvent, { type: T }>>[] {
    return this.events.filter((e): e is Timed<Extract<SchedulerEvent, { type: T }>> => e.type === type);
  }

  tokens(id: string): number[] {
    return this.of('token')
      .filter(t => t.id === id)
      .map(t => t.tokenId);
  }

  /** The one end of a request; undefined while it is open. */
  end(id: string): Timed<Extract<SchedulerEvent, { type: 'done' }>> | undefined {
    const ends = this.of('done').filter(d => d.id === id);
    if (ends.length > 1) throw new Error(`${id} ended ${ends.length} times`);
    return ends[0];
  }

  /** Times from a frame's begin to the next one's. */
  frameMs(): number[] {
    const begun = this.executor.runs.filter(
      (run, i, runs) =>
        run.kind === 'prefill' && !runs.slice(0, i).some(before => before.frame?.id === run.frame?.id),
    );
    return begun.slice(1).map((run, i) => run.atMs - (begun[i]?.atMs ?? NaN));
  }

  #onAsk(): void {
    const { periodMs, latencyMs } = this.#camera;
    this.credit = 'asked';
    const picture = () => (periodMs === 0 ? this.#shown + 1 : Math.floor(this.time.now() / periodMs + 1e-6));
    const show = () => {
      this.#shown = picture();
      this.credit = 'none';
      this.post({ type: 'frame', frame: this.frame() });
    };
    const answer = () => {
      if (picture() > this.#shown) return show();
      this.credit = 'starved';
      this.post({ type: 'no-frame' });
      this.at((picture() + 1) * periodMs - this.time.now(), show);
    };
    if (latencyMs === 0) answer();
    else this.at(latencyMs, answer);
  }

  #check(): void {
    const cache = this.cache.snapshot();
    this.violations.push(
      ...checkInvariants(cache),
      ...checkPlan(this.scheduler.snapshot(), cache, this.options.maxQueue),
    );
  }
}
