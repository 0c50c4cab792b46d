/** Messages of a recorded command topic → values in the order of the robot file. Pure. */
import type { ActionDim, Robot } from '../core/robot';
import type { ActionKind } from '../core/types';

/** Types of messages that command a robot. A chunk (oxygen_vla/msg/ActionChunk) is a plan, not a command. */
export const RECORDED_ACTION_TYPES = [
  'std_msgs/msg/Float64MultiArray',
  'trajectory_msgs/msg/JointTrajectory',
  'sensor_msgs/msg/JointState',
] as const;
export type RecordedActionType = (typeof RECORDED_ACTION_TYPES)[number];

export const isRecordedActionType = (type: string): type is RecordedActionType =>
  (RECORDED_ACTION_TYPES as readonly string[]).includes(type);

export type RecordedAction =
  /** [actions] in robot units, order of the robot file; NaN: the message does not say, or it is not finite. */
  | { readonly kind: 'values'; readonly values: Float64Array }
  /** What is wrong with the message, for people. */
  | { readonly kind: 'refused'; readonly why: string };

/** `message` as the bag's definition gives it, so nothing is sure of its fields. */
export function recordedAction(type: RecordedActionType, message: unknown, robot: Robot): RecordedAction {
  const fields = fieldsOf(message);
  switch (type) {
    case 'std_msgs/msg/Float64MultiArray':
      return inOrder(numbers(fields['data']), robot);
    case 'trajectory_msgs/msg/JointTrajectory': {
      const points = fields['points'];
      if (!Array.isArray(points) || points.length === 0) return refused('the trajectory has no point');
      const { positions, velocities } = fieldsOf(points[0]);
      return byJoint('the trajectory', fields['joint_names'], { positions, velocities }, robot);
    }
    case 'sensor_msgs/msg/JointState': {
      const { name, position, velocity } = fields;
      return byJoint('the joint state', name, { positions: position, velocities: velocity }, robot);
    }
  }
}

function inOrder(data: ArrayLike<number> | null, { actions }: Robot): RecordedAction {
  if (data === null) return refused('the array has no data');
  if (data.length !== actions.length) {
    return refused(`the array has ${data.length} values, the robot file ${actions.length} actions`);
  }
  return values('the array', Float64Array.from(data, known), actions);
}

interface JointFields {
  readonly positions: unknown;
  readonly velocities: unknown;
}

/** A delta is neither a position nor a velocity. */
const FIELD: Readonly<Record<ActionKind, keyof JointFields | null>> = {
  position: 'positions',
  binary: 'positions',
  velocity: 'velocities',
  delta: null,
};

function byJoint(what: string, names: unknown, fields: JointFields, { actions }: Robot): RecordedAction {
  if (!Array.isArray(names)) return refused(`${what} names no joints`);
  const index = new Map(names.map((name, i) => [String(name), i]));
  if (index.size !== names.length) {
    const twice = new Set(names.filter((name, i) => names.indexOf(name) !== i));
    return refused(`${what} lists ${[...twice].join(', ')} twice`);
  }
  if (!actions.some(action => index.has(action.joint))) {
    const wanted = actions.map(action => action.joint).join(', ');
    return refused(`${what} names none of ${wanted}; it has ${names.join(', ') || 'no joint'}`);
  }
  const columns = { positions: numbers(fields.positions), velocities: numbers(fields.velocities) };
  for (const [field, column] of Object.entries(columns)) {
    // A message that commands one of the two leaves the other empty.
    if (column !== null && column.length !== 0 && column.length !== names.length) {
      return refused(`${what} has ${names.length} names but ${column.length} ${field}`);
    }
  }
  const value = ({ kind, joint }: ActionDim): number => {
    const field = FIELD[kind];
    const at = index.get(joint);
    return field === null || at === undefined ? NaN : known(columns[field]?.[at]);
  };
  return values(what, Float64Array.from(actions, value), actions);
}

function values(what: string, values: Float64Array, actions: readonly ActionDim[]): RecordedAction {
  if (values.some(Number.isFinite)) return { kind: 'values', values };
  const wanted = actions.map(({ name, kind }) => `${name} (${kind})`).join(', ');
  return refused(`${what} has no finite value for any of ${wanted}`);
}

const refused = (why: string): RecordedAction => ({ kind: 'refused', why });

const fieldsOf = (message: unknown): Readonly<Record<string, unknown>> =>
  typeof message === 'object' && message !== null ? (message as Record<string, unknown>) : {};

const numbers = (field: unknown): ArrayLike<number> | null =>
  Array.isArray(field) || (ArrayBuffer.isView(field) && 'length' in field)
    ? (field as ArrayLike<number>)
    : null;

const known = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : NaN);
