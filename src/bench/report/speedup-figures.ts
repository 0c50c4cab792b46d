/** Speed-up of `oxygen` over `isolated`, and the action rate, against language load. */
import { BENCH_MODES, type BenchResult, type SweepPoint } from '../result';
import { figure, grid, section } from './blocks';
import { lineChart, type Point, type Series } from './line-chart';
import type { Markup } from './markup';
import { LOOKS } from './modes';
import { digits, duration, growth, percent, ratio, times, unit } from './numbers';
import { allPoints, counterpart, ofLoad, some, speedups, type Speedup } from './select';
import { MARKERS } from './svg';

const MAX_SERIES = 4;
const EVEN = { y: 1, label: 'equally fast' };
const N_TITLE = 'N, tokens per request';

/** Nothing when `oxygen` and `isolated` were not both measured. */
export function speedupSection(r: BenchResult): Markup | null {
  const all = speedups(r).filter(s => s.perFrame !== 'auto') as (Speedup & { perFrame: number })[];
  if (all.length === 0) return null;
  const { tokens_per_frame: k } = r.settings;
  const ks = some(all.map(s => s.perFrame), MAX_SERIES, k === 'auto' ? null : k); // prettier-ignore
  const ns = some(all.map(s => s.tokens), MAX_SERIES, r.settings.tokens); // prettier-ignore
  const byN = ks.map((value, i) =>
    ramp(`k ${value}`, i, ks.length, all.filter(s => s.perFrame === value).map(s => ({ x: s.tokens, s }))),
  ); // prettier-ignore
  const byK = ns.map((value, i) =>
    ramp(`N ${value}`, i, ns.length, all.filter(s => s.tokens === value).map(s => ({ x: s.perFrame, s }))),
  ); // prettier-ignore
  const chart = (what: string, xTitle: string, xScale: 'linear' | 'logarithmic', series: readonly Series[]) =>
    lineChart({
      about: `Speed-up of oxygen over isolated against ${what}: ${spoken(series)}`,
      xTitle,
      yTitle: 'frame time of isolated ÷ oxygen',
      xScale,
      series,
      reference: EVEN,
    });
  const best = all.reduce((a, b) => (b.factor > a.factor ? b : a));
  return section(
    'speed-up',
    'Speed-up',
    `At its best, with N ${best.tokens} and k ${best.perFrame}, a frame takes ${times(best.factor)} as long in isolated as in oxygen.`,
    grid(
      figure(
        'More language, more gain',
        chart('N', N_TITLE, 'linear', byN),
        'One line per k, the tokens that each request grows by in a frame.',
      ),
      figure(
        'Smaller steps, more gain',
        chart('k', 'k, tokens per request and frame', 'logarithmic', byK),
        'One line per N. A small k frees the robot sooner; the text then takes more frames.',
      ),
    ),
  );
}

/** A line in a ramp of one hue; several points may have the same label. */
function ramp(label: string, i: number, count: number, points: readonly { x: number; s: Speedup }[]): Series {
  const step = count === 1 ? 4 : 1 + Math.round((3 * i) / (count - 1));
  return {
    label,
    name: `ramp-${step}`,
    marker: MARKERS[i % MARKERS.length] ?? 'circle',
    points: points.map(({ x, s }) => ({
      x,
      y: s.factor,
      title: `N ${s.tokens}, k ${s.perFrame}: ${times(s.factor)}`,
    })),
  };
}

const spoken = (series: readonly Series[]): string =>
  series
    .map(s => `${s.label} ${s.points.map(p => `${digits(p.y)} at ${digits(p.x)}`).join(', ')}`)
    .join('; ');

/** Action rate against N for every mode, at the k of the run. Nothing with fewer than two N. */
export function loadSection(r: BenchResult): Markup | null {
  const points = ofLoad(r).filter(
    p => p.mode !== 'oxygen' || p.tokens_per_frame === r.settings.tokens_per_frame,
  );
  const series = modeSeries(points, p => p.tokens, p => p.action_hz, p => `${p.mode}, N ${p.tokens}: ${unit(p.action_hz, 'actions/s')}`); // prettier-ignore
  if (series.every(s => s.points.length < 2)) return null;
  const latency = modeSeries(points, p => p.tokens, p => p.tokens_per_s, p => `${p.mode}, N ${p.tokens}: ${unit(p.tokens_per_s, 'tokens/s')}`); // prettier-ignore
  const chart = (yTitle: string, lines: readonly Series[]) =>
    lineChart({
      about: `${yTitle} against N: ${spoken(lines)}`,
      xTitle: N_TITLE,
      yTitle,
      xScale: 'linear',
      series: lines,
    });
  return section(
    'load',
    'Action rate under language load',
    keptSentence(series),
    grid(
      figure(
        'Actions',
        chart('actions per second', series),
        `As the paper counts them: ${r.settings.horizon} actions per chunk, divided by the frame time; k ${r.settings.tokens_per_frame}.`,
      ),
      figure('Language', chart('tokens per second, all requests', latency)),
    ),
  );
}

function keptSentence(series: readonly Series[]): string {
  const kept = series.flatMap(s => {
    const sorted = [...s.points].sort((a, b) => a.x - b.x);
    const [first, last] = [sorted[0], sorted.at(-1)];
    const share = first && last && first.x < last.x ? ratio(last.y, first.y) : null;
    return share === null
      ? []
      : [`${s.label} keeps ${percent(share)} of its rate from N ${first?.x} to N ${last?.x}`];
  });
  return kept.length === 0 ? 'Rates at each number of tokens per request.' : `${kept.join('; ')}.`;
}

function modeSeries(
  points: readonly SweepPoint[],
  x: (p: SweepPoint) => number,
  y: (p: SweepPoint) => number,
  title: (p: SweepPoint) => string,
): Series[] {
  return BENCH_MODES.flatMap(mode => {
    const own: Point[] = points
      .filter(p => p.mode === mode)
      .map(p => ({ x: x(p), y: y(p), title: title(p) }));
    return own.length === 0
      ? []
      : [{ label: mode, name: LOOKS[mode].name, marker: LOOKS[mode].marker, points: own }];
  });
}

/** Frame time and speed-up against denoise steps. Nothing with fewer than two step counts. */
export function denoiseSection(r: BenchResult): Markup | null {
  const { tokens, tokens_per_frame: k, arrivals } = r.settings;
  const at = (p: SweepPoint) => p.arrivals === arrivals && (p.mode !== 'oxygen' || p.tokens_per_frame === k);
  const points = allPoints(r).filter(at);
  const own = points.filter(p => p.tokens === tokens);
  const series = modeSeries(own, p => p.denoise_steps, p => p.frame_ms_median, p => `${p.mode}, S ${p.denoise_steps}: ${duration(p.frame_ms_median)}`)
    .filter(s => s.points.length > 1); // prettier-ignore
  if (series.length === 0) return null;
  const factors = own.flatMap(p => {
    const other = p.mode === 'oxygen' ? counterpart(own, p, 'isolated') : undefined;
    const factor = other ? ratio(other.frame_ms_median, p.frame_ms_median) : null;
    return factor === null ? [] : [{ s: p.denoise_steps, factor }];
  });
  const spread = factors.map(f => f.factor);
  const lead =
    factors.length > 1
      ? `With ${Math.min(...factors.map(f => f.s))} to ${Math.max(...factors.map(f => f.s))} denoise steps oxygen is ` +
        `${times(Math.min(...spread))} to ${times(Math.max(...spread))} as fast as isolated` +
        ` (largest against smallest: ${percent(growth(Math.max(...spread), Math.min(...spread)))}).`
      : 'Every mode denoises once per frame, so all lines rise alike.';
  return section(
    'denoise',
    'Denoise steps',
    lead,
    grid(
      figure(
        'Frame time',
        lineChart({
          about: `Frame time in milliseconds against denoise steps: ${spoken(series)}`,
          xTitle: 'S, denoise steps per chunk',
          yTitle: 'frame time, ms',
          xScale: 'linear',
          series,
        }),
        `N ${tokens}, k ${k}.`,
      ),
    ),
  );
}
