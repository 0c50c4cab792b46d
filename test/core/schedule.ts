/** A random schedule of what can happen to a scheduler. */
import fc from 'fast-check';
import type { CostTable } from '../../src/core/run-costs';
import { MODES, type LanguageRequest, type Mode, type StandingRequest } from '../../src/core/types';
import { standing } from './bench';
import type { Costs, Run } from './fake-executor';

export type Action =
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

export const COSTS: Costs = { prefill: 20, denoise: 8, seed: 3, decode: 4, row: 1 };
/** The same, as an engine's builder would have measured it. */
export const TABLE: CostTable = { ...COSTS, vision: 0, decode: { 1: 5, 4: 8 } };
export const SCRIPT_MS = 200;
export const LIMIT_MS = 6000;
/** About one token in twenty ends a text. */
export const STOP_IDS = Array.from({ length: 1010 }, (_, id) => id).filter(id => id % 20 === 7);
export const STANDING: readonly StandingRequest[] = [
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
