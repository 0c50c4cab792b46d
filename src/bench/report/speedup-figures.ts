/** Speed-up of `oxygen` over `isolated` against N, k and S. */
import { figure, grid, section } from '../../report/blocks';
import type { Markup } from '../../report/markup';
import { duration, times } from '../../report/numbers';
import type { BenchResult } from '../result';
import { lineChart, type Series } from './line-chart';
import { allPoints, isOfLoad, speedups } from './select';
import { modeSeries, speedupSeries, spoken } from './series';

const EVEN = { y: 1, label: 'equally fast' };

const chart = (what: string, xTitle: string, xScale: 'linear' | 'logarithmic', series: readonly Series[]) =>
  lineChart({
    about: `Speed-up of oxygen over isolated against ${what}: ${spoken(series)}`,
    xTitle,
    yTitle: 'frame time of isolated ÷ oxygen',
    xScale,
    series,
    reference: EVEN,
  });

/** Nothing with fewer than two points in a line. */
export function speedupSection(r: BenchResult): Markup | null {
  const { settings } = r;
  const points = allPoints(r).filter(p => isOfLoad(r, p));
  const all = speedups(points);
  const byN = speedupSeries(all, s => s.tokens, { label: 'k', of: s => s.perFrame, keep: settings.tokens_per_frame }); // prettier-ignore
  const byK = speedupSeries(all, s => s.perFrame, { label: 'N', of: s => s.tokens, keep: settings.tokens });
  if (byN.length + byK.length === 0) return null;
  const best = all.reduce((a, b) => (b.factor > a.factor ? b : a));
  const worst = all.reduce((a, b) => (b.factor < a.factor ? b : a));
  const figures = [
    byN.length === 0
      ? null
      : figure(
          'Against the length of the texts',
          chart('N', 'N, tokens per request', 'linear', byN),
          'One line per k, the tokens by which each text grows in a frame.',
        ),
    byK.length === 0
      ? null
      : figure(
          'Against the share done per frame',
          chart('k', 'k, tokens per request and frame', 'logarithmic', byK),
          'One line per N. A small k gives the next frame its turn sooner; a text then takes more frames.',
        ),
  ];
  return section(
    'speed-up',
    'Speed-up',
    `A frame of oxygen is up to ${times(best.factor)} as fast as one of isolated (N ${best.tokens}, k ${best.perFrame}), and at least ${times(worst.factor)} (N ${worst.tokens}, k ${worst.perFrame}).`,
    grid(figures),
  );
}

/** Frame time and speed-up against denoise steps. Nothing with fewer than two step counts. */
export function denoiseSection(r: BenchResult): Markup | null {
  const { tokens, tokens_per_frame: k, arrivals, denoise_steps } = r.settings;
  const points = allPoints(r).filter(
    p => p.arrivals === arrivals && (p.mode !== 'oxygen' || p.tokens_per_frame === k),
  );
  const frames = modeSeries(
    points.filter(p => p.tokens === tokens),
    p => ({ x: p.denoise_steps, y: p.frame_ms_median, title: `${p.mode}, S ${p.denoise_steps}: ${duration(p.frame_ms_median)}` }),
  ).filter(s => s.points.length > 1); // prettier-ignore
  if (frames.length === 0) return null;
  const all = speedups(points);
  const factors = all.filter(s => s.tokens === tokens).map(s => s.factor);
  const series = speedupSeries(all, s => s.steps, { label: 'N', of: s => s.tokens, keep: tokens });
  return section(
    'denoise',
    'Denoise steps',
    factors.length > 1
      ? `Every mode denoises once per frame, so more steps cost all of them alike. At N ${tokens} the speed-up lies between ${times(Math.min(...factors))} and ${times(Math.max(...factors))}.`
      : 'Every mode denoises once per frame, so more steps cost all of them alike.',
    grid(
      figure(
        'Frame time',
        lineChart({
          about: `Frame time in milliseconds against denoise steps: ${spoken(frames)}`,
          xTitle: 'S, denoise steps per chunk',
          yTitle: 'frame time, ms',
          xScale: 'linear',
          series: frames,
        }),
        `N ${tokens}, k ${k}; all other figures have S ${denoise_steps}.`,
      ),
      series.length === 0
        ? null
        : figure('Speed-up', chart('denoise steps', 'S, denoise steps per chunk', 'linear', series), 'One line per N.'),
    ),
  );
} // prettier-ignore
