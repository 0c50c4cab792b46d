/**
 * Plain messages to bytes (CDR, little endian): for result bags, and for the topics that are busy or have nested arrays.
 * Of those rclnodejs makes an object of its own of every element: that costs a command 0.3 ms, and a MarkerArray longer
 * than several ticks of the action stream. Bytes it hands on as they are. A field that is not given has its default.
 */
import { ros2jazzy } from '@foxglove/rosmsg-msgs-common';
import { OxygenError } from '../core/errors';
import { OWN_MESSAGES } from './own-messages';
import type { Field, MessageFields } from './own-messages';
import type { RclPublisher } from './rcl';

/** Published as bytes; their layout is the same from Humble to Jazzy. */
const SERIALISED = [
  'diagnostic_msgs/msg/DiagnosticArray',
  'oxygen_vla/msg/ActionChunk',
  'oxygen_vla/msg/LanguageToken',
  'sensor_msgs/msg/JointState',
  'std_msgs/msg/Float64MultiArray',
  'trajectory_msgs/msg/JointTrajectory',
  'visualization_msgs/msg/MarkerArray',
] as const;
export type SerialisedType = (typeof SERIALISED)[number];

const DEFINITIONS: Readonly<Record<string, MessageFields>> = { ...ros2jazzy, ...OWN_MESSAGES };

/** Constants and fields of a standard message or one of ours, such as `std_msgs/Header`. Throws INTERNAL. */
export function definitionOf(type: string): readonly Field[] {
  const fields = DEFINITIONS[type];
  if (!fields) throw new OxygenError('INTERNAL', `no definition of the message type ${type}`);
  return fields.definitions;
}

type Write = (to: Bytes, value: unknown) => void;

/** The same publisher; from now on it turns messages into bytes, if its type is one of ours. */
export function publishingBytes(publisher: RclPublisher, type: string): RclPublisher {
  const ours = SERIALISED.find(each => each === type);
  if (ours === undefined) return publisher;
  const write = serialiser(ours);
  const publish = publisher.publish.bind(publisher);
  return Object.assign(publisher, { publish: (message: object) => publish(write(message)) });
}

/** The function that writes messages of a type, such as `std_msgs/msg/String`. Throws INTERNAL. */
export function serialiser(type: string): (message: object) => Buffer {
  const write = structure(type.replace('/msg/', '/'));
  const bytes = new Bytes();
  return message => {
    bytes.begin();
    write(bytes, message);
    return bytes.copy();
  };
}

function structure(type: string): Write {
  const parts = definitionOf(type)
    .filter(field => !field.isConstant)
    .map(field => ({ name: field.name, write: fieldWriter(field) }));
  return (to, value) => {
    const given = (value ?? {}) as Readonly<Record<string, unknown>>;
    for (const { name, write } of parts) write(to, given[name]);
  };
}

function fieldWriter(field: Field): Write {
  if (field.arrayLength !== undefined)
    throw new OxygenError('INTERNAL', `${field.name}: an array of fixed length`);
  const scalar = SCALARS[field.type as keyof typeof SCALARS];
  const one: Write = scalar
    ? (to, value) => scalar(to, (value ?? field.defaultValue) as never)
    : structure(field.type);
  if (!field.isArray) return one;
  return (to, value) => {
    const elements = (value ?? []) as ArrayLike<unknown>;
    to.uint32(elements.length);
    if (field.type === 'float64' && elements instanceof Float64Array) return to.float64s(elements);
    for (let i = 0; i < elements.length; i++) one(to, elements[i]);
  };
}

const SCALARS = {
  bool: (to: Bytes, value = false) => to.uint8(value ? 1 : 0),
  uint8: (to: Bytes, value = 0) => to.uint8(value),
  int32: (to: Bytes, value = 0) => to.int32(value),
  uint32: (to: Bytes, value = 0) => to.uint32(value),
  uint64: (to: Bytes, value: bigint | number = 0n) => to.uint64(BigInt(value)),
  float32: (to: Bytes, value = 0) => to.float32(value),
  float64: (to: Bytes, value = 0) => to.float64(value),
  string: (to: Bytes, value = '') => to.string(value),
  time: (to: Bytes, value: unknown) => time(to, value),
  duration: (to: Bytes, value: unknown) => time(to, value),
} as const;

const time: Write = (to, value) => {
  const { sec = 0, nanosec = 0 } = (value ?? {}) as { readonly sec?: number; readonly nanosec?: number };
  to.int32(sec);
  to.uint32(nanosec);
};

/** Encapsulation: CDR, little endian, no options. */
const HEADER = Buffer.of(0, 1, 0, 0);

/** A buffer that grows. Numbers are aligned to their size, counted from behind the header. */
class Bytes {
  #buffer = Buffer.alloc(4096);
  /** Of the same memory, for floats: faster. Whole numbers are checked by the methods of the buffer. */
  #view = viewOf(this.#buffer);
  #end = 0;

  begin(): void {
    HEADER.copy(this.#buffer);
    this.#end = HEADER.length;
  }

  copy(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.#end));
  }

  uint8(value: number): void {
    const at = this.#place(1);
    this.#buffer.writeUInt8(value, at);
  }

  int32(value: number): void {
    const at = this.#place(4);
    this.#buffer.writeInt32LE(value, at);
  }

  uint32(value: number): void {
    const at = this.#place(4);
    this.#buffer.writeUInt32LE(value, at);
  }

  uint64(value: bigint): void {
    const at = this.#place(8);
    this.#buffer.writeBigUInt64LE(value, at);
  }

  float32(value: number): void {
    const at = this.#place(4);
    this.#view.setFloat32(at, value, true);
  }

  float64(value: number): void {
    const at = this.#place(8);
    this.#view.setFloat64(at, value, true);
  }

  /** As they lie in memory: little-endian on every machine that Node runs on. */
  float64s(values: Float64Array): void {
    if (values.length === 0) return;
    const at = this.#place(8, values.byteLength);
    this.#buffer.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), at);
  }

  /** Length in bytes with the zero at its end, the bytes, the zero; a zero within would end it for every reader. */
  string(value: string): void {
    const text = value.includes('\0') ? value.replaceAll('\0', '') : value;
    const length = Buffer.byteLength(text);
    this.uint32(length + 1);
    const at = this.#place(1, length + 1);
    // Most fields that nobody sets are empty texts.
    if (length > 0) this.#buffer.write(text, at);
    this.#buffer[at + length] = 0;
  }

  /** Room for `size` bytes at a multiple of `alignment`; call it before touching the buffer, which may be a new one. */
  #place(alignment: number, size = alignment): number {
    const over = (this.#end - HEADER.length) % alignment;
    const at = over === 0 ? this.#end : this.#end + alignment - over;
    if (at + size > this.#buffer.length) {
      const larger = Buffer.alloc(2 * (at + size));
      this.#buffer.copy(larger, 0, 0, this.#end);
      this.#buffer = larger;
      this.#view = viewOf(larger);
    }
    // At most seven bytes.
    for (let i = this.#end; i < at; i++) this.#buffer[i] = 0;
    this.#end = at + size;
    return at;
  }
}

const viewOf = ({ buffer, byteOffset, byteLength }: Buffer): DataView =>
  new DataView(buffer, byteOffset, byteLength);
