/** Judges the inputs for diagnostics: a word for programs and a sentence for people. Pure. */
import type { OnMissing } from '../core/robot';
import type { InputRecord } from './input-record';

/** The first five as in Autoware's topic_state_monitor. */
export type InputWord = 'OK' | 'NotReceived' | 'WarnRate' | 'ErrorRate' | 'Timeout' | 'BadStamps' | 'Frozen';

export interface InputHealth {
  /** Camera slot, or `state`. */
  readonly name: string;
  readonly topic: string;
  readonly word: InputWord;
  /** No new chunks because of it. */
  readonly blocking: boolean;
  /** For people: what, since when, what to do. */
  readonly message: string;
  /** Accepted messages per second over the last two seconds. */
  readonly rateHz: number;
  /** Since the last accepted message; null before the first. */
  readonly ageMs: number | null;
  /** Its newest stamp against the middle one of all that arrive; negative is behind. */
  readonly offsetMs: number | null;
  readonly received: number;
  readonly refused: number;
  /** Accepted, but never used: newer ones came first. */
  readonly replaced: number;
}

/** One input at one moment. */
export interface InputFacts {
  readonly name: string;
  readonly topic: string;
  readonly onMissing: OnMissing;
  readonly expectedHz: number | null;
  readonly record: InputRecord;
  readonly replaced: number;
  readonly offset: Offset | null;
  /** All inputs arrive, but no set has come for a while, and this one is the farthest from the others. */
  readonly unpaired: boolean;
}

/** How far an input's newest stamp lies from that of `topic`, which is in the middle. */
export interface Offset {
  readonly ms: number;
  readonly topic: string;
}

/** What holds for all inputs. */
export interface HealthContext {
  readonly nowMs: number;
  readonly startMs: number;
  readonly toleranceMs: number;
  readonly timeoutMs: number;
  /** At least one camera could give a picture. */
  readonly anyCamera: boolean;
}

/** Undecodable pictures in a row after which a camera is as good as missing; one may always be damaged. */
export const UNDECODABLE_LIMIT = 3;
const SAME_PICTURE_MS = 3000;
const WARN_SHARE = 0.8;
const ERROR_SHARE = 0.5;

interface Trouble {
  readonly word: InputWord;
  readonly what: string;
  /** Nothing of it can go into an observation. */
  readonly missing: boolean;
}

export function judge(input: InputFacts, context: HealthContext): InputHealth {
  const { name, topic, record, offset, replaced } = input;
  const { nowMs } = context;
  const trouble = troubleOf(input, context);
  const blocking =
    trouble !== null &&
    trouble.missing &&
    (input.onMissing === 'block' || input.unpaired || !context.anyCamera);
  const effect = blocking
    ? '; no new action chunks without it'
    : trouble?.missing
      ? '; the other cameras go on without it'
      : '';
  return {
    name,
    topic,
    word: trouble?.word ?? 'OK',
    blocking,
    message: trouble === null ? 'OK' : `${topic}: ${trouble.what}${effect}`,
    rateHz: record.rateHz(nowMs),
    ageMs: record.arrivedMs === null ? null : nowMs - record.arrivedMs,
    offsetMs: offset?.ms ?? null,
    received: record.received,
    refused: record.refused,
    replaced,
  };
}

/** No accepted message for longer than `timeoutMs`, or none ever. */
export const isSilent = (record: InputRecord, nowMs: number, timeoutMs: number): boolean =>
  record.arrivedMs === null || nowMs - record.arrivedMs > timeoutMs;

/** So far from the others that its newest picture shows another time. */
export const isApart = (offset: Offset | null, timeoutMs: number, toleranceMs: number): boolean =>
  offset !== null && Math.abs(offset.ms) > Math.max(timeoutMs, toleranceMs);

function troubleOf(input: InputFacts, context: HealthContext): Trouble | null {
  const { record, offset, expectedHz } = input;
  const { nowMs, timeoutMs, toleranceMs } = context;
  if (isSilent(record, nowMs, timeoutMs)) return { ...silence(input, context), missing: true };
  if (offset !== null && (input.unpaired || isApart(offset, timeoutMs, toleranceMs))) {
    const what =
      `its stamps are ${apart(offset)}; they must lie within ${toleranceMs} ms ` +
      '(synchronise the clocks, or set sync.stamps to arrival)';
    return { word: 'BadStamps', what, missing: true };
  }
  if (record.undecodable >= UNDECODABLE_LIMIT) {
    const what = `its last ${record.undecodable} pictures cannot be decoded: ${record.decodeProblem}`;
    return { word: 'Timeout', what, missing: true };
  }
  if (record.sameMs() > SAME_PICTURE_MS) {
    const what =
      `the same picture for ${seconds(record.sameMs())}, though its stamps advance; ` +
      'look at the camera, unless nothing moves in a simulation';
    return { word: 'Frozen', what, missing: false };
  }
  return expectedHz !== null && record.rateIsKnown(nowMs) ? slowness(record.rateHz(nowMs), expectedHz) : null;
}

function slowness(rateHz: number, expectedHz: number): Trouble | null {
  const share = rateHz / expectedHz;
  if (share >= WARN_SHARE) return null;
  const what = `${rateHz.toFixed(1)} Hz, where the robot file expects ${expectedHz} Hz`;
  return { word: share < ERROR_SHARE ? 'ErrorRate' : 'WarnRate', what, missing: false };
}

/** Nothing usable comes: because nothing comes, or because all that comes is refused. */
function silence(
  { record, offset }: InputFacts,
  { nowMs, startMs, timeoutMs }: HealthContext,
): { readonly word: InputWord; readonly what: string } {
  const { arrivedMs, refusal } = record;
  const since = seconds(nowMs - (arrivedMs ?? startMs));
  // What was refused long ago is not the reason why nothing comes now.
  if (refusal === null || nowMs - refusal.atMs > Math.max(timeoutMs, 1000)) {
    return arrivedMs === null
      ? { word: 'NotReceived', what: `no usable message yet (${since}); is its driver running?` }
      : { word: 'Timeout', what: `silent for ${since}` };
  }
  const where = refusal.kind === 'stamp' && offset !== null ? ` (${apart(offset)})` : '';
  const what = `no usable message ${arrivedMs === null ? 'yet' : 'for'} ${since}: ${refusal.message}${where}`;
  const word = {
    repeated: 'Frozen',
    stamp: 'BadStamps',
    unusable: arrivedMs === null ? 'NotReceived' : 'Timeout',
  } as const;
  return { word: word[refusal.kind], what };
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const apart = ({ ms, topic }: Offset): string =>
  `${(Math.abs(ms) / 1000).toFixed(3)} s ${ms < 0 ? 'behind' : 'ahead of'} those of ${topic}`;
