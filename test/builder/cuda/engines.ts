/** The tiny and odd golden models as CUDA engines, and as three-graph float32 engines of the same rounded weights. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { buildEngine } from '../../../src/builder/build';
import { randomCheckpoint, type Checkpoint } from '../../../src/builder/checkpoint';
import { fromFloat32, toFloat32 } from '../../../src/builder/safetensors-floats';
import { HostTensors } from '../../../src/engine/host-tensors';
import { modulations } from '../../../src/engine/modulations';
import { readManifest, type Manifest, type Target } from '../../../src/model/manifest';
import { goldenDir } from '../../support/engines';

export type GoldenModel = 'tiny' | 'odd';

const SEEDS = { tiny: 1006, odd: 2002 };

export const checkpointOf = (name: GoldenModel): Checkpoint =>
  randomCheckpoint(join(goldenDir(name), 'config.json'), SEEDS[name]);

/** What stays float32 in a float16 engine: norms, and what the host makes modulations of. */
const EXACT = /norm|time_mlp/;

/** The checkpoint with the weights that a float16 engine has. */
export function rounded(checkpoint: Checkpoint): Checkpoint {
  const round = (name: string, values: Float32Array) =>
    EXACT.test(name) ? values : toFloat32(fromFloat32(values, 'F16'), 'F16', name);
  return {
    ...checkpoint,
    read: name => round(name, checkpoint.read(name)),
    readRows: (name, first, count) => round(name, checkpoint.readRows(name, first, count)),
  };
}

export async function build(checkpoint: Checkpoint, target: Target, out: string): Promise<Manifest> {
  const precision = target === 'cpu' ? 'fp32' : 'fp16';
  return buildEngine(checkpoint, { out, target, precision, tokenizer: null, stats: { missing: [] } });
}

/** A folder that is gone after the tests of the file. */
export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'oxygen-cuda-'));
  afterAll(() => rmSync(dir, { recursive: true }));
  return dir;
}

export type Outputs = Readonly<Record<string, Float32Array | BigInt64Array>>;

export interface FrameFeeds {
  /** u8 [n,H,W,3] */
  readonly images: Uint8Array;
  readonly cameras: number;
  readonly promptIds: readonly number[];
  /** Whether the prompt is causal. */
  readonly causal: boolean;
  readonly noise: Float32Array;
  readonly steps: number;
}

export interface DecodeFeeds {
  readonly tokens: readonly number[];
  readonly lengths: readonly number[];
  readonly steps: number;
  /** [k,B]; default: none. */
  readonly forced?: readonly number[];
  readonly temperature?: readonly number[];
  readonly topP?: readonly number[];
  readonly topK?: readonly number[];
  readonly uniforms?: Float32Array;
  /** Per layer [B,S,hd]. */
  readonly k: readonly Float32Array[];
  readonly v: readonly Float32Array[];
  readonly positions: number;
}

const int64 = (values: readonly number[], dims: readonly number[]) =>
  new ort.Tensor('int64', BigInt64Array.from(values, BigInt), dims);
const float = (values: Float32Array, dims: readonly number[]) => new ort.Tensor('float32', values, dims);

/** The graphs of a CUDA engine on the CPU. */
export class HalfSessions {
  readonly manifest: Manifest;
  readonly #host: HostTensors;
  readonly #sessions: Readonly<Record<'frame' | 'decode', ort.InferenceSession>>;

  private constructor(dir: string, sessions: readonly [ort.InferenceSession, ort.InferenceSession]) {
    this.manifest = readManifest(dir);
    this.#host = new HostTensors(dir, this.manifest);
    this.#sessions = { frame: sessions[0], decode: sessions[1] };
  }

  static async load(dir: string, suffix = ''): Promise<HalfSessions> {
    const open = (graph: string) =>
      ort.InferenceSession.create(join(dir, `${graph}${suffix}.onnx`), { intraOpNumThreads: 1 });
    return new HalfSessions(dir, [await open('frame'), await open('decode')]);
  }

  async release(): Promise<void> {
    this.#host.close();
    await this.#sessions.frame.release();
    await this.#sessions.decode.release();
  }

  async frame(f: FrameFeeds): Promise<Outputs> {
    const { model } = this.manifest;
    const { imageHeight, imageWidth, patch } = model.vision;
    const images = (f.cameras * imageHeight * imageWidth) / patch ** 2;
    const tables = modulations(model, name => this.#host.read(name), f.steps);
    const table = new Float32Array(f.steps * tables[0]!.length);
    tables.forEach((values, s) => table.set(values, s * values.length));
    return values(
      await this.#sessions.frame.run({
        images: new ort.Tensor('uint8', f.images, [f.cameras, imageHeight, imageWidth, 3]),
        prompt_ids: int64(f.promptIds, [1, f.promptIds.length]),
        causal_from: int64([f.causal ? images : images + f.promptIds.length], [1]),
        noise: float(f.noise, [1, model.horizon, model.actionDim]),
        modulations: float(table, [f.steps, 2 * model.language.layers + 1, 3 * model.expert.width]),
      }),
    );
  }

  async decode(f: DecodeFeeds): Promise<Outputs> {
    const rows = f.tokens.length;
    const { layers, headDim } = this.manifest.model.language;
    const row = (values: readonly number[] | undefined, other: number) =>
      Float32Array.from({ length: rows }, (_, i) => values?.[i] ?? other);
    const grid = [f.steps, rows];
    const feeds: Record<string, ort.Tensor> = {
      tokens: int64(f.tokens, [rows]),
      lengths: int64(f.lengths, [rows]),
      steps: int64([f.steps], [1]),
      forced: int64(f.forced ?? new Array<number>(f.steps * rows).fill(-1), grid),
      temperature: float(row(f.temperature, 0), [rows]),
      top_p: float(row(f.topP, 1), [rows]),
      top_k: int64(f.topK ?? new Array<number>(rows).fill(0), [rows]),
      uniforms: float(f.uniforms ?? new Float32Array(f.steps * rows), grid),
    };
    for (let i = 0; i < layers; i++) {
      feeds[`past_k_${i}`] = float(f.k[i]!, [rows, f.positions, headDim]);
      feeds[`past_v_${i}`] = float(f.v[i]!, [rows, f.positions, headDim]);
    }
    return values(await this.#sessions.decode.run(feeds));
  }
}

const values = (out: ort.InferenceSession.ReturnType): Outputs =>
  Object.fromEntries(
    Object.entries(out).map(([name, tensor]) => [name, tensor.data as Float32Array | BigInt64Array]),
  );
