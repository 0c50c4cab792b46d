/** frame.onnx against the three graphs on the same rounded weights, and against the golden numbers. */
import { join } from 'node:path';
import { fromFloat32, toFloat32 } from '../../../src/builder/safetensors-floats';
import { prefixCache } from '../../../src/engine/deployment';
import { ModelSessions } from '../../../src/engine/model-sessions';
import { denoise, runPrefill } from '../../../src/engine/onnx-executor';
import { goldenFrame, type GoldenFrame } from '../../../src/verify/cases';
import { GoldenFolder } from '../../../src/verify/golden';
import { join as joined } from '../../../src/verify/join';
import { distance } from '../../../src/verify/limits';
import { goldenDir } from '../../support/engines';
import { build, checkpointOf, HalfSessions, rounded, temporaryFolder, type Outputs } from './engines';

const dir = temporaryFolder();

/** Root mean square differences as a share of the standard deviation: of float16 arithmetic, and with the weights rounded too. */
const ROUNDING = 0.002;
const GOLDEN = 0.004;
/** Largest difference of a logit; they have a standard deviation of 2.5. */
const LOGIT = 0.01;

const floats = (out: Outputs, name: string) => out[name] as Float32Array;

/** All layers, one after the other. */
const perLayer = (out: Outputs, name: string) =>
  joined(
    Object.keys(out)
      .filter(key => key.startsWith(`${name}_`))
      .map((_, i) => floats(out, `${name}_${i}`)),
  );

describe.each(['tiny', 'odd'] as const)('%s', name => {
  let exact: ModelSessions;
  let half: HalfSessions;
  let golden: GoldenFolder;
  beforeAll(async () => {
    await build(rounded(checkpointOf(name)), 'cpu', join(dir, `${name}-cpu`));
    await build(checkpointOf(name), 'cuda', join(dir, name));
    exact = await ModelSessions.load(join(dir, `${name}-cpu`), 1);
    half = await HalfSessions.load(join(dir, name));
    golden = new GoldenFolder(goldenDir(name), 'F32');
  });
  afterAll(async () => {
    await exact.release();
    await half.release();
  });

  const frames = () =>
    [...new Set(golden.tensors.flatMap(({ meaning }) => {
      const m = meaning.kind === 'actions' && /^(\w+)\.p(\d+)\.(causal|bidirectional)\.actions$/.exec(meaning.key);
      return m ? [`${m[1]}/${m[2]}/${m[3]}`] : [];
    }))].map(key => key.split('/') as [string, string, 'causal' | 'bidirectional']); // prettier-ignore

  const noise = () => Float32Array.from(golden.floats('goldens_jax.safetensors', 'noise'));
  const run = (frame: GoldenFrame, causal: boolean, steps: number) =>
    half.frame({ ...frame, cameras: frame.cameras.length, causal, noise: noise(), steps });

  it.each([10, 3])(
    'one run of %d steps gives what the three graphs give on the same weights',
    async steps => {
      expect(frames().length).toBeGreaterThan(1);
      for (const [image, prompt, attention] of frames()) {
        const frame = goldenFrame(exact, golden, image, Number(prompt));
        const prefix = await runPrefill(exact, frame, attention === 'causal', true);
        const view = prefixCache(exact, prefix, 1, 8).prefixView();
        const actions = await denoise(exact, noise(), steps, view);
        const out = await run(frame, attention === 'causal', steps);
        const rms = {
          actions: distance(actions, floats(out, 'actions')).rms,
          k: distance(joined(prefix.kv.k), perLayer(out, 'new_k')).rms,
          v: distance(joined(prefix.kv.v), perLayer(out, 'new_v')).rms,
        };
        for (const [what, value] of Object.entries(rms))
          if (!(value <= ROUNDING))
            throw new Error(`${image} ${prompt} ${attention}: ${what} is off by ${value}`);
        const top = floats(out, 'top_logits');
        // each is the logit of its token, the best one first
        (out['top_ids'] as BigInt64Array).forEach((id, i) => {
          const off = Math.abs(prefix.logits![Number(id)]! - top[i]!);
          if (!(off <= LOGIT) || top[i]! > top[i - 1]!)
            throw new Error(`logit ${i} of token ${id} is off by ${off}`);
        });
        const best = prefix.next[0]!;
        expect(distance(best.logits, top).max).toBeLessThan(LOGIT);
        expect(Math.abs(best.logSumExp - floats(out, 'log_sum_exp')[0]!)).toBeLessThan(0.002);
      }
    },
  );

  it('actions are within float16 of the golden ones', async () => {
    let compared = 0;
    for (const [image, prompt, attention] of frames()) {
      const frame = goldenFrame(exact, golden, image, Number(prompt));
      const out = await run(frame, attention === 'causal', 10);
      const key = `${image}.p${prompt}.${attention}.actions`;
      for (const { meaning, file, name: tensor } of golden.tensors) {
        if (meaning.kind !== 'actions' || meaning.key !== key) continue;
        const { rms } = distance(golden.floats(file, tensor), floats(out, 'actions'));
        if (!(rms <= GOLDEN)) throw new Error(`${file} ${tensor} is off by ${rms}`);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(20);
  });

  it('keys and values are float16 numbers, as the graph itself uses them', async () => {
    const [image, prompt] = frames()[0]!;
    const out = await run(goldenFrame(exact, golden, image, Number(prompt)), false, 1);
    for (const kind of ['new_k', 'new_v']) {
      const all = perLayer(out, kind);
      expect(toFloat32(fromFloat32(all, 'F16'), 'F16', kind)).toEqual(all);
    }
  });
});
