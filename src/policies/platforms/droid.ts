/** DROID (Franka). State: 7 joints and the gripper. Action: 7 joint velocities, -1..1, and the gripper, 0 or 1. */
import { PLAIN, type Platform } from './platform';

const GRIPPER = 7;
const CLOSED_ABOVE = 0.5;

const clip = (value: number): number => Math.max(-1, Math.min(1, value));

function grip(value: number): number {
  if (Number.isNaN(value)) return NaN; // not an open gripper: the chunk is refused
  return value > CLOSED_ABOVE ? 1 : 0;
}

export const droid: Platform = {
  ...PLAIN,
  name: 'droid',
  stateDims: 8,
  actionDims: 8,
  actions(values, dims) {
    values.forEach((value, i) => {
      values[i] = i % dims === GRIPPER ? grip(value) : clip(value);
    });
  },
};
