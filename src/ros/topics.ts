/** Everything that the node opens on the ROS graph, as data. Names are relative; a name with / in front is not. */
import type { CameraInput, Robot } from '../core/robot';
import type { Durability, Reliability } from './rcl';

export interface Qos {
  readonly reliability: Reliability;
  /** Keep last. */
  readonly depth: number;
  readonly durability: Durability;
}

export interface TopicSpec {
  readonly name: string;
  readonly type: string;
  readonly direction: 'in' | 'out';
  readonly qos: Qos;
  /** Tells entities of the same topic apart in the names of QoS overrides. */
  readonly id?: string;
}

const reliable = (depth: number, durability: Durability = 'volatile'): Qos => ({
  reliability: 'reliable',
  depth,
  durability,
});
/** REP-2003: sensor data is taken as it comes. */
const sensor = (depth: number): Qos => ({ reliability: 'best_effort', depth, durability: 'volatile' });

const output = (name: string, type: string, qos: Qos): TopicSpec => ({ name, type, direction: 'out', qos });
const input = (name: string, type: string, qos: Qos, id?: string): TopicSpec => ({
  name,
  type,
  direction: 'in',
  qos,
  ...(id === undefined ? {} : { id }),
});

/** Types of `action` and `action_preview`, by the parameter `action_type`. */
export const ACTION_MESSAGES = {
  multi_array: 'std_msgs/msg/Float64MultiArray',
  joint_trajectory: 'trajectory_msgs/msg/JointTrajectory',
} as const;

/** Parts of letters, digits and _, none beginning with a digit; the full name has at most 247 letters. */
const TOPIC_NAME = /^(~?\/)?[A-Za-z_]\w*(\/[A-Za-z_]\w*)*$/;
const MAX_TOPIC_LETTERS = 247;

/**
 * Why ROS 2 would not open a topic of this name; null: it may be. Substitutions such as {ns} are not taken: bags and
 * QoS overrides know topics by their names, and a namespace does the same.
 */
export function topicNameFault(name: string): string | null {
  if (name.length > MAX_TOPIC_LETTERS)
    return `the name has ${name.length} letters, more than ${MAX_TOPIC_LETTERS}`;
  if (TOPIC_NAME.test(name)) return null;
  return (
    `'${name}' is no topic name; parts of letters, digits and _ are allowed, none beginning with a digit, with one ` +
    '/ between them, and / or ~/ in front'
  );
}

/** While the node is configured. */
export const OUTPUTS = {
  action: output('action', ACTION_MESSAGES.multi_array, reliable(1)),
  actionPreview: output('action_preview', ACTION_MESSAGES.multi_array, reliable(1)),
  actionChunk: output('action_chunk', 'oxygen_vla/msg/ActionChunk', reliable(1)),
  chunkTrajectory: output('action_chunk/joint_trajectory', ACTION_MESSAGES.joint_trajectory, reliable(1)),
  tokens: output('language/tokens', 'oxygen_vla/msg/LanguageToken', reliable(100)),
  caption: output('language/text', 'std_msgs/msg/String', reliable(1)),
  markers: output('markers', 'visualization_msgs/msg/MarkerArray', reliable(1)),
  predicted: output('predicted/joint_states', 'sensor_msgs/msg/JointState', reliable(1)),
} as const satisfies Readonly<Record<string, TopicSpec>>;

/** With the type that commands have. */
export const outputsOf = (
  actionType: keyof typeof ACTION_MESSAGES,
): Readonly<Record<keyof typeof OUTPUTS, TopicSpec>> => {
  const type = ACTION_MESSAGES[actionType];
  return {
    ...OUTPUTS,
    action: { ...OUTPUTS.action, type },
    actionPreview: { ...OUTPUTS.actionPreview, type },
  };
};

/** In every state of the node. */
export const MONITORS = {
  status: output('status', 'oxygen_vla/msg/Status', reliable(1, 'transient_local')),
  diagnostics: output('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', reliable(10)),
  transitions: output('~/transition_event', 'lifecycle_msgs/msg/TransitionEvent', reliable(10)),
} as const satisfies Readonly<Record<string, TopicSpec>>;

/**
 * A volatile publisher does not match a transient-local subscription, and a volatile subscription misses what was
 * latched before the start: two subscriptions hear both.
 */
export const INPUTS = {
  instruction: input('instruction', 'std_msgs/msg/String', reliable(1)),
  instructionLatched: input('instruction', 'std_msgs/msg/String', reliable(1, 'transient_local'), 'latched'),
  languageRequest: input('language_request', 'oxygen_vla/msg/LanguageRequest', reliable(100)),
  cancelRequest: input('cancel_request', 'std_msgs/msg/String', reliable(100)),
} as const satisfies Readonly<Record<string, TopicSpec>>;

export const cameraTopic = ({ topic, transport }: CameraInput): TopicSpec =>
  input(topic, transport === 'raw' ? 'sensor_msgs/msg/Image' : 'sensor_msgs/msg/CompressedImage', sensor(1));

export const stateTopic = ({ state }: Pick<Robot, 'state'>): TopicSpec =>
  input(state.topic, 'sensor_msgs/msg/JointState', sensor(5));

/** All but the sensors, which the robot file names. */
export const TOPICS: readonly TopicSpec[] = [
  ...Object.values(INPUTS),
  ...Object.values(OUTPUTS),
  ...Object.values(MONITORS),
];

export interface ServiceSpec {
  readonly name: string;
  readonly type: string;
}

export const SERVICES = {
  reset: { name: '~/reset', type: 'std_srvs/srv/Trigger' },
  enable: { name: '~/enable', type: 'std_srvs/srv/SetBool' },
  changeState: { name: '~/change_state', type: 'lifecycle_msgs/srv/ChangeState' },
  getState: { name: '~/get_state', type: 'lifecycle_msgs/srv/GetState' },
  getAvailableStates: { name: '~/get_available_states', type: 'lifecycle_msgs/srv/GetAvailableStates' },
  getAvailableTransitions: {
    name: '~/get_available_transitions',
    type: 'lifecycle_msgs/srv/GetAvailableTransitions',
  },
  getTransitionGraph: { name: '~/get_transition_graph', type: 'lifecycle_msgs/srv/GetAvailableTransitions' },
} as const satisfies Readonly<Record<string, ServiceSpec>>;
