/** What the modes cost side by side: frame time, tokens, latency, memory. */
import { figure, grid, section } from '../../report/blocks';
import { h, type Markup } from '../../report/markup';
import { duration, ratio, times, unit } from '../../report/numbers';
import { measuredModes, type BenchMode, type BenchResult, type ModeFigures } from '../result';
import { LOOKS } from './modes';
import { rowChart, type Row } from './row-chart';

const one = (mode: BenchMode, value: number, title: string) => [
  { name: LOOKS[mode].name, value, text: '', title },
];

/** The ablation: what each of the paper's two ideas brings. */
export function ablationSection(r: BenchResult): Markup | null {
  const modes = measuredModes(r);
  if (modes.length === 0) return null;
  const base = r.modes.isolated;
  const against = (value: number, of: number | undefined) =>
    of === undefined ? '' : ` · ${times(ratio(value, of))}`;
  const frame = modes.map(({ mode, figures: f }): Row => ({
    label: mode,
    name: LOOKS[mode].name,
    figure: duration(f.frame_ms_median) + against(base?.frame_ms_median ?? 0, base && f.frame_ms_median),
    parts: one(mode, f.frame_ms_median, `${mode}: ${duration(f.frame_ms_median)}`),
    whisker: f.frame_ms_spread,
  }));
  const language = modes.map(({ mode, figures: f }): Row => ({
    label: mode,
    name: LOOKS[mode].name,
    figure: unit(f.tokens_per_s, 'tokens/s') + against(f.tokens_per_s, base?.tokens_per_s),
    parts: one(mode, f.tokens_per_s, `${mode}: ${unit(f.tokens_per_s, 'tokens/s')}`),
  }));
  return section(
    'ablation',
    'What each idea brings',
    ablationLead(r),
    h('dl', { class: 'modes' }, modes.map(m => [h('dt', { class: LOOKS[m.mode].name }, m.mode), h('dd', {}, LOOKS[m.mode].says)])),
    grid(
      figure(
        'Frame time (shorter is better)',
        rowChart({ about: spoken('Frame time', frame), xTitle: 'ms per frame', rows: frame }),
        base
          ? 'Whiskers: lowest and highest median of the repeats. Factors: how many times faster than isolated.'
          : 'Whiskers: lowest and highest median of the repeats.',
      ),
      figure(
        'Language (longer is better)',
        rowChart({ about: spoken('Language', language), xTitle: 'tokens per second, all requests', rows: language }),
      ),
    ),
  ); // prettier-ignore
}

const spoken = (what: string, rows: readonly Row[]): string =>
  `${what}: ${rows.map(row => `${row.label} ${row.figure}`).join('; ')}`;

function ablationLead({ modes: { isolated, shared, oxygen, parallel } }: BenchResult): string {
  const compared = (idea: string, name: string, figures: ModeFigures | undefined, of: string, base: ModeFigures | undefined) => {
    const factor = ratio(base?.frame_ms_median ?? null, figures?.frame_ms_median ?? null);
    return factor === null ? [] : [`${idea}: ${name} is ${times(factor)} as fast as ${of}.`];
  };
  const said = [
    ...compared('Reading the picture once', 'shared', shared, 'isolated', isolated),
    ...compared('Decoding the texts of several frames together', 'oxygen', oxygen, 'shared', shared),
    ...compared('Two processes side by side', 'parallel', parallel, 'isolated', isolated),
  ];
  return said.join(' ') || 'The modes that were measured.';
} // prettier-ignore
