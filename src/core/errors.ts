/**
 * The one error type of the project. Every code says what went wrong; the message says where and what to do.
 * Add a code here before using it: logs, exit messages and `status` carry it, and the README lists it.
 */
export const ERROR_CODES = {
  // usage and configuration
  USAGE: 'the command line is wrong',
  CONFIG_INVALID: 'a configuration file or parameter is wrong',
  ROBOT_FILE_INVALID: 'the robot file is missing something or contradicts the engine',
  // checkpoint and builder
  CHECKPOINT_NOT_FOUND: 'no checkpoint at that path',
  CHECKPOINT_INVALID: 'the checkpoint is damaged or of another model family',
  CHECKPOINT_KEYS: 'the checkpoint has missing, unexpected or ill-shaped tensors',
  MODEL_UNSUPPORTED: 'the model has a shape that this engine cannot run',
  NORM_STATS_INVALID: 'normalisation statistics are missing or do not fit',
  BUILD_FAILED: 'the engine could not be written',
  // the managed node
  NOT_ACTIVE: 'the node is not active',
  OTHER_PUBLISHER: 'another node commands the same robot',
  // engine
  ENGINE_NOT_FOUND: 'no engine at that path',
  ENGINE_INVALID: 'the engine folder is incomplete, altered or of another version',
  ENGINE_DOWN: 'the engine process is not running',
  RUNTIME_VERSION: 'another onnxruntime-node version than the pinned one is installed',
  PROVIDER_MISSING: 'the execution provider is not available',
  RUN_FAILED: 'a model run failed',
  NON_FINITE: 'a model output holds NaN or infinity',
  OUT_OF_MEMORY: 'a model run found no memory',
  LANGUAGE_OFF: 'language is switched off after repeated lack of memory; a reset turns it on again',
  CACHE_FULL: 'no row of the KV cache is free',
  // tokenizer and prompt
  TOKENIZER_INVALID: 'the tokenizer file is missing or of an unsupported kind',
  PROMPT_TOO_LONG: 'the prompt has more tokens than the model accepts',
  PROMPT_SHORTENED: 'the end of a long instruction was left out of the prompt',
  INSTRUCTION_INVALID: 'the instruction is empty or unusable',
  // requests
  CALL_INVALID: 'a service call holds what the service cannot read',
  REQUEST_INVALID: 'a language request is malformed',
  REQUEST_UNKNOWN: 'no unfinished language request has that id',
  REQUEST_NEVER_FITS: 'the request needs more KV cache than one row holds',
  QUEUE_FULL: 'the queue of language requests is full',
  // inputs
  IMAGE_ENCODING: 'the image encoding is not supported',
  IMAGE_SIZE: 'width, height, step and data length of the image do not fit together',
  IMAGE_CORRUPT: 'the compressed image cannot be decoded',
  PREPROCESSOR_DOWN: 'the image preprocessing worker ended; the next frame starts it again',
  STATE_INVALID: 'the joint state lacks a joint or holds a non-finite value',
  STATE_UNUSUAL: 'a joint is far outside the range that it had in the training data',
  STAMP_INVALID: 'the time stamp is zero, in the future or runs backwards',
  INPUT_MISSING: 'an input is silent, or its stamps do not fit those of the others',
  // action
  ACTION_LIMITED: 'a command was outside the limits of the robot file and was clamped',
  CHUNK_STALE: 'an action chunk came too late and was not played',
  CHUNK_SUPERSEDED: 'an action chunk of the instruction before was not played',
  CHUNK_DISABLED:
    'an action chunk was not played: the node is not active, disabled, in fault or has no measured pose',
  DELTA_LATE: 'deltas of an action chunk were not sent: a stall made them too late',
  // bags
  BAG_NOT_FOUND: 'no bag at that path',
  BAG_UNSUPPORTED: 'the file is no ROS 2 bag, or stored in a way that is not read',
  BAG_DAMAGED: 'a part of the bag is damaged or missing and was left out',
  BAG_DISORDER: 'messages of the bag are out of order or far apart in time',
  BAG_EMPTY: 'the bag gives no frame to the model, so there is no result',
  RESULT_NOT_WRITTEN: 'the result could not be written',
  // verification
  GOLDEN_NOT_FOUND: 'no golden numbers at that path',
  INTERNAL: 'a bug in OxyGen; please report it',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface OxygenErrorOptions {
  /** Facts for programs: sizes, names, paths. Everything a person needs is in the message. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

export class OxygenError extends Error {
  override readonly name = 'OxygenError';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: OxygenErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** Any thrown value as an OxygenError; foreign errors become `fallback` with their own message. */
export function toOxygenError(error: unknown, fallback: ErrorCode = 'INTERNAL'): OxygenError {
  if (error instanceof OxygenError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new OxygenError(fallback, message, { cause: error });
}

/** One line for logs and terminals. */
export const describeError = (error: unknown): string => {
  const e = toOxygenError(error);
  return `${e.code}: ${e.message}`;
};
