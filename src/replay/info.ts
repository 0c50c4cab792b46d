/** What is in a bag, as lines for a terminal (`--info`). Pure. */
import type { Bag } from '../bag/types';
import { columns } from '../core/columns';
import { describeError } from '../core/errors';
import type { TopicPlan } from './topic-plan';

/** `plan`: what the topics are to a robot; null: no robot is given. */
export function bagInfo(bag: Bag, plan: TopicPlan | null): string[] {
  const { startNs, endNs } = bag;
  const topics = [...bag.topics.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const counts = topics.map(({ count }) => count ?? 0);
  const known = topics.every(({ count }) => count !== null);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const rows = topics.map(({ name, type, count }, i) => [
    name,
    type,
    count === null ? '?' : String(count),
    hertz(counts[i]!, startNs, endNs),
    plan === null ? '' : (plan.uses.get(name) ?? []).map(({ kind }) => kind).join(', '),
  ]);
  return [
    `${bag.path}: ${bag.storage}, ${(bag.bytes / 1e6).toFixed(1)} MB in ${bag.files.length} ${bag.files.length === 1 ? 'file' : 'files'}`,
    startNs === null || endNs === null
      ? 'times: not known without reading all of it'
      : `${date(startNs)} to ${date(endNs)} UTC, ${(Number(endNs - startNs) / 1e9).toFixed(3)} s` +
        (known ? `, ${total} messages` : ''),
    ...columns([['topic', 'type', 'messages', 'Hz', plan === null ? '' : 'used as'], ...rows], [0, 1, 4]).map(
      line => `  ${line}`.trimEnd(),
    ),
    ...(plan?.notes ?? []),
    ...bag.faults.map(describeError),
  ];
}

function hertz(count: number, startNs: bigint | null, endNs: bigint | null): string {
  const s = startNs === null || endNs === null ? 0 : Number(endNs - startNs) / 1e9;
  return count > 1 && s > 0 ? ((count - 1) / s).toFixed(1) : '';
}

const date = (ns: bigint): string =>
  new Date(Number(ns / 1_000_000n)).toISOString().replace('T', ' ').replace('Z', '');
