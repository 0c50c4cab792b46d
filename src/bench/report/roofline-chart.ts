/** The roofline: what a run can reach at most, by how much it computes for each byte that it reads. */
import { FONT, textWidth } from '../../report/layout';
import type { Markup } from '../../report/markup';
import { digits, percent, unit } from '../../report/numbers';
import { decades, type Scale } from '../../report/scale';
import { group, line, marker, polyline, svg, text, WIDTH, type Marker } from '../../report/svg';
import type { Roofline } from '../result';

interface RunPoint {
  readonly label: string;
  readonly name: string;
  readonly marker: Marker;
  /** Operations per byte. */
  readonly intensity: number;
  /** 10⁹ operations per second. */
  readonly rate: number;
}

const HEIGHT = 270;
/** Where the slope is named, as a share of the ridge's operations per byte. */
const BESIDE = 0.15;
const [LEFT, RIGHT, TOP, BOTTOM] = [44, WIDTH - 20, 30, HEIGHT - 38];

/** `rateUnit`: of 10⁹ operations per second. null when a peak or a run was not measured. */
export function rooflineChart(r: Roofline, rateUnit: string): Markup | null {
  const points = runPoints(r).filter(p => drawable(p.intensity) && drawable(p.rate));
  const { gemm_gflops: peak, bandwidth_gb_s: bandwidth } = r;
  if (!drawable(peak) || !drawable(bandwidth) || points.length === 0) return null;
  const ridge = peak / bandwidth;
  const xs = [...points.map(p => p.intensity), ridge * BESIDE, ridge];
  const x = decades([Math.min(...xs) / 2, Math.max(...xs) * 2], LEFT, RIGHT);
  const ends = [x.ticks[0]?.value ?? 1, x.ticks.at(-1)?.value ?? 1] as const;
  const floor = bandwidth * ends[0];
  const y = decades([...points.map(p => p.rate / 2), floor, peak * 1.5], BOTTOM, TOP);
  const roof = (intensity: number) => Math.min(peak, bandwidth * intensity);
  return svg(
    HEIGHT,
    `Roofline: ${points.map(p => `${p.label}, ${digits(p.rate)} billion operations per second`).join('; ')}`,
    axes(x, y),
    polyline(
      [ends[0], ridge, ends[1]].map(v => [x.at(v), y.at(roof(v))] as const),
      'roof',
    ),
    text(RIGHT - 4, y.at(peak) - 6, `arithmetic ${unit(peak, rateUnit)}`, 'note', 'end'),
    points.map(p => point(p, roof(p.intensity), ridge, x, y)),
    bandwidthLabel(bandwidth, ridge, x, y),
  );
}

/** A logarithmic axis has no place for others. */
const drawable = (value: number): boolean => value > 1e-9 && value < 1e12;

function runPoints({ prefill, decode }: Roofline): RunPoint[] {
  const perByte = (run: { gflop: number; mb: number }) => (run.mb > 0 ? (run.gflop / run.mb) * 1000 : 0);
  return [
    {
      label: `prefill ${percent(prefill.share)}`,
      name: 'plain',
      marker: 'circle',
      intensity: perByte(prefill),
      rate: prefill.gflops,
    },
    {
      label: `decode ${percent(decode.share)}`,
      name: 'plain',
      marker: 'square',
      intensity: perByte(decode),
      rate: decode.ms > 0 ? (decode.gflop / decode.ms) * 1000 : 0,
    },
  ];
}

const axes = (x: Scale, y: Scale): Markup[] => [
  text(0, FONT, '10⁹ operations per second', 'axis-title'),
  text((LEFT + RIGHT) / 2, HEIGHT - 5, 'operations per byte read', 'axis-title', 'middle'),
  ...y.ticks.flatMap((t, i) => [
    line(LEFT, y.at(t.value), RIGHT, y.at(t.value), i === 0 ? 'axis' : 'grid'),
    text(LEFT - 6, y.at(t.value) + 4, t.text, 'tick', 'end'),
  ]),
  ...x.ticks.flatMap(t => [
    line(x.at(t.value), TOP, x.at(t.value), BOTTOM, 'grid'),
    text(x.at(t.value), BOTTOM + 16, t.text, 'tick', 'middle'),
  ]),
];

/** Beside the slope. */
function bandwidthLabel(bandwidth: number, ridge: number, x: Scale, y: Scale): Markup {
  const at = ridge * BESIDE;
  const words = `memory ${unit(bandwidth, 'GB/s')}`;
  return text(
    Math.min(x.at(at) + 10, RIGHT - textWidth(words)),
    y.at(bandwidth * at) + 4,
    words,
    'note halo',
  );
}

/** A label below the point keeps clear of a flat roof, one to the right of it of a slope. */
function point(p: RunPoint, roof: number, ridge: number, x: Scale, y: Scale): Markup {
  const [px, py] = [x.at(p.intensity), y.at(p.rate)];
  const half = textWidth(p.label) / 2;
  const label =
    p.intensity < ridge
      ? text(Math.min(px + 9, RIGHT - 2 * half), py + FONT + 4, p.label, 'series')
      : text(Math.min(Math.max(px, LEFT + half), RIGHT - half), py + FONT + 8, p.label, 'series', 'middle');
  return group(
    { class: p.name },
    line(px, y.at(roof), px, py, 'leader'),
    marker(
      p.marker,
      px,
      py,
      `${p.label}: ${digits(p.rate)} · 10⁹ operations per second, ${digits(p.intensity)} per byte`,
    ),
    label,
  );
}
