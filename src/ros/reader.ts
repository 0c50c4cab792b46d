/** Readers of bytes (CDR) by the definitions of the standard messages and ours. */
import { MessageReader } from '@foxglove/rosmsg2-serialization';
import type { Field } from './own-messages';
import { definitionOf } from './serialise';

/** Of fields that hold other messages, `type` is the name of that message's definition. */
export interface Definition {
  readonly name?: string | undefined;
  readonly definitions: readonly Field[];
}

/** Of the type itself, without a name (or the reader looks for a root in vain), and of all that it uses. Throws INTERNAL. */
export function standardDefinitions(type: string): readonly Definition[] {
  const found = new Map<string, Definition>();
  const collect = (name: string): Definition => {
    const definition = { name, definitions: definitionOf(name) };
    found.set(name, definition);
    for (const field of definition.definitions)
      if (field.isComplex === true && !found.has(field.type)) collect(field.type);
    return definition;
  };
  const root = type.replace('/msg/', '/');
  const { definitions } = collect(root);
  found.delete(root);
  return [{ definitions }, ...found.values()];
}

export const readerOf = <T>(definitions: readonly Definition[]): MessageReader<T> =>
  new MessageReader<T>(definitions as ConstructorParameters<typeof MessageReader>[0]);
