/** ARX, two arms of 6 joints and a gripper each: 14 in, 14 out, all absolute and in the units of the data. */
import { PLAIN, type Platform } from './platform';

export const arx: Platform = { ...PLAIN, name: 'arx', stateDims: 14, actionDims: 14 };
