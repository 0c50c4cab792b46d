/** A random schedule of what can happen to a scheduler, and a checker that is told nothing by the policy itself. */
import fc from 'fast-check';
import { OxygenError } from '../../src/core/errors';
import type { CostTable } from '../../src/core/run-costs';
import { MODES, type LanguageRequest, type Mode, type StandingRequest } from '../../src/core/types';
import { auto, Bench, fixed, request, standing } from './bench';
import { hash, soloTokens, type Costs, type Run } from './fake-executor';

type Action =
  | { readonly do: 'request'; readonly more: Partial<LanguageRequest>; readonly inMs: number | null }
  | { readonly do: 'cancel'; readonly pick: number }
  | { readonly do: 'epoch'; readonly all: boolean }
  | { readonly do: 'tune'; readonly k: number; readonly hz: number; readonly standing: number }
  | { readonly do: 'fail'; readonly kind: Run['kind']; readonly times: number; readonly memory: boolean };

export interface Schedule {
  readonly mode: Mode;
  readonly auto: boolean;
  readonly k: number;
  readonly executeMs: number;
  readonly ageingMs: number;
  readonly maxRequests: number;
  readonly maxQueue: number;
  readonly periodMs: number;
  readonly latencyMs: number;
  /** No decode step finds memory. */
  readonly noMemory: boolean;
  readonly script: readonly (readonly [atMs: number, action: Action])[];
}

const COSTS: Costs = { prefill: 20, denoise: 8, seed: 3, decode: 4, row: 1 };
/** The same, as an engine's builder would have measured it. */
const TABLE: CostTable = { ...COSTS, vision: 0, decode: { 1: 5, 4: 8 } };
const SCRIPT_MS = 200;
const LIMIT_MS = 6000;
/** About one token in twenty ends a text. */
const STOP_IDS = Array.from({ length: 1010 }, (_, id) => id).filter(id => id % 20 === 7);
const STANDING: readonly StandingRequest[] = [
  standing('narration', { every: { kind: 'ended' }, maxTokens: 4 }),
  standing('subtask', {
    every: { kind: 'frames', frames: 2 },
    maxTokens: 2,
    seedIds: [31],
    deadlineInMs: 60,
  }),
];

const limits = fc.record({
  // 40 never fit
  maxTokens: fc.oneof(
    { weight: 15, arbitrary: fc.integer({ min: 1, max: 9 }) },
    { weight: 1, arbitrary: fc.constant(40) },
  ),
  seedIds: fc.array(fc.integer({ min: 10, max: 99 }), { maxLength: 3 }),
  priority: fc.integer({ min: 0, max: 2 }),
  keepOnInstruction: fc.boolean(),
  temperature: fc.constantFrom(0, 0, 1.5),
  topK: fc.constantFrom(0, 2),
  samplingSeed: fc.nat(5),
});
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('request' as const), more: limits, inMs: fc.option(fc.integer({ min: 0, max: 150 }), { freq: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), pick: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('epoch' as const), all: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('tune' as const), k: fc.integer({ min: 1, max: 6 }), hz: fc.constantFrom(0, 0, 12), standing: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fail' as const), kind: fc.constantFrom('prefill' as const, 'denoise' as const, 'seed' as const, 'decode' as const, 'decode' as const), times: fc.constantFrom(1, 2, 12), memory: fc.boolean() }) },
); // prettier-ignore

/** Rare, and wrong once: a frame that fails between two instructions, while a text goes on. */
const lost = fc.oneof(
  { weight: 30, arbitrary: fc.constant([]) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.nat(100), fc.nat(40), fc.nat(40))
      .map(([at, failAt, nextAt]): [number, Action][] => [
        [0, { do: 'request', more: { maxTokens: 9, keepOnInstruction: true, priority: 2 }, inMs: null }],
        [at, { do: 'epoch', all: false }],
        [at + failAt, { do: 'fail', kind: 'prefill', times: 1, memory: false }],
        [at + failAt + nextAt, { do: 'epoch', all: false }],
      ]),
  },
);

export const schedules: fc.Arbitrary<Schedule> = fc.record({
  mode: fc.constantFrom(...MODES, 'oxygen' as const),
  auto: fc.boolean(),
  k: fc.integer({ min: 1, max: 6 }),
  executeMs: fc.constantFrom(0, 60, 120),
  ageingMs: fc.constantFrom(0, 50),
  maxRequests: fc.integer({ min: 1, max: 4 }),
  maxQueue: fc.integer({ min: 1, max: 5 }),
  periodMs: fc.constantFrom(0, 33, 150),
  latencyMs: fc.constantFrom(0, 0, 7),
  noMemory: fc.integer({ min: 0, max: 15 }).map(n => n === 15),
  script: fc
    .tuple(fc.array(fc.tuple(fc.nat(SCRIPT_MS), action), { maxLength: 10 }), lost)
    .map(([script, more]) => [...script, ...more]),
});

interface Asked extends Pick<LanguageRequest, 'seedIds' | 'maxTokens' | 'temperature' | 'topK' | 'topP'> {
  readonly samplingSeed: number;
  readonly deadlineMs: number | null;
  /** Null for a standing request: the scheduler alone knows. */
  readonly atMs: number | null;
}

/** Plays the schedule to its end; throws at the first thing that is wrong. `spoil` may break the bench on purpose. */
export function play(s: Schedule, spoil: (bench: Bench) => void = () => undefined): Bench {
  const tokensPerFrame = (k: number) => (s.auto ? auto(k) : fixed(k));
  const first = { tokensPerFrame: tokensPerFrame(s.k), replanRateHz: 0, standing: [] };
  const bench = new Bench(
    { mode: s.mode, tunables: first, maxQueue: s.maxQueue, stopIds: STOP_IDS, executeMs: s.executeMs, ageingMs: s.ageingMs }, // prettier-ignore
    COSTS,
    s.maxRequests,
    { periodMs: s.periodMs, latencyMs: s.latencyMs },
    TABLE,
  );
  const asked = new Map<string, Asked>();
  const failures: { kind: Run['kind']; memory: boolean }[] = [];
  bench.executor.tamper = (run, token) => {
    if (s.noMemory && run.kind === 'decode') throw new OxygenError('OUT_OF_MEMORY', 'Failed to allocate');
    const i = failures.findIndex(f => f.kind === run.kind);
    const [failure] = i < 0 ? [] : failures.splice(i, 1);
    if (!failure) return token;
    throw failure.memory ? new OxygenError('OUT_OF_MEMORY', 'Failed to allocate') : new Error('broken run');
  };
  const watch = new Watch(bench, s, first.replanRateHz);
  spoil(bench);
  s.script.forEach(([atMs, a], i) =>
    bench.at(atMs, () => {
      if (a.do === 'request') {
        // Ids that look like integers: an object keyed by them would sort them.
        const deadlineMs = a.inMs === null ? null : atMs + a.inMs;
        const r = request(String(40 - i), { ...a.more, deadlineMs });
        asked.set(r.id, { ...r, atMs });
        bench.post({ type: 'request', request: r });
      } else if (a.do === 'cancel') {
        bench.post({ type: 'cancel', id: [...asked.keys()][a.pick] ?? 'narration/0' });
      } else if (a.do === 'epoch') {
        bench.epoch++;
        if (a.all) watch.reset = true;
        bench.post({ type: 'epoch', epoch: bench.epoch, endAll: a.all });
      } else if (a.do === 'tune') {
        watch.tuned(a.k, a.hz);
        bench.tune({
          tokensPerFrame: tokensPerFrame(a.k),
          replanRateHz: a.hz,
          standing: STANDING.slice(0, a.standing),
        });
      } else {
        for (let n = 0; n < a.times; n++) failures.push({ kind: a.kind, memory: a.memory });
      }
    }),
  );
  // At the end nothing is asked any more; the bench closes when all that was asked has ended.
  bench.at(SCRIPT_MS, () => {
    watch.tuned(s.k, 0);
    bench.tune({});
  });
  const tick = () => {
    watch.idle();
    const { active, queue } = bench.scheduler.snapshot();
    if (bench.time.now() > SCRIPT_MS + 20 && active.length + queue.length === 0) bench.scheduler.close();
    else bench.at(23, tick);
  };
  bench.at(23, tick);
  bench.run(LIMIT_MS);
  checkTexts(bench, asked);
  if (bench.cache.active > 0) throw new Error('a row leaked');
  return bench;
}

/** Looks at every run as it begins: is it one that may run now? Counts for itself, from what was posted and run. */
class Watch {
  readonly #bench: Bench;
  readonly #schedule: Schedule;
  #k: number;
  #hz: number;
  #steps = 0;
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
      this.#steps = 0;
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
    if (run.kind === 'decode') this.#steps++;
  }

  #language(run: Run): void {
    const s = this.#schedule;
    const across = s.mode === 'oxygen';
    if (!across && run.batch > 1) return this.#wrong(`a batch of ${run.batch} in mode ${s.mode}`);
    if (run.kind === 'prefill' && s.mode !== 'isolated') return this.#wrong('a frame was prefilled twice');
    const snapshot = this.#bench.scheduler.snapshot();
    if (snapshot.owed) return this.#wrong('language ran before the chunk');
    if (this.#bench.credit === 'starved') return;
    if (snapshot.waiting && run.atMs >= this.#pacedMs)
      return this.#wrong('language ran before a frame that came');
    if (!across) return;
    const sameEpoch = this.#epoch === this.#bench.epoch;
    if (sameEpoch && this.#steps < this.#k) return;
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
function checkTexts(bench: Bench, asked: ReadonlyMap<string, Asked>): void {
  interface Said {
    readonly tokens: number[];
    firstMs: number | null;
    stampNs: bigint | null;
    ended: boolean;
  }
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
      if (r.deadlineMs !== null && e.atMs > Math.max(r.deadlineMs, r.atMs ?? 0) + COSTS.prefill + 1)
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
