/**
 * ALOHA, two ViperX arms of 6 joints and a gripper each. openpi's checkpoints know other joint signs, and grippers as
 * angles, where ALOHA reports the finger position and takes the gripper joint, each scaled to 0 (closed) .. 1 (open).
 */
import type { Platform } from './platform';

const ARM = 7;
const GRIPPER = 6;
/** Same for both arms; the gripper has formulas of its own. */
const SIGNS = [1, -1, -1, 1, 1, 1] as const;
const RELATIVE = [true, true, true, true, true, true, false] as const;

/** Finger position, m. */
const FINGER = { closed: 0.01844, open: 0.058 } as const;
/** Gripper joint, rad. */
const JOINT = { closed: -0.6213, open: 1.491 } as const;
/** Angle in openpi's training data, rad. */
const TRAINED = { closed: 0.5476, open: 1.6296 } as const;
/** Linkage of the gripper, m. */
const ROD = 0.036;
const HORN = 0.022;

interface Range {
  readonly closed: number;
  readonly open: number;
}
const toShare = (value: number, { closed, open }: Range): number => (value - closed) / (open - closed);
const fromShare = (share: number, { closed, open }: Range): number => share * (open - closed) + closed;

/** Share of the finger's way → share of the trained angle. */
export function gripperToModel(share: number): number {
  const finger = fromShare(share, FINGER);
  const sine = (HORN ** 2 + finger ** 2 - ROD ** 2) / (2 * HORN * finger);
  return toShare(Math.asin(Math.max(-1, Math.min(1, sine))), TRAINED);
}

/** The model's gripper action, rad from the closed angle → share of the gripper joint's way. */
export const gripperToRobot = (angle: number): number => toShare(angle + TRAINED.closed, JOINT);

const isGripper = (dim: number): boolean => dim % ARM === GRIPPER;
const sign = (dim: number): number => SIGNS[dim % ARM] ?? 1;

export const aloha: Platform = {
  name: 'aloha',
  stateDims: 2 * ARM,
  actionDims: 2 * ARM,
  relative: [...RELATIVE, ...RELATIVE],
  state: robot => robot.map((value, i) => (isGripper(i) ? gripperToModel(value) : sign(i) * value)),
  actions(values, dims) {
    values.forEach((value, i) => {
      const dim = i % dims;
      values[i] = isGripper(dim) ? gripperToRobot(value) : sign(dim) * value;
    });
  },
};
