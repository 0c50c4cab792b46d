/** Everything that the node opens on the ROS graph: publishers here, subscriptions with the handlers they feed. */
import { qos } from './rcl';
import type { Rcl, RclMessageInfo, RclNode, RclPublisher, RclServiceResponse } from './rcl';
import { readCompressedImage, readImage, readJointState } from './cdr';
import type { CameraMessage } from './ingest';
import type { MessageOrigin } from './instruction';
import type { JointStateMessage, LanguageRequestMessage, StringMessage } from './messages';
import type { Robot } from '../core/robot';

export interface Publishers {
  readonly action: RclPublisher;
  readonly actionChunk: RclPublisher;
  readonly tokens: RclPublisher;
  readonly caption: RclPublisher;
  readonly status: RclPublisher;
}

export const createPublishers = (rcl: Rcl, node: RclNode): Publishers => ({
  action: node.createPublisher('std_msgs/msg/Float64MultiArray', 'action', { qos: qos(rcl, 'reliable', 1) }),
  actionChunk: node.createPublisher('oxygen_vla/msg/ActionChunk', 'action_chunk', {
    qos: qos(rcl, 'reliable', 1),
  }),
  tokens: node.createPublisher('oxygen_vla/msg/LanguageToken', 'language/tokens', {
    qos: qos(rcl, 'reliable', 100),
  }),
  caption: node.createPublisher('std_msgs/msg/String', 'language/text', { qos: qos(rcl, 'reliable', 1) }),
  status: node.createPublisher('oxygen_vla/msg/Status', 'status', {
    qos: qos(rcl, 'reliable', 1, 'transient_local'),
  }),
});

export interface Handlers {
  /** `read` decodes and may throw OxygenError; `topic` is for messages. */
  camera(slot: string, topic: string, read: () => CameraMessage): void;
  jointState(topic: string, read: () => JointStateMessage): void;
  instruction(text: string, origin: MessageOrigin): void;
  languageRequest(message: LanguageRequestMessage): void;
  cancelRequest(id: string): void;
  reset(): string;
}

/** Sensor topics come serialised: the same decoder serves bags, and pixels are not copied. */
export function createSubscriptions(rcl: Rcl, node: RclNode, robot: Robot, handlers: Handlers): void {
  const sensor = (depth: number): object => ({ qos: qos(rcl, 'best_effort', depth), isRaw: true });
  for (const { slot, topic, transport } of robot.cameras) {
    const type = transport === 'raw' ? 'sensor_msgs/msg/Image' : 'sensor_msgs/msg/CompressedImage';
    const read = (bytes: Uint8Array): CameraMessage =>
      transport === 'raw'
        ? { kind: 'raw', message: readImage(bytes) }
        : { kind: 'compressed', message: readCompressedImage(bytes) };
    node.createSubscription(type, topic, sensor(1), (bytes: Uint8Array) =>
      handlers.camera(slot, topic, () => read(bytes)),
    );
  }
  node.createSubscription('sensor_msgs/msg/JointState', robot.state.topic, sensor(5), (bytes: Uint8Array) =>
    handlers.jointState(robot.state.topic, () => readJointState(bytes)),
  );
  // A volatile publisher does not match a transient-local subscription, and a volatile subscription misses what
  // was latched before the start: two subscriptions hear both.
  for (const durability of ['volatile', 'transient_local'] as const) {
    node.createSubscription(
      'std_msgs/msg/String',
      'instruction',
      { qos: qos(rcl, 'reliable', 1, durability) },
      (message: StringMessage, info: RclMessageInfo) =>
        handlers.instruction(message.data, {
          publisher: String(info.publisherGid),
          sentNs: info.sourceTimestamp,
        }),
    );
  }
  node.createSubscription(
    'oxygen_vla/msg/LanguageRequest',
    'language_request',
    { qos: qos(rcl, 'reliable', 100) },
    (message: LanguageRequestMessage) => handlers.languageRequest(message),
  );
  node.createSubscription(
    'std_msgs/msg/String',
    'cancel_request',
    { qos: qos(rcl, 'reliable', 100) },
    (message: StringMessage) => handlers.cancelRequest(message.data),
  );
  node.createService(
    'std_srvs/srv/Trigger',
    '~/reset',
    {},
    (_request: unknown, response: RclServiceResponse) =>
      response.send({ success: true, message: handlers.reset() }),
  );
}
