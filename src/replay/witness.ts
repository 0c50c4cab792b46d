/** Hears everything that the node and its engine say in a replay, for the recorder and the result bag. */
import type { Observation } from '../core/types';
import type { EngineClient, EngineEvent } from '../engine/client';
import type { DropLog } from '../ros/drops';
import { toNs } from '../ros/messages';
import type { StringMessage } from '../ros/messages';
import type { ActionChunkMessage, LanguageTokenMessage } from '../ros/outputs';
import type { StatusMessage } from '../ros/status';
import { StatusBoard } from '../ros/status';
import { MONITORS, OUTPUTS } from '../ros/topics';
import type { Recorder } from './recorder';
import type { ResultBag } from './result-bag';
import type { OutputKey } from './surroundings';
import type { Thumbnails } from './thumbnails';

export interface WitnessDeps {
  readonly recorder: Recorder;
  /** Null: nothing is written. */
  readonly out: ResultBag | null;
  /** Names of the outputs in the result. */
  readonly resolve: (name: string) => string;
  /** On the time axis of the bag. */
  readonly nowNs: () => bigint;
  /** What that axis is ahead of ROS time; other than 0 with a /clock in the bag. */
  readonly aheadNs: () => bigint;
  /** The last command [actions]. */
  readonly command: () => Float64Array;
}

export class Witness {
  readonly #deps: WitnessDeps;
  readonly #names: Readonly<Record<OutputKey, string>>;
  #caption = '';
  #failure: { readonly error: unknown } | null = null;
  frames = 0;
  thumbnails: Thumbnails | null = null;

  constructor(deps: WitnessDeps) {
    this.#deps = deps;
    const names = Object.entries(OUTPUTS).map(([key, { name }]) => [key, deps.resolve(name)]);
    this.#names = Object.fromEntries(names) as Record<OutputKey, string>;
  }

  /** Counts commands like any board, and hands each on. */
  board(nowMs: number): StatusBoard {
    const { recorder, nowNs, command } = this.#deps;
    return new (class extends StatusBoard {
      override tick(fresh: boolean): void {
        super.tick(fresh);
        recorder.command(command(), fresh, nowNs());
      }
    })(nowMs);
  }

  published(output: OutputKey, message: object): void {
    const { recorder, nowNs, aheadNs } = this.#deps;
    this.#write(this.#names[output], message);
    if (output === 'caption') this.#caption = (message as StringMessage).data;
    if (output === 'tokens') recorder.token(message as LanguageTokenMessage, nowNs());
    if (output !== 'actionChunk') return;
    const { stamp, observation_stamp, names, dt, ...chunk } = message as ActionChunkMessage;
    const aheadBy = aheadNs();
    const observationStampNs = toNs(observation_stamp) + aheadBy;
    recorder.chunk({ ...chunk, dims: names.length, observationStampNs }, toNs(stamp) + aheadBy, dt, nowNs());
  }

  status(message: StatusMessage, drops: DropLog): void {
    const { recorder, resolve, nowNs } = this.#deps;
    this.#write(resolve(MONITORS.status.name), message);
    recorder.drops(drops.counts(), nowNs());
  }

  /** The same engine; from now on what it is told and what it says is heard here too. */
  engine(engine: EngineClient): EngineClient {
    const { recorder } = this.#deps;
    engine.events$.subscribe(event => this.#event(event));
    const send = engine.send.bind(engine);
    return Object.assign(engine, {
      send: ((message): boolean => {
        const sent = send(message);
        if (!sent) return false;
        if (message.type === 'frame') this.#frame(message.observation);
        if (message.type === 'request') recorder.request(message.request.id, message.request.text);
        if (message.type === 'tunables') recorder.standing(message.tunables.standing);
        return true;
      }) satisfies EngineClient['send'],
    });
  }

  /** Throws what keeps messages from the result. */
  check(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Called from within the node and by timers, where nobody could take an exception. */
  #write(topic: string, message: object): void {
    try {
      this.#deps.out?.write(topic, message, this.#deps.nowNs());
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  #frame(observation: Observation): void {
    const { recorder, nowNs } = this.#deps;
    this.frames += 1;
    recorder.frame();
    recorder.instruction(observation.instruction, nowNs());
    this.thumbnails?.offer(observation, this.#caption);
  }

  #event(event: EngineEvent): void {
    const { recorder, nowNs } = this.#deps;
    if (event.type === 'done') recorder.done(event);
    if (event.type === 'stats') recorder.stats(event.stats, nowNs());
  }
}
