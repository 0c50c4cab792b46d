/** `oxygen verify` on engines for CUDA, whose graphs run on the CPU here: float16 stays near the goldens, and it can fail. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SafetensorsFile } from '../../src/builder/safetensors';
import { engineDir, goldenDir, oxygen } from '../support/engines';

interface Report {
  passed: boolean;
  target: string;
  provider: string;
  quality: { kind: string; rms: number; worst: number; cosine: number }[];
  lines: { name: string; file: string; status: string; note: string }[];
}

async function verify(...args: string[]): Promise<{ code: number; report: Report }> {
  const { code, stdout, stderr } = await oxygen(['verify', ...args, '--json']);
  if (stdout === '') throw new Error(stderr);
  return { code, report: JSON.parse(stdout) as Report };
}

describe.each(['tiny', 'odd'] as const)('%s', name => {
  const engine = ['--engine', engineDir(`${name}-cuda`)];

  it('passes: what its graphs give is near the goldens, what they do not give has its reason', async () => {
    const { code, report } = await verify(...engine, '--golden', goldenDir(name));
    expect(report.lines.filter(l => l.status === 'fail')).toEqual([]);
    expect(code).toBe(0);
    expect(report).toMatchObject({ target: 'cuda', provider: 'cpu' });
    const kinds = ['prefix_k', 'prefix_v', 'actions', 'actions_ns', 'actions_unnormalized', 'lang.logits', 'cont.logits'];
    expect(report.quality.map(q => q.kind)).toEqual(kinds);
    for (const { kind, worst, cosine } of report.quality) {
      expect(worst).toBeLessThanOrEqual(kind.endsWith('.logits') ? 0.01 : 0.003);
      // not float32 by accident
      expect(worst).toBeGreaterThan(2e-4);
      expect(cosine).toBeGreaterThan(0.99999);
    }
    const compared = report.lines.filter(l => l.status === 'ok').map(l => l.name).join('\n');
    for (const kind of ['lang.tokens', 'cont1.tokens', 'cont6.tokens', 'batched_decode.req_3', 'batched_decode.req_3 alone', 'eos.req_1', 'whole_path.c0.text'])
      expect(compared).toContain(kind);
    const inside = report.lines.filter(l => l.note.includes('stays inside the graph')).map(l => l.name);
    expect(inside.filter(n => !/image_emb|prompt_emb|v_t|x_t/.test(n))).toEqual([]);
    expect(inside.length).toBeGreaterThan(4);
    // a line for every tensor
    const file = new SafetensorsFile(join(goldenDir(name), 'goldens_f64.safetensors'));
    expect(new Set(report.lines.filter(l => l.file === 'goldens_f64.safetensors').map(l => l.name))).toEqual(new Set(file.tensors.keys()));
    file.close();
  }); // prettier-ignore

  it('is near the float32 engine', async () => {
    const { code, report } = await verify(...engine, '--reference', engineDir(name), '--frames', '2');
    expect(code).toBe(0);
    expect(report.quality.map(q => q.kind)).toEqual(['prefix_k', 'prefix_v', 'actions', 'lang.logits']);
    expect(report.lines.filter(l => l.status === 'skip').map(l => l.name)).toEqual([
      'frame 0 image_emb',
      'frame 1 image_emb',
    ]);
  });
});

it('says in words that no GPU was used', async () => {
  const { stdout } = await oxygen([
    'verify',
    '--engine',
    engineDir('odd-cuda'),
    '--golden',
    goldenDir('odd'),
  ]);
  expect(stdout).toMatch(/^The graphs for cuda ran on the CPU: no GPU was used/m);
});

it('fails when one value is off', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'oxygen-golden-'));
  try {
    cpSync(goldenDir('odd'), copy, { recursive: true });
    const path = join(copy, 'goldens_f64.safetensors');
    const change = (tensor: string, edit: (bytes: Buffer, at: number) => void) => {
      const file = new SafetensorsFile(path);
      const { begin } = file.info(tensor);
      file.close();
      const bytes = readFileSync(path);
      edit(bytes, begin);
      writeFileSync(path, bytes);
    };
    change('full.p1.bidir.actions', (bytes, at) => bytes.writeDoubleLE(bytes.readDoubleLE(at) + 0.2, at));
    const { code, report } = await verify('--engine', engineDir('odd-cuda'), '--golden', copy);
    expect(code).toBe(1);
    expect(report.lines.filter(l => l.status === 'fail').map(l => l.name)).toEqual(['full.p1.bidir.actions']);
  } finally {
    rmSync(copy, { recursive: true });
  }
});

it.each([
  [['--engine', engineDir('odd'), '--target', 'cuda'], 1, /ENGINE_INVALID: .*is an engine for the CPU: it has no graphs for CUDA/],
  [['--engine', engineDir('odd-cuda'), '--provider', 'tensorrt'], 2, /graphs for cuda do not run on tensorrt; --provider cuda, or cpu/],
  [['--engine', engineDir('odd-cuda'), '--provider', 'cuda'], 1, /Failed to load shared library/],
  [['--engine', engineDir('odd-cuda'), '--provider', 'npu'], 2, /provider/],
])('%s is refused', async (args, code, message) => {
  const result = await oxygen(['verify', ...args, '--golden', goldenDir('odd')]);
  expect(result.code).toBe(code);
  expect(result.stderr).toMatch(message);
}); // prettier-ignore
