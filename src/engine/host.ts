/** The engine process's inside: messages in → scheduler → messages out. Knows the port only as a `post` function. */
import { toOxygenError, type OxygenError } from '../core/errors';
import type { SchedulerEvent } from '../core/scheduler-io';
import type { Observation, Tunables } from '../core/types';
import { TextStream } from '../model/tokenizer';
import { deploy, type Deployment, type EngineSessions } from './deployment';
import { FrameLog } from './frame-log';
import { languageRequest, standingRequests } from './language-io';
import { readNoise } from './noise-file';
import { openEngine } from './open-engine';
import { PolicyIo } from './policy-io';
import type { ProviderChoice } from './providers';
import type {
  EngineInfo,
  EngineOptions,
  EngineTunables,
  FromEngine,
  LanguageRequestInput,
  RunKind,
  ToEngine,
} from './protocol';
import { RunHealth } from './run-health';
import { REAL_TIME, type EngineTime } from './time';
import { kvHandOver } from './tensorrt-sessions';
import { warmUp } from './warm-up';

/** Loading may take this long before the node thinks it hangs. */
const LOAD_EXPECTED_MS = 60_000;

interface Running extends Deployment {
  readonly sessions: EngineSessions;
  readonly io: PolicyIo;
  readonly options: EngineOptions;
  readonly noise: Float32Array | null;
  readonly frameLog: FrameLog | null;
  readonly choice: ProviderChoice<EngineSessions>;
}

export class EngineHost {
  readonly #post: (messages: readonly FromEngine[]) => void;
  readonly #time: EngineTime;
  readonly #outbox: FromEngine[] = [];
  readonly #texts = new Map<string, TextStream>();
  readonly #stageMs: Partial<Record<RunKind, number>> = {};
  readonly #health = new RunHealth();
  /** Why no later run can work. */
  #lost: OxygenError | null = null;
  #running: Running | null = null;
  #epoch = 0;

  constructor(post: (messages: readonly FromEngine[]) => void, time: EngineTime = REAL_TIME) {
    this.#post = post;
    this.#time = time;
  }

  /**
   * Resolves when the engine has stopped and everything is released. Rejects when it cannot be loaded, and when no later
   * run of this process can work.
   */
  async run(options: EngineOptions): Promise<void> {
    this.#running = await this.#load(options);
    const { scheduler, sessions } = this.#running;
    try {
      await new Promise<void>((resolve, reject) => {
        scheduler.events$.subscribe({ next: e => this.#onEvent(e), error: reject, complete: resolve });
        this.#send({ type: 'ready', info: this.#info(this.#running as Running) });
        scheduler.post({ type: 'epoch', epoch: this.#epoch, endAll: false });
      });
    } finally {
      this.#running.frameLog?.close();
      // A broken GPU is not called again: that may hang.
      if (this.#lost === null) await sessions.release();
    }
    if (this.#lost !== null) throw this.#lost;
  }

  onMessage(message: ToEngine): void {
    const running = this.#running;
    if (message.type === 'epoch') this.#epoch = message.epoch;
    if (!running) return;
    const { scheduler } = running;
    switch (message.type) {
      case 'configure':
        return;
      case 'frame':
        return this.#onFrame(running, message.observation);
      case 'request':
        return this.#onRequest(running, message.request);
      case 'no-frame':
      case 'cancel':
      case 'epoch':
        return scheduler.post(message);
      case 'tunables':
        return scheduler.post({ type: 'tunables', tunables: this.#tunables(running, message.tunables) });
      case 'stop':
        return scheduler.close();
    }
  }

  /**
   * A message to another process costs more than a small run, so what one step says goes out together: before the next
   * run begins, because that blocks this thread, or when the thread is free.
   */
  #send(message: FromEngine): void {
    if (this.#outbox.push(message) === 1) this.#time.soon(() => this.#flush());
    if (message.type === 'begin') this.#flush();
  }

  #flush(): void {
    if (this.#outbox.length > 0) this.#post(this.#outbox.splice(0));
  }

  async #load(options: EngineOptions): Promise<Running> {
    const start = this.#time.now();
    this.#send({ type: 'begin', run: 'load', expectedMs: LOAD_EXPECTED_MS });
    const monitor = {
      begin: (run: RunKind, expectedMs: number) => this.#send({ type: 'begin', run, expectedMs }),
      end: (run: RunKind, ms: number) => this.#onRunEnd(run, ms),
    };
    const { engineDir, threads, providers, requiredProvider } = options;
    const choice = await openEngine(engineDir, threads, { wanted: providers, required: requiredProvider });
    const sessions = choice.engine;
    try {
      const io = new PolicyIo(
        options.engineDir,
        sessions.manifest,
        options.robot,
        message => this.#send({ type: 'warning', code: 'STATE_UNUSUAL', message }),
        options.longPrompt,
        error => this.#drop(error),
      );
      const deployment = deploy(
        sessions,
        {
          ...options,
          tunables: this.#tunables({ io, options }, options.tunables),
          attention: options.attention === 'engine' ? sessions.manifest.attention : options.attention,
          cameras: options.cameras.length,
          stopIds: [sessions.manifest.special.end],
        },
        monitor,
        this.#time,
      );
      const noise = options.noiseFile === null ? null : readNoise(options.noiseFile, sessions.manifest.model);
      // In virtual time runs take what the table says, not what they take here.
      const costs = this.#time.costs === null ? deployment.costs : null;
      const { denoiseSteps, cameras } = options;
      const sizes = { cameras: cameras.length, denoiseSteps, shape: deployment.cache.shape };
      await warmUp(sessions, sizes, costs);
      const frameLog = options.frameLog === null ? null : new FrameLog(options.frameLog);
      this.#send({ type: 'end', run: 'load', ms: this.#time.now() - start });
      return { ...deployment, sessions, io, options, noise, frameLog, choice };
    } catch (error) {
      await sessions.release();
      throw error;
    }
  }

  #onRunEnd(run: RunKind, ms: number): void {
    this.#stageMs[run] = (this.#stageMs[run] ?? 0) + ms;
    this.#send({ type: 'end', run, ms });
  }

  #onFrame({ io, scheduler, noise, frameLog }: Running, observation: Observation): void {
    this.#log(frameLog, observation);
    try {
      const observedMs = this.#time.now() - (observation.ageMs ?? 0);
      scheduler.post({ type: 'frame', frame: { ...io.frame(observation, noise), observedMs } });
    } catch (error) {
      this.#drop(error);
      scheduler.post({ type: 'frame-lost' });
    }
  }

  /** A disk that is full costs the log, not the frame. */
  #log(frameLog: FrameLog | null, observation: Observation): void {
    try {
      frameLog?.write(observation);
    } catch (error) {
      this.#drop(error);
    }
  }

  /** A standing request that cannot be is a drop; the others are asked. */
  #tunables({ io, options }: Pick<Running, 'io' | 'options'>, tunables: EngineTunables): Tunables {
    const standing = standingRequests(tunables.standing, io, options, error => this.#drop(error));
    return { ...tunables, standing };
  }

  #onRequest({ io, scheduler, options }: Running, input: LanguageRequestInput): void {
    try {
      const request = languageRequest(input, io, options, this.#time.now());
      scheduler.post({ type: 'request', request });
    } catch (error) {
      const { code, message } = toOxygenError(error, 'REQUEST_INVALID');
      this.#send({
        type: 'done',
        id: input.id,
        sequence: 0,
        reason: 'rejected',
        text: '',
        frameStampNs: 0n,
        error: { code, message },
        firstTokenMs: null,
        totalMs: 0,
      });
    }
  }

  #onEvent(e: SchedulerEvent): void {
    const { io, scheduler, cache } = this.#running as Running;
    switch (e.type) {
      case 'ask':
        return this.#send({ type: 'want-frame' });
      case 'chunk':
        this.#health.good();
        return this.#send({ type: 'chunk', chunk: io.chunk(e.frame, e.actions) });
      case 'token': {
        const stream = this.#texts.get(e.id) ?? new TextStream(io.tokenizer);
        this.#texts.set(e.id, stream);
        const { type, id, sequence, tokenId, frameStampNs } = e;
        return this.#send({ type, id, sequence, tokenId, text: stream.push(tokenId), frameStampNs });
      }
      case 'done': {
        const text = this.#texts.get(e.id)?.end() ?? '';
        this.#texts.delete(e.id);
        const error = e.error && { code: e.error.code, message: e.error.message };
        this.#send({ ...e, text, error });
        return this.#endIf(e.error && this.#health.runFailed(e.error));
      }
      case 'drop':
        this.#drop(e.error);
        return this.#endIf(this.#health.frameFailed(e.error));
      case 'language-off':
        return this.#send({ type: 'language-off', code: e.error.code, message: e.error.message });
      case 'frame-end': {
        const used = cache.snapshot().rows.reduce((n, r) => n + r.length, cache.prefix?.length ?? 0);
        const positions = (cache.shape.maxRequests + 1) * cache.shape.capacity;
        const stageMs = { ...this.#stageMs };
        for (const run of Object.keys(stageMs)) delete this.#stageMs[run as RunKind];
        const { batch, decodeSteps, rowSteps, tokens, frame } = e;
        const stats = {
          observationStampNs: frame.stampNs,
          batch,
          queued: scheduler.queued,
          decodeSteps,
          rowSteps,
          tokens,
          stageMs,
          cacheUse: used / positions,
        };
        return this.#send({ type: 'stats', stats });
      }
    }
  }

  #endIf(lost: OxygenError | null): void {
    if (lost === null || this.#lost !== null) return;
    this.#lost = lost;
    (this.#running as Running).scheduler.close();
    this.#flush();
  }

  #drop(error: unknown): void {
    const { code, message } = toOxygenError(error);
    this.#send({ type: 'drop', code, message });
  }

  #info({ sessions, cache, options, choice }: Running): EngineInfo {
    const { model, ...m } = sessions.manifest;
    return {
      name: m.name,
      precision: m.precision,
      provider: choice.provider,
      providerNotes: choice.notes,
      imageHeight: model.vision.imageHeight,
      imageWidth: model.vision.imageWidth,
      resize: m.resize,
      cameraSlots: model.cameraSlots,
      stateDim: m.stateDim,
      actionDims: m.actionDims,
      horizon: model.horizon,
      maxPromptTokens: model.maxPromptTokens,
      kvBytes: cache.bytes,
      kvHandOver:
        sessions.target === 'tensorrt' ? kvHandOver(sessions.manifest, options.cameras.length).text : null,
      maxRequests: options.maxRequests,
    };
  }
}
