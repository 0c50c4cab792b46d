/** The fields of our own messages that go out often, in the order of msg/*.msg (a test compares them). */

export interface Field {
  readonly name: string;
  readonly type: string;
  readonly isComplex?: boolean | undefined;
  readonly isArray?: boolean | undefined;
  readonly arrayLength?: number | undefined;
  readonly isConstant?: boolean | undefined;
  readonly defaultValue?: unknown;
}

export interface MessageFields {
  readonly definitions: readonly Field[];
}

const field = (name: string, type: string): Field => ({ name, type });
const list = (name: string, type: string): Field => ({ name, type, isArray: true });

export const OWN_MESSAGES: Readonly<Record<string, MessageFields>> = {
  'oxygen_vla/ActionChunk': {
    definitions: [
      field('stamp', 'time'),
      field('observation_stamp', 'time'),
      field('dt', 'float64'),
      list('names', 'string'),
      list('kinds', 'string'),
      field('horizon', 'uint32'),
      list('values', 'float64'),
      field('epoch', 'uint32'),
    ],
  },
  'oxygen_vla/LanguageToken': {
    definitions: [
      field('stamp', 'time'),
      field('request_id', 'string'),
      field('sequence_number', 'uint32'),
      field('token_id', 'int32'),
      field('text_delta', 'string'),
      field('finish_reason', 'string'),
    ],
  },
};
