/** How ROS 2 reads a scalar of a parameter file: its own rules, neither YAML 1.1 nor 1.2 (tested against rclpy). */

const BOOLEANS = new Map(
  Object.entries({ y: true, yes: true, on: true, true: true, n: false, no: false, off: false, false: false }),
);
const INTEGER = /^([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)$/;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const SPECIAL = /^([+-]?)(?:\.(inf|Inf|INF|nan|NaN|NAN)|(inf|infinity|nan))$/i;
const SMALLEST_NORMAL = 2.2250738585072014e-308;

/**
 * The value that a plain (unquoted) scalar stands for: `yes` and `y` are true, `017` is 15, `70` an integer, `~` a word.
 * Integers are bigint; numbers that do not fit a double stay text.
 */
export function plainScalar(text: string): boolean | bigint | number | string {
  const truth = BOOLEANS.get(text.toLowerCase());
  if (truth !== undefined && isOneCase(text)) return truth;
  return integerOf(text) ?? doubleOf(text) ?? text;
}

/** yes, Yes, YES; not yEs. */
const isOneCase = (text: string): boolean =>
  [text.toLowerCase(), text.toUpperCase(), text[0]!.toUpperCase() + text.slice(1).toLowerCase()].includes(
    text,
  );

function integerOf(text: string): bigint | null {
  const [, sign, digits] = INTEGER.exec(text) ?? [];
  if (digits === undefined) return null;
  const octal = /^0[0-7]+$/.test(digits);
  const size = BigInt(octal ? `0o${digits.slice(1)}` : digits);
  const value = sign === '-' ? -size : size;
  return BigInt.asIntN(64, value) === value ? value : null;
}

function doubleOf(text: string): number | null {
  const [, sign, dotted, bare] = SPECIAL.exec(text) ?? [];
  const word = (dotted ?? bare)?.toLowerCase();
  if (word !== undefined) return word === 'nan' ? NaN : sign === '-' ? -Infinity : Infinity;
  if (!DECIMAL.test(text)) return null;
  const value = Number(text);
  const isZero = !/[1-9]/.test(text.replace(/[eE].*/, ''));
  return Number.isFinite(value) && (isZero || Math.abs(value) >= SMALLEST_NORMAL) ? value : null;
}
