/** Every shape that the scheduler can ask for lies inside the profiles, and no input is left out. */
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { tensorRtProfiles, trtexecOptions, type InputProfile } from '../../src/builder/tensorrt/profiles';
import { imageTokens, readModelConfig, type ModelConfig } from '../../src/model/config';
import { TENSORRT_GRAPHS, type TensorRtGraph } from '../../src/model/tensorrt-engine';
import { goldenDir } from '../support/engines';
import { removeGraphs, tensorRtGraphs } from '../support/tensorrt';

afterAll(removeGraphs);

/** pi0.5 as it is published. */
const PI05 = {
  vision: { imageHeight: 224, imageWidth: 224, patch: 14 },
  language: { layers: 18, headDim: 256 },
  cameraSlots: ['base', 'left', 'right'],
  maxPromptTokens: 200,
  horizon: 50,
} as unknown as ModelConfig;

const MODELS: readonly (readonly [string, ModelConfig])[] = [
  ['pi0.5', PI05],
  ['tiny', readModelConfig(join(goldenDir('tiny'), 'config.json'))],
  ['odd', readModelConfig(join(goldenDir('odd'), 'config.json'))],
];

/** Subsets of the cameras that a frame may hold: those with `on_missing: mask` may be away, one at least is there. */
function cameraSets(slots: readonly string[]): string[][] {
  const all = slots.reduce<string[][]>((sets, slot) => [...sets, ...sets.map(set => [...set, slot])], [[]]);
  return all.filter(set => set.length > 0);
}

const inside = (shape: readonly number[], { min, max }: InputProfile): boolean =>
  shape.length === min.length &&
  shape.every((size, i) => size >= (min[i] as number) && size <= (max[i] as number));

it.each(MODELS)('%s: every frame that can come', (_, c) => {
  const { prefill, denoise } = tensorRtProfiles(c);
  const [images, promptIds] = prefill as [InputProfile, InputProfile];
  const seen = new Set<number>();
  for (const cameras of cameraSets(c.cameraSlots)) {
    const pictures = [cameras.length, c.vision.imageHeight, c.vision.imageWidth, 3];
    expect(inside(pictures, images)).toBe(true);
    for (let prompt = 1; prompt <= c.maxPromptTokens; prompt++) {
      expect(inside([1, prompt], promptIds)).toBe(true);
      const prefix = cameras.length * imageTokens(c) + prompt;
      seen.add(prefix);
      for (const past of denoise) expect(inside([1, prefix, c.language.headDim], past)).toBe(true);
    }
  }
  // and nothing beside: a wider profile costs memory and speed
  const lengths = denoise.map(p => [p.min[1], p.max[1]]);
  const want = [Math.min(...seen), Math.max(...seen)];
  expect(lengths).toEqual(lengths.map(() => want));
  expect(images.max[0]).toBe(c.cameraSlots.length);
  expect(promptIds.max[1]).toBe(c.maxPromptTokens);
});

it.each(MODELS)('%s: the best shape lies between the smallest and the largest', (_, c) => {
  for (const profile of Object.values(tensorRtProfiles(c)).flat())
    expect([profile.input, inside(profile.opt, profile)]).toEqual([profile.input, true]);
});

it('every input of the graphs whose shape is not fixed has a profile, and no other', async () => {
  const dir = tensorRtGraphs('odd', 'float16');
  const profiles = tensorRtProfiles(readModelConfig(join(goldenDir('odd'), 'config.json')));
  for (const graph of TENSORRT_GRAPHS) {
    const session = await ort.InferenceSession.create(join(dir, `${graph}.onnx`), {
      graphOptimizationLevel: 'disabled',
    });
    const dynamic = session.inputMetadata.flatMap(input =>
      input.isTensor && input.shape.some(size => typeof size === 'string') ? [[input.name, input.shape]] : [],
    );
    await session.release();
    expect(profiles[graph].map(p => p.input)).toEqual(dynamic.map(([name]) => name));
    for (const [at, [name, shape]] of dynamic.entries()) {
      const { min, max } = profiles[graph][at] as InputProfile;
      // fixed sizes are the same, others may differ
      const fits = (shape as (number | string)[]).map((size, i) =>
        typeof size === 'string' ? 'free' : size === min[i] && size === max[i] ? 'same' : 'wrong',
      );
      expect([name, fits]).not.toEqual([name, expect.arrayContaining(['wrong'])]);
    }
  }
});

it('the options name each input three times, and no precision', () => {
  const profiles = tensorRtProfiles(PI05);
  for (const graph of TENSORRT_GRAPHS satisfies readonly TensorRtGraph[]) {
    const options = trtexecOptions(profiles[graph]);
    const shapes = options.filter(o => /^--(min|opt|max)Shapes=/.test(o));
    expect(shapes.map(o => o.split('=')[0])).toEqual(['--minShapes', '--optShapes', '--maxShapes']);
    for (const option of shapes)
      expect(
        option
          .slice(12)
          .split(',')
          .map(part => part.split(':')[0]),
      ).toEqual(profiles[graph].map(p => p.input));
    expect(options.filter(o => !shapes.includes(o))).toEqual([
      '--stronglyTyped',
      '--noTF32',
      '--skipInference',
    ]);
  }
  expect(trtexecOptions(profiles.prefill)).toContain('--maxShapes=images:3x224x224x3,prompt_ids:1x200');
  expect(profiles.denoise[0]).toEqual({
    input: 'past_k_0', min: [1, 257, 256], opt: [1, 968, 256], max: [1, 968, 256],
  }); // prettier-ignore
});
