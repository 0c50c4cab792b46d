/** build.sh of an engine folder, run by a shell with a trtexec and an nvidia-smi that only note how they were called. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildScript } from '../../src/builder/tensorrt/build-script';
import { tensorRtProfiles, trtexecOptions } from '../../src/builder/tensorrt/profiles';
import { makeTensorRtEngines } from '../../src/cli/tensorrt';
import { readModelConfig } from '../../src/model/config';
import { TENSORRT_GRAPHS } from '../../src/model/tensorrt-engine';
import { goldenDir } from '../support/engines';

const config = readModelConfig(join(goldenDir('tiny'), 'config.json'));
const WEIGHTS = '0123456789abcdef';

let root: string;
let engine: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'oxygen-trt-script-'));
  // quoting that is wrong anywhere breaks here
  engine = join(root, "an engine's $folder");
  mkdirSync(engine);
  mkdirSync(join(root, 'bin'));
  writeFileSync(join(engine, 'build.sh'), buildScript(config, WEIGHTS));
  for (const graph of TENSORRT_GRAPHS)
    writeFileSync(join(engine, `${graph}.context.onnx`), `wrapper of ${graph}`);
  fake('trtexec', TRTEXEC);
  fake('nvidia-smi', 'echo "NVIDIA GeForce RTX 4090"');
});
afterEach(() => rmSync(root, { recursive: true }));

/** Notes its arguments, one a line, and writes the engine file. */
const TRTEXEC = `
echo "&&&& RUNNING TensorRT.trtexec [TensorRT v101303] [b9] # trtexec"
[ "$1" != --help ] || exit 0
printf '%s\\n' "$@" END >>"$CALLS"
for option in "$@"; do
  case $option in --saveEngine=*) echo engine >"\${option#--saveEngine=}" ;; esac
done`;

function fake(name: string, body: string): void {
  writeFileSync(join(root, 'bin', name), `#!/bin/sh\n${body}\n`);
  chmodSync(join(root, 'bin', name), 0o755);
}

const env = (more: Record<string, string> = {}) => ({
  PATH: `${join(root, 'bin')}:/usr/bin:/bin`,
  CALLS: join(root, 'calls'),
  ...more,
});

const run = (more: Record<string, string> = {}) =>
  spawnSync('sh', [join(engine, 'build.sh')], { encoding: 'utf8', env: env(more), cwd: '/' });

/** How trtexec was called. */
const calls = (): string[][] =>
  readFileSync(join(root, 'calls'), 'utf8')
    .split('END\n')
    .filter(Boolean)
    .map(call => call.trimEnd().split('\n'));

it('makes both engines with the shapes of the profiles, and says what they are for', () => {
  const { status, stderr, stdout } = run();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const folder = `${WEIGHTS}-NVIDIA_GeForce_RTX_4090-10.13.3`;
  expect(stdout.trim().split('\n').at(-1)).toBe(`build.sh: engines are in trt/${folder}`);
  expect(readdirSync(join(engine, 'trt'))).toEqual([folder]);
  const made = join(engine, 'trt', folder);
  expect(readdirSync(made).sort()).toEqual([
    'denoise.engine',
    'denoise.onnx',
    'key.json',
    'prefill.engine',
    'prefill.onnx',
  ]);
  expect(readFileSync(join(made, 'prefill.onnx'), 'utf8')).toBe('wrapper of prefill');
  expect(JSON.parse(readFileSync(join(made, 'key.json'), 'utf8'))).toEqual({
    weights: WEIGHTS,
    gpu: 'NVIDIA GeForce RTX 4090',
    tensorrt: '10.13.3',
  });
  const profiles = tensorRtProfiles(config);
  expect(calls().map(call => call.map(option => option.replace(/trt\/\.[^/]+\//, '')))).toEqual(
    TENSORRT_GRAPHS.map(graph => [
      `--onnx=${graph}.onnx`,
      `--saveEngine=${graph}.engine`,
      ...trtexecOptions(profiles[graph]),
    ]),
  );
});

it('replaces engines of the same key, and leaves those of others', () => {
  const other = join(engine, 'trt/other');
  mkdirSync(other, { recursive: true });
  expect(run().status).toBe(0);
  const [made = ''] = readdirSync(join(engine, 'trt'));
  writeFileSync(join(engine, 'trt', made, 'old'), '');
  expect(run().status).toBe(0);
  expect(readdirSync(join(engine, 'trt')).sort()).toEqual([made, 'other']);
  expect(existsSync(join(engine, 'trt', made, 'old'))).toBe(false);
});

it('a board without nvidia-smi has the name that its device tree gives, or none', () => {
  fake('nvidia-smi', 'exit 9');
  // this machine has no device tree of a board
  const { status, stderr } = run();
  expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining('no GPU found') });
});

it.each([
  ['a trtexec that fails', 'case $1 in --help) echo "[TensorRT v101303]" ;; *) echo no memory >&2; exit 3 ;; esac', 'no memory'],
  ['TensorRT 8', 'echo "[TensorRT v8601]"', 'ONNX Runtime needs TensorRT 10'],
  ['TensorRT 11', 'echo "[TensorRT v110400]"', 'is TensorRT 11.4.0; ONNX Runtime needs TensorRT 10'],
  ['something else of that name', 'echo hello', 'does not run'],
])('leaves nothing behind: %s', (_, body, said) => {
  fake('trtexec', body);
  const { status, stderr } = run();
  expect(status).not.toBe(0);
  expect(stderr).toContain(said);
  const all = join(engine, 'trt');
  expect(existsSync(all) ? readdirSync(all) : []).toEqual([]);
}); // prettier-ignore

it('TRTEXEC names another one', () => {
  fake('trtexec', 'exit 1');
  fake('mine', TRTEXEC);
  expect(run({ TRTEXEC: join(root, 'bin/mine') }).status).toBe(0);
});

describe('as the last step of oxygen build', () => {
  it('it runs where trtexec is', async () => {
    expect(await makeTensorRtEngines(engine, env())).toBe(true);
    expect(calls()).toHaveLength(2);
  });

  it('it does not run where there is none', async () => {
    rmSync(join(root, 'bin/trtexec'));
    expect(await makeTensorRtEngines(engine, env())).toBe(false);
    expect(existsSync(join(engine, 'trt'))).toBe(false);
  });

  it('a failure says that the folder runs on CUDA', async () => {
    fake('trtexec', 'exit 3');
    await expect(makeTensorRtEngines(engine, env())).rejects.toMatchObject({
      code: 'BUILD_FAILED',
      message: expect.stringMatching(/build\.sh ended with 1, so .* until then the engine runs on CUDA/),
    });
  });
});
