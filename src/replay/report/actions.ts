/** What the model would have done, beside what was done. */
import { grid, key, mono, section, table } from '../../report/blocks';
import { h, type Child, type Markup } from '../../report/markup';
import { grouped, percent } from '../../report/numbers';
import { between } from '../../report/scale';
import { RECORDED_ACTION_TYPES } from '../recorded-actions';
import type { ActionSeries, Comparison, JointError, ReplayResult } from '../result';
import { horizonTables } from './horizon';
import { runs } from './thin';
import { timeChart } from './time-chart';
import { amount, counted, judged, listed, plain } from './words';

/** Charts that a reader is shown at once. */
const SHOWN = 12;

export function actionsSection(r: ReplayResult): Markup {
  const { comparison } = r.summary;
  const charts = r.series.actions.map((a, i) => jointFigure(r, a, comparison?.joints[i] ?? null));
  const more = charts.slice(SHOWN);
  return section(
    'actions',
    comparison ? 'Actions against the recording' : 'Actions',
    lead(r),
    comparison ? openLoop(comparison) : notRecorded(r),
    charts.length === 0
      ? null
      : key([['c-replayed', 'replayed'], ...(comparison ? [['c-recorded', 'recorded'] as const] : [])]),
    grid(charts.slice(0, SHOWN)),
    more.length === 0
      ? null
      : h('details', {}, h('summary', {}, `${counted(more.length, 'more joint')}`), grid(more)),
    comparison ? errors(r, comparison) : null,
  );
}

function lead(r: ReplayResult): string {
  const joints = judged(r).sort((a, b) => b.share - a.share);
  const [worst, best] = [joints[0], joints.at(-1)];
  if (!worst || !best) {
    return r.summary.comparison
      ? 'No replayed command had a recorded one beside it.'
      : 'The commands that the node would have sent, in the units of the robot file.';
  }
  const said = (j: typeof worst) => `${j.name} (MAE ${amount(j.mae)}, ${percent(j.share)} of its range)`;
  if (worst === best) return `${said(worst)}: how far its commands are from the recorded ones on average.`;
  return `Farthest from the recording is ${said(worst)}, closest ${said(best)}.`;
}

const openLoop = ({ topic, type, used, refused, refusal }: Comparison): Child => [
  h(
    'p',
    { class: 'words' },
    'This is ',
    h('em', {}, 'open loop'),
    ': the robot in the recording did not follow the replayed actions, so every frame shows what the recorded ones led to. ' +
      'A small error says that the model would have acted alike in the same situation, not how a run of its own would end. ' +
      'Compared are commands that played a step of a chunk, with the recorded command in force at that time: ',
    mono(topic),
    `, ${type}, ${counted(used, 'message')}.`,
  ),
  refused === 0
    ? null
    : h('p', { class: 'words' }, h('em', {}, `${counted(refused, 'recorded message')} could not be used: `), refusal),
]; // prettier-ignore

const notRecorded = ({ summary, series }: ReplayResult): Markup =>
  h(
    'p',
    { class: 'words' },
    h('em', {}, 'Nothing to compare with. '),
    `Looked for were recorded commands of type ${RECORDED_ACTION_TYPES.join(', ')}` +
      (series.actions.length === 0 ? '' : `, for ${listed(series.actions.map(a => a.name))}`) +
      [...summary.notes.map(note => `; ${note}`), '. '].join('') +
      'If the recording has them under another name, say which: ',
    mono('--action-topic TOPIC'),
    '.',
  );

function jointFigure(r: ReplayResult, a: ActionSeries, error: JointError | null): Markup {
  const { from_s, to_s } = r.summary.bag;
  const known = [...a.replayed, ...a.recorded].filter(v => v !== null);
  const [low, high] = extent(known, a);
  const facts = error?.count ? ([['MAE', error.mae], ['RMSE', error.rmse], ['max', error.max]] as const) : [];
  const said = facts.map(([name, value]) => `${name} ${amount(value)}`);
  const about =
    known.length === 0
      ? `${a.name}: 0 commands`
      : `${a.name}, ${counted(a.t.length, 'point')} within ${amount(low)} to ${amount(high)}` +
        (said.length === 0 ? '' : `; against the recording ${said.join(', ')}`);
  const apart = runs(a.t, a.replayed.map((v, i) => difference(v, a.recorded[i] ?? null)));
  const chart = timeChart({
    about,
    yTitle: '',
    from_s,
    to_s,
    y: (bottom, top) => between(low, high, bottom, top),
    curves: [
      { name: 'c-recorded', runs: runs(a.t, a.recorded) },
      { name: 'c-replayed', runs: runs(a.t, a.replayed) },
    ],
    lines: ([['max', a.max], ['min', a.min]] as const)
      .filter(([, y]) => y >= low && y <= high)
      .map(([label, y]) => ({ y, label: `${label} ${plain(y)}` })),
    below: apart.length === 0 ? null : { title: 'replayed − recorded', curve: { name: 'c-difference', runs: apart } },
  });
  return h(
    'figure',
    {},
    h('h3', { class: 'joint' }, h('span', {}, h('bdi', {}, a.name), h('small', {}, ` ${a.kind}`)), h('span', { class: 'facts' }, said.join(' · '))),
    chart,
    known.length === 0 ? h('figcaption', {}, 'No command was sent and none was recorded.') : null,
  );
} // prettier-ignore

const difference = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : a - b;

/** Least part of a joint's range that a chart shows: noise of a resting joint must not look like a motion. */
const LEAST_SPAN = 0.1;
const MARGIN = 0.06;

/** What the chart shows of y: all values with a margin. */
function extent(values: readonly number[], { min, max }: ActionSeries): readonly [number, number] {
  if (values.length === 0) return [min, max];
  const low = values.reduce((a, b) => Math.min(a, b));
  const high = values.reduce((a, b) => Math.max(a, b));
  const span = Math.max(high - low, LEAST_SPAN * (max - min));
  const centre = (low + high) / 2;
  const half = span * (0.5 + MARGIN);
  return [centre - half, centre + half];
}

function errors(r: ReplayResult, { joints, horizon }: Comparison): Child {
  const shares = new Map(judged(r).map(j => [j.index, j.share]));
  return [
    h('h3', {}, 'Error per joint'),
    table(
      ['', 'kind', 'MAE', 'RMSE', 'largest', 'MAE of range', 'compared'],
      joints.map((j, i) => [
        h('bdi', {}, j.name),
        j.kind,
        ...[j.mae, j.rmse, j.max].map(amount),
        percent(shares.get(i) ?? null),
        grouped(j.count),
      ]),
      'Error per joint, in robot units',
    ),
    horizonTables(joints, horizon),
  ];
}
