/** Which topics of a bag are what to the robot. Names are resolved and remapped as on a ROS command line. Pure. */
import { definitionFault } from '../bag/decode';
import type { Bag, BagTopic } from '../bag/types';
import { OxygenError } from '../core/errors';
import type { CameraInput, Robot } from '../core/robot';
import type { TopicSpec } from '../ros/topics';
import { NODE_NAME } from '../ros/params';
import { cameraTopic, INPUTS, OUTPUTS, stateTopic } from '../ros/topics';
import { isRecordedActionType, RECORDED_ACTION_TYPES } from './recorded-actions';
import type { RecordedActionType } from './recorded-actions';

export type TopicUse =
  | { readonly kind: 'camera'; readonly camera: CameraInput }
  | { readonly kind: 'state' | 'instruction' | 'language-request' | 'cancel-request' | 'clock' }
  /** What was commanded when the bag was recorded. */
  | { readonly kind: 'action'; readonly type: RecordedActionType };

export interface TopicPlan {
  /** By the name in the bag. A topic may have several uses. */
  readonly uses: ReadonlyMap<string, readonly TopicUse[]>;
  /** What the recorded actions are; null: there are none. */
  readonly recorded: { readonly topic: string; readonly type: RecordedActionType } | null;
  /** ROS time is that of the bag's /clock, as with use_sim_time. */
  readonly simTime: boolean;
  /** What is not there and could be, for people. */
  readonly notes: readonly string[];
}

export interface TopicNames {
  /** `/` or `/arm`. */
  readonly namespace: string;
  /** From a name of the node or robot file to one of the bag. */
  readonly remaps: ReadonlyMap<string, string>;
  /** Name of the recorded actions; null: that of the node's own topic. */
  readonly action: string | null;
  /** An instruction is given in place of those of the bag. */
  readonly instructed: boolean;
}

const CLOCK = { name: '/clock', type: 'rosgraph_msgs/msg/Clock' };

/**
 * @throws OxygenError BAG_EMPTY with every input that is missing or of the wrong type, and the cure; what is damaged comes
 * first, because it may be the cause. BAG_UNSUPPORTED for a bag of ROS 1.
 */
export function planTopics(bag: Pick<Bag, 'topics' | 'faults'>, robot: Robot, names: TopicNames): TopicPlan {
  const { topics } = bag;
  refuseRos1(topics);
  const uses = new Map<string, TopicUse[]>();
  const faults: string[] = [];
  const notes: string[] = [];
  const resolve = (name: string): string => resolved(name, names);
  const use = (name: string, wanted: TopicUse): void => {
    uses.set(name, [...(uses.get(name) ?? []), wanted]);
  };
  const take = (
    spec: Pick<TopicSpec, 'name' | 'type'>,
    wanted: TopicUse,
    missing: ((why: string) => void) | null,
    elsewhere: (name: string) => string | null = () => null,
  ): boolean => {
    const name = resolve(spec.name);
    const fault = faultOf(topics.get(name), name, spec, topics, elsewhere);
    if (fault === null) use(name, wanted);
    else if (topics.has(name)) faults.push(fault);
    else missing?.(fault);
    return fault === null;
  };

  const cameraNames = new Set(robot.cameras.map(({ topic }) => resolve(topic)));
  for (const camera of robot.cameras) {
    const why = (fault: string): unknown =>
      camera.onMissing === 'mask'
        ? notes.push(`camera ${camera.slot} is left out: ${fault}`)
        : faults.push(`camera ${camera.slot}: ${fault}`);
    const elsewhere = (name: string): string | null => otherTransport(camera, name, topics, cameraNames);
    take(cameraTopic(camera), { kind: 'camera', camera }, why, elsewhere);
  }
  take(stateTopic(robot), { kind: 'state' }, fault => faults.push(`joint states: ${fault}`));
  const instruction = resolve(INPUTS.instruction.name);
  if (names.instructed) {
    if (topics.has(instruction))
      notes.push(`${instruction} of the bag is not used: --instruction replaces it`);
  } else {
    const cure = 'say what the robot is to do with --instruction TEXT';
    take(INPUTS.instruction, { kind: 'instruction' }, () =>
      faults.push(`the bag has no ${instruction}; ${cure}`),
    );
  }
  take(INPUTS.languageRequest, { kind: 'language-request' }, null);
  take(INPUTS.cancelRequest, { kind: 'cancel-request' }, null);
  const simTime = take(CLOCK, { kind: 'clock' }, null);

  const recorded = recordedActions(
    topics,
    resolve(names.action ?? OUTPUTS.action.name),
    names,
    faults,
    notes,
  );
  if (recorded) use(recorded.topic, { kind: 'action', type: recorded.type });
  if (![...uses.values()].flat().some(({ kind }) => kind === 'camera') && faults.length === 0)
    faults.push('the bag has none of the cameras');
  if (faults.length > 0) {
    const damage = bag.faults.filter(({ code }) => code === 'BAG_DAMAGED').map(({ message }) => message);
    throw new OxygenError('BAG_EMPTY', [...damage, ...faults].join('\n  '));
  }
  return { uses, recorded, simTime, notes };
}

/** What is wrong with a topic that should be `spec`; null: nothing. */
function faultOf(
  topic: BagTopic | undefined,
  name: string,
  { type }: Pick<TopicSpec, 'type'>,
  topics: ReadonlyMap<string, BagTopic>,
  elsewhere: (name: string) => string | null,
): string | null {
  if (topic?.type === type) return contentFault(topic);
  if (topic) {
    const images = [topic.type, type].every(one => /^sensor_msgs\/msg\/(Compressed)?Image$/.test(one));
    const cure = images
      ? `; set transport: ${type.includes('Compressed') ? 'raw' : 'compressed'} in the robot file`
      : '';
    return `${name} is ${topic.type} in the bag, wanted is ${type}${cure}`;
  }
  const others = [...topics.values()].filter(other => other.type === type).map(other => other.name);
  const cure =
    elsewhere(name) ??
    (others.length > 0
      ? `it has ${type} on ${others.join(', ')}: name the right one in the robot file, or with --remap ${name}:=${others[0]}`
      : `it has no ${type} at all`);
  return `the bag has no topic ${name}; ${cure}`;
}

/** Why messages that are there cannot be read; null: they can. */
const contentFault = (topic: BagTopic): string | null =>
  topic.serialization === 'cdr'
    ? definitionFault(topic)
    : `${topic.name} is serialised as "${topic.serialization}", only cdr is read: record it with ros2 bag record`;

function refuseRos1(topics: ReadonlyMap<string, BagTopic>): void {
  const old = [...topics.values()].find(({ serialization }) => serialization === 'ros1');
  if (old)
    throw new OxygenError(
      'BAG_UNSUPPORTED',
      `this is a recording of ROS 1 (${old.name} is serialised as "ros1"): make a ROS 2 bag of the .bag file that it comes ` +
        'from, with "rosbags-convert --src FILE.bag --dst FOLDER" (Python package rosbags)',
    );
}

/** Drivers record pictures raw or compressed, and under another name then. Null: the bag has none for this camera. */
function otherTransport(
  camera: CameraInput,
  name: string,
  topics: ReadonlyMap<string, BagTopic>,
  cameraNames: ReadonlySet<string>,
): string | null {
  const transport = camera.transport === 'raw' ? 'compressed' : 'raw';
  const { type } = cameraTopic({ ...camera, transport });
  const others = [...topics.values()]
    .filter(other => other.type === type && !cameraNames.has(other.name))
    .map(other => other.name);
  const twin = transport === 'compressed' ? `${name}/compressed` : name.replace(/\/compressed$/, '');
  const hasWanted = [...topics.values()].some(other => other.type === cameraTopic(camera).type);
  const fitting = others.some(other => other === twin) ? [twin] : hasWanted ? [] : others;
  if (fitting.length === 0) return null;
  return (
    `it has ${type} on ${fitting.join(', ')}: in the robot file, under cameras, ${camera.slot} ` +
    `needs "topic: ${fitting[0]}" and "transport: ${transport}"`
  );
}

function recordedActions(
  topics: ReadonlyMap<string, BagTopic>,
  name: string,
  { action }: TopicNames,
  faults: string[],
  notes: string[],
): TopicPlan['recorded'] {
  const topic = topics.get(name);
  const types = RECORDED_ACTION_TYPES.join(', ');
  const flaw = topic && isRecordedActionType(topic.type) ? contentFault(topic) : null;
  if (topic && isRecordedActionType(topic.type) && flaw === null) return { topic: name, type: topic.type };
  const others = [...topics.values()]
    .filter(({ type }) => isRecordedActionType(type))
    .map(other => other.name);
  const what =
    flaw ??
    (topic
      ? `${name} is ${topic.type}; recorded actions may be ${types}`
      : `the bag has no topic ${name}` + (others.length > 0 ? `; it has ${others.join(', ')}` : ''));
  if (action !== null) faults.push(`recorded actions: ${what}`);
  else notes.push(`no recorded actions: ${what}; name them with --action-topic`);
  return null;
}

/** As ROS resolves names: relative ones below the namespace, ~/ ones below the node; then the remaps, whose left side may be relative too. */
export function resolved(
  name: string,
  { namespace, remaps }: Pick<TopicNames, 'namespace' | 'remaps'>,
): string {
  const absolute = (one: string): string =>
    one.startsWith('/') ? one : `${namespace.replace(/\/$/, '')}/${one.replace(/^~\//, `${NODE_NAME}/`)}`;
  for (const [from, to] of remaps) if (absolute(from) === absolute(name)) return absolute(to);
  return absolute(name);
}
