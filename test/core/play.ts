/** Plays a random schedule with the checkers looking on. */
import { OxygenError } from '../../src/core/errors';
import type { CostTable } from '../../src/core/run-costs';
import { auto, Bench, fixed, request } from './bench';
import type { Costs, Run } from './fake-executor';
import { COSTS, LIMIT_MS, SCRIPT_MS, STANDING, STOP_IDS, TABLE, type Schedule } from './schedule';
import { checkTexts, Watch, type Asked } from './schedule-checks';

/** How the played engine works and what its runs take. */
export interface Engine {
  readonly costs: Costs;
  readonly table: CostTable;
  readonly wrap: ConstructorParameters<typeof Bench>[5];
}

const STEPWISE: Engine = { costs: COSTS, table: TABLE, wrap: undefined };

/** Plays the schedule to its end; throws at the first thing that is wrong. `spoil` may break the bench on purpose. */
export function play(
  s: Schedule,
  spoil: (bench: Bench) => void = () => undefined,
  { costs, table, wrap }: Engine = STEPWISE,
): Bench {
  const tokensPerFrame = (k: number) => (s.auto ? auto(k) : fixed(k));
  const first = {
    tokensPerFrame: tokensPerFrame(s.k),
    replanRateHz: 0,
    executeMs: s.executeMs,
    standing: [],
  };
  const bench = new Bench(
    { mode: s.mode, tunables: first, maxQueue: s.maxQueue, stopIds: STOP_IDS, ageingMs: s.ageingMs }, // prettier-ignore
    costs,
    s.maxRequests,
    { periodMs: s.periodMs, latencyMs: s.latencyMs },
    table,
    wrap,
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
