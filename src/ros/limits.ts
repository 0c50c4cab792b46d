/** Limits of the actions as parameters `limits.<action>.*`: live, and never wider than the robot file says. */
import type { ActionLimits, Robot } from '../core/robot';
import { isMotion } from '../core/types';
import { double, live } from './parameter-spec';
import type { ParameterSpec, ParameterValues } from './parameter-spec';

const PREFIX = 'limits.';
/** Largest rate where the robot file sets none. */
const ANY_RATE = 1e9;
/** A rate of 0 would be a robot that never moves again, and is no limit in many other packages. */
export const SMALLEST_RATE = 1e-6;

export const isLimit = (name: string): boolean => name.startsWith(PREFIX);

export const limitParameters = ({ actions }: Pick<Robot, 'actions'>): readonly ParameterSpec[] =>
  actions.flatMap(({ name, min, max, maxRate }) => {
    const rate =
      maxRate === null
        ? double(
            `${PREFIX}${name}.max_rate`,
            0,
            0,
            ANY_RATE,
            `Largest change of ${name} per second; 0 is none.`,
          )
        : double(
            `${PREFIX}${name}.max_rate`,
            maxRate,
            SMALLEST_RATE,
            maxRate,
            `Largest change of ${name} per second.`,
          );
    return [
      double(`${PREFIX}${name}.min`, min, min, max, `Least command for ${name}.`),
      double(`${PREFIX}${name}.max`, max, min, max, `Greatest command for ${name}.`),
      rate,
    ].map(live);
  });

/** What the README shows of them. */
export const LIMITS_EXAMPLE: readonly ParameterSpec[] = [
  ['min', 'Least command'],
  ['max', 'Greatest command'],
  ['max_rate', 'Largest change per second'],
].map(([what, words]) => ({
  name: `${PREFIX}<action>.${what}`,
  kind: 'double',
  default: 'robot file',
  description: `${words} of that action; never wider than in the robot file.`,
  readOnly: false,
}));

/** Why the limits cannot be as they are. */
export const limitFaults = (
  values: ParameterValues,
  { actions }: Pick<Robot, 'actions'>,
): readonly string[] =>
  actions.flatMap(({ name, kind }) => {
    const { min, max } = limitOf(values, name);
    if (min > max) return [`parameter ${PREFIX}${name}.min: ${min} is above ${PREFIX}${name}.max (${max})`];
    return isMotion(kind) && (min > 0 || max < 0)
      ? [`parameter ${PREFIX}${name}: 0 must lie between min and max, it is how a ${kind} stops`]
      : [];
  });

/** One per action, in the order of the robot file. */
export const limitsOf = (
  values: ParameterValues,
  { actions }: Pick<Robot, 'actions'>,
): readonly ActionLimits[] => actions.map(({ name }) => limitOf(values, name));

function limitOf(values: ParameterValues, action: string): ActionLimits {
  const value = (what: string): number => Number(values.get(`${PREFIX}${action}.${what}`));
  const rate = value('max_rate');
  return { min: value('min'), max: value('max'), maxRate: rate === 0 ? null : rate };
}
