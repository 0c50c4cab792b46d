/** The engine under load, in processes of its own: forty texts at once say what each says alone; nothing grows in the long run. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { engineDir, ROOT } from '../support/engines';

interface Load {
  readonly mode: 'oxygen' | 'isolated';
  readonly k: number;
  readonly frames: number;
  /** Lengths that the requests take turns with, by chance. */
  readonly lengths: readonly number[];
  /** Frames from one request to the next. */
  readonly every: number;
  /** Frames fall into this many, after each of which memory is measured. */
  readonly windows: number;
  /** Further blocks of frames, each also run by a new scheduler. */
  readonly pairs: number;
}

interface Outcome {
  readonly texts: Readonly<Record<string, readonly number[]>>;
  readonly chunks: string;
  readonly batch: number;
  readonly endedOnce: boolean;
  readonly leaked: number;
  readonly failures: readonly string[];
  /** After each window. */
  readonly rssMb: readonly number[];
  /** CPU time of each block in this run over that in a new one, in order of size. */
  readonly ratios: readonly number[];
}

async function load(settings: Load): Promise<Outcome> {
  const script = join(__dirname, 'load.js');
  const args = ['--expose-gc', script, join(ROOT, 'dist'), engineDir('tiny'), JSON.stringify(settings)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 });
  const outcome = JSON.parse(stdout) as Outcome;
  expect(outcome).toMatchObject({ endedOnce: true, leaked: 0, failures: [] });
  return outcome;
}

it('1,000 frames with forty requests at once: every text is its solo text, every chunk the same', async () => {
  const settings = { k: 1, frames: 1000, lengths: [36, 40, 46], every: 1, windows: 1, pairs: 0 };
  const [batched, alone] = await Promise.all([
    load({ ...settings, mode: 'oxygen' }),
    load({ ...settings, mode: 'isolated' }),
  ]);
  expect(batched.batch).toBeGreaterThanOrEqual(40);
  expect(Object.keys(batched.texts).length).toBe(1000);
  expect(new Set(Object.values(batched.texts).map(String)).size).toBeGreaterThan(900);
  expect(batched.texts).toEqual(alone.texts);
  expect(batched.chunks).toBe(alone.chunks);
}, 600_000);

it('3,000 frames of changing load: memory and time per frame stay flat', async () => {
  const settings = {
    mode: 'oxygen',
    k: 4,
    frames: 2500,
    lengths: [5, 10, 30],
    every: 2,
    windows: 5,
    pairs: 20,
  } as const;
  const { rssMb, ratios, batch } = await load(settings);
  expect(batch).toBeGreaterThan(3);
  const settled = rssMb[1]!;
  for (const later of rssMb.slice(2)) expect(later).toBeLessThan(settled * 1.05);
  expect(ratios).toHaveLength(settings.pairs);
  expect(ratios[settings.pairs / 2]).toBeLessThan(1.1);
}, 600_000);
