/** Any result that a replay may give: nothing at all, tiny and huge figures, names and texts of any characters. */
import fc from 'fast-check';
import { ACTION_KINDS, END_REASONS, MODES } from '../../src/core/types';
import { PACES, type ActionSeries, type ReplayResult } from '../../src/replay/result';

const amount = fc.oneof(
  fc.double({ min: 0, max: 1e6, noNaN: true }),
  fc.double({ min: 0, max: 1e-3, noNaN: true }),
  fc.constantFrom(0, 1, 99.95, 999.5, 1e9),
);
const signed = fc.oneof(fc.double({ min: -1e3, max: 1e3, noNaN: true }), fc.constantFrom(0, -1e9, 1e9, 1e-9));
const words = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom('', 'הרם את הקובייה', '把红色方块放好'),
);
const seconds = fc.double({ min: 0, max: 4000, noNaN: true });
const share = fc.double({ min: 0, max: 1, noNaN: true });
const quantiles = fc.option(
  fc.record({ count: fc.nat(), mean: amount, p50: amount, p95: amount, p99: amount, max: amount }),
);
const histogram = fc.record({
  from_ms: amount,
  bin_ms: fc.double({ min: 1e-3, max: 1e3, noNaN: true }),
  counts: fc.array(fc.nat(1e6), { maxLength: 40 }),
});
const kind = fc.constantFrom(...ACTION_KINDS);
const maybe = fc.option(amount);
const comparison = fc.record({
  topic: words,
  type: words,
  used: fc.nat(),
  refused: fc.nat(3),
  refusal: words,
  joints: fc.array(fc.record({ name: words, kind, mae: maybe, rmse: maybe, max: maybe, count: fc.nat() }), {
    maxLength: 33,
  }),
  horizon: fc.array(
    fc.record({
      step: fc.nat(100),
      mae: fc.array(maybe, { maxLength: 4 }),
      rmse: fc.array(maybe, { maxLength: 4 }),
      count: fc.nat(),
    }),
    { maxLength: 12 },
  ),
});
const actions: fc.Arbitrary<ActionSeries> = fc
  .record({
    name: words,
    kind,
    min: signed,
    size: fc.double({ min: 1e-3, max: 1e4, noNaN: true }),
    points: fc.array(fc.tuple(seconds, fc.option(signed), fc.option(signed)), { maxLength: 60 }),
  })
  .map(({ points, size, ...a }) => {
    const ordered = points.sort(([x], [y]) => x - y);
    return {
      ...a,
      max: a.min + size,
      t: ordered.map(p => p[0]),
      replayed: ordered.map(p => p[1]),
      recorded: ordered.map(p => p[2]),
    };
  });
const text = fc.record({
  id: fc.oneof(
    words,
    fc.tuple(fc.constantFrom('scene', 'subtask', '<i>'), fc.nat(500)).map(([name, i]) => `${name}/${i}`),
  ),
  standing: fc.option(fc.constantFrom('scene', 'subtask', '<i>')),
  seed: words,
  text: words,
  from_s: seconds,
  to_s: fc.option(seconds),
  reason: fc.option(fc.constantFrom(...END_REASONS)),
  tokens: fc.nat(500),
});
const rates = fc.array(fc.tuple(amount, amount, amount, amount), { maxLength: 50 }).map(rows => ({
  every_s: 1.5,
  t: rows.map((_, i) => i * 1.5),
  replan_hz: rows.map(r => r[0]),
  tokens_per_s: rows.map(r => r[1]),
  batch: rows.map(r => r[2]),
  drops: rows.map(r => r[3]),
}));
const bag = fc
  .record({
    name: words,
    storage: fc.constantFrom('mcap', 'sqlite3'),
    messages: fc.nat(),
    times: fc.tuple(seconds, seconds, seconds),
  })
  .map(({ times, ...b }) => {
    const [from_s = 0, to_s = 0, duration_s = 0] = times.sort((x, y) => x - y);
    return { ...b, from_s, to_s, duration_s };
  });

export const anyResult: fc.Arbitrary<ReplayResult> = fc.record({
  summary: fc.record({
    bag,
    settings: fc.record({
      engine: words, precision: words, provider: words, robot: words, pace: fc.constantFrom(...PACES), mode: fc.constantFrom(...MODES),
      tokens_per_frame: fc.constantFrom(0, 5, 'auto' as const), seed: fc.constantFrom('0', '18446744073709551615'), denoise_steps: fc.nat(),
      threads: fc.nat(), cost: fc.option(words), options: fc.array(words, { maxLength: 3 }),
    }),
    partial: fc.boolean(),
    faults: fc.array(fc.record({ code: fc.constantFrom('BAG_DAMAGED', 'BAG_DISORDER', '<b>'), message: words }), { maxLength: 12 }),
    notes: fc.array(words, { maxLength: 2 }),
    frames: fc.nat(), chunks: fc.nat(), actions: fc.nat(), fresh_ratio: share, tokens: fc.nat(),
    requests: fc.record({ finished: fc.nat(), by_reason: fc.dictionary(fc.constantFrom(...END_REASONS), fc.nat()), open: fc.nat() }),
    drops: fc.dictionary(fc.constantFrom('IMAGE_CORRUPT', 'CHUNK_STALE', 'toString', 'of another day'), fc.nat()),
    rates: fc.record({ action_hz: amount, replan_hz: amount, tokens_per_s: amount, batch_mean: amount, batch_max: fc.nat(), tokens_per_frame_mean: amount }),
    latency: fc.record({ chunk_ms: quantiles, first_token_ms: quantiles, request_ms: quantiles }),
    comparison: fc.option(comparison),
  }),
  series: fc.record({
    actions: fc.array(actions, { maxLength: 14 }),
    instructions: fc.array(fc.record({ t: seconds, text: words }), { maxLength: 6 }).map(all => all.sort((a, b) => a.t - b.t)),
    texts: fc.array(text, { maxLength: 40 }),
    more_texts: fc.nat(3),
    thumbnails: fc.array(fc.record({
      t: seconds, camera: words, width: fc.integer({ min: 1, max: 224 }), height: fc.integer({ min: 1, max: 224 }),
      url: fc.constant('data:image/jpeg;base64,AAAA'), instruction: words, caption: words,
    }), { maxLength: 4 }),
    rates,
    latency: fc.record({ chunk_ms: histogram, first_token_ms: histogram, request_ms: histogram }),
  }),
}); // prettier-ignore
