/** Messages of a bag → the inputs of the node, and what was recorded beside them. */
import { messageReader } from '../bag/decode';
import type { Bag, BagMessage } from '../bag/types';
import { toOxygenError } from '../core/errors';
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
  /** The bytes of a message are none of its type. */
  unreadable(message: BagMessage, why: string): void;
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
  const whole = <T>(message: BagMessage, read: (data: Uint8Array) => T): T => {
    try {
      return read(message.data);
    } catch (error) {
      to.unreadable(message, toOxygenError(error).message);
      throw error;
    }
  };
  if (use.kind === 'camera') {
    const { slot, transport, topic: name } = use.camera;
    return message =>
      handlers().camera(slot, name, () => whole(message, data => readCamera(transport, data)));
  }
  if (use.kind === 'state')
    return message => handlers().jointState(robot.state.topic, () => whole(message, readJointState));
  const read = messageReader<unknown>(bag.topics.get(topic)!);
  switch (use.kind) {
    case 'instruction':
      return message => {
        const { data } = whole(message, read) as StringMessage;
        handlers().instruction(data, { publisher: topic, sentNs: message.logNs });
      };
    case 'language-request':
      return message => handlers().languageRequest(whole(message, read) as LanguageRequestMessage);
    case 'cancel-request':
      return message => handlers().cancelRequest((whole(message, read) as StringMessage).data);
    case 'clock':
      return message => to.clock(toNs((whole(message, read) as { readonly clock: TimeMessage }).clock));
    case 'action':
      return message => {
        let action: unknown;
        try {
          action = whole(message, read);
        } catch (error) {
          to.recorded({ kind: 'refused', why: toOxygenError(error).message });
          throw error;
        }
        to.recorded(recordedAction(use.type, action, robot));
      };
  }
}
