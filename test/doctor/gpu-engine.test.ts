/** `oxygen doctor --engine` on folders for NVIDIA GPUs: their graphs are looked at on the CPU. */
import { cpSync, mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildEngine } from '../../src/builder/build';
import { randomCheckpoint } from '../../src/builder/checkpoint';
import { engineCheck } from '../../src/doctor/engine';
import { CPU_FOLDER, type Target } from '../../src/model/manifest';
import { faultsIn, findingsOf } from '../cli/findings';
import { engineDir, goldenDir } from '../support/engines';

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'oxygen-doctor-gpu-'));
});
afterEach(() => rmSync(parent, { recursive: true }));

async function built(target: Target): Promise<string> {
  const dir = join(parent, target);
  const checkpoint = randomCheckpoint(join(goldenDir('tiny'), 'config.json'), 1006);
  const stats = { missing: [] };
  await buildEngine(checkpoint, { out: dir, target, precision: 'fp16', tokenizer: null, stats });
  return dir;
}

const doctor = (dir: string) =>
  findingsOf(engineCheck(dir, { robot: null, progress: { update: () => undefined, end: () => undefined } }));

test('cuda: its graphs load on the CPU; without an engine for the CPU inside a warning', async () => {
  const dir = await built('cuda');
  const findings = await doctor(dir);
  expect(faultsIn(findings)).toEqual([]);
  const of = (name: string) => findings.filter(finding => finding.name === name);
  expect(of('engine')).toMatchObject([{ what: expect.stringMatching(/fp16 for cuda/) }]);
  expect(of('sessions')).toMatchObject([{ status: 'ok', what: expect.stringMatching(/all graphs load/) }]);
  expect(of('engine for the CPU inside')).toMatchObject([{ status: 'warning' }]);
});

test('the engine inside is checked like any other', async () => {
  const dir = await built('cuda');
  cpSync(engineDir('tiny'), join(dir, CPU_FOLDER), { recursive: true });
  const names = (await doctor(dir)).map(finding => finding.name);
  expect(names.filter(name => name === 'sessions').length).toBe(2);
  truncateSync(join(dir, CPU_FOLDER, 'language.onnx'), 10);
  expect(faultsIn(await doctor(dir))).toMatchObject([
    { name: 'engine', what: expect.stringMatching(/cpu: language\.onnx has 10 bytes/) },
  ]);
});

test('tensorrt: graphs of both kinds load; without engines for this machine a warning with the script', async () => {
  const findings = await doctor(await built('tensorrt'));
  expect(faultsIn(findings)).toEqual([]);
  expect(findings.filter(({ name }) => name === 'sessions')).toMatchObject([{ status: 'ok' }]);
  expect(findings.filter(({ name }) => name === 'tensorrt engines')).toMatchObject([
    {
      status: 'warning',
      what: expect.stringMatching(/there are none/),
      cure: expect.stringMatching(/build\.sh/),
    },
  ]);
});

test('a graph that is cut off is a fault', async () => {
  const dir = await built('cuda');
  truncateSync(join(dir, 'decode.onnx'), 10);
  expect(faultsIn(await doctor(dir))).toMatchObject([
    { what: expect.stringMatching(/decode\.onnx has 10 bytes/) },
  ]);
});
