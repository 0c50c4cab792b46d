/** The graphs for TensorRT on the CPU provider: equal to the goldens, and to the CPU's own graphs. */
import { InferenceSession } from 'onnxruntime-node';
import { OxygenError } from '../../src/core/errors';
import type { HostTensors } from '../../src/engine/host-tensors';
import { runPrefill } from '../../src/engine/onnx-executor';
import { ModelSessions } from '../../src/engine/model-sessions';
import { kvHandOver, TensorRtSessions } from '../../src/engine/tensorrt-sessions';
import { goldenFrame, type GoldenFrame } from '../../src/verify/cases';
import { join } from '../../src/verify/join';
import { GoldenFolder, type Attention } from '../../src/verify/golden';
import { readManifest } from '../../src/model/manifest';
import { distance, exactLimit } from '../../src/verify/limits';
import { engineDir, goldenDir } from '../support/engines';
import { removeGraphs, tensorRtGraphs, tensorRtSessions, type Golden } from '../support/tensorrt';

const INPUTS = 'goldens_jax.safetensors';

const NAMES: readonly Golden[] = ['tiny', 'odd'];

const open = new Map<string, TensorRtSessions>();
afterAll(async () => {
  for (const sessions of open.values()) await sessions.release();
  removeGraphs();
});

/** Loaded once. */
async function sessionsOf(name: Golden, elem: 'float' | 'float16'): Promise<TensorRtSessions> {
  const key = `${name} ${elem}`;
  const sessions = open.get(key) ?? (await tensorRtSessions(tensorRtGraphs(name, elem), name));
  open.set(key, sessions);
  return sessions;
}

type Outputs = Readonly<Record<'actions' | 'prefix_k' | 'prefix_v' | 'lang.logits', Float32Array>>;

/** What a frame gives by the names of the goldens; of the logits those of the last position. */
async function outputs(
  s: TensorRtSessions,
  golden: GoldenFolder,
  frame: GoldenFrame,
  causal: boolean,
): Promise<Outputs> {
  const { kv, length, logits } = await s.prefill(frame, causal, true);
  const noise = golden.floats(INPUTS, 'noise');
  const actions = await s.denoise(noise, { batch: 1, positions: length, ...kv });
  return { actions, prefix_k: join(kv.k), prefix_v: join(kv.v), 'lang.logits': logits as Float32Array };
}

interface Compared {
  readonly key: string;
  readonly file: string;
  readonly kind: keyof Outputs;
  readonly max: number;
  readonly rms: number;
}

/** Every golden number that these two graphs compute. */
async function compare(name: Golden, s: TensorRtSessions): Promise<Compared[]> {
  const golden = new GoldenFolder(goldenDir(name), 'F32');
  const made = new Map<string, Outputs>();
  const compared: Compared[] = [];
  for (const { file, name: tensor, meaning } of golden.tensors) {
    if (meaning.kind === 'skip' || tensor.startsWith('bf16w.')) continue;
    const m = /^(\w+)\.p(\d+)\.(causal|bidirectional)\.(actions|prefix_k|prefix_v|lang\.logits)$/.exec(
      meaning.key,
    );
    if (!m) continue;
    const [, group, prompt, attention, part] = m as unknown as [
      string,
      string,
      string,
      Attention,
      keyof Outputs,
    ];
    const at = `${group}/${prompt}/${attention}`;
    const given = goldenFrame({ manifest: s.manifest } as ModelSessions, golden, group, Number(prompt));
    if (!made.has(at)) made.set(at, await outputs(s, golden, given, attention === 'causal'));
    const got = made.get(at)?.[part] as Float32Array;
    const all = golden.values(file, tensor);
    const want = part.startsWith('prefix')
      ? validRows(
          all,
          golden.shape(file, tensor)[0] ?? 1,
          golden.ints(INPUTS, `${group}.p${prompt}.prefix_mask`),
        )
      : all.subarray(0, got.length);
    expect(got.length).toBe(want.length);
    const { max, rms } = distance(want, got);
    compared.push({ key: meaning.key, file, kind: part, max, rms });
  }
  golden.close();
  return compared;
}

/** [layers, padded positions, ..] → without the padding. */
function validRows(values: Float64Array, layers: number, mask: readonly number[]): Float64Array {
  const inner = values.length / layers / mask.length;
  const kept = Array.from({ length: layers * mask.length }, (_, row) => row).filter(
    row => mask[row % mask.length] === 1,
  );
  const out = new Float64Array(kept.length * inner);
  kept.forEach((row, i) => out.set(values.subarray(row * inner, (row + 1) * inner), i * inner));
  return out;
}

it.each(NAMES)('in float32 they are within the limits of a float32 engine: %s', async name => {
  const compared = await compare(name, await sessionsOf(name, 'float'));
  for (const { key, file, kind, max } of compared)
    expect({ key, file, within: max <= exactLimit(kind, file).value, max }).toMatchObject({ within: true });
  // every kind, both attentions, several witnesses
  expect(new Set(compared.map(c => c.kind)).size).toBe(4);
  expect(new Set(compared.map(c => c.file)).size).toBeGreaterThanOrEqual(3);
  expect(compared.length).toBeGreaterThan(20);
});

/**
 * Root mean square error over the golden's standard deviation, of the worst tensor of both models: 2.5 times what was
 * measured (0.0012, 0.0012, 0.0012, 0.0019).
 */
const HALF_LIMITS = { actions: 0.003, prefix_k: 0.003, prefix_v: 0.003, 'lang.logits': 0.005 } as const;

it.each(NAMES)('in float16 they are within the stated bounds: %s', async name => {
  const worst: Record<string, number> = {};
  for (const { kind, rms } of await compare(name, await sessionsOf(name, 'float16')))
    worst[kind] = Math.max(worst[kind] ?? 0, rms);
  for (const [kind, limit] of Object.entries(HALF_LIMITS)) expect(worst[kind]).toBeLessThanOrEqual(limit);
});

it('in float32 a frame gives what the graphs of the CPU give', async () => {
  const golden = new GoldenFolder(goldenDir('odd'), 'F32');
  const cpu = await ModelSessions.load(engineDir('odd'), 1);
  const s = await sessionsOf('odd', 'float');
  const frame = goldenFrame(cpu, golden, 'full', 1);
  for (const causal of [false, true]) {
    const want = await runPrefill(cpu, frame, causal, true);
    const got = await s.prefill(frame, causal, true);
    expect(got.length).toBe(want.length);
    expect(distance(join(want.kv.k), join(got.kv.k)).max).toBeLessThan(2e-5);
    expect(distance(join(want.kv.v), join(got.kv.v)).max).toBeLessThan(2e-5);
  }
  await cpu.release();
  golden.close();
});

it('says how much KV goes through the host', () => {
  const model = {
    cameraSlots: ['a', 'b', 'c'],
    maxPromptTokens: 200,
    vision: { imageHeight: 224, imageWidth: 224, patch: 14 },
  };
  const language = { layers: 18, headDim: 256 };
  const manifest = { model: { ...model, language } } as unknown as Parameters<typeof kvHandOver>[0];
  const { bytes, text } = kvHandOver(manifest, 3);
  // 18 layers, K and V, 968 positions of 256 float32
  expect(bytes).toBe(35_684_352);
  expect(text).toContain('35.7 MB');
  expect(kvHandOver(manifest, 1).bytes).toBe(18 * 2 * (256 + 200) * 256 * 4);
});

it.each(['tensorrt', 'cpu'] as const)('a fault of the engine behind its sessions is told as it is, and they are released: %s', async on => {
  const release = jest.fn(() => Promise.resolve());
  const create = jest
    .spyOn(InferenceSession, 'create')
    .mockImplementation(() => Promise.resolve({ release } as unknown as InferenceSession));
  const fault = new OxygenError('ENGINE_INVALID', 'the weights end inside a tensor');
  const close = jest.fn();
  const host = {
    close,
    read: () => {
      throw fault;
    },
  } as unknown as HostTensors;
  const manifest = readManifest(engineDir('tiny'));
  const opened = TensorRtSessions.open('/models', manifest, host, { threads: 1, spinUs: 0 }, on);
  await expect(opened).rejects.toBe(fault);
  expect(release).toHaveBeenCalledTimes(create.mock.calls.length);
  expect(create).toHaveBeenCalledTimes(2);
  expect(close).toHaveBeenCalledTimes(1);
  create.mockRestore();
}); // prettier-ignore
