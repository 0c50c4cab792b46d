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
  readonly windows: number;
}

interface Outcome {
  readonly texts: Readonly<Record<string, readonly number[]>>;
  readonly chunks: string;
  readonly batch: number;
  readonly endedOnce: boolean;
  readonly leaked: number;
  readonly failures: readonly string[];
  /** Per window of frames. */
  readonly costs: readonly { readonly cpuMs: number; readonly rssMb: number }[];
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
  const settings = { k: 1, frames: 1000, lengths: [36, 40, 46], every: 1, windows: 1 };
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
    frames: 3000,
    lengths: [5, 10, 30],
    every: 2,
    windows: 6,
  } as const;
  const { costs, batch } = await load(settings);
  expect(batch).toBeGreaterThan(3);
  const [, ...later] = costs.slice(1);
  const settled = costs[1]!;
  for (const { rssMb, cpuMs } of later) {
    expect(rssMb).toBeLessThan(settled.rssMb * 1.05);
    expect(cpuMs).toBeLessThan(settled.cpuMs * 1.15);
  }
}, 600_000);
