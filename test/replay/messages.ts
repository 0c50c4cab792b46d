/** Random messages of any type, with every field set to something that a reader may stumble over. */
import fc from 'fast-check';
import type { Field } from '../../src/ros/own-messages';
import { definitionOf } from '../../src/ros/serialise';

const text = fc.oneof(
  fc.constantFrom('', ' ', '😀', 'ä日\n', '"{}: #', 'x'.repeat(300)),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map(given => given.replaceAll('\0', '')),
);
const double = fc.oneof(fc.constantFrom(NaN, -0, Infinity, -Infinity, 5e-324, 1 / 3), fc.double());
const whole = (bits: number, signed: boolean): fc.Arbitrary<number> => {
  const [min, max] = signed ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
  return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max }));
};

const time = fc.record({ sec: whole(32, true), nanosec: fc.integer({ min: 0, max: 999_999_999 }) });
const SCALARS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  bool: fc.boolean(),
  uint8: whole(8, false),
  int32: whole(32, true),
  uint32: whole(32, false),
  uint64: fc.oneof(fc.constantFrom(0n, 2n ** 53n + 1n, 2n ** 64n - 1n), fc.bigInt(0n, 2n ** 64n - 1n)),
  float32: double.map(Math.fround),
  float64: double,
  string: text,
  time,
  duration: time,
};

const ofField = ({ type, isArray }: Field): fc.Arbitrary<unknown> => {
  const one = SCALARS[type] ?? anyMessage(type);
  if (!isArray) return one;
  const list = fc.array(one, { maxLength: 3 });
  // As the node gives them.
  return type === 'float64'
    ? fc.oneof(
        list,
        list.map(values => Float64Array.from(values as number[])),
      )
    : list;
};

/** Of a type such as `std_msgs/Header`. */
export const anyMessage = (type: string): fc.Arbitrary<object> =>
  fc.record(
    Object.fromEntries(
      definitionOf(type)
        .filter(field => !field.isConstant)
        .map(field => [field.name, ofField(field)]),
    ),
  );

/** A message as result_bag_peer.py prints it. */
export function plain(value: unknown, { type, isArray }: Pick<Field, 'type' | 'isArray'>): unknown {
  if (isArray) return Array.from(value as ArrayLike<unknown>, element => plain(element, { type }));
  if (type.startsWith('float')) return hex(value as number);
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (typeof value !== 'object') return value;
  const fields = ['time', 'duration'].includes(type)
    ? TIME
    : definitionOf(type).filter(field => !field.isConstant);
  const given = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(fields.map(field => [field.name, plain(given[field.name], field)]));
}

const TIME: readonly Field[] = [
  { name: 'sec', type: 'int32' },
  { name: 'nanosec', type: 'uint32' },
];

function hex(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes.toString('hex');
}
