/** What must hold between two runs. */
import type { CacheSnapshot } from '../../src/core/kv-cache';
import type { PlanSnapshot } from '../../src/core/plan';

/** Violations of the KV cache as text; none when all is well. */
export function checkInvariants({ rows, prefix, shape }: CacheSnapshot): string[] {
  const holder = prefix && rows[prefix.row];
  return [
    rows.length > shape.maxRequests && `${rows.length} active rows, at most ${shape.maxRequests}`,
    new Set(rows.map(r => r.id)).size !== rows.length && 'two rows belong to one request',
    ...rows.map(r => r.length < r.prefixLength && `row of ${r.id} is shorter than its prefix`),
    ...rows.map(r => r.length > r.cap && `row of ${r.id} exceeds its cap`),
    ...rows.map(r => r.cap > shape.capacity && `cap of ${r.id} exceeds the capacity`),
    prefix && prefix.length > shape.capacity && 'the prefix exceeds the capacity',
    prefix && prefix.row > shape.maxRequests && `the prefix lies in row ${prefix.row}, beyond the last`,
    prefix &&
      holder &&
      (holder.prefixLength !== prefix.length || holder.frameId !== prefix.frameId) &&
      'the prefix lies in a row that did not begin with it',
  ].filter(v => typeof v === 'string');
}

/** Violations of what the scheduler knows of its cache and requests. */
export function checkPlan(s: PlanSnapshot, { rows, prefix }: CacheSnapshot, maxQueue: number): string[] {
  const active = s.active.map(r => r.id);
  const ids = [...active, ...s.queue.map(q => q.request.id)];
  return [
    new Set(ids).size !== ids.length && 'a request is open twice',
    [...active].sort().join('\n') !==
      rows
        .map(r => r.id)
        .sort()
        .join('\n') && 'the active requests are not those of the rows',
    s.queue.length > maxQueue && `${s.queue.length} requests wait, at most ${maxQueue}`,
    s.frame?.id !== prefix?.frameId && 'the prefix is not that of the frame that requests attach to',
    s.owed !== null && s.owed !== s.frame && 'a chunk is owed for a frame whose prefix is not in the cache',
    s.frame !== null && s.steps === null && 'there is a prefix, but no frame began',
    s.credit !== 'none' && s.waiting !== null && 'a frame waits and another one was asked for',
  ].filter(v => typeof v === 'string');
}
