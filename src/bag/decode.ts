/** Messages of any type, by the definition in the bag, or else by the standard one or ours. */
import { parse } from '@foxglove/rosmsg';
import { OxygenError } from '../core/errors';
import type { Field } from '../ros/own-messages';
import { readerOf, standardDefinitions } from '../ros/reader';
import type { Definition } from '../ros/reader';
import type { BagTopic } from './types';

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
  const reader = readerOf<T>(definitions);
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

/** Null: the type is none of those. */
function standard(type: string): readonly Definition[] | null {
  try {
    return standardDefinitions(type);
  } catch {
    return null;
  }
}

/**
 * Why messages of a topic are not what its type says, by the definition in the bag; null: they are. Fields behind those
 * of the standard definition are none of our business.
 */
export function definitionFault({ name, type, definition }: BagTopic): string | null {
  const [wanted, given] = [standard(type), fromBag(definition)];
  const flaw = wanted === null || given === null ? null : deviation(wanted, given, wanted[0]!, given[0]!);
  if (flaw === null) return null;
  return `${name} is ${type}, but by the definition in the bag it has ${flaw}: it is another type of the same name`;
}

function deviation(
  wanted: readonly Definition[],
  given: readonly Definition[],
  root: Definition,
  theirs: Definition,
): string | null {
  const fields = fieldsOf(theirs);
  for (const [i, field] of fieldsOf(root).entries()) {
    const other = fields[i];
    if (other === undefined) return `no field "${fieldText(field)}"`;
    if (fieldText(other) !== fieldText(field))
      return `"${fieldText(other)}" where "${fieldText(field)}" should be`;
    if (field.isComplex !== true) continue;
    const inside = deviation(wanted, given, named(wanted, field), named(given, other));
    if (inside !== null) return `${inside} (in ${field.name})`;
    if (fieldsOf(named(wanted, field)).length !== fieldsOf(named(given, other)).length)
      return `more fields in ${field.name} than ${field.type} has`;
  }
  return null;
}

const fieldsOf = ({ definitions }: Definition): readonly Field[] =>
  definitions.filter(({ isConstant }) => isConstant !== true);

const named = (all: readonly Definition[], { type }: Field): Definition =>
  all.find(({ name }) => name === type)!;

const fieldText = ({ type, name, isArray, arrayLength }: Field): string =>
  `${type.replace('/msg/', '/')}${isArray === true ? `[${arrayLength ?? ''}]` : ''} ${name}`;
