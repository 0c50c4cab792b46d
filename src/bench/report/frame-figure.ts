/** Where a frame's time goes: single runs, added up as often as each mode makes them. */
import { figure, grid, key, section, table } from '../../report/blocks';
import type { Markup } from '../../report/markup';
import { change, digits, duration, growth, percent } from '../../report/numbers';
import { measuredModes, type BenchMode, type BenchResult, type ModeFigures, type Parts } from '../result';
import { LOOKS } from './modes';
import { rowChart, type Row } from './row-chart';

const STAGES = ['vision', 'prefill', 'denoise', 'decode', 'manager'] as const;
type Stage = (typeof STAGES)[number];

/** One process does everything in turn, so its runs add up. */
const SERIAL = ['isolated', 'shared', 'oxygen'] as const satisfies readonly BenchMode[];

/** Milliseconds of each stage in a mean frame. */
export function stages(mode: (typeof SERIAL)[number], f: ModeFigures, parts: Parts): Record<Stage, number> {
  const requests = f.frames > 0 ? f.requests / f.frames : 0;
  const prefills = mode === 'isolated' ? 1 + requests : 1;
  const tokens = (f.tokens_per_s * f.frame_ms_median) / 1000;
  const batch = Math.max(1, f.batch_mean);
  return {
    vision: prefills * parts.vision,
    prefill: prefills * parts.prefill,
    denoise: parts.denoise,
    decode: (tokens / batch) * decodeMs(parts.decode, batch),
    manager: f.manager_ms_median,
  };
}

/** One decode step of `batch` rows, between the measured ones on a straight line, outside like the nearest. */
export function decodeMs(measured: Parts['decode'], batch: number): number {
  const known = Object.entries(measured)
    .map(([rows, ms]) => ({ rows: Number(rows), ms }))
    .sort((a, b) => a.rows - b.rows);
  const above = known.find(k => k.rows >= batch);
  const below = known.findLast(k => k.rows <= batch);
  if (!above || !below) return (above ?? below)?.ms ?? 0;
  if (above.rows === below.rows) return above.ms;
  return below.ms + ((above.ms - below.ms) * (batch - below.rows)) / (above.rows - below.rows);
}

interface Split {
  readonly mode: BenchMode;
  readonly measured: number;
  readonly parts: Record<Stage, number>;
}

/** Nothing when only `parallel` was measured. */
export function frameSection(r: BenchResult): Markup | null {
  const splits = measuredModes(r).flatMap(({ mode, figures }): Split[] => {
    const serial = SERIAL.find(m => m === mode);
    return serial
      ? [{ mode, measured: figures.frame_ms_median, parts: stages(serial, figures, r.parts_ms) }]
      : [];
  });
  if (splits.length === 0) return null;
  const rows = splits.map(rowOf);
  return section(
    'frame',
    'Where a frame’s time goes',
    lead(r),
    grid(
      figure(
        'Stages of a frame',
        [
          key(STAGES.map(stage => [`p-${stage}`, stage])),
          rowChart({
            about: `Stages of a frame: ${rows.map(row => row.parts.map(p => p.title).join(', ')).join('; ')}`,
            xTitle: 'ms',
            rows,
          }),
        ],
        'Stages were timed as single runs; the line across a bar is the whole frame as measured. Manager: all time outside of model runs.',
      ),
      table(
        ['ms', ...splits.map(s => s.mode)],
        [
          ...STAGES.map(stage => [stage, ...splits.map(s => digits(s.parts[stage]))]),
          ['sum', ...splits.map(s => digits(sumOf(s)))],
          ['measured', ...splits.map(s => digits(s.measured))],
        ],
        'Stages of a frame in milliseconds',
      ),
    ),
  );
}

const sumOf = ({ parts }: Split): number => STAGES.reduce((sum, stage) => sum + parts[stage], 0);

const rowOf = ({ mode, measured, parts }: Split): Row => ({
  label: mode,
  name: LOOKS[mode].name,
  figure: `measured ${duration(measured)}`,
  parts: STAGES.map(stage => ({
    name: `p-${stage}`,
    value: parts[stage],
    text: digits(parts[stage]),
    title: `${mode}, ${stage}: ${duration(parts[stage])}`,
  })),
  mark: { value: measured, title: `measured frame: ${duration(measured)}` },
});

function lead(r: BenchResult): string {
  const { isolated, oxygen } = r.modes;
  const said: string[] = [];
  if (oxygen) said.push(`Managing cache and requests takes ${percent(oxygen.manager_share)} of a frame in oxygen.`);
  if (isolated) {
    said.push(
      `The runs of isolated add up to ${duration(r.parts_ms.isolated_expected)}; its frames took ` +
        `${duration(isolated.frame_ms_median)} (${change(growth(isolated.frame_ms_median, r.parts_ms.isolated_expected))}).`,
    );
  }
  return said.join(' ') || 'Single runs, added up as often as a frame makes them.';
} // prettier-ignore
