/** What was replayed, and the figures that matter most, in plain words. */
import { mono } from '../../report/blocks';
import { h, type Markup } from '../../report/markup';
import { count, digits, grouped, NONE, percent, unit } from '../../report/numbers';
import { tileList, type Tile } from '../../report/tiles';
import type { ReplayResult, ReplaySummary } from '../result';
import { amount, clock, counted, judged, mean, ms, nearly } from './words';

export const headline = (r: ReplayResult): Markup =>
  h(
    'header',
    {},
    h('p', { class: 'eyebrow' }, 'oxygen replay'),
    h('h1', {}, title(r)),
    under(r.summary),
    banner(r.summary),
    tileList(tiles(r)),
    words(),
  );

function title(r: ReplayResult): string {
  const { summary: s } = r;
  const joints = judged(r);
  const part = s.partial ? 'Part of ' : '';
  if (joints.length > 0) {
    const error = percent(mean(joints.map(j => j.share)));
    return `${part}${s.bag.name}, replayed: actions differ from the recorded ones by ${error} of a joint’s range on average`;
  }
  return `${part}${s.bag.name}, replayed: ${counted(s.chunks, 'action chunk')} and ${counted(s.requests.finished, 'text')} from ${counted(s.frames, 'frame')}`;
}

function under({ bag, settings: s }: ReplaySummary): Markup {
  const whole = bag.from_s <= 0 && bag.to_s >= bag.duration_s;
  const played = whole ? '' : `, played from ${clock(bag.from_s)} to ${clock(bag.to_s)}`;
  const time =
    s.pace === 'fast'
      ? `Time is virtual: a run takes as long as its table of costs says${s.cost === null ? '' : ` (${s.cost})`}.`
      : 'Time is the wall clock of this machine.';
  return h(
    'p',
    { class: 'under' },
    mono(bag.name),
    ` (${bag.storage}, ${unit(bag.duration_s, 's')}, ${counted(bag.messages, 'message')}${played}) through engine `,
    mono(s.engine),
    ` (${s.precision}, ${s.provider}, ${counted(s.threads, 'thread')}) for robot `,
    mono(s.robot),
    `. Mode ${s.mode}, k ${s.tokens_per_frame}, ${counted(s.denoise_steps, 'denoise step')}, seed ${s.seed}. ${time}`,
  );
}

/** A damaged bag must not look like a whole one. */
function banner({ partial, faults }: ReplaySummary): Markup | null {
  if (!partial && faults.length === 0) return null;
  return h(
    'div',
    { class: partial ? 'banner alarm' : 'banner', role: 'note' },
    h('p', {}, h('strong', {}, partial ? 'Partial result: the bag is damaged.' : 'About this bag')),
    partial ? h('p', {}, 'All that was whole was played; every figure below is of that part only.') : null,
    faultList(faults.slice(0, FAULTS)),
    faults.length <= FAULTS
      ? null
      : h('details', {}, h('summary', {}, `${counted(faults.length - FAULTS, 'more fault')}`), faultList(faults.slice(FAULTS))),
  );
} // prettier-ignore

/** Faults that a reader is shown at once. */
const FAULTS = 8;

const faultList = (faults: ReplaySummary['faults']): Markup =>
  h('ul', {}, faults.map(f => h('li', {}, mono(f.code), ` ${f.message}`))); // prettier-ignore

function tiles(r: ReplayResult): Tile[] {
  const { rates, latency, frames, chunks, actions, fresh_ratio, tokens, requests, drops } = r.summary;
  const dropped = Object.entries(drops).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const total = dropped.reduce((sum, [, n]) => sum + n, 0);
  const { chunk_ms } = latency;
  return [
    errorTile(r),
    { label: 'Frames', value: grouped(frames), detail: `${counted(chunks, 'chunk')} of actions came of them` },
    { label: 'New chunks', value: unit(rates.replan_hz, 'Hz'), detail: 'how often the plan is renewed' },
    {
      label: 'Actions',
      value: unit(rates.action_hz, 'Hz'),
      detail: `${nearly(fresh_ratio)} of ${counted(actions, 'command')} played a step of a chunk`,
    },
    {
      label: 'Language',
      value: unit(rates.tokens_per_s, 'tokens/s'),
      detail: `${counted(tokens, 'token')}, ${digits(rates.tokens_per_frame_mean)} steps per frame`,
    },
    {
      label: 'Texts at once',
      value: digits(rates.batch_mean),
      detail: `mean batch of a decode step; at most ${count(rates.batch_max)}`,
    },
    {
      label: 'Observation to chunk',
      value: ms(chunk_ms?.p50 ?? null),
      detail: chunk_ms ? `median; 99 % within ${ms(chunk_ms.p99)}` : 'no chunk came',
    },
    {
      label: 'Texts ended',
      value: grouped(requests.finished),
      detail: `${count(requests.open)} still open when the bag ended`,
    },
    {
      label: 'Dropped',
      value: grouped(total),
      detail: dropped[0] ? `most often ${dropped[0][0]}` : 'nothing was dropped',
    },
  ];
} // prettier-ignore

function errorTile(r: ReplayResult): Tile {
  const joints = judged(r);
  if (joints.length === 0) {
    return { label: 'Mean error', value: NONE, detail: notCompared(r.summary) };
  }
  const worst = joints.reduce((a, b) => (b.share > a.share ? b : a));
  return {
    label: 'Mean error',
    value: percent(mean(joints.map(j => j.share))),
    detail: `of a joint’s range; worst ${worst.name}, ${percent(worst.share)} (MAE ${amount(worst.mae)})`,
  };
}

function notCompared({ comparison }: ReplaySummary): string {
  if (comparison === null || comparison.used + comparison.refused === 0)
    return 'no recorded actions to compare with';
  const { used, refused, refusal } = comparison;
  return used === 0
    ? `${counted(refused, 'recorded action')} could not be used: ${refusal}`
    : 'no command of a chunk has a recorded action beside it';
}

const words = (): Markup =>
  h(
    'p',
    { class: 'words' },
    'A ',
    h('em', {}, 'frame'),
    ' is one observation of the recording: pictures, joint state, instruction. The model answers each with a ',
    h('em', {}, 'chunk'),
    ' of actions and, between two frames, takes ',
    h('em', {}, 'k'),
    ' decode steps for all open texts at once. An action is ',
    h('em', {}, 'fresh'),
    ' while a chunk plays; after its end the node holds.',
  );
