/** Numbers as people read them: three digits, with their unit. */

const NARROW_SPACE = '\u202f';
const SPACE = '\u00a0';
/** Where there is no figure. */
export const NONE = '–';

/** Three significant digits; whole numbers from 100 on, in groups of three. */
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size < 999.5) return size === 0 ? '0' : trim(value.toPrecision(size < 0.0995 ? 2 : 3));
  if (size >= 1e12) return value.toExponential(2);
  return grouped(value);
}

/** Of any size: three significant digits, all of them shown, so that columns can be compared. */
export function aligned(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size < 1e-4 || size >= 1e6) return value.toExponential(2);
  return size < 999.5 ? value.toPrecision(3) : String(Math.round(value));
}

/** A share as a percentage of one decimal; one that is not all never reads as all. */
export function tenths(share: number): string {
  const value = 100 * share;
  return (share < 1 ? Math.min(value, 99.9) : value).toFixed(1);
}

/** Whole numbers without decimals. */
export const count = (value: number): string => (Number.isInteger(value) ? grouped(value) : digits(value));

/** A whole number in groups of three. */
export const grouped = (value: number): string =>
  String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE);

/** `0.0120` → `0.012`; `2.00` stays, its zeros are figures. */
const trim = (text: string): string => (text.startsWith('0.0') ? text.replace(/0+$/, '') : text);

export const unit = (value: number | null, name: string): string =>
  value === null ? NONE : digits(value) + SPACE + name;

/** Milliseconds, from 10 s on in seconds. */
export const duration = (ms: number | null): string =>
  ms !== null && Math.abs(ms) >= 10_000 ? unit(ms / 1000, 's') : unit(ms, 'ms');

/** A factor: `2.07×`, `0.50×`. */
export function times(factor: number | null): string {
  if (factor === null) return NONE;
  return `${factor < 0.995 && factor >= 0.0995 ? factor.toFixed(2) : digits(factor)}×`;
}

/** A share of 1 as a percentage of two digits. */
export function percent(share: number | null): string {
  if (share === null) return NONE;
  const value = share * 100;
  return (Math.abs(value) < 9.95 ? value.toFixed(1) : grouped(value)) + SPACE + '%';
}

/** With its sign: `+8.0 %`, `−3.1 %`. */
export function change(share: number | null): string {
  if (share === null) return NONE;
  return (share < 0 ? '−' : '+') + percent(Math.abs(share));
}

/** Against as good as nothing. */
const NO_FACTOR = 1e12;

/** a / b, or null where that says nothing. */
export function ratio(a: number | null, b: number | null): number | null {
  if (a === null || b === null || b <= 0) return null;
  const value = a / b;
  return value < NO_FACTOR ? value : null;
}

/** a / b − 1 */
export function growth(a: number | null, b: number | null): number | null {
  const value = ratio(a, b);
  return value === null ? null : value - 1;
}
