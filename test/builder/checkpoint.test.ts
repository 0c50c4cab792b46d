/** Cases O-15, O-16 and O-17: every layout in use gives the same weights, everything else is refused by name. */
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildEngine } from '../../src/builder/build';
import { openCheckpoint } from '../../src/builder/checkpoint';
import { OxygenError } from '../../src/core/errors';
import { HostTensors } from '../../src/engine/host-tensors';
import { hashFile } from '../../src/model/manifest';
import { EMBEDDING_NAMES, EXPERT, UNUSED_TENSORS } from '../../src/model/tensors';
import { goldenDir } from '../support/engines';
import { rename, toyFolder, toyShards, toyTensors, TOY_CONFIG, writeTensors, type Tensors } from './toy';

const [HEAD, EMBEDDING] = EMBEDDING_NAMES;
const PALIGEMMA = 'paligemma_with_expert.paligemma.';

let dir: string;
let reference: Record<string, string>;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'oxygen-reference-'));
  reference = await engineOf(toyFolder(join(dir, 'checkpoint'), toyTensors()));
  rmSync(dir, { recursive: true });
});
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'oxygen-checkpoint-'))));
afterEach(() => rmSync(dir, { recursive: true }));

/**
 * Hashes of the graphs and weights built from a checkpoint: equal hashes, equal logits. What the host reads itself may be
 * stored in either format, so of the file with those tensors their values count.
 */
async function engineOf(folder: string): Promise<Record<string, string>> {
  const checkpoint = openCheckpoint(folder);
  try {
    const out = join(dir, 'engine');
    const options = { out, precision: 'fp32', tokenizer: null, stats: { missing: [] } } as const;
    const manifest = await buildEngine(checkpoint, options);
    const stored = Object.values(manifest.hostTensors).some(t => t.dtype === 'BF16');
    const files = Object.keys(manifest.files).filter(file => !stored || file !== 'expert.weights');
    const host = new HostTensors(out, manifest);
    const values = createHash('sha256');
    for (const name of Object.keys(manifest.hostTensors)) values.update(host.read(name));
    host.close();
    return Object.fromEntries([
      ...files.map(file => [file, hashFile(join(out, file))] as const),
      ['host tensors', values.digest('hex')],
    ]);
  } finally {
    checkpoint.close();
  }
}

const toy = (change: (t: Tensors) => void, config?: object): string => {
  const tensors = toyTensors();
  change(tensors);
  return toyFolder(join(dir, 'checkpoint'), tensors, config);
};

/** What openCheckpoint says, as `CODE: message`. */
function refusal(folder: string): string {
  try {
    openCheckpoint(folder).close();
  } catch (error) {
    if (error instanceof OxygenError) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error('it was accepted');
}

const replaced = (from: string | RegExp, to: string) => (t: Tensors) => rename(t, n => n.replace(from, to));
const extra =
  (name: string, shape = [2]) =>
  (t: Tensors) =>
    void t.set(name, { shape, values: new Float32Array(shape.reduce((n, d) => n * d, 1)) });

describe('O-15: the same numbers under', () => {
  it.each<[string, (t: Tensors) => void]>([
    ['(a) the lm_head name of the tied table', () => undefined],
    ['(b) its embed_tokens name', replaced(HEAD, EMBEDDING)],
    ['(c) a leading model.', t => rename(t, n => `model.${n}`)],
    ['(d) both names of the table', t => void t.set(EMBEDDING, t.get(HEAD)!)],
    ['both, one of them in another place', t => rename(t, n => (n === HEAD ? `model.${EMBEDDING}` : n))],
    ['no vision_model', replaced('vision_tower.vision_model.', 'vision_tower.')],
    [
      'the names of transformers before 4.52',
      t =>
        rename(t, n =>
          n
            .replace(`${PALIGEMMA}lm_head.`, `model.${PALIGEMMA}language_model.lm_head.`)
            .replace(`${PALIGEMMA}model.language_model.`, `model.${PALIGEMMA}language_model.model.`)
            .replace(/paligemma\.model\.(vision_tower|multi_modal_projector)/, 'paligemma.$1'),
        ),
    ],
    ['action_time_mlp names', replaced(/^time_mlp/, 'action_time_mlp')],
    ['tensors that nothing uses', t => UNUSED_TENSORS.forEach(n => extra(n)(t))],
  ])('%s gives the same engine', async (_, change) => {
    expect(await engineOf(toy(change))).toEqual(reference);
  });

  it('(e) both names with different numbers is refused, naming both and the place', () => {
    const message = refusal(
      toy(t => {
        const values = Float32Array.from(t.get(HEAD)!.values);
        values[5 * 16 + 3]! += 1;
        t.set(EMBEDDING, { shape: t.get(HEAD)!.shape, values });
      }),
    );
    expect(message).toMatch(/^CHECKPOINT_KEYS: .*lm_head\.weight and .*embed_tokens\.weight .*row 5\)/);
  });

  it('both names of different shapes is refused', () => {
    const halved = (t: Tensors) => extra(EMBEDDING, [48, 16])(t);
    expect(refusal(toy(halved))).toContain('[96,16] and [48,16]');
  });

  it("the golden folder's own file opens: the expert's head is skipped without a word", () => {
    const folder = join(dir, 'tiny');
    const shapes = JSON.parse(readFileSync('test/data/tensor_names_tiny.json', 'utf8')) as Record<
      string,
      number[]
    >;
    const tensors: Tensors = new Map();
    for (const [name, shape] of Object.entries(shapes)) extra(name, shape)(tensors);
    const config = JSON.parse(readFileSync(join(goldenDir('tiny'), 'config.json'), 'utf8')) as object;
    const checkpoint = openCheckpoint(toyFolder(folder, tensors, config));
    checkpoint.close();
    expect(checkpoint).toMatchObject({
      family: 'openpi',
      source: 'model.safetensors',
      dtype: 'F32',
      notes: [],
    });
  });

  it('notes name what was left out', () => {
    const checkpoint = openCheckpoint(toy(extra('model.state_proj.bias')));
    checkpoint.close();
    expect(checkpoint.notes).toEqual(['not used by pi0.5 and left out: model.state_proj.bias']);
  });
});

/** A pi0 file of the same sizes: a state projection, time mixed into the actions, plain norms in the expert. */
function toPi0(t: Tensors): void {
  rename(t, n => n.replace(/^time_mlp/, 'action_time_mlp'));
  for (const name of [...t.keys()]) {
    if (!name.startsWith(EXPERT) || !name.includes('.dense.')) continue;
    t.delete(name);
    extra(name.replace(/\.dense\..*/, '.weight'), [12])(t);
  }
  extra('state_proj.weight', [12, 6])(t);
  extra('state_proj.bias', [12])(t);
}

describe('O-16: refused before a byte is written:', () => {
  it.each<[string, (t: Tensors) => void, ...RegExp[]]>([
    ['(a) pi0', toPi0, /looks like a pi0 checkpoint/, /72 tensors/, /14 missing .*dense\.weight \[36,12\], .*; 11 unexpected action_time_mlp_in\.weight/],
    ['(b) a missing tensor', t => t.delete('action_out_proj.bias'), / 1 missing action_out_proj\.bias \[6\]\.$/],
    ['(c) an ill-shaped tensor', t => extra('time_mlp_in.bias', [11])(t), /1 wrong: time_mlp_in\.bias is \[11\], expected \[12\]/],
    ['an unexpected tensor', extra('surprise'), /\(76 tensors\) does not fit: 1 unexpected surprise\.$/],
    ['a name of control characters', extra('\u0000\u001b[31mred'), /unexpected \?\?\[31mred/],
    ['a name that is a prototype', extra('__proto__'), /unexpected __proto__/],
    ['observation memory', extra('model.proprio_history_proj.weight'), /observation memory/],
    ['statistics of an old lerobot', extra('normalize_inputs.buffer_observation_state.mean'), /migrate_policy_normalization/],
    ['one tensor twice', t => t.set('model.time_mlp_in.bias', t.get('time_mlp_in.bias')!), /time_mlp_in\.bias and model\.time_mlp_in\.bias are the same tensor/],
    ['no tensor of the model at all', t => { t.clear(); extra('a')(t); }, /\(1 tensors\) .*75 missing .*, \.\.\.; 1 unexpected a\./],
  ])('%s', (_, change, ...messages) => {
    const said = refusal(toy(change));
    expect(said).toMatch(/^CHECKPOINT_KEYS: /);
    for (const message of messages) expect(said).toMatch(message);
  }); // prettier-ignore

  it('details hold every fault, the message the first three', () => {
    const folder = toy(t => [...t.keys()].slice(0, 40).forEach(n => t.delete(n)));
    let details: OxygenError['details'] = {};
    try {
      openCheckpoint(folder);
    } catch (error) {
      ({ details } = error as OxygenError);
    }
    expect(details['missing']).toHaveLength(40);
    expect(refusal(folder)).toMatch(/40 missing (\S+ \[[\d,]+\], ){3}\.\.\./);
  });

  it.each<[string, object, RegExp]>([
    ['vocabulary', { vocab_size: 97 }, /vocabulary 97, the weights 96 \(.*lm_head\.weight \[96,16\]\)/],
    ['image size', { image_resolution: [42, 28] }, /image tokens 6, the weights 4/],
    ['actions', { action_dim: 32 }, /action dimensions 32, the weights 6/],
    ['depth', { siglip_config: { ...TOY_CONFIG.siglip_config, depth: 2 } }, /vision layers 2, the weights 1/],
    ['everything', { paligemma_config: undefined, action_expert_config: undefined }, /language width 2048, the weights 16 .*expert MLP 4096, the weights 20 .*language layers 18, the weights 2/],
  ])('a config.json with another %s names both', (_, change, message) => {
    const said = refusal(toy(() => undefined, { ...TOY_CONFIG, ...change }));
    expect(said).toMatch(/^CHECKPOINT_KEYS: .*config\.json contradicts the weights: /);
    expect(said).toMatch(message);
  }); // prettier-ignore

  it('(d) a missing shard is named; with all three the engine is that of the single file', async () => {
    const folder = toyShards(join(dir, 'checkpoint'), toyTensors(), 3);
    expect(await engineOf(folder)).toEqual(reference);
    rmSync(join(folder, 'model-00002-of-00003.safetensors'));
    expect(refusal(folder)).toMatch(
      /^CHECKPOINT_NOT_FOUND: .*names 3 shards, 1 of them missing: model-00002-of-00003\.safetensors/,
    );
  });

  it.each<[string, (map: Record<string, string>, folder: string) => unknown, RegExp]>([
    ['a tensor in the wrong shard', m => (m['time_mlp_in.bias'] = otherShard(m, 'time_mlp_in.bias')), /^CHECKPOINT_KEYS: .*contradict each other in 2 tensors: time_mlp_in\.bias is not in/],
    ['a tensor that no shard has', m => (m['ghost'] = otherShard(m, 'time_mlp_in.bias')), /^CHECKPOINT_KEYS: .*ghost is not in model-/],
    ['a tensor that the index leaves out', m => delete m['time_mlp_in.bias'], /^CHECKPOINT_KEYS: .*holds time_mlp_in\.bias, which the index does not place there/],
    ['a shard outside the folder', m => (m['time_mlp_in.bias'] = '../x.safetensors'), /^CHECKPOINT_INVALID: .*time_mlp_in\.bias is said to be in \.\.\/x\.safetensors/],
    ['a shard that is a number', m => ((m as Record<string, unknown>)['time_mlp_in.bias'] = 4), /^CHECKPOINT_INVALID/],
    ['no tensors', m => Object.keys(m).forEach(n => delete m[n]), /^CHECKPOINT_INVALID: .*empty/],
    ['a cut shard', (_, f) => truncateSync(join(f, 'model-00003-of-00003.safetensors'), 9000), /^CHECKPOINT_INVALID: .*model-00003-of-00003.*truncated/],
  ])('an index with %s is refused', (_, change, message) => {
    const folder = toyShards(join(dir, 'checkpoint'), toyTensors(), 3);
    const path = join(folder, 'model.safetensors.index.json');
    const index = JSON.parse(readFileSync(path, 'utf8')) as { weight_map: Record<string, string> };
    change(index.weight_map, folder);
    writeFileSync(path, JSON.stringify(index));
    expect(refusal(folder)).toMatch(message);
  }); // prettier-ignore

  it.each(['', '[]', '{}', '{"weight_map": []}', '{"weight_map": {"a": "b"'])(
    'an index that is %j is refused',
    text => {
      const folder = toyFolder(join(dir, 'checkpoint'), toyTensors());
      rmSync(join(folder, 'model.safetensors'));
      writeFileSync(join(folder, 'model.safetensors.index.json'), text);
      expect(refusal(folder)).toMatch(/^CHECKPOINT_INVALID: /);
    },
  );

  it('(e) a folder, its model.safetensors or its config.json that is not there is named', () => {
    expect(refusal('/nowhere')).toBe('CHECKPOINT_NOT_FOUND: no checkpoint folder at /nowhere');
    const folder = toy(() => undefined);
    expect(refusal(join(folder, 'model.safetensors'))).toMatch(/^CHECKPOINT_NOT_FOUND: .*give the folder/);
    rmSync(join(folder, 'config.json'));
    expect(refusal(folder)).toMatch(
      /^CHECKPOINT_NOT_FOUND: no model config at .*config\.json; .*"action_horizon"/,
    );
    writeFileSync(join(folder, 'config.json'), JSON.stringify(TOY_CONFIG));
    rmSync(join(folder, 'model.safetensors'));
    expect(refusal(folder)).toMatch(/^CHECKPOINT_NOT_FOUND: no model\.safetensors/);
    writeTensors(join(folder, 'pi05.safetensors'), toyTensors());
    expect(refusal(folder)).toContain('pi05.safetensors would have to be named model.safetensors');
  });

  it('a build that fails half way leaves nothing and touches no engine that was there', async () => {
    const checkpoint = openCheckpoint(toy(() => undefined));
    const options = { out: join(dir, 'engine'), precision: 'fp32', tokenizer: null, stats: { missing: [] } } as const; // prettier-ignore
    await buildEngine(checkpoint, options);
    const before = readFileSync(join(options.out, 'engine.json'), 'utf8');
    truncateSync(join(dir, 'checkpoint/model.safetensors'), 30_000);
    await expect(buildEngine(checkpoint, options)).rejects.toMatchObject({ code: 'CHECKPOINT_INVALID' });
    checkpoint.close();
    expect(readdirSync(dir).sort()).toEqual(['checkpoint', 'engine']);
    expect(readFileSync(join(options.out, 'engine.json'), 'utf8')).toBe(before);
  });
});

function otherShard(map: Record<string, string>, tensor: string): string {
  return Object.values(map).find(file => file !== map[tensor])!;
}

describe('other formats are recognised:', () => {
  it.each<[string, string[], RegExp]>([
    ['the params folder of Orbax', ['params/_METADATA', 'params/manifest.ocdbt', 'params/ocdbt.process_0/d'], /checkpoint_dir \S*checkpoint /],
    ['inside it', ['_METADATA', 'manifest.ocdbt', 'd/x'], /Orbax/],
    ['a step of an Orbax training run', ['_CHECKPOINT_METADATA', 'train_state/x'], /Orbax/],
  ])('%s', (_, files, message) => {
    for (const file of files) {
      mkdirSync(join(dir, 'checkpoint', file, '..'), { recursive: true });
      writeFileSync(join(dir, 'checkpoint', file), '');
    }
    const said = refusal(join(dir, 'checkpoint'));
    expect(said).toMatch(message);
    expect(said).toMatch(/^CHECKPOINT_INVALID: .*lerobot\/pi05_base.*examples\/convert_jax_model_to_pytorch\.py/);
  }); // prettier-ignore

  it('an Orbax params folder given itself names the folder above to the converter', () => {
    mkdirSync(join(dir, 'params'));
    writeFileSync(join(dir, 'params/manifest.ocdbt'), '');
    expect(refusal(join(dir, 'params'))).toContain(`--checkpoint_dir ${dir} `);
  });

  it.each<[string, string, RegExp]>([
    ['a pickle', 'pytorch_model.bin', /^CHECKPOINT_INVALID: .*pytorch_model\.bin is a Python pickle.*safetensors/],
    ['a LoRA adapter', 'adapter_model.safetensors', /^CHECKPOINT_INVALID: .*merge/],
    ['a step of a lerobot run', 'pretrained_model/model.safetensors', /^CHECKPOINT_NOT_FOUND: .*its checkpoint is .*pretrained_model/],
  ])('%s', (_, file, message) => {
    mkdirSync(join(dir, 'pretrained_model'));
    writeFileSync(join(dir, file), '');
    expect(refusal(dir)).toMatch(message);
  }); // prettier-ignore
});

describe('O-17: number formats', () => {
  // exact in every format: halves need 11 bits, bfloat16 8
  const coarse = (t: Tensors) => {
    for (const { values } of t.values()) values.forEach((x, i) => (values[i] = Math.round(x * 16) / 16));
  };
  const stored = (dtype: 'BF16' | 'F16' | 'F32') => (t: Tensors) => {
    coarse(t);
    for (const [name, tensor] of [...t]) t.set(name, { ...tensor, dtype });
  };

  it('BF16, F16 and mixed files give the engine of the F32 file', async () => {
    const inF32 = await engineOf(toy(coarse));
    expect(await engineOf(toy(stored('F16')))).toEqual(inF32);
    const inBf16 = await engineOf(toy(stored('BF16')));
    expect(inF32).toMatchObject(inBf16);
    expect(Object.keys(inF32).filter(file => !(file in inBf16))).toEqual(['expert.weights']);
    const mixed = toy(t => {
      stored('BF16')(t);
      [...t]
        .filter(([name]) => name.includes('norm'))
        .forEach(([name, x]) => t.set(name, { ...x, dtype: 'F32' }));
    });
    expect(await engineOf(mixed)).toEqual(inF32);
    const checkpoint = openCheckpoint(mixed);
    checkpoint.close();
    expect(checkpoint.dtype).toBe('BF16+F32');
  });

  it('a format that is not known, and integers, are refused naming tensor and format', () => {
    const folder = toy(() => undefined);
    const path = join(folder, 'model.safetensors');
    const file = readFileSync(path);
    const at = file.indexOf('"action_in_proj.weight":{"dtype":"F32"');
    const patched = (dtype: string) => {
      file.write(`"action_in_proj.weight":{"dtype":"${dtype}"`, at);
      writeFileSync(path, file);
    };
    patched('F8E');
    expect(refusal(folder)).toMatch(/^CHECKPOINT_INVALID: .*tensor action_in_proj\.weight has the dtype F8E/);
    patched('I32');
    expect(refusal(folder)).toMatch(
      /^CHECKPOINT_KEYS: .*action_in_proj\.weight is I32, expected floating-point/,
    );
  });
});

it('a lerobot checkpoint is told by its config', () => {
  const checkpoint = openCheckpoint(toy(t => rename(t, n => `model.${n}`), { ...TOY_CONFIG, type: 'pi05' }));
  checkpoint.close();
  expect(checkpoint.family).toBe('lerobot');
});
