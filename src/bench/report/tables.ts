/** All figures, and what gave them. */
import { section, table } from '../../report/blocks';
import { h, type Markup } from '../../report/markup';
import { count, digits, grouped, NONE, percent, unit } from '../../report/numbers';
import { measuredModes, type BenchResult, type ModeFigures, type SweepPoint } from '../result';

const ms = (value: number): string => unit(value, 'ms');
const mb = (value: number | null | undefined): string => unit(value ?? null, 'MB');

const FIGURES: readonly (readonly [label: string, show: (f: ModeFigures) => string])[] = [
  ['frame, median', f => ms(f.frame_ms_median)],
  ['frame, lowest and highest repeat', f => `${digits(f.frame_ms_spread.low)} … ${ms(f.frame_ms_spread.high)}`],
  ['frame, 95th percentile', f => ms(f.frame_ms_p95)],
  ['actions per second', f => unit(f.action_hz, 'Hz')],
  ['new chunks per second', f => unit(f.replan_hz, 'Hz')],
  ['language', f => unit(f.tokens_per_s, 'tokens/s')],
  ['rows per decode step, mean', f => digits(f.batch_mean)],
  ['rows per decode step, largest', f => count(f.batch_max)],
  ['frame to chunk', f => ms(f.first_action_ms_median)],
  ['request to first token', f => ms(f.first_token_ms_median)],
  ['request to last token', f => ms(f.request_latency_ms_median)],
  ['request to last token, 95th percentile', f => ms(f.request_latency_ms_p95)],
  ['manager', f => ms(f.manager_ms_median)],
  ['manager, share of a frame', f => percent(f.manager_share)],
  ['peak memory (PSS)', f => mb(f.peak_pss_mb)],
  ['– program', f => mb(f.memory?.base_mb)],
  ['– weights', f => mb(f.memory?.weights_mb)],
  ['– weights if not shared', f => mb(f.memory?.weights_private_mb)],
  ['– KV cache', f => mb(f.memory?.kv_mb)],
  ['– activations and the rest', f => mb(f.memory?.activations_mb)],
  ['CPU time per request', f => unit(f.cpu_s_per_request, 's')],
  ['energy per request', f => unit(f.energy_j_per_request, 'J')],
  ['counted frames', f => grouped(f.frames)],
  ['repeats', f => grouped(f.repeats)],
  ['requests', f => grouped(f.requests)],
]; // prettier-ignore

export function figuresSection(r: BenchResult): Markup {
  const modes = measuredModes(r);
  const p = r.parts_ms;
  const parts: [string, number][] = [
    ['vision', p.vision],
    ['prefill without vision', p.prefill],
    [`denoise, ${r.settings.denoise_steps} steps`, p.denoise],
    ['one denoise step', p.denoise_step],
    ['seed of 8 tokens', p.seed],
    ...Object.entries(p.decode).map(([rows, value]): [string, number] => [
      `decode step, ${rows} ${rows === '1' ? 'row' : 'rows'}`,
      value,
    ]),
    ['frame to chunk without language', p.frame_without_language],
    ['isolated as added up', p.isolated_expected],
  ];
  return section(
    'figures',
    'All figures',
    'Medians unless it says otherwise. Blocks of the modes took turns, so that a busy machine hits all alike.',
    modes.length === 0
      ? null
      : table(
          ['', ...modes.map(m => m.mode)],
          FIGURES.map(([label, show]) => [label, ...modes.map(m => show(m.figures))]),
          'All figures of all modes',
        ),
    h('h3', {}, 'Single runs'),
    table(['', 'median'], parts.map(([label, value]) => [label, ms(value)]), 'Single runs'),
    r.sweep.length === 0 ? null : [h('h3', {}, 'Sweep, times in ms'), sweepTable(r.sweep)],
  ); // prettier-ignore
}

const sweepTable = (points: readonly SweepPoint[]): Markup =>
  table(
    ['mode', 'N', 'k', 'S', 'requests', 'frame', '95 %', 'actions/s', 'chunks/s', 'tokens/s', 'rows', 'chunk', 'last token', 'manager'],
    points.map(p => [
      p.mode,
      String(p.tokens),
      p.mode === 'oxygen' ? String(p.tokens_per_frame) : NONE,
      String(p.denoise_steps),
      p.arrivals,
      digits(p.frame_ms_median),
      digits(p.frame_ms_p95),
      digits(p.action_hz),
      digits(p.replan_hz),
      digits(p.tokens_per_s),
      digits(p.batch_mean),
      digits(p.first_action_ms_median),
      digits(p.request_latency_ms_median),
      digits(p.manager_ms_median),
    ]),
    'All points of the sweep',
  ); // prettier-ignore
