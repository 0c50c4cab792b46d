/** What must hold of the KV cache at every step: for tests and diagnostics. */
import type { CacheSnapshot, RowSnapshot } from './kv-cache';

/** Violations as text; none when all is well. */
export function checkInvariants({ rows, prefix, shape }: CacheSnapshot): string[] {
  const ids = new Set(rows.map(r => r.id));
  return [
    rows.length > shape.maxRequests && `${rows.length} active rows, at most ${shape.maxRequests}`,
    ids.size !== rows.length && 'two rows belong to one request',
    ...rows.map(r => r.length < r.prefixLength && `row of ${r.id} is shorter than its prefix`),
    ...rows.map(r => r.length > r.cap && `row of ${r.id} exceeds its cap`),
    ...rows.map(r => r.cap > shape.capacity && `cap of ${r.id} exceeds the capacity`),
    prefix !== null && prefix.length > shape.capacity && 'the prefix exceeds the capacity',
    prefix !== null &&
      prefix.row > rows.length &&
      `the prefix lies in row ${prefix.row}, beyond row B = ${rows.length}`,
    prefix !== null &&
      prefix.row < rows.length &&
      (rows[prefix.row] as RowSnapshot).prefixLength !== prefix.length &&
      'the prefix lies in a row that did not adopt it',
  ].filter(v => v !== false);
}
