/** The summary as lines for a terminal. */
import { columns } from '../core/columns';
import { counted } from '../core/words';
import { aligned, tenths } from '../report/numbers';
import type { Comparison, HorizonError, JointError, Quantiles, ReplaySummary } from './result';

const fixed = (digits: number) => (v: number) => v.toFixed(digits);
const [tenth, hundredth] = [fixed(1), fixed(2)];
const digits = (value: number | null) => (value === null ? '-' : aligned(value));

export function printedReplay(summary: ReplaySummary): string[] {
  return [
    ...played(summary),
    '',
    ...counts(summary),
    '',
    ...latencies(summary),
    '',
    ...comparisonLines(summary.comparison),
    '',
    dropsLine(summary),
    ...faultLines(summary),
  ];
}

function played({ bag, settings: s }: ReplaySummary): string[] {
  const steps = s.tokens_per_frame;
  return [
    `${bag.name} (${bag.storage}): ${tenth(bag.from_s)} to ${tenth(bag.to_s)} s of ${tenth(bag.duration_s)} s, ` +
      counted(bag.messages, 'message'),
    `${s.engine} (${s.precision}, ${s.provider}, ${counted(s.threads, 'thread')}), robot ${s.robot}`,
    `mode ${s.mode}, k ${steps}, S ${s.denoise_steps}, seed ${s.seed}, pace ${s.pace}` +
      (s.cost === null ? '' : ` with the stage times of ${s.cost}`),
  ];
}

function counts({ frames, chunks, actions, fresh_ratio, tokens, requests, rates }: ReplaySummary): string[] {
  const steps = hundredth(rates.tokens_per_frame_mean);
  const ends = Object.entries(requests.by_reason).map(([reason, n]) => `${n} ${reason}`);
  if (requests.open > 0) ends.push(`${requests.open} still open`);
  const notes = [
    '',
    '',
    `${tenths(fresh_ratio)} % from a chunk`,
    `${steps} steps per frame, batch ${tenth(rates.batch_mean)}, at most ${rates.batch_max}`,
    ends.join(', '),
  ];
  return columns([
    ['frames', `${frames}`, ''],
    ['chunks', `${chunks}`, `${hundredth(rates.replan_hz)}/s`],
    ['actions', `${actions}`, `${tenth(rates.action_hz)}/s`],
    ['tokens', `${tokens}`, `${tenth(rates.tokens_per_s)}/s`],
    ['requests', `${requests.finished}`, ''],
  ]).map((line, i) => `${line}  ${notes[i]}`.trimEnd());
}

function latencies({ latency }: ReplaySummary): string[] {
  const row = (name: string, q: Quantiles | null) => [
    name,
    ...(q === null
      ? ['0', '-', '-', '-', '-', '-']
      : [`${q.count}`, ...[q.mean, q.p50, q.p95, q.p99, q.max].map(digits)]),
  ];
  return columns([
    ['latency in ms', 'count', 'mean', 'p50', 'p95', 'p99', 'max'],
    row('frame to chunk', latency.chunk_ms),
    row('request to token', latency.first_token_ms),
    row('request to end', latency.request_ms),
  ]);
}

function comparisonLines(comparison: Comparison | null): string[] {
  if (comparison === null) return ['no recorded actions to compare with'];
  const { topic, type, used, refused, refusal, joints } = comparison;
  const notUsed = refused === 0 ? '' : `, ${refused} not used: ${refusal}`;
  return [
    `replayed minus recorded ${topic} (${type}): ${counted(used, 'message')} used${notUsed}`,
    ...(used === 0 ? [] : [...jointTable(joints), ...horizonLine(comparison.horizon)]),
  ];
}

function jointTable(joints: readonly JointError[]): string[] {
  const row = (name: string, e: Pick<JointError, 'mae' | 'rmse' | 'max'>, count: string) => [
    name,
    ...[e.mae, e.rmse, e.max].map(digits),
    count,
  ];
  const [mae, rmse, max] = (['mae', 'rmse', 'max'] as const).map(key =>
    mean(joints.map(joint => joint[key])),
  );
  return columns([
    ['robot units', 'MAE', 'RMSE', 'max', 'commands'],
    ...joints.map(joint => row(`${joint.name} (${joint.kind})`, joint, `${joint.count}`)),
    ...(joints.length > 1 ? [row('mean', { mae: mae!, rmse: rmse!, max: max! }, '')] : []),
  ]).map(line => line.trimEnd());
}

/** How the error grows with the step: first, quarter, half and last. */
function horizonLine(horizon: readonly HorizonError[]): string[] {
  const last = horizon.findLastIndex(step => step.count > 0);
  if (last < 0) return [];
  const steps = [...new Set([0, Math.round(last / 4), Math.round(last / 2), last])];
  const errors = steps.map(step => `${step}: ${digits(mean(horizon[step]!.mae))}`);
  return [`MAE by step of the chunk, mean of all: ${errors.join(', ')}`];
}

/** Of those that are there. */
function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter(value => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value / known.length, 0);
}

function dropsLine({ drops }: ReplaySummary): string {
  const reasons = Object.entries(drops).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return reasons.length === 0
    ? 'nothing was dropped'
    : `dropped: ${reasons.map(([code, count]) => `${count} ${code}`).join(', ')}`;
}

function faultLines({ partial, faults }: ReplaySummary): string[] {
  return [
    ...faults.map(({ code, message }) => `${code}: ${message}`),
    ...(partial ? ['partial: the bag is damaged; all of it that is whole was played'] : []),
  ];
}
