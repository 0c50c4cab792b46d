/** A robot of its own: units, widths and relative actions are those of the robot file. */
import { PLAIN, type Platform } from './platform';

export const none: Platform = { ...PLAIN, name: 'none', stateDims: null, actionDims: null };
