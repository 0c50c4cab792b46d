/** Messages of a bag → the inputs of the node, and what was recorded beside them. */
import { messageReader } from '../bag/decode';
import type { Bag, BagMessage } from '../bag/types';
import type { Robot } from '../core/robot';
import { readCamera, readJointState } from '../ros/cdr';
import type { Handlers } from '../ros/entities';
import type { LanguageRequestMessage, StringMessage, TimeMessage } from '../ros/messages';
import { toNs } from '../ros/messages';
import { recordedAction } from './recorded-actions';
import type { RecordedAction } from './recorded-actions';
import type { TopicPlan, TopicUse } from './topic-plan';

export interface Receivers {
  readonly handlers: () => Handlers;
  /** ROS time, from a clock in the bag. */
  clock(ns: bigint): void;
  recorded(action: RecordedAction): void;
}

type Deliver = (message: BagMessage) => void;

/** Throws OxygenError for bytes that are none of the topic's type; those of sensors are refused by the node itself. */
export function messageDelivery(bag: Bag, plan: TopicPlan, robot: Robot, to: Receivers): Deliver {
  const byTopic = new Map<string, readonly Deliver[]>(
    [...plan.uses].map(([topic, uses]) => [topic, uses.map(use => deliverer(bag, topic, use, robot, to))]),
  );
  return message => byTopic.get(message.topic)?.forEach(deliver => deliver(message));
}

function deliverer(bag: Bag, topic: string, use: TopicUse, robot: Robot, to: Receivers): Deliver {
  const { handlers } = to;
  if (use.kind === 'camera') {
    const { slot, transport, topic: name } = use.camera;
    return ({ data }) => handlers().camera(slot, name, () => readCamera(transport, data));
  }
  if (use.kind === 'state')
    return ({ data }) => handlers().jointState(robot.state.topic, () => readJointState(data));
  const read = messageReader(bag.topics.get(topic)!);
  switch (use.kind) {
    case 'instruction':
      return ({ data, logNs }) =>
        handlers().instruction((read(data) as StringMessage).data, { publisher: topic, sentNs: logNs });
    case 'language-request':
      return ({ data }) => handlers().languageRequest(read(data) as LanguageRequestMessage);
    case 'cancel-request':
      return ({ data }) => handlers().cancelRequest((read(data) as StringMessage).data);
    case 'clock':
      return ({ data }) => to.clock(toNs((read(data) as { readonly clock: TimeMessage }).clock));
    case 'action':
      return ({ data }) => to.recorded(recordedAction(use.type, read(data), robot));
  }
}
