/** Energy counters of the processors, as Linux shows them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const POWERCAP = '/sys/class/powercap';

/** Microjoules of one processor since some time; after `range` it starts from 0 again. */
export interface EnergyCounter {
  readonly name: string;
  readonly microjoules: number;
  readonly range: number;
}

/** The counters of whole processors; null: there are none, or they may not be read. */
export function readEnergy(root = POWERCAP): EnergyCounter[] | null {
  const number = (...path: string[]) => Number(readFileSync(join(root, ...path), 'utf8'));
  try {
    // `intel-rapl:0` is a processor (AMD's too), `intel-rapl:0:1` a part of it
    const counters = readdirSync(root)
      .filter(name => /^[a-z-]+:\d+$/.test(name))
      .map(name => ({
        name,
        microjoules: number(name, 'energy_uj'),
        range: number(name, 'max_energy_range_uj'),
      }));
    return counters.length > 0 ? counters : null;
  } catch {
    return null;
  }
}

/** Spent between two readings less than one turn of the counter apart. */
export function spentJoules(
  before: readonly EnergyCounter[] | null,
  after: readonly EnergyCounter[] | null,
): number | null {
  if (!before || !after) return null;
  let microjoules = 0;
  for (const b of before) {
    const a = after.find(c => c.name === b.name);
    if (!a) return null;
    const spent = a.microjoules - b.microjoules;
    microjoules += spent < 0 ? spent + b.range : spent;
  }
  return microjoules / 1e6;
}

/** Why there is no energy figure. */
export const NO_ENERGY = `energy: ${POWERCAP}/*/energy_uj is not there or not readable (root may read it), so none is given`;
