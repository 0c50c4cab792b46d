/**
 * LIBERO (simulated Panda). State: gripper position 3, axis-angle 3, fingers 2. Action: 6 motions, which are deltas in
 * the data already, and the gripper.
 */
import { PLAIN, type Platform } from './platform';

export const libero: Platform = { ...PLAIN, name: 'libero', stateDims: 8, actionDims: 7 };
