/** `oxygen doctor`: machine, libraries, checkpoints, and the command itself. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { faultsOf, findingLine, type Report } from '../../src/doctor/check';
import { checkpointCheck } from '../../src/doctor/checkpoint';
import { robotCheck } from '../../src/doctor/files';
import { nodeOutcome, processorOutcome, programPackage, roomOutcomes } from '../../src/doctor/machine';
import { rosOutcome } from '../../src/doctor/ros-check';
import { runtimeChecks } from '../../src/doctor/runtime';
import { OxygenError } from '../../src/core/errors';
import { engineDir, goldenDir, oxygen, ROOT } from '../support/engines';
import { findingsOf } from './findings';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'oxygen-doctor-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('machine', () => {
  const range = '>=20.20.2 <23';
  test.each([
    ['20.20.2', 'ok'],
    ['22.1.0', 'ok'],
    ['20.20.1', 'fault'],
    ['20.3.0', 'fault'],
    ['23.0.0', 'fault'],
  ])('Node %s: %s', (version, status) => expect(nodeOutcome(version, range).status).toBe(status));

  test('the range is that of package.json', () => expect(programPackage().engines.node).toBe(range));

  const cpu = (flags: string): string =>
    `processor: 0\nmodel name\t: Some CPU\nflags\t\t: fpu ${flags} sse\n`;
  test.each<[string, string, number, RegExp]>([
    [
      'with VNNI',
      cpu('avx2 avx512f avx512_vnni'),
      8,
      /^ok Some CPU, 8 cores, avx2 avx512f avx512_vnni \(int8/,
    ],
    ['AVX2', cpu('avx avx2'), 2, /^ok .*avx2 \(no int8 dot products\)/],
    [
      'ARM',
      'processor: 0\nFeatures\t: fp asimd asimddp\n',
      6,
      /^ok unknown model, 6 cores, asimd asimddp \(int8/,
    ],
    ['no vector unit', cpu('avx'), 2, /^warning .*no vector unit/],
    ['one core', cpu('avx2'), 1, /^warning .*1 cores/],
    ['nothing to read', '', 2, /^warning unknown model/],
  ])('processor %s', (_, text, cores, expected) => {
    expect(
      processorOutcome(text, cores)
        .map(o => `${o.status} ${o.what}`)
        .join('\n'),
    ).toMatch(expected);
  });

  test('room: memory must hold the weights, the disk should', () => {
    expect(roomOutcomes(10e9, 20e9, 20e9).map(o => o.status)).toEqual(['ok']);
    expect(roomOutcomes(10e9, 5e9, 20e9)).toMatchObject([
      { status: 'fault', cure: expect.stringMatching(/int8/) },
    ]);
    expect(roomOutcomes(10e9, 20e9, 5e9)).toMatchObject([{ status: 'warning' }]);
    expect(roomOutcomes(10e9, null, 20e9)).toMatchObject([
      { status: 'ok', what: expect.not.stringMatching(/memory/) },
    ]);
  });
});

describe('libraries', () => {
  test('ONNX Runtime computes, 8-bit sums are exact or said not to be, sharp decodes', async () => {
    const findings = await findingsOf(...runtimeChecks().filter(check => check.name !== 'ros'));
    expect(findings.map(finding => `${finding.status} ${finding.name}`)).toEqual([
      'ok onnxruntime',
      'ok int8',
      'ok sharp',
    ]);
  });

  test('no ROS 2 is a warning with the line to type, a missing package too', async () => {
    expect(await rosOutcome({})).toMatchObject({
      status: 'warning',
      what: expect.stringMatching(/no ROS 2/),
      cure: expect.stringMatching(/source /),
    });
    const other = await rosOutcome({ AMENT_PREFIX_PATH: '/nowhere' });
    expect(other).toMatchObject({ status: 'warning', what: expect.stringMatching(/oxygen_vla/) });
  });
});

describe('checkpoint', () => {
  const demo = join(ROOT, 'demo/checkpoint');
  const copy = (...names: string[]): void => {
    for (const name of names) cpSync(join(demo, name), join(dir, name));
    symlinkSync(join(demo, 'model.safetensors'), join(dir, 'model.safetensors'));
  };

  test('a sound one: tensors, prompt, statistics, tokenizer', async () => {
    const findings = await findingsOf(checkpointCheck(demo));
    expect(findings.map(finding => `${finding.status} ${finding.name}`)).toEqual([
      'ok checkpoint',
      'ok norm_stats',
      'ok tokenizer',
    ]);
    expect(findings[0]!.what).toMatch(/openpi.*163 tensors.*F32.*base_0_rgb.*pi05_state/);
    expect(findings[1]!.what).toMatch(/demo\/checkpoint\/norm_stats\.json: state 4 wide/);
  });

  test('without statistics and tokenizer: two warnings with the option to give', async () => {
    copy('config.json');
    const findings = await findingsOf(checkpointCheck(dir));
    expect(findings.map(finding => finding.status)).toEqual(['ok', 'warning', 'warning']);
    expect(findings.map(finding => finding.cure).join()).toMatch(
      /--norm-stats FILE.*--tokenizer FILE.*paligemma_tokenizer\.model.*paligemma-3b/,
    );
  });

  test('another config: the tensors that do not fit are named', async () => {
    copy('tokenizer.json');
    cpSync(join(goldenDir('tiny'), 'config.json'), join(dir, 'config.json'));
    const [fault, ...others] = await findingsOf(checkpointCheck(dir));
    expect(others).toEqual([]);
    expect(fault).toMatchObject({
      status: 'fault',
      what: expect.stringMatching(/^CHECKPOINT_KEYS: .*model\.safetensors/),
    });
  });

  test.each([
    ['nothing there', () => undefined],
    ['an empty folder', () => undefined],
    [
      'a cut file',
      () => {
        copy('config.json');
        rmSync(join(dir, 'model.safetensors'));
        writeFileSync(
          join(dir, 'model.safetensors'),
          readFileSync(join(demo, 'model.safetensors')).subarray(0, 1000),
        );
      },
    ],
  ])('%s', async (name, prepare) => {
    prepare();
    const findings = await findingsOf(checkpointCheck(name === 'nothing there' ? join(dir, 'x') : dir));
    expect(findings).toMatchObject([{ status: 'fault', name: 'checkpoint' }]);
  });
});

test('a robot file that no parser survives is a fault', async () => {
  const path = join(dir, 'deep.yaml');
  writeFileSync(path, `state: ${'['.repeat(60_000)}`);
  const wanted = { status: 'fault', name: 'robot', what: expect.stringMatching(/line of more than/) };
  expect(await findingsOf(robotCheck(path))).toMatchObject([wanted]);
});

describe('the command', () => {
  test('all at once as JSON, exit code 0; ROS in its own process', async () => {
    const robot = join(ROOT, 'config/robots/tiny.yaml');
    const run = await oxygen(['doctor', '--engine', engineDir('tiny'), '--robot', robot, '--json']);
    const report = JSON.parse(run.stdout) as Report;
    expect(report.checks.filter(check => check.status === 'fault')).toEqual([]);
    expect(report.checks.find(check => check.name === 'ros')).toMatchObject({ status: 'ok' });
    expect(report).toMatchObject({ ok: true, faults: 0 });
    expect(run.code).toBe(0);
  });

  test('a fault: its line, the count, exit code 1', async () => {
    const run = await oxygen(['doctor', '--engine', join(dir, 'none')]);
    expect(run.stdout).toMatch(/^FAULT engine: ENGINE_NOT_FOUND: no engine at .*; oxygen build/m);
    expect(run.stdout).toMatch(/^1 fault, \d+ warnings$/m);
    expect(run.code).toBe(1);
  });

  test('asked for a provider: its checks in place of the quiet line; another one is refused', async () => {
    const named = async (...args: string[]): Promise<readonly string[]> => {
      const { checks } = JSON.parse((await oxygen(['doctor', '--json', ...args])).stdout) as Report;
      return [...new Set(checks.map(check => check.name))].filter(name => /nvidia|tensorrt/.test(name));
    };
    expect(await named()).toEqual(['nvidia']);
    expect(await named('--provider', 'tensorrt')).toEqual([
      'tensorrt driver',
      'tensorrt provider',
      'tensorrt libraries',
    ]);
    const run = await oxygen(['doctor', '--provider', 'rocm']);
    expect(run).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--provider must be one of cuda, tensorrt/),
    });
  });

  test('neither command loads rclnodejs', () => {
    const script = `for (const name of ['doctor', 'check-config']) require(process.argv[1] + '/' + name);
      console.log(Object.keys(require.cache).filter(file => file.includes('rclnodejs')).length)`;
    expect(execFileSync(process.execPath, ['-e', script, join(ROOT, 'dist/cli')], { encoding: 'utf8' })).toBe(
      '0\n',
    );
  });
});

test('a line has no line break and no control character', () => {
  const line = findingLine({ status: 'fault', name: 'x', what: 'a\n  b\u001b[31m', cure: 'c' });
  expect(line).toBe('FAULT x: a b?[31m; c');
});

test('an error with a list of faults gives each of them', () => {
  const error = new OxygenError('CONFIG_INVALID', 'both', { details: { faults: ['one', 'two'] } });
  expect(faultsOf(error)).toEqual(['one', 'two']);
  expect(faultsOf(new Error('plain'))).toEqual(['INTERNAL: plain']);
});
