/**
 * Messages between the ROS process and the engine process (`child_process.fork`, serialization 'advanced').
 * The engine sends them in batches, FromEngine[]; the node one by one.
 */
import type {
  ActionChunk,
  EndReason,
  LanguageRequest,
  Mode,
  Observation,
  StandingRequest,
  TokensPerFrame,
} from '../core/types';
import type { ErrorCode } from '../core/errors';
import type { ModelRun } from '../core/run-costs';
import type { Provider } from './providers';
import type { LongPrompt } from '../model/prompt-ids';
import type { RobotTransforms } from '../core/robot';
import type { ResizeProfile } from '../model/manifest';

/** A language request as it arrives; the engine process tokenises `text`. */
export interface LanguageRequestInput extends Omit<LanguageRequest, 'seedIds' | 'deadlineMs'> {
  /** The seed text, e.g. `Subtask: `. */
  readonly text: string;
  /** Milliseconds from receipt; null is no deadline. */
  readonly deadlineInMs: number | null;
}

/** A standing request as configured; the engine process tokenises `text`. */
export interface StandingInput extends Omit<StandingRequest, 'seedIds'> {
  readonly text: string;
}

/** What can change while the engine runs. */
export interface EngineTunables {
  readonly tokensPerFrame: TokensPerFrame;
  /** Cap of the replan rate; 0 is no cap. */
  readonly replanRateHz: number;
  /** Time that the executed part of a chunk plays. */
  readonly executeMs: number;
  readonly standing: readonly StandingInput[];
}

export interface EngineOptions {
  readonly engineDir: string;
  /** Camera slots that this deployment has, in the engine's slot order. */
  readonly cameras: readonly string[];
  /** Null: no robot; the model's units, all dimensions. */
  readonly robot: RobotTransforms | null;
  readonly threads: number;
  /** In order of preference. */
  readonly providers: readonly Provider[];
  /** The engine does not start below this one; null: any of the others is good enough. */
  readonly requiredProvider: Provider | null;
  /** Seed of the counter-based action noise. */
  readonly seed: bigint;
  readonly denoiseSteps: number;
  readonly maxRequests: number;
  readonly maxQueue: number;
  /** Upper limit of a request's max_tokens. */
  readonly maxTokens: number;
  /** Longest seed in tokens. */
  readonly maxSeedTokens: number;
  /** `engine`: as engine.json says. */
  readonly attention: 'engine' | 'bidirectional' | 'causal';
  /** What becomes of an instruction that is too long for the prompt. */
  readonly longPrompt: LongPrompt;
  /** Raw float32 file [H·A] that replaces the noise of every frame (tests); null is none. */
  readonly noiseFile: string | null;
  /** File that gets a line of each frame that comes in; null is none. */
  readonly frameLog: string | null;
  readonly mode: Mode;
  /** Waiting time worth one step of priority; 0: none. */
  readonly ageingMs: number;
  readonly tunables: EngineTunables;
}

export type ToEngine =
  | { readonly type: 'configure'; readonly options: EngineOptions }
  /** Answer to `want-frame`. */
  | { readonly type: 'frame'; readonly observation: Observation }
  /** Answer to `want-frame`: nothing newer than the last frame; the credit stays and a frame will follow. */
  | { readonly type: 'no-frame' }
  | { readonly type: 'request'; readonly request: LanguageRequestInput }
  | { readonly type: 'cancel'; readonly id: string }
  /** Results of older epochs are void; requests that do not survive end `superseded`. */
  | { readonly type: 'epoch'; readonly epoch: number; readonly endAll: boolean }
  | { readonly type: 'tunables'; readonly tunables: EngineTunables }
  | { readonly type: 'stop' };

export type RunKind = 'load' | ModelRun;

export interface EngineInfo {
  readonly name: string;
  readonly precision: string;
  readonly provider: Provider;
  /** Why each provider that was wanted more is not used. */
  readonly providerNotes: readonly string[];
  readonly imageHeight: number;
  readonly imageWidth: number;
  /** How the checkpoint wants its pictures scaled. */
  readonly resize: ResizeProfile;
  /** All slots of the model, in its order. */
  readonly cameraSlots: readonly string[];
  readonly stateDim: number;
  /** Dimensions that leave the engine (un-normalised), at most the model's action width. */
  readonly actionDims: number;
  readonly horizon: number;
  readonly maxPromptTokens: number;
  readonly kvBytes: number;
  readonly maxRequests: number;
  /** What keys and values of each frame go through, for the log, where two providers share the work; null: one has all. */
  readonly kvHandOver: string | null;
}

/** What one frame cost, sent after its last decode step. */
export interface FrameStats {
  readonly observationStampNs: bigint;
  /** Rows of the largest decode step. */
  readonly batch: number;
  readonly queued: number;
  readonly decodeSteps: number;
  /** Rows of all decode steps together. */
  readonly rowSteps: number;
  readonly tokens: number;
  /** Wall ms of each kind of run in this frame. */
  readonly stageMs: Readonly<Partial<Record<RunKind, number>>>;
  /** Share of KV positions in use, 0..1. */
  readonly cacheUse: number;
}

export type FromEngine =
  | { readonly type: 'ready'; readonly info: EngineInfo }
  | { readonly type: 'begin'; readonly run: RunKind; readonly expectedMs: number }
  | { readonly type: 'end'; readonly run: RunKind; readonly ms: number }
  | { readonly type: 'want-frame' }
  | { readonly type: 'chunk'; readonly chunk: ActionChunk }
  | {
      readonly type: 'token';
      readonly id: string;
      /** Counts from 0 per request, without gaps; `done` carries the next number. */
      readonly sequence: number;
      readonly tokenId: number;
      /** Text that became readable with this token; empty in the middle of a UTF-8 character. */
      readonly text: string;
      readonly frameStampNs: bigint;
    }
  | {
      readonly type: 'done';
      readonly id: string;
      readonly sequence: number;
      readonly reason: EndReason;
      /** Rest of the text, when the last token ended inside a UTF-8 character. */
      readonly text: string;
      readonly frameStampNs: bigint;
      readonly error: { readonly code: ErrorCode; readonly message: string } | null;
      /** Since the request was queued; null when no token came. */
      readonly firstTokenMs: number | null;
      /** Since the request was queued. */
      readonly totalMs: number;
    }
  | { readonly type: 'stats'; readonly stats: FrameStats }
  /** Language requests are refused until a reset (an epoch with `endAll`) or a new process; actions go on. */
  | { readonly type: 'language-off'; readonly code: ErrorCode; readonly message: string }
  /** Something was refused or thrown away; counted by code. */
  | { readonly type: 'drop'; readonly code: ErrorCode; readonly message: string }
  /** Something is odd, but was used. */
  | { readonly type: 'warning'; readonly code: ErrorCode; readonly message: string }
  | { readonly type: 'alive' }
  | { readonly type: 'fatal'; readonly code: ErrorCode; readonly message: string };
