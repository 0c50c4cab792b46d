/** Checkers of a schedule that is played: they count for themselves and are told nothing by the policy. */
import type { LanguageRequest } from '../../src/core/types';
import type { Bench } from './bench';
import { hash, soloTokens, type Run } from './fake-executor';
import { COSTS, STANDING, STOP_IDS, type Schedule } from './schedule';

export interface Asked extends Pick<
  LanguageRequest,
  'seedIds' | 'maxTokens' | 'temperature' | 'topK' | 'topP'
> {
  readonly samplingSeed: number;
  readonly deadlineMs: number | null;
  /** Null for a standing request: the scheduler alone knows. */
  readonly atMs: number | null;
}

/** Looks at every run as it begins: is it one that may run now? Counts for itself, from what was posted and run. */
export class Watch {
  readonly #bench: Bench;
  readonly #schedule: Schedule;
  #k: number;
  #hz: number;
  /** Decode steps that were asked for when the newest frame began. */
  #askedBefore = 0;
  #frame = -1;
  #beganMs = -Infinity;
  #playsUntilMs = -Infinity;
  /** A prefill of this frame was committed and its chunk has not come yet. */
  #owed = false;
  #epoch = 0;
  /** Posted; it counts from the next run on. */
  reset = false;

  constructor(bench: Bench, schedule: Schedule, hz: number) {
    this.#bench = bench;
    this.#schedule = schedule;
    this.#k = schedule.k;
    this.#hz = hz;
    bench.onRun = run => this.#onRun(run);
    bench.onEvent = e => {
      if (e.type !== 'chunk') return;
      const played = Math.max(0, Math.min(this.#playsUntilMs, e.atMs) - this.#beganMs);
      this.#playsUntilMs = e.atMs - played + schedule.executeMs;
      this.#owed = false;
      const prompt = bench.prompts.get(e.frame.stampNs) ?? [];
      if (e.actions[0] !== hash(prompt)) this.#wrong(`actions of frame ${e.frame.id} saw another prefix`);
    };
  }

  tuned(k: number, hz: number): void {
    [this.#k, this.#hz] = [k, hz];
  }

  /** Between two runs something must be asked for, unless the cap forbids it. */
  idle(): void {
    const now = this.#bench.time.now();
    if (!this.#bench.executor.busy && this.#bench.credit === 'none' && now > this.#pacedMs + 1)
      this.#wrong(`nothing runs and nothing was asked for`);
  }

  get #pacedMs(): number {
    return this.#hz > 0 ? this.#beganMs + 1000 / this.#hz : -Infinity;
  }

  #onRun(run: Run): void {
    if (this.reset) this.#playsUntilMs = -Infinity;
    this.reset = false;
    if (run.kind === 'prefill' && run.frame!.id > this.#frame) {
      if (run.atMs < this.#pacedMs) this.#wrong('a frame began before the cap allows');
      this.#askedBefore = this.#bench.executor.asked;
      this.#frame = run.frame!.id;
      this.#beganMs = run.atMs;
      this.#owed = true;
      this.#epoch = this.#bench.epoch;
      return;
    }
    if (run.kind === 'denoise') {
      if (!this.#owed) return this.#wrong('a chunk was made twice');
      this.#owed = false;
      return;
    }
    this.#language(run);
  }

  #language(run: Run): void {
    const s = this.#schedule;
    const across = s.mode === 'oxygen';
    if (!across && run.batch > 1) return this.#wrong(`a batch of ${run.batch} in mode ${s.mode}`);
    if (run.kind === 'prefill' && s.mode !== 'isolated') return this.#wrong('a frame was prefilled twice');
    const snapshot = this.#bench.scheduler.snapshot();
    if (snapshot.owed) return this.#wrong('language ran before the chunk');
    if (run.steps > 1 && this.#bench.credit !== 'none')
      return this.#wrong(`${run.steps} steps in one run, while a frame may come at any moment`);
    if (this.#bench.credit === 'starved') return;
    if (snapshot.waiting && run.atMs >= this.#pacedMs)
      return this.#wrong('language ran before a frame that came');
    if (!across) return;
    const sameEpoch = this.#epoch === this.#bench.epoch;
    const asked = this.#bench.executor.asked - this.#askedBefore;
    // the step that a decode run is made for has been asked for already
    const steps = run.kind === 'decode' ? asked - 1 + run.steps : asked + 1;
    if (sameEpoch && steps <= this.#k) return;
    const chunkMs = COSTS.prefill + COSTS.denoise + this.#bench.costs.expected('ask');
    const chunkDueMs = s.auto && sameEpoch ? this.#playsUntilMs - 1.05 * chunkMs : -Infinity;
    const over = run.atMs + run.ms - Math.max(chunkDueMs, this.#pacedMs);
    if (over > 1e-6) this.#wrong(`a ${run.kind} ended ${over} ms after the frame was due`);
  }

  #wrong(what: string): void {
    this.#bench.violations.push(`${what} at ${this.#bench.time.now()} ms`);
  }
}

/** All that may go wrong in a schedule; anything else that a run or a commit threw is a bug. */
const FAULTS =
  /broken run|Failed to allocate|no unfinished language request|is running already|needs \d+ positions|queue holds/;

/** Every request ended once, for a reason that fits, and said what it would have said alone. */
export function checkTexts(bench: Bench, asked: ReadonlyMap<string, Asked>): void {
  interface Said {
    readonly tokens: number[];
    firstMs: number | null;
    stampNs: bigint | null;
    ended: boolean;
  }
  // no run can be interrupted
  const longestMs = Math.max(COSTS.prefill, ...bench.executor.runs.map(run => run.ms));
  const said = new Map<string, Said>();
  const of = (id: string): Said => {
    const known = said.get(id) ?? { tokens: [], firstMs: null, stampNs: null, ended: false };
    said.set(id, known);
    return known;
  };
  for (const e of bench.events) {
    if (e.type === 'token') {
      const text = of(e.id);
      if (text.ended) throw new Error(`${e.id} spoke after its end`);
      if (e.sequence !== text.tokens.length) throw new Error(`${e.id} has a gap at ${e.sequence}`);
      if (STOP_IDS.includes(e.tokenId)) throw new Error(`${e.id} announced a stop id`);
      if (text.stampNs !== null && text.stampNs !== e.frameStampNs) throw new Error(`${e.id} changed frames`);
      text.tokens.push(e.tokenId);
      text.firstMs ??= e.atMs;
      text.stampNs = e.frameStampNs;
    } else if (e.type === 'drop') {
      if (!FAULTS.test(e.error.message)) throw e.error;
    } else if (e.type === 'done') {
      if (e.error && !FAULTS.test(e.error.message)) throw e.error;
      const text = of(e.id);
      if (text.ended) throw new Error(`${e.id} ended twice`);
      text.ended = true;
      const r = asked.get(e.id) ?? standingOf(e.id);
      if (e.sequence !== text.tokens.length) throw new Error(`${e.id} ended at another number`);
      const count = text.tokens.length + (e.reason === 'end' ? 1 : 0);
      const prompt = bench.prompts.get(e.frameStampNs);
      if (prompt) {
        const solo = soloTokens(prompt, r.seedIds, count, r);
        if (text.tokens.some((token, i) => token !== solo[i])) throw new Error(`${e.id} said ${text.tokens}, alone ${solo}`); // prettier-ignore
        if (e.reason === 'end' && !STOP_IDS.includes(solo.at(-1)!)) throw new Error(`${e.id} had not ended`);
      } else if (count > 0) throw new Error(`${e.id} spoke of no frame`);
      if ((e.reason === 'length') !== (text.tokens.length === r.maxTokens))
        throw new Error(`${e.id} of ${r.maxTokens} ended ${e.reason} after ${text.tokens.length}`);
      if (e.reason === 'deadline' && (r.atMs !== null && e.atMs < r.deadlineMs!)) throw new Error(`${e.id} ended early`); // prettier-ignore
      if (r.deadlineMs !== null && e.atMs > Math.max(r.deadlineMs, r.atMs ?? 0) + longestMs + 1)
        throw new Error(`${e.id} outlived its deadline`);
      if (r.atMs === null) continue;
      if (e.totalMs !== e.atMs - r.atMs) throw new Error(`${e.id} took another time`);
      if (e.firstTokenMs !== (text.firstMs === null ? null : text.firstMs - r.atMs))
        throw new Error(`${e.id} began at another time`);
    }
  }
  for (const id of [...asked.keys(), ...said.keys()])
    if (said.get(id)?.ended !== true) throw new Error(`${id} never ended`);
}

function standingOf(id: string): Asked {
  const known = STANDING.find(r => id.startsWith(`${r.name}/`));
  if (!known) throw new Error(`nobody asked for ${id}`);
  return { ...known, atMs: null, deadlineMs: null };
}
