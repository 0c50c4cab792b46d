/** Checks of the machine itself: Node, processor, memory, disk. */
import { readFileSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { fault, ok, warning, type Check, type Outcome } from './check';

const packageSchema = z.object({
  engines: z.object({ node: z.string() }),
  dependencies: z.record(z.string(), z.string()),
});

/** The program's own package.json: what it says is what is checked. */
export const programPackage = (): z.infer<typeof packageSchema> =>
  packageSchema.parse(JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8')));

const GB = 1e9;
const size = (bytes: number): string =>
  bytes < GB ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / GB).toFixed(1)} GB`;

export const machineChecks = (): readonly Check[] => [
  {
    name: 'node',
    cure: 'install the program again: its package.json is damaged',
    run: () => nodeOutcome(process.versions.node, programPackage().engines.node),
  },
  {
    name: 'processor',
    cure: 'run on Linux',
    run: () => processorOutcome(readFileSync('/proc/cpuinfo', 'utf8'), availableParallelism()),
  },
  {
    name: 'memory',
    cure: 'run on Linux',
    run: () => ok(`${size(process.availableMemory())} available`),
  },
];

/** `range`: `>=1.2.3 <4`. */
export function nodeOutcome(version: string, range: string): Outcome {
  const within = range.split(' ').every(bound => {
    const [, sign, wanted] = /^(>=|<)([\d.]+)$/.exec(bound) ?? [];
    if (wanted === undefined) throw new Error(`package.json: engines.node ${range} is not understood`);
    return compareVersions(version, wanted) >= 0 === (sign === '>=');
  });
  const what = `Node ${version}, wanted is ${range}`;
  return within ? ok(what) : fault(what, 'install Node.js 22 LTS from nodejs.org');
}

export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map(v => v.split('.').map(Number));
  for (let i = 0; i < 3; i++) {
    const difference = (left?.[i] ?? 0) - (right?.[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Vector units that ONNX Runtime's CPU kernels make use of, x86 and ARM names. */
const UNITS = ['avx2', 'avx512f', 'avx512_vnni', 'avx_vnni', 'amx_int8', 'asimd', 'asimddp', 'i8mm'];
const DOT_PRODUCT = ['avx512_vnni', 'avx_vnni', 'amx_int8', 'asimddp', 'i8mm'];

/** `cpuinfo`: text of /proc/cpuinfo; ARM calls its list Features and has no model name everywhere. */
export function processorOutcome(cpuinfo: string, cores: number): readonly Outcome[] {
  const field = (name: string): string =>
    new RegExp(`^${name}\\s*:(.*)$`, 'm').exec(cpuinfo)?.[1]?.trim() ?? '';
  const flags = new Set((field('flags') || field('Features')).split(/\s+/));
  const units = UNITS.filter(unit => flags.has(unit));
  const int8 = DOT_PRODUCT.some(unit => flags.has(unit)) ? 'int8 dot products' : 'no int8 dot products';
  const what = `${field('model name') || 'unknown model'}, ${cores} cores, ${units.join(' ') || 'no vector unit'} (${int8})`;
  const outcomes: Outcome[] = [];
  if (!flags.has('avx2') && !flags.has('asimd'))
    outcomes.push(warning(what, 'a CPU with AVX2 or ARM NEON runs the model many times faster'));
  if (cores < 2)
    outcomes.push(warning(what, 'give it two cores: on one the engine takes the time of the action timer'));
  return outcomes.length > 0 ? outcomes : [ok(what)];
}

/**
 * Room for `bytes` of weights: in memory for running them (null: they run elsewhere), on their disk for building them
 * again.
 */
export function roomOutcomes(bytes: number, memory: number | null, disk: number): readonly Outcome[] {
  const inMemory = memory === null ? '' : `memory ${size(memory)} available, `;
  const what = `weights ${size(bytes)}, ${inMemory}disk ${size(disk)} free`;
  const outcomes: Outcome[] = [];
  if (memory !== null && memory < bytes) {
    outcomes.push(fault(`${what}: too little memory`, 'end other programs, or build with --precision int8'));
  }
  if (disk < bytes) {
    outcomes.push(warning(`${what}: no room to build it again`, 'free space, or build to another disk'));
  }
  return outcomes.length > 0 ? outcomes : [ok(what)];
}

/** Free bytes for an unprivileged user on the disk that holds `dir`. */
export function freeDisk(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}
