/** Messages of any type, by the definition in the bag, or else by the standard one or ours. */
import { parse } from '@foxglove/rosmsg';
import { MessageReader } from '@foxglove/rosmsg2-serialization';
import { OxygenError } from '../core/errors';
import { definitionOf } from '../ros/serialise';
import type { Field } from '../ros/own-messages';
import type { BagTopic } from './types';

/** Of fields that hold other messages, the name of that message's definition. */
interface Definition {
  readonly name?: string | undefined;
  readonly definitions: readonly Field[];
}

const MAX_DEFINITION_CHARACTERS = 1024 * 1024;
/** Of the encapsulation before the fields; 8-byte numbers are aligned from its end. */
const ENCAPSULATION_BYTES = 4;

/**
 * A function from the bytes of a message (CDR with its encapsulation) to a plain object; what it returns is valid for
 * good. It throws BAG_DAMAGED for bytes that do not fit the type.
 * @throws OxygenError BAG_UNSUPPORTED: the serialization is not cdr, or the type is not known
 */
export function messageReader<T>({
  name,
  type,
  definition,
  serialization,
}: BagTopic): (data: Uint8Array) => T {
  const what = `${name} (${type})`;
  if (serialization !== 'cdr')
    throw new OxygenError('BAG_UNSUPPORTED', `${what} is serialised as "${serialization}", only cdr is read`);
  const definitions = fromBag(definition) ?? standard(type);
  if (definitions === null)
    throw new OxygenError(
      'BAG_UNSUPPORTED',
      `${what}: the bag does not say how this message is built, and it is no standard one. ` +
        'Record it with a ROS 2 that stores definitions (Iron or later)',
    );
  const reader = new MessageReader<T>(mutable(definitions));
  return data => {
    try {
      const message = reader.readMessage(standingAlone(data));
      if (reader.lastReadByteLength() <= data.byteLength) return message;
    } catch (cause) {
      throw damaged(what, data, cause);
    }
    throw damaged(what, data, undefined);
  };
}

const damaged = (what: string, data: Uint8Array, cause: unknown): OxygenError =>
  new OxygenError('BAG_DAMAGED', `${what}: a message of ${data.byteLength} bytes does not fit its type`, {
    cause,
  });

/**
 * A copy in memory that ends where the message ends, because the reader trusts lengths as far as the memory goes. It
 * begins so that 8-byte numbers are aligned: then arrays are views, and a length that is too large allocates nothing.
 */
function standingAlone(data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(new ArrayBuffer(ENCAPSULATION_BYTES + data.byteLength), ENCAPSULATION_BYTES);
  bytes.set(data);
  return bytes;
}

/** Null: there is none, or it cannot be used. */
function fromBag(text: string): readonly Definition[] | null {
  if (text === '' || text.length > MAX_DEFINITION_CHARACTERS) return null;
  try {
    const definitions: readonly Definition[] = parse(text, { ros2: true });
    return definitions.every(isUsable(definitions)) ? definitions : null;
  } catch {
    return null;
  }
}

/** All that it refers to is there, and no array has elements without bytes, of which any number would fit. */
const isUsable =
  (all: readonly Definition[]) =>
  ({ definitions }: Definition): boolean =>
    definitions.every(
      ({ type, isComplex, arrayLength }) =>
        arrayLength !== 0 && (isComplex !== true || all.some(({ name }) => name === type)),
    );

/** The type and all that it uses. */
function standard(type: string): readonly Definition[] | null {
  const found = new Map<string, Definition>();
  const collect = (name: string): void => {
    if (found.has(name)) return;
    const definitions = definitionOf(name);
    found.set(name, { name, definitions });
    for (const field of definitions) if (field.isComplex === true) collect(field.type);
  };
  const root = type.replace('/msg/', '/');
  try {
    collect(root);
  } catch {
    return null;
  }
  // The root definition must have no name, or the reader looks for a root in vain.
  const { definitions } = found.get(root)!;
  found.delete(root);
  return [{ definitions }, ...found.values()];
}

type Mutable = ConstructorParameters<typeof MessageReader>[0];
const mutable = (definitions: readonly Definition[]): Mutable => definitions as Mutable;
