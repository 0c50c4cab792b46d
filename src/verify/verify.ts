/** Compares everything that an engine computes for a golden folder; every tensor gets a line, none is left out silently. */
import type { ModelSessions } from '../engine/model-sessions';
import { checkBatched } from './batched';
import { computeFrames, type Computed } from './cases';
import { tolerance, type ComparedKind, type GoldenFolder, type GoldenTensor } from './golden';
import { checkWholePath } from './whole-path';

export interface Line {
  readonly name: string;
  readonly file: string;
  readonly status: 'ok' | 'fail' | 'skip';
  /** Largest absolute difference. */
  readonly error: number | null;
  readonly tolerance: number | null;
  readonly note: string;
}

export interface VerifyResult {
  readonly lines: readonly Line[];
  readonly computed: Computed;
}

export async function verify(
  sessions: ModelSessions,
  engineDir: string,
  golden: GoldenFolder,
): Promise<VerifyResult> {
  const computed: Computed = new Map();
  await computeFrames(sessions, golden, computed);
  const tokenChecks = await checkBatched(sessions, golden, computed);
  const textChecks = await checkWholePath(sessions, engineDir, golden, computed);
  const lines = golden.tensors.map(t => compareTensor(golden, t, computed));
  for (const { name, golden: want, computed: got } of tokenChecks) {
    lines.push(exact(name, 'batched_decode.json', want.join(' '), got.join(' ')));
  }
  for (const { name, golden: want, computed: got } of textChecks)
    lines.push(exact(name, 'whole_path.json', want, got));
  return { lines, computed };
}

function exact(name: string, file: string, want: string, got: string): Line {
  const equal = want === got;
  const note = equal ? '' : `expected ${want}, got ${got}`;
  return { name, file, status: equal ? 'ok' : 'fail', error: null, tolerance: null, note };
}

function compareTensor(
  golden: GoldenFolder,
  { file, name, meaning }: GoldenTensor,
  computed: Computed,
): Line {
  const line = (status: Line['status'], error: number | null, limit: number | null, note: string): Line => ({
    name, file, status, error, tolerance: limit, note,
  }); // prettier-ignore
  if (meaning.kind === 'skip') return line('skip', null, null, meaning.reason);
  const limit = tolerance(meaning.kind, file);
  const got = computed.get(meaning.key);
  if (!got) return line('fail', null, limit, 'not computed');
  const want = golden.values(file, name);
  const rows = validRows(golden, name, meaning.kind, want.length);
  const cut = rows ? select(want, rows) : want;
  // A golden of fewer language steps than another witness's is compared as far as it goes.
  const shorter = meaning.kind === 'lang.tokens' || meaning.kind === 'lang.logits';
  if (shorter ? got.length < cut.length : got.length !== cut.length) {
    return line('fail', null, limit, `computed ${got.length} values, golden has ${cut.length}`);
  }
  let error = 0;
  for (let i = 0; i < cut.length; i++) {
    const difference = Math.abs((cut[i] as number) - (got[i] as number));
    // NaN must not pass as "not larger"
    if (!(difference <= error)) error = difference;
  }
  return line(error <= limit ? 'ok' : 'fail', error, limit, '');
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
