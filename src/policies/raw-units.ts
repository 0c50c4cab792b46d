/** An engine without statistics gives raw model numbers: it may drive a robot only where somebody asked for that. */
import { OxygenError } from '../core/errors';
import type { Normalization } from '../model/manifest';

/**
 * A line for the log when raw units are in use, else null.
 * @throws NORM_STATS_INVALID when statistics are missing and `rawUnits` is false.
 */
export function checkStatistics(
  engineDir: string,
  normalization: Normalization,
  rawUnits: boolean,
): string | null {
  const missing = (['state', 'actions'] as const).filter(key => normalization[key] === 'missing');
  if (missing.length === 0) return null;
  const what = `the engine ${engineDir} was built without normalisation statistics (${missing.join(', ')})`;
  if (rawUnits) return `raw_units: ${what}; the model's own numbers are used as if they were robot units`;
  throw new OxygenError(
    'NORM_STATS_INVALID',
    `${what}, so its actions would go to the motors as raw model numbers. Build it again with --norm-stats FILE, ` +
      'or set the parameter raw_units to true if that is what you want.',
    { details: { engineDir, missing } },
  );
}
