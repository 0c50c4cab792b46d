/**
 * Plays a bag through the node: the same node and the same engine as on the robot, with the bag in place of the ROS graph
 * and virtual time (or the clock of this machine) in place of ROS time.
 */
import type { Bag, BagMessage } from '../bag/types';
import { OxygenError, toOxygenError } from '../core/errors';
import { createEngineClient } from '../engine/client';
import type { EngineInfo } from '../engine/protocol';
import { preprocess } from '../ingest/preprocess';
import { Preprocessor } from '../ingest/preprocessor';
import type { Prepared } from '../prepare';
import { DropLog } from '../ros/drops';
import type { Logger } from '../ros/drops';
import { OxygenNode } from '../ros/node';
import { statusMessage } from '../ros/status-source';
import { hasChunkTrajectory } from '../ros/trajectory-messages';
import { MONITORS, OUTPUTS } from '../ros/topics';
import { delivery } from './delivery';
import { LocalEngine } from './engine';
import type { VirtualCosts } from './engine';
import { Recorder } from './recorder';
import { ResultBag } from './result-bag';
import type { ReplayResult, ReplaySummary } from './result';
import { replaySurroundings } from './surroundings';
import { Thumbnails } from './thumbnails';
import { resolved } from './topic-plan';
import type { TopicNames, TopicPlan } from './topic-plan';
import { Witness } from './witness';
import { RealWorld, VirtualWorld } from './world';
import type { Owner } from './world';

/** Played is [from, to] on the time axis of the bag, which begins with its first message. */
export interface Span {
  readonly startNs: bigint;
  readonly fromNs: bigint;
  readonly toNs: bigint;
}

export type Pacing =
  | { readonly pace: 'fast'; readonly costs: VirtualCosts; readonly costName: string }
  | { readonly pace: 'real' };

export interface ReplayInput {
  readonly bag: Bag;
  readonly name: string;
  readonly plan: TopicPlan;
  readonly names: TopicNames;
  readonly span: Span;
  readonly prepared: Prepared;
  readonly pacing: Pacing;
  /** From the beginning; null: that of the bag. */
  readonly instruction: string | null;
  /** Where the result bag goes; null: nowhere. */
  readonly out: string | null;
  /** As in ReplaySummary. */
  readonly options: readonly string[];
  /** Ends the replay with its reason; nothing is written then. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** All is loaded. */
  readonly begun: () => void;
  readonly progress: (doneS: number, totalS: number) => void;
  /** Whose work begins, for those who measure; with `fast` only. */
  readonly turnOf: (owner: Owner) => void;
}

/** Messages after which results that wait for the disk are waited for. */
const FLUSH_EVERY = 2000;

/** @throws OxygenError BAG_EMPTY when no frame came of the bag; then nothing is written. */
export async function replay(input: ReplayInput): Promise<ReplayResult> {
  const { prepared, names, out: path } = input;
  const dryRun = prepared.values.get('dry_run') === true;
  const outputs = Object.entries(OUTPUTS)
    .filter(([key]) => key !== (dryRun ? 'action' : 'actionPreview'))
    .filter(([key]) => key !== 'chunkTrajectory' || (!dryRun && hasChunkTrajectory(prepared.robot)))
    .map(([, topic]) => topic);
  const topics = [...outputs, MONITORS.status].map(topic => ({
    ...topic,
    name: resolved(topic.name, names),
  }));
  const out = path === null ? null : await ResultBag.open(path, topics);
  try {
    const result = await play(input, out);
    await out?.close();
    return result;
  } catch (error) {
    await out?.abort();
    throw error;
  }
}

async function play(input: ReplayInput, out: ResultBag | null): Promise<ReplayResult> {
  const { bag, plan, span, prepared, names, pacing } = input;
  const { robot, values } = prepared;
  const virtual = pacing.pace === 'fast' ? new VirtualWorld(input.turnOf) : null;
  const real = virtual === null ? new RealWorld() : null;
  const world = virtual ?? real!;
  const bagNs = (): bigint => span.fromNs + BigInt(world.nowNs);
  let clockNs = plan.simTime ? 0n : null;
  const rosNs = (): bigint => clockNs ?? bagNs();
  const nowMs = (): number => world.nowNs / 1e6;

  let node: OxygenNode | null = null;
  let playing = true;
  const recorder = new Recorder({ robot, ...span, recorded: plan.recorded });
  const witness = new Witness({
    recorder,
    out,
    resolve: name => resolved(name, names),
    nowNs: bagNs,
    aheadNs: () => bagNs() - rosNs(),
    command: () => node!.actions.command!,
  });
  const drops = new DropLog(input.log, nowMs);
  const board = witness.board(0);
  const surroundings = replaySurroundings(world, rosNs, (output, message) => {
    if (playing) witness.published(output, message);
  });
  const engine = witness.engine(
    pacing.pace === 'fast'
      ? new LocalEngine(prepared.engine, virtual!, pacing.costs)
      : createEngineClient(prepared.engine, line => input.log.warn(line)),
  );
  const worker = virtual === null ? new Preprocessor() : null;
  node = new OxygenNode({
    surroundings,
    ...prepared,
    engine,
    preprocessing: { run: job => worker?.run(job) ?? virtual!.hold(preprocess(job)) },
    drops,
    board,
    log: input.log,
    caught: (error, where) => drops.drop('INTERNAL', `${where}: ${String(error)}`, where),
    onNews: () => undefined,
  });

  const status = (): void => {
    if (!playing) return;
    board.updateRates(nowMs());
    const source = { nowNs: rosNs(), drops, board, lifecycle: 'active', values, session: node } as const;
    witness.status(statusMessage(source), drops);
    world.at(world.nowNs + 1e9 / Number(values.get('status_rate_hz')), status);
  };
  const deliver = delivery(bag, plan, robot, {
    handlers: surroundings.handlers,
    clock: ns => {
      clockNs = ns;
    },
    recorded: action => recorder.recorded(action, bagNs()),
  });

  recorder.standing(prepared.engine.tunables.standing);
  try {
    await world.wait(node.open());
    const info = board.engine!;
    witness.thumbnails = new Thumbnails({ ...info, originNs: span.startNs, ...span });
    real?.begin();
    input.begun();
    node.activate();
    status();
    if (input.instruction !== null) {
      surroundings.handlers().instruction(input.instruction, { publisher: 'command line', sentNs: 0n });
    }
    for (const message of await latched(input)) checked(drops, message.topic, () => deliver(message));
    let messages = 0;
    for await (const message of bag.messages({ topics: new Set(plan.uses.keys()), ...span })) {
      const ns = Number(message.logNs - span.fromNs);
      await world.advance(ns);
      input.signal.throwIfAborted();
      checked(drops, message.topic, () => deliver(message));
      messages += 1;
      if (messages % FLUSH_EVERY === 0) await out?.flush();
      input.progress(ns / 1e9, Number(span.toNs - span.fromNs) / 1e9);
    }
    await world.advance(Number(span.toNs - span.fromNs));
    playing = false;
    recorder.drops(drops.counts(), bagNs());
    if (witness.frames === 0) throw nothingSeen(bag, drops);
    const end = {
      bag: bagSummary(input, messages),
      settings: settings(input, info),
      partial: isPartial(bag),
      faults: bag.faults.map(({ code, message }) => ({ code, message })),
      notes: plan.notes,
      thumbnails: await witness.thumbnails.done(),
    };
    return recorder.result(end);
  } finally {
    playing = false;
    surroundings.stop();
    await world.wait(node.close());
    await worker?.close();
  }
}

/** Whoever begins in the middle has the instruction of before, as a late subscriber gets what is latched. */
async function latched({ bag, plan, span }: ReplayInput): Promise<readonly BagMessage[]> {
  const { startNs, fromNs } = span;
  const topics = [...plan.uses].filter(([, uses]) => uses.some(({ kind }) => kind === 'instruction'));
  let last: BagMessage | null = null;
  if (topics.length === 0 || fromNs <= startNs) return [];
  const before = { topics: new Set(topics.map(([topic]) => topic)), fromNs: null, toNs: fromNs };
  for await (const message of bag.messages(before)) last = { ...message, data: message.data.slice() };
  return last === null ? [] : [last];
}

/** Some of it is damaged or missing; what runs out of order is not. */
export const isPartial = ({ faults }: Bag): boolean => faults.some(({ code }) => code === 'BAG_DAMAGED');

/** A message that cannot be read is a drop, as for the node. */
function checked(drops: DropLog, topic: string, call: () => void): void {
  try {
    call();
  } catch (error) {
    const { code, message } = toOxygenError(error);
    drops.drop(code, `${topic}: ${message}`, topic);
  }
}

/** Why there is no result. */
function nothingSeen(bag: Bag, drops: DropLog): OxygenError {
  const faults = bag.faults.map(({ message }) => message);
  const counts = drops.counts().map(([code, count]) => `${count} x ${code}`);
  const last = drops.lastError === '' ? [] : [drops.lastError];
  const why = [...faults, ...(counts.length > 0 ? [`refused: ${counts.join(', ')}`] : []), ...last];
  return new OxygenError(
    'BAG_EMPTY',
    `no complete observation (cameras, joint states, instruction) came of ${bag.path}; ` +
      (why.join('; ') || 'look at it with --info'),
  );
}

function bagSummary({ bag, name, span }: ReplayInput, messages: number): ReplaySummary['bag'] {
  const since = (ns: bigint): number => Number(ns - span.startNs) / 1e9;
  return {
    name,
    storage: bag.storage,
    duration_s: since(bag.endNs ?? span.toNs),
    from_s: since(span.fromNs),
    to_s: since(span.toNs),
    messages,
  };
}

function settings({ prepared, pacing, options }: ReplayInput, info: EngineInfo): ReplaySummary['settings'] {
  const { robot, engine } = prepared;
  const { tokensPerFrame } = engine.tunables;
  return {
    engine: info.name,
    precision: info.precision,
    provider: info.provider,
    robot: robot.name,
    pace: pacing.pace,
    mode: engine.mode,
    tokens_per_frame: tokensPerFrame.kind === 'fixed' ? tokensPerFrame.steps : 'auto',
    seed: String(engine.seed),
    denoise_steps: engine.denoiseSteps,
    threads: engine.threads,
    cost: pacing.pace === 'fast' ? pacing.costName : null,
    options,
  };
}
