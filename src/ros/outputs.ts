/** Our results as ROS messages (plain data). All numbers that leave in float64[] fields pass `toFloat64`. */
import type { Robot } from '../core/robot';
import type { ActionChunk, ActionKind } from '../core/types';
import type { FromEngine } from '../engine/protocol';
import { fromNs } from './messages';
import type { TimeMessage } from './messages';

type TokenEvent = Extract<FromEngine, { type: 'token' }>;
type DoneEvent = Extract<FromEngine, { type: 'done' }>;

/**
 * What a float64[] field may get. rclnodejs publishes the memory behind a typed array as it is, silently: a
 * Float32Array gives garbage, and so does a view that does not begin where its buffer begins (as everything has
 * that came from the engine process).
 */
export const toFloat64 = (values: ArrayLike<number>): Float64Array =>
  values instanceof Float64Array && values.byteLength === values.buffer.byteLength
    ? values
    : Float64Array.from(values);

/** std_msgs/msg/Float64MultiArray; order of the robot file. */
export const multiArrayMessage = (values: ArrayLike<number>): object => ({
  layout: { dim: [], data_offset: 0 },
  data: toFloat64(values),
});

/** oxygen_vla/msg/ActionChunk. */
export interface ActionChunkMessage {
  /** When step 0 plays. */
  readonly stamp: TimeMessage;
  readonly observation_stamp: TimeMessage;
  /** Seconds. */
  readonly dt: number;
  readonly names: readonly string[];
  readonly kinds: readonly ActionKind[];
  readonly horizon: number;
  /** [horizon · names] */
  readonly values: Float64Array;
  readonly epoch: number;
}

/** Step k plays at `startNs` + k · `stepSeconds` of ROS time. */
export const actionChunkMessage = (
  chunk: ActionChunk,
  startNs: bigint,
  stepSeconds: number,
  robot: Robot,
): ActionChunkMessage => ({
  stamp: fromNs(startNs),
  observation_stamp: fromNs(chunk.observationStampNs),
  dt: stepSeconds,
  names: robot.actions.map(action => action.name),
  kinds: robot.actions.map(action => action.kind),
  horizon: chunk.horizon,
  values: toFloat64(chunk.values),
  epoch: chunk.epoch,
});

/** oxygen_vla/msg/LanguageToken. */
export interface LanguageTokenMessage {
  readonly stamp: TimeMessage;
  readonly request_id: string;
  readonly sequence_number: number;
  readonly token_id: number;
  readonly text_delta: string;
  readonly finish_reason: string;
}

export const tokenMessage = (event: TokenEvent): LanguageTokenMessage => ({
  stamp: fromNs(event.frameStampNs),
  request_id: event.id,
  sequence_number: event.sequence,
  token_id: event.tokenId,
  text_delta: event.text,
  finish_reason: '',
});

/** The finish message: no token, the next sequence number, the reason. */
export const finishMessage = (event: DoneEvent): LanguageTokenMessage => ({
  stamp: fromNs(event.frameStampNs),
  request_id: event.id,
  sequence_number: event.sequence,
  token_id: -1,
  text_delta: event.text,
  finish_reason: event.reason,
});

/** The finish message of a request that never reached the engine. */
export const refusalMessage = (id: string, reason: 'rejected' | 'failed'): LanguageTokenMessage => ({
  stamp: fromNs(0n),
  request_id: id,
  sequence_number: 0,
  token_id: -1,
  text_delta: '',
  finish_reason: reason,
});
