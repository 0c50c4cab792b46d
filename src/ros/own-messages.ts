/** The fields of our own messages that we turn into bytes, in the order of msg/*.msg (a test compares them). */

export interface Field {
  readonly name: string;
  readonly type: string;
  readonly isComplex?: boolean | undefined;
  readonly isArray?: boolean | undefined;
  readonly arrayLength?: number | undefined;
  readonly isConstant?: boolean | undefined;
  /** Of a constant, as it is written in the definition. */
  readonly valueText?: string | undefined;
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
  'oxygen_vla/LanguageRequest': {
    definitions: [
      field('id', 'string'),
      field('text', 'string'),
      field('max_tokens', 'int32'),
      field('temperature', 'float32'),
      field('top_k', 'int32'),
      field('top_p', 'float32'),
      field('seed', 'uint64'),
      field('priority', 'int32'),
      field('deadline', 'duration'),
      field('keep_on_instruction', 'bool'),
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
  'oxygen_vla/Status': {
    definitions: [
      field('stamp', 'time'),
      field('state', 'string'),
      field('lifecycle', 'string'),
      field('gate', 'string'),
      field('gate_reason', 'string'),
      field('enabled', 'bool'),
      field('dry_run', 'bool'),
      field('speed_scale', 'float32'),
      field('observation_age_ms', 'float32'),
      field('mode', 'string'),
      field('language', 'string'),
      field('provider', 'string'),
      field('precision', 'string'),
      field('instruction', 'string'),
      field('action_hz', 'float32'),
      field('replan_hz', 'float32'),
      field('tokens_per_s', 'float32'),
      field('fresh_ratio', 'float32'),
      field('tokens_per_frame', 'int32'),
      field('first_token_ms', 'float32'),
      field('request_ms', 'float32'),
      field('batch', 'uint32'),
      field('batch_max', 'uint32'),
      field('queued', 'uint32'),
      field('ticks', 'uint64'),
      field('fresh_ticks', 'uint64'),
      field('missed_ticks', 'uint64'),
      field('frames', 'uint64'),
      field('chunks', 'uint64'),
      field('tokens', 'uint64'),
      field('requests_finished', 'uint64'),
      field('cache_use', 'float32'),
      field('cache_bytes', 'uint64'),
      list('stage_names', 'string'),
      list('stage_ms', 'float32'),
      list('drop_reasons', 'string'),
      list('drop_counts', 'uint64'),
      field('engine_restarts', 'uint32'),
      field('last_error', 'string'),
    ],
  },
};
