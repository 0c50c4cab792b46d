/** Compares everything that an engine computes for a golden folder; every tensor gets a line, none is left out silently. */
import { checkBatched } from './batched';
import { computeFrames, isRounded, type Computed } from './cases';
import type { ComparedKind, GoldenFolder, GoldenTensor } from './golden';
import {
  exactLimit,
  furthestBehind,
  limitOf,
  roundingOf,
  tokenDistance,
  type Distance,
  type Limit,
  type Rounding,
} from './limits';
import { distanceOf, type Subject } from './subject';
import { checkWholePath } from './whole-path';

export interface Line {
  readonly name: string;
  readonly file: string;
  /** Null for texts and token lists of whole requests. */
  readonly kind: ComparedKind | null;
  readonly status: 'ok' | 'fail' | 'skip';
  readonly limit: Limit | null;
  readonly distance: Distance | null;
  readonly note: string;
}

export interface VerifyResult {
  readonly lines: readonly Line[];
  readonly computed: Computed;
}

export async function verify(
  subject: Subject,
  engineDir: string,
  golden: GoldenFolder,
): Promise<VerifyResult> {
  const computed: Computed = new Map();
  await computeFrames(subject, golden, computed);
  const tokenChecks = await checkBatched(subject, golden, computed);
  const textChecks = await checkWholePath(subject, engineDir, golden, computed);
  const rounded = isRounded(subject, golden);
  // a bfloat16 copy has been rounded more than float16 rounds
  const rounding = !rounded ? null : golden.bf16Copy ? 'weights' : roundingOf(subject.manifest);
  const lines = golden.tensors.map(t => compareTensor(golden, t, computed, rounding, subject.notGiven));
  for (const check of tokenChecks) {
    const [want, got] = [check.golden.join(' '), check.computed.join(' ')];
    lines.push(exact(check.name, 'batched_decode.json', want, got, rounded && check.ofGoldens));
  }
  for (const { name, golden: want, computed: got, generated } of textChecks)
    lines.push(exact(name, 'whole_path.json', want, got, rounded && generated));
  return { lines, computed };
}

/** A text that an engine with rounded weights wrote on its own parts from the golden one at the first near tie. */
function exact(name: string, file: string, want: string, got: string, free: boolean): Line {
  const equal = want === got;
  const status = equal ? 'ok' : free ? 'skip' : 'fail';
  const note = equal
    ? ''
    : free
      ? 'rounded weights: texts may part at near ties'
      : `expected ${want}, got ${got}`;
  return { name, file, kind: null, status, limit: null, distance: null, note };
}

function compareTensor(
  golden: GoldenFolder,
  { file, name, meaning }: GoldenTensor,
  computed: Computed,
  rounding: Rounding | null,
  notGiven: Subject['notGiven'],
): Line {
  const line = (status: Line['status'], rest: Partial<Line>): Line => ({
    name, file, kind: null, status, limit: null, distance: null, note: '', ...rest,
  }); // prettier-ignore
  if (meaning.kind === 'skip') return line('skip', { note: meaning.reason });
  const { kind, key } = meaning;
  const missing = notGiven.get(kind);
  if (missing !== undefined) return line('skip', { note: missing });
  const rounded = rounding !== null;
  const limit = rounded ? limitOf(kind, rounding) : exactLimit(kind, file);
  const got = computed.get(key);
  if (!got) return line('fail', { kind, limit, note: 'not computed' });
  const all = golden.values(file, name);
  const rows = validRows(golden, name, kind, all.length);
  const want = rows ? select(all, rows) : all;
  // A golden of fewer language steps than another witness's is compared as far as it goes.
  const shorter = kind === 'lang.tokens' || kind === 'lang.logits';
  if (shorter ? got.length < want.length : got.length !== want.length) {
    return line('fail', { kind, limit, note: `computed ${got.length} values, golden has ${want.length}` });
  }
  const tokens = kind === 'lang.tokens' || kind === 'cont.tokens';
  const d = rounded && tokens ? tokensBehind(golden, key, want, got as number[]) : distanceOf(want, got);
  if (!d && want.every((token, i) => token === (got as number[])[i]))
    return line('ok', { kind, note: 'equal' });
  if (!d) return line('skip', { note: 'rounded weights: tokens without golden logits say nothing' });
  return line(d[limit.metric] <= limit.value ? 'ok' : 'fail', { kind, limit, distance: d });
}

/**
 * How far below the best token the golden logits have the engine's tokens at most, in standard deviations of the logits.
 * The golden tokens were fed, so every step is a comparison of its own. Null when the folder has no logits for them.
 */
function tokensBehind(
  golden: GoldenFolder,
  key: string,
  want: Float64Array,
  got: ArrayLike<number>,
): Distance | null {
  const logits = golden.tensors.find(
    t => t.meaning.kind !== 'skip' && t.meaning.key === key.replace(/tokens$/, 'logits'),
  );
  if (!logits) return null;
  const values = golden.values(logits.file, logits.name);
  const vocab = golden.shape(logits.file, logits.name).at(-1) ?? 1;
  return tokenDistance(furthestBehind(values, vocab, want, got));
}

interface Rows {
  readonly outer: number;
  readonly mask: readonly number[];
}

/** Padded tensors: which of their rows are valid. */
function validRows(golden: GoldenFolder, name: string, kind: ComparedKind, length: number): Rows | null {
  const inputs = 'goldens_jax.safetensors';
  const frame = /^(\w+)\.p(\d+)\./.exec(name);
  if (!frame) return null;
  if (kind === 'prompt_emb') return { outer: 1, mask: golden.ints(inputs, `prompt.${frame[2]}.mask`) };
  if (kind !== 'prefix_k' && kind !== 'prefix_v') return null;
  const mask = golden.ints(inputs, `${frame[1]}.p${frame[2]}.prefix_mask`);
  const shape = golden.shape(inputs, name);
  return length === 0 ? null : { outer: shape[0] ?? 1, mask };
}

function select(values: Float64Array, { outer, mask }: Rows): Float64Array {
  const inner = values.length / outer / mask.length;
  const valid = mask.flatMap((m, i) => (m === 1 ? [i] : []));
  const out = new Float64Array(outer * valid.length * inner);
  for (let o = 0; o < outer; o++)
    valid.forEach((row, i) => {
      const from = (o * mask.length + row) * inner;
      out.set(values.subarray(from, from + inner), (o * valid.length + i) * inner);
    });
  return out;
}
