/** From values to coordinates, with ticks. */

export interface Scale {
  readonly at: (value: number) => number;
  readonly ticks: readonly Tick[];
}

export interface Tick {
  readonly value: number;
  readonly text: string;
}

/** As good as nothing. */
const TINY = 1e-12;

/** 0 to at least `max`, at round steps. */
export function fromZero(max: number, start: number, end: number, wanted = 4): Scale {
  const top = max > TINY ? max : 1;
  const step = roundStep(top / wanted);
  const count = Math.ceil(top / step - 1e-9);
  return {
    at: value => start + ((end - start) * value) / (count * step),
    ticks: Array.from({ length: count + 1 }, (_, i) => ({
      value: i * step,
      text: tickText(i * step, step),
    })),
  };
}

/** From `low` to `high` as they are, with round values between them. A span of nothing gets one. */
export function between(low: number, high: number, start: number, end: number, wanted = 4): Scale {
  const size = Math.max(Math.abs(low), Math.abs(high));
  const half = size > TINY ? size / 2 : 0.5;
  const [from, to] = high - low > Math.max(size * 1e-9, TINY) ? [low, high] : [low - half, high + half];
  const step = roundStep((to - from) / wanted);
  const first = Math.ceil(from / step - 1e-9);
  const count = Math.floor(to / step + 1e-9) - first + 1;
  return {
    at: value => start + ((end - start) * (value - from)) / (to - from),
    ticks: Array.from({ length: Math.max(0, count) }, (_, i) => ({
      value: (first + i) * step,
      text: tickText((first + i) * step, step).replace(/^-/, '−'),
    })),
  };
}

/** As many decimals as the step has. */
function tickText(value: number, step: number): string {
  if (value === 0) return '0';
  if (step >= 1e6 || step < 1e-4) {
    const places = Math.floor(Math.log10(Math.abs(value)) + 1e-9) - Math.floor(Math.log10(step) + 1e-9);
    return value.toExponential(Math.min(10, Math.max(0, places)));
  }
  return value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}

/** 1, 2 or 5 times a power of ten, at least `step`. */
function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  return ([1, 2, 5].find(m => m * power >= step * (1 - 1e-9)) ?? 10) * power;
}

/** Ticks at the values themselves; `logarithmic` needs positive ones. */
export function throughValues(
  values: readonly number[],
  start: number,
  end: number,
  kind: 'linear' | 'logarithmic',
): Scale {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  const place = kind === 'linear' ? (v: number) => v : Math.log2;
  const [low, high] = [place(sorted[0] ?? 0), place(sorted.at(-1) ?? 1)];
  const at = (value: number) =>
    high > low ? start + ((end - start) * (place(value) - low)) / (high - low) : (start + end) / 2;
  return { at, ticks: sorted.map(value => ({ value, text: String(value) })) };
}

const MAX_DECADES = 6;

/** Decades around positive values. */
export function decades(values: readonly number[], start: number, end: number): Scale {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const every = Math.ceil((high - low) / MAX_DECADES);
  return {
    at: value => start + ((end - start) * (Math.log10(value) - low)) / (high - low),
    ticks: Array.from({ length: high - low + 1 }, (_, i) => ({
      value: 10 ** (low + i),
      text: i % every === 0 ? tenTo(low + i) : '',
    })),
  };
}

const tenTo = (power: number): string =>
  power >= -3 && power <= 4 ? String(Number((10 ** power).toPrecision(1))) : `1e${power}`;
