/** All that takes part in a replay: time, the node in it, its engine, and those who hear what they say. */
import type { Bag, BagMessage } from '../bag/types';
import { toOxygenError } from '../core/errors';
import type { OxygenError } from '../core/errors';
import { createEngineClient } from '../engine/client';
import type { EngineClient } from '../engine/client';
import type { EngineInfo } from '../engine/protocol';
import { preprocess } from '../ingest/preprocess';
import { Preprocessor } from '../ingest/preprocessor';
import type { Prepared } from '../prepare';
import { DropLog } from '../ros/drops';
import type { Logger } from '../ros/drops';
import type { Preprocessing } from '../ros/frames';
import { OxygenNode } from '../ros/node';
import type { StatusBoard } from '../ros/status';
import { statusMessage } from '../ros/status-source';
import { messageDelivery } from './delivery';
import { LocalEngine } from './engine';
import type { VirtualCosts } from './engine';
import { Recorder } from './recorder';
import type { ReplayEnd } from './recorder';
import type { ResultBag } from './result-bag';
import type { ReplayResult } from './result';
import { replaySurroundings } from './surroundings';
import type { ReplaySurroundings } from './surroundings';
import { Thumbnails } from './thumbnails';
import { resolved } from './topic-plan';
import type { TopicNames, TopicPlan } from './topic-plan';
import { Unreadable } from './unreadable';
import { Witness } from './witness';
import { RealWorld, VirtualWorld } from './world';
import type { Owner, World } from './world';

/** Played is [from, to) on the time axis of the bag, which begins with its first message. */
export interface Span {
  readonly startNs: bigint;
  readonly fromNs: bigint;
  readonly toNs: bigint;
}

export type Pacing =
  | { readonly pace: 'fast'; readonly costs: VirtualCosts; readonly costName: string }
  | { readonly pace: 'real' };

export interface StageOptions {
  readonly bag: Bag;
  readonly plan: TopicPlan;
  readonly names: TopicNames;
  readonly span: Span;
  readonly prepared: Prepared;
  readonly pacing: Pacing;
  readonly log: Logger;
  /** Whose work begins, for those who measure; with `fast` only. */
  readonly turnOf: (owner: Owner) => void;
}

/** How the time of a replay passes, and what depends on that. */
interface Time {
  readonly world: World;
  readonly engine: (prepared: Prepared) => EngineClient;
  readonly preprocessing: Preprocessing;
  readonly begin: () => void;
  readonly close: () => Promise<void>;
}

export class Stage {
  readonly #o: StageOptions;
  readonly #time: Time;
  readonly #drops: DropLog;
  readonly #recorder: Recorder;
  readonly #witness: Witness;
  readonly #board: StatusBoard;
  readonly #surroundings: ReplaySurroundings;
  readonly #node: OxygenNode;
  readonly #deliver: (message: BagMessage) => void;
  readonly #unreadable = new Unreadable();
  /** What /clock in the bag said last; null: the bag has none. */
  #clockNs: bigint | null;
  #playing = true;
  #cancelStatus: () => void = () => undefined;

  constructor(options: StageOptions, out: ResultBag | null) {
    const { bag, plan, names, span, prepared, log } = options;
    this.#o = options;
    this.#clockNs = plan.simTime ? 0n : null;
    this.#time = timeOf(options);
    const { world } = this.#time;
    this.#drops = new DropLog(log, () => world.nowNs / 1e6);
    this.#recorder = new Recorder({ robot: prepared.robot, ...span, recorded: plan.recorded });
    this.#witness = new Witness({
      recorder: this.#recorder,
      out,
      resolve: name => resolved(name, names),
      nowNs: () => this.#bagNs(),
      aheadNs: () => this.#bagNs() - this.#rosNs(),
      command: () => this.#node.actions.command!,
    });
    this.#board = this.#witness.board(0);
    this.#surroundings = replaySurroundings(
      world,
      () => this.#rosNs(),
      (output, message) => this.#playing && this.#witness.published(output, message),
    );
    this.#node = new OxygenNode({
      ...prepared,
      surroundings: this.#surroundings,
      engine: this.#witness.engine(this.#time.engine(prepared)),
      preprocessing: this.#time.preprocessing,
      drops: this.#drops,
      board: this.#board,
      log,
      caught: (error, where) => this.#drops.drop('INTERNAL', `${where}: ${String(error)}`, where),
      onNews: () => undefined,
    });
    this.#deliver = messageDelivery(bag, plan, prepared.robot, {
      handlers: this.#surroundings.handlers,
      clock: ns => {
        this.#clockNs = ns;
      },
      recorded: action => this.#recorder.recorded(action, this.#bagNs()),
      unreadable: (message, why) => this.#unreadable.add(message, why),
    });
    this.#recorder.standing(prepared.engine.tunables.standing);
  }

  /** Frames that went to the engine. */
  get frames(): number {
    return this.#witness.frames;
  }

  get drops(): DropLog {
    return this.#drops;
  }

  /** What is wrong with messages of the bag, beside its own faults. */
  get faults(): readonly OxygenError[] {
    return this.#unreadable.faults;
  }

  /** Loads the engine; then time begins, and the node is active. */
  async open(): Promise<EngineInfo> {
    const { span } = this.#o;
    await this.#time.world.wait(this.#node.open());
    const info = this.#board.engine!;
    this.#witness.thumbnails = new Thumbnails({ ...info, originNs: span.startNs, ...span });
    this.#time.begin();
    this.#node.activate();
    this.#status();
    return info;
  }

  instruct(text: string): void {
    this.#surroundings.handlers().instruction(text, { publisher: 'command line', sentNs: 0n });
  }

  /** Lets time go on to `ns` since the beginning of what is played. Throws what keeps the result from its file. */
  async advance(ns: number): Promise<void> {
    await this.#time.world.advance(ns);
    this.#witness.check();
  }

  /** A message that cannot be read is a drop, as for the node, and a fault of the bag. */
  deliver(message: BagMessage): void {
    try {
      this.#deliver(message);
    } catch (error) {
      const { code, message: what } = toOxygenError(error);
      this.#drops.drop(code, `${message.topic}: ${what}`, message.topic);
    }
  }

  /** What is said from now on is not heard. */
  end(): void {
    if (this.#playing) this.#recorder.drops(this.#drops.counts(), this.#bagNs());
    this.#playing = false;
    this.#surroundings.stop();
    this.#cancelStatus();
  }

  async result(end: Omit<ReplayEnd, 'thumbnails'>): Promise<ReplayResult> {
    return this.#recorder.result({ ...end, thumbnails: (await this.#witness.thumbnails?.done()) ?? [] });
  }

  async close(): Promise<void> {
    this.end();
    await this.#time.world.wait(this.#node.close());
    await this.#time.close();
  }

  #status(): void {
    const { world } = this.#time;
    const { values } = this.#o.prepared;
    const [nowNs, drops, board, session] = [this.#rosNs(), this.#drops, this.#board, this.#node];
    board.updateRates(world.nowNs / 1e6);
    this.#witness.status(statusMessage({ nowNs, drops, board, lifecycle: 'active', values, session }), drops);
    const periodNs = 1e9 / Number(values.get('status_rate_hz'));
    this.#cancelStatus = world.at(world.nowNs + periodNs, () => this.#status());
  }

  #bagNs(): bigint {
    return this.#o.span.fromNs + BigInt(this.#time.world.nowNs);
  }

  #rosNs(): bigint {
    return this.#clockNs ?? this.#bagNs();
  }
}

function timeOf({ pacing, log, turnOf }: StageOptions): Time {
  if (pacing.pace === 'fast') {
    const world = new VirtualWorld(turnOf);
    return {
      world,
      engine: ({ engine }) => new LocalEngine(engine, world, pacing.costs),
      preprocessing: { run: job => world.hold(preprocess(job)) },
      begin: () => undefined,
      close: () => Promise.resolve(),
    };
  }
  const world = new RealWorld();
  const worker = new Preprocessor();
  return {
    world,
    engine: ({ engine }) => createEngineClient(engine, line => log.warn(line)),
    preprocessing: worker,
    begin: () => world.begin(),
    close: () => worker.close(),
  };
}
