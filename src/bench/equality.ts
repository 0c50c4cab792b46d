/** Whether all modes said and did the same. */
import { createHash } from 'node:crypto';
import type { BlockResult, RequestMeasure } from './block';
import type { ModeFigures } from './result';

export type Equality = Pick<
  ModeFigures,
  'text_hash' | 'near_ties' | 'differing' | 'chunk_hash' | 'chunk_max_difference'
>;

/** Below this top-2 margin the order of the two is rounding. */
const NEAR_TIE = 1e-4;

/** A mode's blocks against those of the reference mode, which ran the same frames. */
export function compare(blocks: readonly BlockResult[], reference: readonly BlockResult[]): Equality {
  const texts = byId(blocks);
  const expected = byId(reference);
  const ids = [...new Set([...texts.keys(), ...expected.keys()])];
  const verdicts = ids.map(id => compareTexts(texts.get(id), expected.get(id)));
  const chunks = blocks.flatMap(b => b.chunks);
  return {
    text_hash: textHash([...texts.values()]),
    near_ties: verdicts.filter(v => v === 'near tie').length,
    differing: verdicts.filter(v => v === 'differing').length,
    chunk_hash: chunkHash(chunks),
    chunk_max_difference: largestDifference(chunks, reference.flatMap(b => b.chunks)),
  }; // prettier-ignore
}

const byId = (blocks: readonly BlockResult[]): Map<string, RequestMeasure> =>
  new Map(blocks.flatMap(b => b.requests).map(r => [r.id, r]));

/** A missing text is a differing one. */
export function compareTexts(
  text: Pick<RequestMeasure, 'tokenIds' | 'margins'> | undefined,
  reference: Pick<RequestMeasure, 'tokenIds' | 'margins'> | undefined,
): 'equal' | 'near tie' | 'differing' {
  if (!text || !reference) return 'differing';
  const length = Math.max(text.tokenIds.length, reference.tokenIds.length);
  for (let i = 0; i < length; i++) {
    if (text.tokenIds[i] === reference.tokenIds[i]) continue;
    const margin = Math.min(text.margins[i] ?? Infinity, reference.margins[i] ?? Infinity);
    return margin < NEAR_TIE ? 'near tie' : 'differing';
  }
  return 'equal';
}

function textHash(requests: readonly RequestMeasure[]): string {
  const lines = requests.map(r => `${r.id}: ${r.tokenIds.join(' ')}`).sort();
  return createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 16);
}

function chunkHash(chunks: readonly Float32Array[]): string {
  const hash = createHash('sha256');
  for (const c of chunks) hash.update(new Uint8Array(c.buffer, c.byteOffset, c.byteLength));
  return hash.digest('hex').slice(0, 16);
}

function largestDifference(a: readonly Float32Array[], b: readonly Float32Array[]): number {
  let largest = 0;
  a.forEach((chunk, i) => {
    const other = b[i];
    if (other) chunk.forEach((v, j) => (largest = Math.max(largest, Math.abs(v - (other[j] as number)))));
  });
  return largest;
}
