/** `oxygen build --target cuda`: what is in the folder, what is said, what is refused. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cpuEngine, readManifest } from '../../../src/model/manifest';
import { engineDir, goldenDir, oxygen } from '../../support/engines';
import { temporaryFolder } from './engines';

const dir = temporaryFolder();

const build = (out: string, ...args: string[]) => {
  const golden = goldenDir('tiny');
  const files = [
    '--tokenizer',
    join(golden, 'tokenizer.json'),
    '--norm-stats',
    join(golden, 'norm_stats.json'),
  ];
  const source = ['--random-init', join(golden, 'config.json'), '--seed', '1006', ...files];
  return oxygen(['build', ...source, '--out', join(dir, out), ...args]);
};

it('two graphs on one file of weights, and inside an int8 engine for machines without a GPU', async () => {
  const { code, stderr } = await build('both', '--target', 'cuda');
  expect(code).toBe(0);
  expect(stderr).toMatch(/frame.onnx: 9[5-9]\.\d % of its weights are float16; operators: Cast \d+, MatMul \d+, /);
  expect(stderr).toMatch(/decode.onnx: 9[5-9]\.\d % of its weights are float16; operators: .*Loop 1/);
  const out = join(dir, 'both');
  expect(readdirSync(out).sort()).toEqual([
    'cpu', 'decode.onnx', 'decode.ranges.onnx', 'engine.json', 'frame.onnx', 'frame.ranges.onnx', 'model.weights',
    'norm_stats.json', 'tokenizer.json',
  ]); // prettier-ignore
  const manifest = readManifest(out);
  expect(manifest).toMatchObject({ target: 'cuda', precision: 'fp16', costs: null });
  expect(new Set(Object.values(manifest.hostTensors).map(t => t.file))).toEqual(new Set(['model.weights']));
  const inside = cpuEngine(out, manifest)!;
  expect(readManifest(inside)).toMatchObject({ target: 'cpu', precision: 'int8', costs: { threads: expect.any(Number) as number } });
  for (const file of ['vision', 'language', 'expert'])
    expect(readFileSync(join(inside, `${file}.weights`)).equals(readFileSync(join(engineDir('tiny-int8'), `${file}.weights`)))).toBe(true);
  rmSync(join(out, 'decode.onnx'));
  expect(() => readManifest(out)).toThrow(expect.objectContaining({ code: 'ENGINE_INVALID', message: expect.stringContaining('decode.onnx is missing') as string }));
}); // prettier-ignore

it('without the engine for the CPU', async () => {
  expect((await build('alone', '--target', 'cuda', '--cpu', 'none')).code).toBe(0);
  const out = join(dir, 'alone');
  expect(existsSync(join(out, 'cpu'))).toBe(false);
  expect(cpuEngine(out, readManifest(out))).toBeNull();
});

it.each([
  [['--target', 'cuda', '--precision', 'int8'], '--precision must be one of fp16'],
  [['--precision', 'fp16'], '--precision must be one of fp32, int8'],
  [['--cpu', 'int8'], '--cpu is about engines for cuda and tensorrt'],
  [['--target', 'rocm'], '--target must be one of cpu, cuda, tensorrt'],
])('%j is refused', async (args, message) => {
  expect(await build('refused', ...args)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(message) as string,
  });
  expect(existsSync(join(dir, 'refused'))).toBe(false);
});
