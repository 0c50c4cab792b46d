/** Opens what the table of topics says, with the QoS overrides of the parameters, and closes it again. */
import { OxygenError, toOxygenError } from '../core/errors';
import type { Robot } from '../core/robot';
import { readCamera, readJointState } from './cdr';
import type { CameraMessage } from './ingest';
import type { MessageOrigin } from './instruction';
import type { JointStateMessage, LanguageRequestMessage, StringMessage } from './messages';
import type { ActionType } from './parameter-table';
import { qosProfile } from './rcl';
import { publishingBytes } from './serialise';
import type {
  Rcl,
  RclMessageInfo,
  RclNode,
  RclPublisher,
  RclServiceResponse,
  SubscriptionCallback,
} from './rcl';
import type { OpenTopics } from './surroundings';
import { INPUTS, MONITORS, SERVICES, cameraTopic, outputsOf, stateTopic } from './topics';
import type { OUTPUTS, TopicSpec } from './topics';

export type Monitors = Readonly<Record<keyof typeof MONITORS, RclPublisher>>;

/** Opened in every state of the node, for its whole life. */
export const createMonitors = (rcl: Rcl, node: RclNode): Monitors => publishersOf(rcl, node, MONITORS);

export interface Handlers {
  /** `read` decodes and may throw OxygenError; `topic` is for messages. */
  camera(slot: string, topic: string, read: () => CameraMessage): void;
  jointState(topic: string, read: () => JointStateMessage): void;
  instruction(text: string, origin: MessageOrigin): void;
  languageRequest(message: LanguageRequestMessage): void;
  cancelRequest(id: string): void;
  /** What was done, for people. */
  reset(): string;
  enable(on: boolean): string;
}

/** The topics and services of a configured node on the ROS graph. */
export class Entities implements OpenTopics {
  readonly outputs: Readonly<Record<keyof typeof OUTPUTS, RclPublisher>>;
  readonly topics: readonly TopicSpec[];
  readonly #node: RclNode;
  readonly #close: (() => void)[] = [];

  /** All or nothing. @throws OxygenError CONFIG_INVALID with the name that cannot be opened. */
  constructor(rcl: Rcl, node: RclNode, robot: Robot, actionType: ActionType, handlers: Handlers) {
    this.#node = node;
    const outputs = outputsOf(actionType);
    try {
      this.outputs = publishersOf(rcl, node, outputs, publisher =>
        this.#close.push(() => node.destroyPublisher(publisher)),
      );
      const inputs = this.#subscribe(rcl, robot, handlers);
      this.#serve(handlers);
      this.topics = [...Object.values(outputs), ...inputs].map(topic => ({
        ...topic,
        name: node.resolveTopicName(topic.name),
      }));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    for (const close of this.#close.splice(0)) close();
  }

  /** Sensor topics come serialised: the same decoder serves bags, and pixels are not copied. */
  #subscribe(rcl: Rcl, robot: Robot, handlers: Handlers): readonly TopicSpec[] {
    const inputs: TopicSpec[] = [];
    const subscribe = (topic: TopicSpec, options: object, callback: SubscriptionCallback): void => {
      const subscription = opened('topic', topic.name, () => {
        const qos = qosProfile(rcl, topic);
        return this.#node.createSubscription(topic.type, topic.name, { ...qos, ...options }, callback);
      });
      this.#close.push(() => this.#node.destroySubscription(subscription));
      inputs.push(topic);
    };
    const raw = { isRaw: true };
    for (const camera of robot.cameras) {
      const { slot, topic, transport } = camera;
      subscribe(cameraTopic(camera), raw, (bytes: Uint8Array) =>
        handlers.camera(slot, topic, () => readCamera(transport, bytes)),
      );
    }
    subscribe(stateTopic(robot), raw, (bytes: Uint8Array) =>
      handlers.jointState(robot.state.topic, () => readJointState(bytes)),
    );
    for (const topic of [INPUTS.instruction, INPUTS.instructionLatched]) {
      subscribe(topic, {}, (message: StringMessage, info: RclMessageInfo) =>
        handlers.instruction(message.data, {
          publisher: Buffer.from(info.publisherGid).toString('hex'),
          sentNs: info.sourceTimestamp,
        }),
      );
    }
    subscribe(INPUTS.languageRequest, {}, (message: LanguageRequestMessage) =>
      handlers.languageRequest(message),
    );
    subscribe(INPUTS.cancelRequest, {}, (message: StringMessage) => handlers.cancelRequest(message.data));
    return inputs;
  }

  #serve(handlers: Handlers): void {
    const serve = (
      { type, name }: { type: string; name: string },
      answer: (data: boolean) => string,
    ): void => {
      const service = opened('service', name, () =>
        this.#node.createService(
          type,
          name,
          {},
          (request: { readonly data?: boolean }, response: RclServiceResponse) =>
            response.send({ success: true, message: answer(request.data === true) }),
        ),
      );
      this.#close.push(() => this.#node.destroyService(service));
    };
    serve(SERVICES.reset, () => handlers.reset());
    serve(SERVICES.enable, on => handlers.enable(on));
  }
}

/** `created` hears of each one at once: a later one may fail. */
function publishersOf<K extends string>(
  rcl: Rcl,
  node: RclNode,
  topics: Readonly<Record<K, TopicSpec>>,
  created: (publisher: RclPublisher) => void = () => undefined,
): Readonly<Record<K, RclPublisher>> {
  const publishers = Object.entries<TopicSpec>(topics).map(([key, topic]) => {
    const publisher = opened('topic', topic.name, () =>
      node.createPublisher(topic.type, topic.name, qosProfile(rcl, topic)),
    );
    created(publisher);
    return [key, publishingBytes(publisher, topic.type)];
  });
  return Object.fromEntries(publishers) as Record<K, RclPublisher>;
}

/** What rclnodejs refuses to open has a name, namespace, remap or QoS that somebody has set: no bug of ours. */
function opened<T>(what: 'topic' | 'service', name: string, open: () => T): T {
  try {
    return open();
  } catch (cause) {
    const { message } = toOxygenError(cause);
    throw new OxygenError(
      'CONFIG_INVALID',
      `${what} ${name} cannot be opened: ${message}. Look at its name, the namespace, remaps and qos_overrides`,
      { cause },
    );
  }
}
