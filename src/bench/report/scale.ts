/** From values to coordinates, with ticks. */

export interface Scale {
  readonly at: (value: number) => number;
  readonly ticks: readonly Tick[];
}

export interface Tick {
  readonly value: number;
  readonly text: string;
}

/** 0 to at least `max`, at round steps. */
export function fromZero(max: number, start: number, end: number, wanted = 4): Scale {
  const top = max > 0 ? max : 1;
  const step = roundStep(top / wanted);
  const count = Math.ceil(top / step - 1e-9);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return {
    at: value => start + ((end - start) * value) / (count * step),
    ticks: Array.from({ length: count + 1 }, (_, i) => ({
      value: i * step,
      text: step >= 1e6 ? (i * step).toExponential(0) : (i * step).toFixed(Math.min(decimals, 20)),
    })),
  };
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

/** Decades around positive values. */
export function decades(values: readonly number[], start: number, end: number): Scale {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  return {
    at: value => start + ((end - start) * (Math.log10(value) - low)) / (high - low),
    ticks: Array.from({ length: high - low + 1 }, (_, i) => ({
      value: 10 ** (low + i),
      text: tenTo(low + i),
    })),
  };
}

const tenTo = (power: number): string =>
  Math.abs(power) <= 4 ? String(Number((10 ** power).toPrecision(1))) : `1e${power}`;
