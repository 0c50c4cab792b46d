/** Memory of a mode's processes, as Linux shows it in /proc. Sizes are bytes. */
import { readFileSync, realpathSync } from 'node:fs';
import { sep } from 'node:path';
import type { MemoryFigures } from './result';
import { sum } from '../core/statistics';

/** One mapping of one process. */
export interface Mapping {
  /** File and offset: pages of the same key are the same pages in every process. null: no file. */
  readonly key: string | null;
  readonly file: string | null;
  /** Resident pages that are those of the file. */
  readonly common: number;
  /** Resident pages that are this process's alone: written to, or of no file. */
  readonly own: number;
}

/** Reads /proc/PID/smaps. */
export function parseSmaps(text: string): Mapping[] {
  const mappings: Mapping[] = [];
  // a mapping begins with a line `7f00-7f10 r--p 00001000 fe:00 123   /path`; lines `Name:  1 kB` follow
  for (const part of text.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)) {
    const head = /^\S+ \S+ (\S+) (\S+) (\d+)[ \t]*(.*)/.exec(part);
    if (!head) continue;
    const [, offset, device, inode, file = ''] = head;
    const bytes = (name: string) =>
      1024 * Number(new RegExp(`^${name}: +(\\d+) kB`, 'm').exec(part)?.[1] ?? 0);
    const rss = bytes('Rss');
    if (rss === 0) continue;
    const ofFile = inode !== '0';
    const common = ofFile ? bytes('Shared_Clean') + bytes('Private_Clean') : 0;
    mappings.push({
      key: ofFile ? `${device} ${inode} ${offset}` : null,
      file: ofFile ? file : null,
      common,
      own: rss - common,
    });
  }
  return mappings;
}

/** Of one mode's processes. */
export interface Pages {
  /** Resident, each page once. */
  readonly union: number;
  /** What the processes have in common beyond the first time. */
  readonly overlap: number;
}

/** Counts the pages of a mode's processes, or those of some files. */
export function countPages(processes: readonly (readonly Mapping[])[], of = (_: Mapping) => true): Pages {
  const once = new Map<string, number>();
  let own = 0;
  let common = 0;
  for (const m of processes.flat().filter(of)) {
    own += m.own;
    common += m.common;
    if (m.key !== null) once.set(m.key, Math.max(once.get(m.key) ?? 0, m.common));
  }
  const shared = sum([...once.values()]);
  return { union: own + shared, overlap: common - shared };
}

const MB = 1e6;

/**
 * Splits a peak. `base`: before the engine was loaded; `peakRss`: largest sum of resident sizes; `engineDir`: where the
 * weights are.
 */
export function memoryFigures(
  base: readonly (readonly Mapping[])[],
  now: readonly (readonly Mapping[])[],
  peakRss: number,
  kvBytes: number,
  engineDir: string,
): { readonly peak_pss_mb: number; readonly memory: MemoryFigures } {
  const folder = `${engineDir}${sep}`;
  const weights = countPages(now, m => m.file?.startsWith(folder) ?? false);
  const baseBytes = countPages(base).union;
  const peak = peakRss - countPages(now).overlap;
  return {
    peak_pss_mb: peak / MB,
    memory: {
      base_mb: baseBytes / MB,
      weights_mb: weights.union / MB,
      weights_private_mb: (weights.union + weights.overlap) / MB,
      kv_mb: kvBytes / MB,
      activations_mb: Math.max(0, peak - baseBytes - weights.union - kvBytes) / MB,
    },
  };
}

/** The mappings of some processes; null where there is no /proc. */
export function readMappings(pids: readonly number[]): Mapping[][] | null {
  try {
    return pids.map(pid => parseSmaps(readFileSync(`/proc/${pid}/smaps`, 'utf8')));
  } catch {
    return null;
  }
}

/** As the kernel names files. */
export const realFolder = (dir: string): string => realpathSync(dir);

const SAMPLE_MS = 20;

/** Watches the summed resident size of some processes. A sample costs a twentieth of a millisecond. */
export class PeakWatch {
  readonly #pids: readonly number[];
  readonly #timer: NodeJS.Timeout;
  #peak = 0;

  constructor(pids: readonly number[]) {
    this.#pids = pids;
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
    this.#sample();
  }

  /** The largest sum seen; 0 where there is no /proc. */
  stop(): number {
    clearInterval(this.#timer);
    this.#sample();
    return this.#peak;
  }

  #sample(): void {
    try {
      this.#peak = Math.max(this.#peak, sum(this.#pids.map(residentBytes)));
    } catch {
      // no /proc, or the process has just ended, which its own message tells
    }
  }
}

function residentBytes(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return 1024 * Number(kb ?? 0);
}
