/** config.json as openpi's converter, lerobot and Hugging Face write it, and everything that must be refused. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { OxygenError } from '../../src/core/errors';
import { describeModel, imageTokens, readModelConfig, readModelDescription } from '../../src/model/config';
import { tensorShapes } from '../../src/model/tensors';

/** What examples/convert_jax_model_to_pytorch.py of openpi writes for pi05_libero. */
const OPENPI = {
  action_dim: 32,
  action_horizon: 10,
  paligemma_variant: 'gemma_2b',
  action_expert_variant: 'gemma_300m',
  precision: 'bfloat16',
};

/** lerobot's PI05Config of a LIBERO fine-tune, in the order and with the names that save_pretrained writes. */
const LEROBOT = {
  type: 'pi05',
  n_obs_steps: 1,
  input_features: {
    'observation.images.image': { type: 'VISUAL', shape: [3, 256, 256] },
    'observation.images.image2': { type: 'VISUAL', shape: [3, 256, 256] },
    'observation.state': { type: 'STATE', shape: [8] },
    'observation.images.empty_camera_0': { type: 'VISUAL', shape: [3, 224, 224] },
  },
  output_features: { action: { type: 'ACTION', shape: [7] } },
  device: 'mps',
  use_amp: false,
  push_to_hub: true,
  repo_id: 'lerobot/pi05_libero_finetuned',
  private: null,
  tags: null,
  license: null,
  paligemma_variant: 'gemma_2b',
  action_expert_variant: 'gemma_300m',
  dtype: 'bfloat16',
  chunk_size: 50,
  n_action_steps: 10,
  max_state_dim: 32,
  max_action_dim: 32,
  num_inference_steps: 10,
  time_sampling_beta_alpha: 1.5,
  time_sampling_beta_beta: 1.0,
  min_period: 0.004,
  max_period: 4.0,
  image_resolution: [224, 224],
  empty_cameras: 1,
  tokenizer_max_length: 200,
  normalization_mapping: { VISUAL: 'IDENTITY', STATE: 'MEAN_STD', ACTION: 'MEAN_STD' },
  gradient_checkpointing: true,
  compile_model: false,
  rtc_config: null,
  use_relative_actions: false,
  relative_exclude_joints: ['gripper'],
  action_feature_names: null,
};

const PI05 = {
  vision: { width: 1152, layers: 27, heads: 16, mlp: 4304, patch: 14, imageHeight: 224, imageWidth: 224, layerNormEps: 1e-6 },
  language: { width: 2048, layers: 18, heads: 8, headDim: 256, mlp: 16384, vocab: 257152 },
  expert: { width: 1024, mlp: 4096 },
  rmsEps: 1e-6,
  ropeTheta: 10000,
  actionDim: 32,
  denoiseSteps: 10,
  minPeriod: 0.004,
  maxPeriod: 4,
  maxPromptTokens: 200,
  discreteState: true,
}; // prettier-ignore

const refusal = (json: unknown): string => {
  try {
    describeModel(json, 'config.json');
  } catch (error) {
    if (error instanceof OxygenError) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error('it was accepted');
};

it("openpi's converted config is the real pi0.5; what it leaves open is noted", () => {
  const { config, family, notes } = describeModel(OPENPI, 'config.json');
  expect(config).toEqual({
    ...PI05,
    name: 'pi05',
    horizon: 10,
    cameraSlots: ['base_0_rgb', 'left_wrist_0_rgb', 'right_wrist_0_rgb'],
  });
  expect(family).toBe('openpi');
  expect(notes).toEqual([expect.stringMatching(/does not say discrete_state_input.*pi05_libero/)]);
  expect(describeModel({ ...OPENPI, discrete_state_input: false }, '').notes).toEqual([]);
});

it("the real model has the 812 tensors that openpi's and lerobot's files hold", () => {
  const shapes = tensorShapes(describeModel(OPENPI, '').config);
  const parameters = [...shapes.values()].reduce((sum, shape) => sum + shape.reduce((n, d) => n * d, 1), 0);
  // one more: the expert's unused head
  expect(shapes.size + 1).toBe(812);
  expect(parameters).toBe(3_353_433_872);
});

it("lerobot's config gives cameras in its order, its chunk and its prompt length", () => {
  const { config, family, notes } = describeModel(LEROBOT, 'config.json');
  const cameraSlots = ['image', 'image2', 'empty_camera_0'];
  expect(config).toEqual({ ...PI05, name: 'pi05', horizon: 50, cameraSlots });
  expect(family).toBe('lerobot');
  expect(notes).toEqual([]);
});

it.each<[string, object, readonly string[]]>([
  ['base', { 'observation.images.base_0_rgb': { type: 'VISUAL' }, 'observation.images.left_wrist_0_rgb': { type: 'VISUAL' } }, ['base_0_rgb', 'left_wrist_0_rgb', 'empty_camera_0']],
  ['one image', { 'observation.image': { type: 'VISUAL' } }, ['image', 'empty_camera_0']],
  ['none', {}, ['base_0_rgb', 'left_wrist_0_rgb', 'right_wrist_0_rgb']],
])('lerobot cameras: %s', (_, input_features, slots) => {
  expect(describeModel({ ...LEROBOT, input_features }, '').config.cameraSlots).toEqual(slots);
}); // prettier-ignore

it('relative actions of lerobot are noted: the robot file must undo them', () => {
  const { notes } = describeModel({ ...LEROBOT, use_relative_actions: true }, '');
  expect(notes).toEqual([expect.stringMatching(/relative to the state, but for gripper/)]);
});

it('sizes under Hugging Face names', () => {
  const gemma = { hidden_size: 64, num_hidden_layers: 3, intermediate_size: 96, num_attention_heads: 4, num_key_value_heads: 1, head_dim: 32, rms_norm_eps: 1e-5, rope_theta: 5000 }; // prettier-ignore
  const vision = { hidden_size: 48, num_hidden_layers: 2, intermediate_size: 80, num_attention_heads: 4, patch_size: 12, image_size: 84 }; // prettier-ignore
  const { config } = describeModel(
    {
      text_config: { ...gemma, vocab_size: 777 },
      expert_config: { ...gemma, hidden_size: 32 },
      vision_config: vision,
    },
    '',
  );
  expect(config).toMatchObject({
    language: { width: 64, layers: 3, heads: 4, headDim: 32, mlp: 96, vocab: 777 },
    expert: { width: 32, mlp: 96 },
    vision: { width: 48, layers: 2, heads: 4, mlp: 80, patch: 12, imageHeight: 84 },
    rmsEps: 1e-5,
    ropeTheta: 5000,
  });
  expect(imageTokens(config)).toBe(49);
});

it.each<[string, object, string]>([
  ['pi0', { type: 'pi0' }, 'MODEL_UNSUPPORTED: config.json describes a model of type pi0, not pi05'],
  ['pi0 of openpi', { pi05: false }, 'of type pi0'],
  ['another policy', { type: 'smolvla' }, 'smolvla'],
  ['LoRA weights', { paligemma_variant: 'gemma_2b_lora' }, "MODEL_UNSUPPORTED: config.json: gemma_2b_lora has LoRA weights, which openpi's converter leaves out"],
  ['an unknown variant', { action_expert_variant: 'gemma_9b' }, 'unknown Gemma variant gemma_9b; known: gemma_2b, gemma_300m'],
  ['a variant of the prototype', { paligemma_variant: 'constructor' }, 'unknown Gemma variant constructor'],
  ['observation memory', { ...LEROBOT, use_visual_memory: true }, 'MODEL_UNSUPPORTED: config.json: use_visual_memory'],
  ['two KV heads', { paligemma_config: { width: 8, depth: 2, mlp_dim: 8, num_heads: 2, num_kv_heads: 2, head_dim: 4 } }, '2 KV heads'],
  ['an image of broken patches', { image_resolution: [225, 224] }, 'no multiple of the patch size'],
  ['a camera twice', { image_keys: ['a', 'a'] }, 'must differ'],
  ['a camera with a path', { image_keys: ['../a'] }, 'camera names must be'],
  ['a chunk of words', { chunk_size: 'x' }, 'CHECKPOINT_INVALID: config.json: chunk_size: '],
  ['2^53 layers', { paligemma_config: { width: 8, depth: 2 ** 53 - 1, mlp_dim: 8, num_heads: 2, num_kv_heads: 1, head_dim: 4 } }, 'CHECKPOINT_INVALID: config.json: paligemma_config.depth: '],
  ['a list', [], 'CHECKPOINT_INVALID: config.json: the file: '],
])('%s is refused', (_, json, message) => expect(refusal(json)).toContain(message)); // prettier-ignore

describe('files', () => {
  let dir: string;
  beforeAll(() => (dir = mkdtempSync(join(tmpdir(), 'oxygen-config-'))));
  afterAll(() => rmSync(dir, { recursive: true }));
  const written = (text: string) => {
    const path = join(dir, 'config.json');
    writeFileSync(path, text);
    return path;
  };

  it.each<[string, () => string, string]>([
    ['a missing file', () => join(dir, 'nothing.json'), 'CHECKPOINT_NOT_FOUND'],
    ['a folder', () => dir, 'CHECKPOINT_NOT_FOUND'],
    ['no JSON', () => written('{'), 'CHECKPOINT_INVALID'],
    ['a file too large', () => written(`{"name": "${'x'.repeat(300_000)}"}`), 'CHECKPOINT_INVALID'],
    ['nesting of 100,000', () => written('['.repeat(100_000)), 'CHECKPOINT_INVALID'],
    [
      'closed nesting of 100,000',
      () => written('['.repeat(100_000) + ']'.repeat(100_000)),
      'CHECKPOINT_INVALID',
    ],
  ])('%s is refused', (_, path, code) => {
    expect(() => readModelConfig(path())).toThrow(expect.objectContaining({ code }));
  });

  it('500 mutated config.json: refused with a code, or of a size that can be counted', () => {
    const hostile = fc.constantFrom<unknown>(-1, 0, 0.5, 2 ** 53, 1e308, null, 'x', [], {}, [1, 2], true, 8);
    const keys = [
      ...Object.keys(LEROBOT),
      'paligemma_config',
      'siglip_config',
      'image_keys',
      'lerobot',
      'pi05',
      '__proto__',
    ];
    const changed = fc
      .tuple(
        fc.constantFrom(OPENPI, LEROBOT),
        fc.dictionary(fc.constantFrom(...keys), hostile, { maxKeys: 3 }),
      )
      .map(([base, change]) => JSON.stringify({ ...base, ...change }));
    const cut = fc
      .tuple(
        fc.constantFrom(OPENPI, LEROBOT).map(c => JSON.stringify(c)),
        fc.nat(2000),
        fc.nat(30),
        fc.string({ maxLength: 3 }),
      )
      .map(([text, at, span, put]) => text.slice(0, at) + put + text.slice(at + span));
    fc.assert(
      fc.property(fc.oneof(changed, cut), text => {
        try {
          expect(tensorShapes(readModelDescription(written(text)).config).size).toBeLessThan(40_000);
        } catch (error) {
          if (!(error instanceof OxygenError)) throw error;
          expect(['CHECKPOINT_INVALID', 'MODEL_UNSUPPORTED']).toContain(error.code);
          expect(error.message.length).toBeLessThan(2000);
        }
      }),
      { numRuns: 500, seed: 20_251_129 },
    );
  });
});
