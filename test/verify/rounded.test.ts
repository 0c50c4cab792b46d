/** Engines with rounded weights: how near they stay, and that verify notices when they do not. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { behindBest, distance } from '../../src/verify/limits';
import { engineDir, goldenDir, oxygen, ROOT } from '../support/engines';

interface Report {
  passed: boolean;
  quality: { kind: string; rms: number; worst: number; cosine: number }[];
  lines: { name: string; status: string; note: string }[];
}

let dir: string;
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), 'oxygen-rounded-'))));
afterAll(() => rmSync(dir, { recursive: true }));

async function verify(...args: string[]): Promise<{ code: number; report: Report }> {
  const { code, stdout, stderr } = await oxygen(['verify', ...args, '--json']);
  if (stdout === '') throw new Error(stderr);
  return { code, report: JSON.parse(stdout) as Report };
}

const actionsOf = ({ quality }: Report) => quality.find(q => q.kind === 'actions')!;

it.each([
  ['tiny-int8', 'tiny', 0.02, 0.999],
  ['odd-int8', 'odd', 0.025, 0.999],
  ['tiny-bf16', 'tiny', 0.015, 0.9995],
] as const)('%s passes the goldens of %s', async (engine, golden, rms, cosine) => {
  const { code, report } = await verify('--engine', engineDir(engine), '--golden', goldenDir(golden));
  expect(report.lines.filter(l => l.status === 'fail')).toEqual([]);
  expect(code).toBe(0);
  expect(actionsOf(report).rms).toBeLessThanOrEqual(rms);
  expect(actionsOf(report).cosine).toBeGreaterThanOrEqual(cosine);
  // only texts written freely and tokens without golden logits may part; all else is compared as in float32
  const loose = report.lines.filter(l => l.note.startsWith('rounded weights'));
  expect(loose.every(l => /tokens|text|batched_decode/.test(l.name) && !l.name.endsWith('alone'))).toBe(true);
  const bf16w = report.lines.filter(l => l.name.startsWith('bf16w.') && l.status === 'ok');
  expect(bf16w.length > 0).toBe(engine === 'tiny-bf16');
});

it.each([
  ['plain', 0.02],
  ['stress', 0.05],
])('bench model in int8 against float32, %s: actions within %d of their spread', async (kind, limit) => {
  execFileSync(process.execPath, [join(ROOT, 'test/support/build-stress.js'), dir, kind]);
  const [engine, reference] = [join(dir, `${kind}-int8`), join(dir, `${kind}-fp32`)];
  const { code, report } = await verify('--engine', engine, '--reference', reference, '--frames', '2');
  expect(code).toBe(0);
  expect(actionsOf(report).rms).toBeLessThanOrEqual(limit);
  expect(actionsOf(report).cosine).toBeGreaterThanOrEqual(0.999);
});

it('fails on an engine of other weights, and refuses one of another model', async () => {
  const config = join(goldenDir('odd'), 'config.json');
  const other = join(dir, 'other');
  expect(await oxygen(['build', '--random-init', config, '--seed', '1', '--out', other])).toMatchObject({ code: 0 });
  const { code, report } = await verify('--engine', other, '--reference', engineDir('odd'), '--frames', '1');
  expect(code).toBe(1);
  expect(report.passed).toBe(false);
  expect(actionsOf(report).rms).toBeGreaterThan(0.5);
  const wrong = await oxygen(['verify', '--engine', other, '--reference', engineDir('tiny')]);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('of another model') as string });
}); // prettier-ignore

it('fails when the actions of all chunks together are beyond --action-error', async () => {
  const args = ['--engine', engineDir('tiny-int8'), '--golden', goldenDir('tiny')];
  expect((await verify(...args, '--action-error', '1')).code).toBe(1);
});

it('distances: none of itself, NaN is never near', () => {
  const values = [1, 2, 4];
  expect(distance(values, values)).toMatchObject({ max: 0, rms: 0, cosine: 1 });
  expect(distance(values, [1, 2, NaN]).max).toBeNaN();
  expect(distance(values, [1, 2, 5])).toMatchObject({ max: 1 });
  expect(distance([0, 3], [0, 0]).rms).toBeCloseTo(Math.sqrt(2));
  expect(behindBest([0, 2], 1, 0)).toBe(2);
  expect(behindBest([0, 2], 1, NaN)).toBeNaN();
});
