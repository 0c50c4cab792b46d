/**
 * scripts/gpu-check.sh: the rehearsal on the CPU as it is, and what it does on machines that have or lack parts, with a
 * stand-in for the program.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.resolve(__dirname, '../..');
const SCRIPT = path.join(ROOT, 'scripts/gpu-check.sh');

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'oxygen-gpu-check-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const check = (args: readonly string[], env: NodeJS.ProcessEnv = process.env) =>
  spawnSync('bash', [SCRIPT, ...args], { encoding: 'utf8', env, timeout: 120_000 });

test('is a bash script', () => {
  execFileSync('bash', ['-n', SCRIPT]);
});

test.each([['--gpu'], ['--out'], ['somewhere']])('%s is wrong usage', arg => {
  expect(check([arg])).toMatchObject({
    status: 2,
    stdout: expect.stringMatching(/usage: scripts\/gpu-check\.sh/),
  });
});

describe('the rehearsal', () => {
  test('builds, verifies and measures on the CPU, and prints the table', () => {
    const run = check(['--cpu', '--out', dir]);
    expect(run.stderr).not.toMatch(/FAILED/);
    expect(run.status).toBe(0);
    for (const row of [
      /^\| providers used \| cpu \|$/m,
      /^\| verify tiny-cpu \| PASS: \d+ ok, 0 differ, actions rms [\d.]+ % \|$/m,
      /^\| verify odd-cpu \| PASS: \d+ ok, 0 differ/m,
      /^\| tiny-cuda: frame graph .*\| [\d.]+ ms \([\d.]+, [\d.]+\) \|$/m,
      /^\| tiny-tensorrt: vision \+ prefill, Euler steps, both with copies \| [\d.]+, [\d.]+ ms \|$/m,
      /^\| tiny-cuda: decode step by rows 1, 4, 8 \| [\d.]+, [\d.]+, [\d.]+ ms \|$/m,
      /^\| tiny-cuda: frame with N 20, k 5.*\| [\d.]+, [\d.]+ ms, [\d.]+ \|$/m,
    ])
      expect(run.stdout).toMatch(row);
  });
});

describe('with a stand-in for the program', () => {
  /** A machine: what the doctor finds, whether trtexec is there, what verification says. */
  interface Machine {
    readonly faults?: Readonly<Record<'cuda' | 'tensorrt', number>>;
    readonly trtexec?: boolean;
    readonly differ?: string;
    readonly breaks?: string;
  }

  const report = (faults: number): string => {
    const finding = {
      status: 'fault',
      name: 'cuda driver',
      what: 'no NVIDIA driver is loaded',
      cure: 'install one',
    };
    const lies = `libcudart.so.13 in ${homedir()}/cuda13/lib`;
    const checks = [
      ...Array(faults).fill(finding),
      { status: 'ok', name: 'cuda libraries', what: lies, cure: '' },
      { status: 'warning', name: 'cuda driver', what: 'enough for CUDA 12', cure: 'leave it' },
      { status: 'ok', name: 'node', what: 'Node 22', cure: '' },
    ];
    return JSON.stringify({ ok: faults === 0, faults, warnings: 1, checks });
  };
  const VERIFIED = { passed: true, ok: 7, failed: 0, quality: [{ kind: 'actions', rms: 0.0123 }] };
  const frame = { frame: 30.04, chunk: 20, tokens_per_s: 100 };
  const MEASURED = {
    ...{
      load: 1500,
      first_frame: 900,
      frame_graph: 10,
      euler_step: 0.5,
      vision_prefill_copies: 5,
      alone: frame,
    },
    ...{ decode: { 1: { step: 1, call: 2, burst: 7 }, 4: { step: 3, call: 4, burst: 19 } } },
    ...{ talking: { ...frame, tokens: 20 } },
  };

  const environment = () => ({ ...process.env, PATH: `${dir}:/usr/bin:/bin`, TENSORRT_HOME: dir });

  /** A `node` that answers for the program and gives everything else to the real one; what was asked is in `calls`. */
  function machine({
    faults = { cuda: 0, tensorrt: 0 },
    trtexec = false,
    differ = 'nothing',
    breaks = 'nothing',
  }: Machine) {
    const write = (name: string, text: string): string => {
      writeFileSync(path.join(dir, name), text);
      return path.join(dir, name);
    };
    const answer = (name: string, code: number): string => `cat '${path.join(dir, name)}'; exit ${code}`;
    write('cuda.json', report(faults.cuda));
    write('tensorrt.json', report(faults.tensorrt));
    write('verified.json', JSON.stringify(VERIFIED));
    write('differs.json', JSON.stringify({ ...VERIFIED, passed: false, ok: 5, failed: 2 }));
    write('measured.json', JSON.stringify(MEASURED));
    const node = `#!/bin/bash
echo "$*" >>'${path.join(dir, 'calls')}'
case "$*" in
  *${breaks}*) echo 'it broke' >&2; exit 1 ;;
  *'doctor --provider cuda'*) ${answer('cuda.json', Math.min(1, faults.cuda))} ;;
  *'doctor --provider tensorrt'*) ${answer('tensorrt.json', Math.min(1, faults.tensorrt))} ;;
  *main.js\\ verify*${differ}*) ${answer('differs.json', 1)} ;;
  *main.js\\ verify*) ${answer('verified.json', 0)} ;;
  *measure.mjs*) ${answer('measured.json', 0)} ;;
  *main.js\\ build*) exit 0 ;;
esac
exec '${process.execPath}' "$@"
`;
    chmodSync(write('node', node), 0o755);
    if (trtexec) chmodSync(write('trtexec', '#!/bin/sh\n'), 0o755);
    const run = check(['--out', path.join(dir, 'out')], environment());
    const calls = readFileSync(path.join(dir, 'calls'), 'utf8').split('\n');
    return { ...run, of: (what: string) => calls.filter(call => call.includes(what)) };
  }

  test('no GPU: said why and what to do, the parts for a CPU, exit code 3', () => {
    const run = machine({ faults: { cuda: 1, tensorrt: 1 } });
    expect(run.stderr).toMatch(
      /no usable NVIDIA GPU here:\n {2}cuda driver: no NVIDIA driver is loaded; install one\n/,
    );
    expect(run.of('verify').every(call => call.includes('--provider cpu'))).toBe(true);
    expect(run.stdout).toMatch(/^\| verify tiny-cpu \| PASS: 7 ok, 0 differ, actions rms 1\.2 % \|$/m);
    expect(run.status).toBe(3);
  });

  test('a GPU without trtexec: four engines for cuda, two of them measured against their own float32 engines', () => {
    const run = machine({});
    expect(run.stderr).toMatch(/TensorRT is left out: there is no trtexec/);
    expect(run.of('--target cuda').length).toBe(4);
    expect(run.of('--target tensorrt')).toEqual([]);
    expect(run.of('--reference').map(call => /--reference (\S+)/.exec(call)![1])).toEqual([
      path.join(dir, 'out/demo-cpu'),
      path.join(dir, 'out/bench-cpu'),
    ]);
    expect(run.of('measure.mjs').length).toBe(2);
    expect(run.stdout).toMatch(/^\| providers used \| cuda \|$/m);
    // where the doctor found them, which ldconfig may not know
    expect(run.stdout).toMatch(
      /^\| libraries found by the doctor \| libcudart\.so\.13 in ~\/cuda13\/lib \|$/m,
    );
    expect(run.stdout).toMatch(/^\| warnings of the doctor \| enough for CUDA 12 \|$/m);
    expect(run.stdout).toMatch(/^\| bench-cuda: decode step by rows 1, 4 \| 1\.00, 3\.00 ms \|$/m);
    expect(run.status).toBe(0);
  });

  test('with trtexec: TensorRT too; without its libraries it is left out and said why', () => {
    const both = machine({ trtexec: true });
    expect(both.of('--target tensorrt').length).toBe(2);
    expect(both.stdout).toMatch(/^\| providers used \| cuda tensorrt \|$/m);
    const lacking = machine({ trtexec: true, faults: { cuda: 0, tensorrt: 1 } });
    expect(lacking.stderr).toMatch(/TensorRT is left out, because:\n {2}cuda driver/);
    expect(lacking.stdout).toMatch(/^\| providers used \| cuda \|$/m);
  });

  test('what differs and what breaks is in the table, the rest goes on, exit code 1', () => {
    const run = machine({ differ: 'odd-cuda', breaks: 'random-init?config/bench.json' });
    expect(run.stdout).toMatch(/^\| verify odd-cuda \| FAIL: 5 ok, 2 differ/m);
    expect(run.stdout).toMatch(/^\| build bench-cuda \| FAILED: it broke \|$/m);
    expect(run.stdout).toMatch(/^\| verify demo-cuda \| PASS/m);
    expect(run.status).toBe(1);
  });

  test('a folder that is given is kept, one that is not is removed', () => {
    machine({});
    expect(existsSync(path.join(dir, 'out/results'))).toBe(true);
    const env = { ...environment(), TMPDIR: path.join(dir, 'out') };
    expect(check([], env).status).toBe(0);
    expect(execFileSync('ls', [path.join(dir, 'out')], { encoding: 'utf8' })).toBe('results\n');
  });
});
