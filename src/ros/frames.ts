/**
 * The frame pull: the engine asks, and gets the newest complete set, preprocessed. Nothing queues up in front of a
 * busy engine: there is one credit, and pictures are decoded only against it.
 */
import type { ErrorCode } from '../core/errors';
import { toOxygenError } from '../core/errors';
import type { CameraInput, Robot } from '../core/robot';
import type { EngineInfo, ToEngine } from '../engine/protocol';
import type {
  PreprocessFailure,
  PreprocessImage,
  PreprocessJob,
  PreprocessResult,
} from '../ingest/preprocess';
import type { CameraMessage, FrameInputs } from './ingest';

/** The preprocessing worker, as far as this file needs it. */
export interface Preprocessing {
  run(job: PreprocessJob): Promise<PreprocessResult>;
}

export interface FrameSource {
  take(): FrameInputs | null;
  /** How decoding the pictures of `slots` went. True when a frame may be made without those in `failures`. */
  decoded(slots: readonly string[], failures: readonly PreprocessFailure[]): boolean;
}

/** The situation in which an observation is made. */
export interface FrameContext {
  readonly epoch: number;
  /** Null: no instruction yet, and no frame without one. */
  readonly instruction: string | null;
}

export interface FramePullDeps {
  readonly robot: Robot;
  readonly source: FrameSource;
  readonly preprocessing: Preprocessing;
  readonly context: () => FrameContext;
  readonly send: (message: ToEngine) => boolean;
  /** ROS time. */
  readonly nowNs: () => bigint;
  readonly drop: (code: ErrorCode, message: string, topic: string) => void;
  /** A frame has been handed over. */
  readonly sent: (stampNs: bigint) => void;
}

export class FramePull {
  readonly #deps: FramePullDeps;
  #engine: EngineInfo | null = null;
  #credit = false;
  #busy = false;
  /** Raised when pictures that are being decoded must not be used any more. */
  #generation = 0;

  constructor(deps: FramePullDeps) {
    this.#deps = deps;
  }

  /** A new engine process: what its predecessor asked for is void. */
  engineUp(info: EngineInfo): void {
    this.#engine = info;
    this.#credit = false;
    this.#generation += 1;
  }

  engineDown(): void {
    this.#engine = null;
    this.#credit = false;
  }

  /** Throws away what is being decoded: for a reset or a jump of the clock. */
  discard(): void {
    this.#generation += 1;
  }

  /** The engine asks for a frame. */
  want(): void {
    this.#credit = true;
    if (!this.offer()) this.#deps.send({ type: 'no-frame' });
  }

  /** New inputs are there, or a new instruction. True when a frame is on its way. */
  offer(): boolean {
    const engine = this.#engine;
    if (!this.#credit || this.#busy || engine === null || this.#deps.context().instruction === null)
      return false;
    const inputs = this.#deps.source.take();
    if (inputs === null) return false;
    this.#busy = true;
    const generation = this.#generation;
    const failed = (error: unknown): void => {
      const { code, message } = toOxygenError(error);
      this.#deps.drop(code, `preprocessing failed: ${message}`, 'preprocessing');
    };
    this.#prepare(engine, inputs, generation)
      .catch(failed)
      .then(() => this.#prepared())
      .catch(failed);
    return true;
  }

  /**
   * The credit is still there when the frame was unusable: the next complete set may be at hand. If not, the engine
   * must know, or language would wait for the camera to recover.
   */
  #prepared(): void {
    this.#busy = false;
    if (!this.offer() && this.#credit) this.#deps.send({ type: 'no-frame' });
  }

  async #prepare(engine: EngineInfo, inputs: FrameInputs, generation: number): Promise<void> {
    const slots = engine.cameraSlots.filter(slot => inputs.cameras.has(slot));
    const { images, failures } = await this.#deps.preprocessing.run({
      height: engine.imageHeight,
      width: engine.imageWidth,
      resize: engine.resize,
      images: slots.map(slot => this.#image(slot, inputs.cameras.get(slot)!)),
    });
    for (const { slot, code, message } of failures) {
      const { topic } = this.#camera(slot);
      this.#deps.drop(code, `${topic}: ${message}`, topic);
    }
    const usable = this.#deps.source.decoded(slots, failures);
    const { epoch, instruction } = this.#deps.context();
    // What was seen before a reset, a jump or a new engine is no drop, nor are inputs that newer ones replace.
    if (!usable || generation !== this.#generation || !this.#credit || instruction === null) return;
    const { stampNs, state } = inputs;
    const ageMs = Math.max(0, Number(this.#deps.nowNs() - stampNs) / 1e6);
    const cameras = slots.filter(slot => !failures.some(failure => failure.slot === slot));
    const observation = { stampNs, ageMs, epoch, instruction, state, cameras, images };
    if (!this.#deps.send({ type: 'frame', observation })) return;
    this.#credit = false;
    this.#deps.sent(stampNs);
  }

  /** Inputs have cameras of the robot and no others. */
  #camera(slot: string): CameraInput {
    return this.#deps.robot.cameras.find(camera => camera.slot === slot)!;
  }

  #image(slot: string, camera: CameraMessage): PreprocessImage {
    const { rotate } = this.#camera(slot);
    if (camera.kind === 'compressed') {
      const { format, data } = camera.message;
      return { slot, rotate, kind: 'compressed', format, data };
    }
    const { encoding, width, height, step, data } = camera.message;
    return { slot, rotate, kind: 'raw', image: { encoding, width, height, step, data } };
  }
}
