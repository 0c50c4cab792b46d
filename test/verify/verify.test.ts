/** The engine against independent implementations, through the command line, and the proof that verify can fail. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SafetensorsFile } from '../../src/builder/safetensors';
import { GoldenFolder } from '../../src/verify/golden';
import { engineDir, goldenDir, oxygen } from '../support/engines';
import { openFiles } from '../support/open-files';
import { readSafetensors } from '../support/safetensors';

interface Report {
  passed: boolean;
  ok: number;
  failed: number;
  skipped: number;
  lines: { name: string; file: string; status: string; note: string; distance: unknown }[];
}

async function verify(name: 'tiny' | 'odd', golden: string): Promise<{ code: number; report: Report }> {
  const { code, stdout, stderr } = await oxygen([
    'verify',
    '--engine',
    engineDir(name),
    '--golden',
    golden,
    '--json',
  ]);
  if (stdout === '') throw new Error(stderr);
  return { code, report: JSON.parse(stdout) as Report };
}

describe.each(['tiny', 'odd'] as const)('oxygen verify %s', name => {
  let copy: string;
  beforeEach(() => {
    copy = mkdtempSync(join(tmpdir(), 'oxygen-golden-'));
    cpSync(goldenDir(name), copy, { recursive: true });
  });
  afterEach(() => rmSync(copy, { recursive: true }));

  it('passes, with a line for every tensor of every golden file', async () => {
    const { code, report } = await verify(name, goldenDir(name));
    expect(report.lines.filter(l => l.status === 'fail')).toEqual([]);
    expect(code).toBe(0);
    const files = [
      'goldens_f64',
      'goldens_jax',
      'goldens_torch',
      'goldens_lerobot',
      'goldens_continuation',
      'batched_actions',
      'whole_path',
    ];
    for (const file of files) {
      const opened = new SafetensorsFile(join(goldenDir(name), `${file}.safetensors`));
      const seen = report.lines.filter(l => l.file === `${file}.safetensors`).map(l => l.name);
      expect(new Set(seen)).toEqual(new Set(opened.tensors.keys()));
      opened.close();
    }
    // What the issue names is compared, not skipped.
    const compared = report.lines
      .filter(l => l.status === 'ok')
      .map(l => l.name)
      .join('\n');
    const kinds = ['image_emb', 'prompt_emb', 'prefix_k', 'prefix_v', 'lang.logits', 'v_t', 'x_t', 'causal.actions', 'bidir.actions',
      'actions_ns1', 'actions_ns3', 'actions_ns5', 'lang.tokens', 'cont1.tokens', 'cont3.logits', 'cont6.tokens', 'req_3 alone',
      'eos.req_1', 'c1.actions_unnormalized', 'whole_path.c0.text']; // prettier-ignore
    for (const kind of kinds) expect(compared).toContain(kind);
    expect(
      report.lines.filter(l => l.status === 'skip').every(l => l.note !== '' && l.note !== 'unknown name'),
    ).toBe(true);
  });

  it.each([
    ['goldens_f64.safetensors', 'full.p1.bidir.actions'],
    ['goldens_f64.safetensors', 'full.p1.causal.v_t'],
    ['goldens_jax.safetensors', 'full.p1.causal.actions_ns3'],
    ['whole_path.safetensors', 'c1.actions_unnormalized'],
  ])('fails when one value of %s %s is off by 1e-2', async (file, tensor) => {
    changeTensor(join(copy, file), tensor, view => view.setFloat(view.getFloat() + 1e-2));
    const { code, report } = await verify(name, copy);
    expect(code).toBe(1);
    expect(report.lines.filter(l => l.status === 'fail').map(l => l.name)).toEqual([tensor]);
  });

  it.each([
    ['goldens_f64.safetensors', 'full.p0.causal.lang.tokens'],
    ['goldens_continuation.safetensors', 'full.p1.bidir.cont3.tokens'],
  ])('fails when one token of %s %s is another', async (file, tensor) => {
    changeTensor(join(copy, file), tensor, view => view.setInt(view.getInt() + 1));
    const { code, report } = await verify(name, copy);
    expect(code).toBe(1);
    expect(report.lines.filter(l => l.status === 'fail').map(l => l.name)).toEqual([tensor]);
  });

  it('fails when a batched request or a whole-path text is another', async () => {
    edit(join(copy, 'whole_path.json'), text => text.replace('"text": "', '"text": "x'));
    const batched = join(copy, 'batched_decode.json');
    const json = JSON.parse(readFileSync(batched, 'utf8')) as {
      jax: { batch: { request_id: string; tokens_full: number[] }[] }[];
    };
    const last = json.jax
      .flatMap(f => f.batch)
      .filter(r => r.request_id === 'req_2')
      .at(-1);
    last!.tokens_full[3]! += 1;
    writeFileSync(batched, JSON.stringify(json));
    const { code, report } = await verify(name, copy);
    expect(code).toBe(1);
    const failed = report.lines.filter(l => l.status === 'fail').map(l => l.name);
    expect(failed).toContain('batched_decode.req_2');
    expect(failed.some(n => n.startsWith('whole_path.c0.text'))).toBe(true);
  });

  it('fails when a tensor of a listed kind cannot be computed', async () => {
    // A frame whose inputs are there, but a step count that no schedule has.
    edit(
      join(copy, 'goldens_jax.safetensors'),
      text => text.replace('causal.actions_ns3"', 'causal.actions_ns0"'),
      true,
    );
    const { code } = await verify(name, copy);
    expect(code).toBe(1);
  });
});

it('what docs/checkpoints.md asks of a golden folder of your own is enough', async () => {
  const slots = ['base_0_rgb', 'left_wrist_0_rgb', 'right_wrist_0_rgb'];
  const pictures = ['full.image_mask', ...slots.map(slot => `full.image_u8.${slot}`)];
  const names = [...pictures, 'prompt.0.ids', 'prompt.0.mask', 'noise', 'full.p0.bidir.actions'];
  const folder = mkdtempSync(join(tmpdir(), 'oxygen-golden-'));
  try {
    keepTensors(goldenDir('tiny'), folder, names);
    const { code, report } = await verify('tiny', folder);
    expect(code).toBe(0);
    expect(report).toMatchObject({ passed: true, ok: 1, failed: 0, skipped: names.length - 1 });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('names a golden folder that is not there', async () => {
  const { code, stderr } = await oxygen(['verify', '--engine', engineDir('odd'), '--golden', '/nowhere']);
  expect(code).toBe(1);
  expect(stderr).toContain('GOLDEN_NOT_FOUND: no golden folder at /nowhere');
});

/** Some tensors of a golden folder's goldens_jax.safetensors, in another folder. */
function keepTensors(from: string, to: string, names: readonly string[]): void {
  const file = 'goldens_jax.safetensors';
  const all = readSafetensors(join(from, file));
  const header: Record<string, object> = {};
  const parts: Buffer[] = [];
  let end = 0;
  for (const name of names) {
    const { dtype, shape, data } = all.get(name)!;
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    parts.push(bytes);
    header[name] = { dtype, shape, data_offsets: [end, end + bytes.length] };
    end += bytes.length;
  }
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(join(to, file), Buffer.concat([size, text, ...parts]));
}

interface NumberView {
  getFloat(): number;
  setFloat(v: number): void;
  getInt(): number;
  setInt(v: number): void;
}

/** Changes the third number of a tensor in place. */
function changeTensor(path: string, name: string, change: (view: NumberView) => void): void {
  const file = new SafetensorsFile(path);
  const { begin, dtype } = file.info(name);
  file.close();
  const bytes = readFileSync(path);
  const wide = dtype === 'F64';
  const at = begin + 2 * (wide ? 8 : 4);
  change({
    getFloat: () => (wide ? bytes.readDoubleLE(at) : bytes.readFloatLE(at)),
    setFloat: v => (wide ? bytes.writeDoubleLE(v, at) : bytes.writeFloatLE(v, at)),
    getInt: () => bytes.readInt32LE(at),
    setInt: v => bytes.writeInt32LE(v, at),
  });
  writeFileSync(path, bytes);
}

function edit(path: string, change: (text: string) => string, binary = false): void {
  const before = readFileSync(path, binary ? 'latin1' : 'utf8');
  const after = change(before);
  if (after === before) throw new Error(`nothing changed in ${path}`);
  writeFileSync(path, after, binary ? 'latin1' : 'utf8');
}

it('a golden folder with a damaged file leaves none of its files open', () => {
  const dir = mkdtempSync(join(tmpdir(), 'oxygen-golden-damaged-'));
  cpSync(join(goldenDir('tiny'), 'goldens_jax.safetensors'), join(dir, 'goldens_jax.safetensors'));
  writeFileSync(join(dir, 'goldens_late.safetensors'), 'nonsense');
  expect(() => new GoldenFolder(dir, 'F32')).toThrow(/goldens_late/);
  expect(openFiles(dir)).toEqual([]);
  rmSync(dir, { recursive: true });
});
