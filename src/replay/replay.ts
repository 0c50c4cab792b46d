/**
 * Plays a bag through the node: the same node and the same engine as on the robot, with the bag in place of the ROS graph
 * and virtual time (or the clock of this machine) in place of ROS time.
 */
import type { Bag, BagMessage } from '../bag/types';
import { OxygenError } from '../core/errors';
import type { EngineInfo } from '../engine/protocol';
import type { Prepared } from '../prepare';
import type { DropLog } from '../ros/drops';
import { hasChunkTrajectory } from '../ros/trajectory-messages';
import type { ActionType } from '../ros/parameter-table';
import { MONITORS, outputsOf } from '../ros/topics';
import type { RecordedTopic } from './bag-metadata';
import type { ResultBag } from './result-bag';
import type { ReplayResult, ReplaySummary } from './result';
import { Stage } from './stage';
import type { StageOptions } from './stage';
import { resolved } from './topic-plan';
import type { TopicNames } from './topic-plan';

export interface ReplayInput extends StageOptions {
  readonly name: string;
  /** All the time, in place of those of the bag; null: those of the bag. */
  readonly instruction: string | null;
  /** Hears what the node says, on the topics of `resultTopics`; null: nobody does. */
  readonly out: ResultBag | null;
  /** As in ReplaySummary. */
  readonly options: readonly string[];
  /** Ends the replay with its reason. */
  readonly signal: AbortSignal;
  /** All is loaded. */
  readonly begun: () => void;
  readonly progress: (doneS: number, totalS: number) => void;
}

/** Messages after which results that wait for the disk are waited for. */
const FLUSH_EVERY = 2000;

/** What the node says, for a bag. */
export function resultTopics(prepared: Prepared, names: TopicNames): readonly RecordedTopic[] {
  const dryRun = prepared.values.get('dry_run') === true;
  const outputs = Object.entries(outputsOf(prepared.values.get('action_type') as ActionType))
    .filter(([key]) => key !== (dryRun ? 'action' : 'actionPreview'))
    .filter(([key]) => key !== 'chunkTrajectory' || (!dryRun && hasChunkTrajectory(prepared.robot)))
    .map(([, topic]) => topic);
  return [...outputs, MONITORS.status].map(topic => ({ ...topic, name: resolved(topic.name, names) }));
}

/** @throws OxygenError BAG_EMPTY when no frame came of the bag. */
export async function replay(input: ReplayInput): Promise<ReplayResult> {
  const { bag, plan, span, signal, out } = input;
  const stage = new Stage(input, out);
  const lengthNs = Number(span.toNs - span.fromNs);
  try {
    const info = await stage.open();
    input.begun();
    if (input.instruction !== null) stage.instruct(input.instruction);
    for (const message of await latched(input)) stage.deliver(message);
    let messages = 0;
    for await (const message of bag.messages({ topics: new Set(plan.uses.keys()), ...span })) {
      const ns = Number(message.logNs - span.fromNs);
      await stage.advance(ns);
      signal.throwIfAborted();
      stage.deliver(message);
      messages += 1;
      if (messages % FLUSH_EVERY === 0) await out?.flush();
      input.progress(ns / 1e9, lengthNs / 1e9);
    }
    await stage.advance(lengthNs);
    stage.end();
    const faults = [...bag.faults, ...stage.faults];
    if (stage.frames === 0) throw nothingSeen(bag, faults, stage.drops);
    return await stage.result({
      bag: bagSummary(input, messages),
      settings: settings(input, info),
      partial: isPartial({ faults }),
      faults: faults.map(({ code, message }) => ({ code, message })),
      notes: plan.notes,
    });
  } finally {
    await stage.close();
  }
}

/**
 * Whoever begins in the middle has the instruction of before, as a late subscriber gets what is latched; also where that
 * lies days before by its stamp, because the clock was set while recording.
 */
async function latched({ bag, plan, span }: ReplayInput): Promise<readonly BagMessage[]> {
  const { startNs, fromNs } = span;
  const topics = [...plan.uses].filter(([, uses]) => uses.some(({ kind }) => kind === 'instruction'));
  let last: BagMessage | null = null;
  if (topics.length === 0 || (fromNs <= startNs && bag.far === 0)) return [];
  const names = new Set(topics.map(([topic]) => topic));
  const before = { topics: names, fromNs: null, toNs: fromNs, far: true } as const;
  for await (const message of bag.messages(before)) last = { ...message, data: message.data.slice() };
  return last === null ? [] : [last];
}

/** Some of it is damaged or missing; what runs out of order is not. */
export const isPartial = ({ faults }: Pick<Bag, 'faults'>): boolean =>
  faults.some(({ code }) => code === 'BAG_DAMAGED');

/** Why there is no result. */
function nothingSeen(bag: Bag, faults: Bag['faults'], drops: DropLog): OxygenError {
  const counts = drops.counts().map(([code, count]) => `${count} x ${code}`);
  const last = drops.lastError === '' ? [] : [drops.lastError];
  const why = [
    ...faults.map(({ message }) => message),
    ...(counts.length > 0 ? [`refused: ${counts.join(', ')}`] : []),
    ...last,
  ];
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
