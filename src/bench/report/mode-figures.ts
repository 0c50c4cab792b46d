/** What the modes cost side by side: frame time, tokens, latency, memory. */
import { BENCH_MODES, type BenchMode, type BenchResult, type ModeFigures } from '../result';
import { figure, grid, key, section } from './blocks';
import type { Child, Markup } from './markup';
import { LOOKS } from './modes';
import { change, digits, duration, growth, ratio, times, unit } from './numbers';
import { rowChart, type Row } from './row-chart';

export interface Measured {
  readonly mode: BenchMode;
  readonly figures: ModeFigures;
}

export const measuredModes = (r: BenchResult): Measured[] =>
  BENCH_MODES.flatMap(mode => {
    const figures = r.modes[mode];
    return figures ? [{ mode, figures }] : [];
  });

const one = (mode: BenchMode, value: number, title: string) => [
  { name: LOOKS[mode].name, value, text: '', title },
];

/** The ablation: what each of the paper's two ideas brings. */
export function ablationSection(r: BenchResult): Markup | null {
  const modes = measuredModes(r);
  if (modes.length === 0) return null;
  const base = r.modes.isolated;
  const against = (value: number, of: number | undefined) =>
    of === undefined ? '' : `  ${times(ratio(value, of))}`;
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

function ablationLead(r: BenchResult): Child {
  const { isolated, shared, oxygen, parallel } = r.modes;
  const said: string[] = [];
  if (isolated && shared) {
    said.push(
      `Reading the picture once (shared) makes a frame ${times(ratio(isolated.frame_ms_median, shared.frame_ms_median))} as fast`,
    );
  }
  if (shared && oxygen) {
    said.push(
      `decoding the texts of several frames together (oxygen) another ${times(ratio(shared.frame_ms_median, oxygen.frame_ms_median))}`,
    );
  }
  if (isolated && parallel) {
    said.push(
      `two processes side by side (parallel) give ${times(ratio(isolated.frame_ms_median, parallel.frame_ms_median))}`,
    );
  }
  return said.length === 0 ? 'The modes that were measured.' : `${said.join('; ')}.`;
}

const MEMORY = [
  ['base_mb', 's-base', 'program'],
  ['weights_mb', 's-weights', 'weights'],
  ['kv_mb', 's-kv', 'KV cache'],
  ['activations_mb', 's-activations', 'activations and the rest'],
] as const;

/** Peak memory by what it is for. */
export function memorySection(r: BenchResult): Markup | null {
  const rows = measuredModes(r).flatMap(({ mode, figures: { memory } }): Row[] => {
    if (!memory) return [];
    const row = (label: string, weights: number): Row => {
      const values = { ...memory, weights_mb: weights };
      const sum = MEMORY.reduce((total, [field]) => total + values[field], 0);
      return {
        label,
        name: LOOKS[mode].name,
        figure: unit(sum, 'MB'),
        parts: MEMORY.map(([field, name, what]) => ({
          name,
          value: values[field],
          text: digits(values[field]),
          title: `${label}, ${what}: ${unit(values[field], 'MB')}`,
        })),
      };
    };
    const own = row(mode, memory.weights_mb);
    if (memory.weights_private_mb <= memory.weights_mb) return [own];
    return [
      { ...own, label: `${mode}, weights shared` },
      row(`${mode}, weights not shared`, memory.weights_private_mb),
    ];
  });
  if (rows.length === 0) return null;
  const more = growth(r.modes.oxygen?.peak_pss_mb ?? null, r.modes.isolated?.peak_pss_mb ?? null);
  return section(
    'memory',
    'Memory',
    more === null
      ? 'Peak memory of each mode.'
      : `At its peak oxygen takes ${change(more)} of what isolated takes, with up to ${digits(r.modes.oxygen?.batch_max ?? 0)} texts at once.`,
    grid(
      figure(
        'Peak memory',
        rowChart({ about: spoken('Peak memory', rows), xTitle: 'MB, proportional set size', rows }),
        key(MEMORY.map(([, name, what]) => [name, what])),
      ),
    ),
  );
}
