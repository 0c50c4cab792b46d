/** The figures that matter most, first and in plain words. */
import { mono } from '../../report/blocks';
import { h, type Markup } from '../../report/markup';
import { change, count, digits, duration, growth, percent, ratio, times, unit } from '../../report/numbers';
import { tileList, type Tile } from '../../report/tiles';
import type { BenchResult } from '../result';
import { inWords } from './arrivals-words';

export function headline(r: BenchResult): Markup {
  const { engine, machine, settings: s } = r;
  return h(
    'header',
    {},
    h('p', { class: 'eyebrow' }, 'oxygen bench'),
    h('h1', {}, title(r)),
    h(
      'p',
      { class: 'under' },
      mono(engine.name),
      ` ${engine.precision}, ${digits(engine.parameters / 1e6)} million parameters, on ${machine.cpu}, ` +
        `${r.threads} of ${machine.cores} ${machine.cores === 1 ? 'core' : 'cores'}. ` +
        `One observation of ${s.prefix} positions per frame, ${s.horizon} actions per chunk, ${s.denoise_steps} denoise steps, ` +
        `language: ${inWords(s.arrivals)}, N = ${s.tokens} tokens each, k = ${s.tokens_per_frame} per frame.`,
    ),
    tileList(tiles(r)),
    words(r),
  );
}

function title({ modes: { oxygen, isolated } }: BenchResult): string {
  const factor = ratio(isolated?.frame_ms_median ?? null, oxygen?.frame_ms_median ?? null);
  if (factor !== null) {
    return factor >= 1
      ? `Actions and language from one model, ${times(factor)} as fast as one after the other`
      : `Actions and language from one model: ${times(factor)} the speed of one after the other`;
  }
  return 'Actions and language from one model, on this machine';
}

function tiles(r: BenchResult): Tile[] {
  const { isolated, oxygen } = r.modes;
  const mode = oxygen ?? Object.values(r.modes)[0];
  if (!mode) return [];
  const compared = (value: string | null, otherwise: string) => (value === null ? otherwise : value);
  const plain = isolated && isolated !== mode ? isolated : null;
  return [
    {
      label: 'One frame',
      value: duration(mode.frame_ms_median),
      detail: compared(plain && `isolated: ${duration(plain.frame_ms_median)}`, `95 % are below ${duration(mode.frame_ms_p95)}`),
    },
    {
      label: 'Actions',
      value: unit(mode.action_hz, 'actions/s'),
      detail: `a new chunk ${digits(mode.replan_hz)} times per second` + (plain ? `; isolated: ${digits(plain.action_hz)} actions` : ''),
    },
    {
      label: 'Language',
      value: unit(mode.tokens_per_s, 'tokens/s'),
      detail: `${texts(mode.batch_mean)} at once` + (plain ? `; isolated: ${digits(plain.tokens_per_s)} tokens/s` : ''),
    },
    {
      label: 'From frame to chunk',
      value: duration(mode.first_action_ms_median),
      detail: `without any language: ${duration(r.parts_ms.frame_without_language)}`,
    },
    {
      label: 'Managing the cache',
      value: percent(mode.manager_share),
      detail: `of a frame, ${duration(mode.manager_ms_median)}`,
    },
    {
      label: 'Peak memory',
      value: unit(mode.peak_pss_mb, 'MB'),
      detail: compared(
        plain && growth(mode.peak_pss_mb, plain.peak_pss_mb) !== null
          ? `${change(growth(mode.peak_pss_mb, plain.peak_pss_mb))} against isolated`
          : null,
        `up to ${texts(mode.batch_max)} at once`,
      ),
    },
  ];
} // prettier-ignore

/** Rows of a decode step. */
const texts = (rows: number): string => `${count(rows)} ${rows === 1 ? 'text' : 'texts'}`;

const words = (r: BenchResult): Markup =>
  h(
    'p',
    { class: 'words' },
    'A ',
    h('em', {}, 'frame'),
    ' is one observation: camera pictures, joint state, instruction. The model reads it (',
    h('em', {}, 'prefill'),
    '), plans a ',
    h('em', {}, 'chunk'),
    ` of ${r.settings.horizon} actions (`,
    h('em', {}, 'denoise'),
    '), and writes text token by token (',
    h('em', {}, 'decode'),
    '). Actions per second are actions per chunk divided by the frame time, as the paper counts them; new chunks per second are the honest rate of replanning.',
  );
