/** When the chunk and the text come, counted from the start of a frame whose request arrives with it. */
import { figure, grid, section } from '../../report/blocks';
import type { Child, Markup } from '../../report/markup';
import { change, digits, duration, growth } from '../../report/numbers';
import type { Scale } from '../../report/scale';
import { group, line, marker } from '../../report/svg';
import { measuredModes, type Measured, type BenchResult } from '../result';
import { LOOKS } from './modes';
import { rowChart, rowsWithAxis, type Row } from './row-chart';

export function latencySection(r: BenchResult): Markup | null {
  const modes = measuredModes(r);
  if (modes.length === 0) return null;
  const withText = modes.filter(m => m.figures.requests > 0);
  const { frame_without_language: alone } = r.parts_ms;
  const { oxygen } = r.modes;
  const later = oxygen ? oxygen.first_action_ms_median - alone : null;
  return section(
    'latency',
    'Latency',
    later === null
      ? 'When the robot gets its actions, and the listener the text.'
      : `In oxygen the chunk is out ${duration(oxygen?.first_action_ms_median ?? null)} after its frame began, ` +
          `${duration(Math.abs(later))} ${later < 0 ? 'sooner' : 'later'} than in a run without any language ` +
          `(${change(growth(oxygen?.first_action_ms_median ?? null, alone))}).`,
    grid(
      figure(
        'From frame to chunk',
        chunkChart(modes, alone),
        'Line across the bars: the same without any language.',
      ),
      withText.length === 0
        ? null
        : figure(
            'From request to text',
            textChart(withText),
            'Filled mark: first token. Open mark: last token; its whisker ends at the 95th percentile.',
          ),
    ),
  );
}

function chunkChart(modes: readonly Measured[], alone: number): Markup {
  const rows = modes.map(({ mode, figures: f }): Row => ({
    label: mode,
    name: LOOKS[mode].name,
    figure: duration(f.first_action_ms_median),
    parts: [
      {
        name: LOOKS[mode].name,
        value: f.first_action_ms_median,
        text: '',
        title: `${mode}: ${duration(f.first_action_ms_median)}`,
      },
    ],
    mark: { value: alone, title: `without language: ${duration(alone)}` },
  }));
  const about = `Time from the start of a frame to its chunk: ${rows.map(x => `${x.label} ${x.figure}`).join('; ')}; without language ${duration(alone)}`;
  return rowChart({ about, xTitle: 'ms from the start of the frame to its chunk', rows });
}

function textChart(modes: readonly Measured[]): Markup {
  return rowsWithAxis(
    {
      about: `Time from a request to its first and last token: ${modes.map(m => `${m.mode} ${range(m)}`).join('; ')}`,
      xTitle: 'ms from the arrival of the request',
      rows: modes.map(m => ({ label: m.mode, name: LOOKS[m.mode].name, figure: range(m) })),
      maxima: modes.map(({ figures: f }) =>
        Math.max(f.first_token_ms_median, f.request_latency_ms_median, f.request_latency_ms_p95),
      ),
    },
    (i, x, y) => track(modes[i] as Measured, x, y),
  );
}

const range = ({ figures: f }: Measured): string =>
  `${digits(f.first_token_ms_median)} … ${duration(f.request_latency_ms_median)}`;

function track({ mode, figures: f }: Measured, x: Scale, y: number): Child {
  const middle = y + 8;
  const { marker: shape, name } = LOOKS[mode];
  const [first, last, late] = [f.first_token_ms_median, f.request_latency_ms_median, f.request_latency_ms_p95].map(
    x.at,
  ) as [number, number, number]; // prettier-ignore
  return group(
    { class: name },
    line(Math.min(first, last), middle, Math.max(first, last), middle, 'track'),
    line(last, middle, late, middle, 'tail'),
    line(late, middle - 4, late, middle + 4, 'tail'),
    marker(shape, first, middle, `${mode}, first token: ${duration(f.first_token_ms_median)}`),
    group({ class: 'open' }, marker(shape, last, middle, `${mode}, last token: ${duration(f.request_latency_ms_median)}`)),
  ); // prettier-ignore
}
