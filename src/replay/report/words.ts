/** Words and figures that several sections use. */
import { aligned, count, NONE, percent, tenths, unit } from '../../report/numbers';
import type { ReplayResult } from '../result';

/** `1 text`, `12 texts`. */
export const counted = (n: number, one: string, many = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : many}`;

/** A share that is not all never reads as all. */
export const nearly = (share: number): string =>
  share > 0.99 && share < 1 ? `${tenths(share)}\u00a0%` : percent(share);

/** A time of the bag: `12.34 s`; a short text takes a hundredth. */
export const clock = (seconds: number): string => `${seconds.toFixed(2)}\u00a0s`;

export const ms = (value: number | null): string => unit(value, 'ms');

/** Of any size, in robot units. */
export const amount = (value: number | null): string => (value === null ? NONE : minus(aligned(value)));

/** A value that somebody chose, such as a limit: as it was written. */
export const plain = (value: number): string => minus(String(Number(value.toPrecision(6))));

const minus = (text: string): string => text.replace(/^-/, '−');

/** More words than this make no sentence. */
const MOST = 9;

/** `a, b and c` */
export function listed(words: readonly string[]): string {
  if (words.length > MOST)
    return listed([...words.slice(0, MOST - 1), `${count(words.length - MOST + 1)} more`]);
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
}

export interface Judged {
  /** Of the action. */
  readonly index: number;
  readonly name: string;
  readonly mae: number;
  /** Of the range that the robot file allows: joints of any unit can be set side by side. */
  readonly share: number;
}

/** Joints that had recorded commands beside theirs, in the order of the robot file. */
export function judged({ summary, series }: ReplayResult): Judged[] {
  return (summary.comparison?.joints ?? []).flatMap(({ name, mae }, i) => {
    const limits = series.actions[i];
    const range = limits ? limits.max - limits.min : 0;
    return mae !== null && range > 0 ? [{ index: i, name, mae, share: mae / range }] : [];
  });
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, v) => sum + v, 0) / Math.max(1, values.length);
