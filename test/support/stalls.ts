/** What the machine under the tests takes away: whoever shares it stops ours for a while, all of it or one core. */
import { existsSync, readFileSync } from 'node:fs';

/** Written by stalls.py from the start of the tests on. */
export const STALLS = process.env['OXYGEN_TEST_STALLS'] ?? '';

export interface Stalls {
  /** The longest of each core, added: one process may wait for another that waits too, s. */
  readonly longest: number;
  /** Of all cores together, s. */
  readonly total: number;
}

/** Between two times of `peerClock`. */
export function stalls(from: number, to: number, path = STALLS): Stalls {
  const longest = new Map<string, number>();
  let total = 0;
  for (const line of existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []) {
    const [begin, end, core] = line.split(' ');
    const lost = Math.min(Number(end), to) - Math.max(Number(begin), from);
    if (core === undefined || !(lost > 0)) continue;
    longest.set(core, Math.max(longest.get(core) ?? 0, lost));
    total += lost;
  }
  return { longest: [...longest.values()].reduce((sum, s) => sum + s, 0), total };
}
