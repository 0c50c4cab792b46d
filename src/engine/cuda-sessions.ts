/**
 * The two graphs of an engine for CUDA as ONNX Runtime sessions, with their tensors: frame.onnx goes from pictures to
 * actions in one run, decode.onnx does several decode steps in one run. On the CPU they give the same, slowly: for checks.
 */
import * as ort from 'onnxruntime-node';
import { OxygenError } from '../core/errors';
import type { Candidates, KvView, NewKv } from '../core/ports';
import { uniform, type Sampling } from '../core/sampler';
import { imageTokens } from '../model/config';
import { readManifest, TARGET_GRAPHS, type Manifest } from '../model/manifest';
import type { BurstResult } from './burst';
import { HostTensors } from './host-tensors';
import { modulationTable } from './modulations';
import type { Provider } from './providers';
import { sessionOptions } from './session-options';
import { float32, floats, int64, openSessions, runSession } from './session-run';

export interface FrameFeeds {
  /** Of the present cameras, [n,H,W,3]. */
  readonly images: Uint8Array;
  readonly cameras: readonly string[];
  readonly promptIds: readonly number[];
  /** Attention inside the prompt. */
  readonly causal: boolean;
  /** [H·A] */
  readonly noise: Float32Array;
  /** Euler steps. */
  readonly steps: number;
}

export interface FrameResult {
  readonly kv: NewKv;
  /** Tokens of the root prefix. */
  readonly length: number;
  readonly next: Candidates;
  /** [H·A], normalised. */
  readonly actions: Float32Array;
}

export interface DecodeFeeds {
  /** Fed in step 0, by row. */
  readonly tokens: readonly number[];
  /** Positions that each row has in `past`. */
  readonly lengths: readonly number[];
  readonly past: KvView;
  readonly steps: number;
  /** The token to feed in a step after the first, instead of the one that the graph draws; null: that one. */
  readonly forced?: (step: number, row: number) => number | null;
  /** How each row draws, and the number of its first draw; without it the best token is taken. */
  readonly draws?: readonly { readonly sampling: Sampling; readonly sequence: number }[];
}

export const GREEDY: Sampling = { temperature: 0, topK: 0, topP: 1, samplingSeed: 0 };

type CudaGraph = (typeof TARGET_GRAPHS)['cuda'][number];
type CudaGraphs = Readonly<Partial<Record<CudaGraph, ort.InferenceSession>>>;

export class CudaSessions {
  readonly target = 'cuda';
  readonly manifest: Manifest;
  readonly #host: HostTensors;
  readonly #graphs: CudaGraphs;
  readonly #modulations = new Map<number, Float32Array>();

  private constructor(manifest: Manifest, host: HostTensors, graphs: CudaGraphs) {
    this.manifest = manifest;
    this.#host = host;
    this.#graphs = graphs;
  }

  /**
   * `provider`: cuda, or cpu for checks. `graphs`: those that will be run; the others take no memory. Throws ENGINE_* or
   * RUNTIME_VERSION.
   */
  static async load(
    dir: string,
    threads: number,
    spinUs: number,
    provider: Provider,
    graphs: readonly CudaGraph[] = TARGET_GRAPHS.cuda,
  ): Promise<CudaSessions> {
    const manifest = readManifest(dir);
    if (manifest.target === 'cpu')
      throw new OxygenError('ENGINE_INVALID', `${dir} is an engine for the CPU: it has no graphs for CUDA`);
    const options = sessionOptions({ threads, spinUs }, provider);
    const sessions: CudaGraphs = await openSessions(dir, graphs, options);
    return new CudaSessions(manifest, new HostTensors(dir, manifest), sessions);
  }

  async release(): Promise<void> {
    this.#host.close();
    for (const session of Object.values(this.#graphs)) await session.release();
  }

  /** Vision, root prefix and all Euler steps. */
  async frame(f: FrameFeeds): Promise<FrameResult> {
    const { model } = this.manifest;
    const { layers } = model.language;
    const { imageHeight, imageWidth } = model.vision;
    const imageLength = f.cameras.length * imageTokens(model);
    const length = imageLength + f.promptIds.length;
    const values = model.horizon * model.actionDim;
    if (f.noise.length !== values) {
      const message = `the noise has ${f.noise.length} values, the engine needs ${model.horizon}x${model.actionDim}`;
      throw new OxygenError('CONFIG_INVALID', message);
    }
    const table = [f.steps, 2 * layers + 1, 3 * model.expert.width];
    const feeds = {
      images: new ort.Tensor('uint8', f.images, [f.cameras.length, imageHeight, imageWidth, 3]),
      prompt_ids: int64(f.promptIds, [1, f.promptIds.length]),
      causal_from: int64([f.causal ? imageLength : length], [1]),
      noise: float32(f.noise, [1, model.horizon, model.actionDim]),
      modulations: float32(this.modulations(f.steps), table),
    };
    const fetches = ['actions', 'top_logits', 'top_ids', 'log_sum_exp', ...kvNames('new', layers)];
    const out = await this.#run('frame', feeds, fetches);
    const [[next]] = candidates(out, 1, 1, this.manifest.topK) as [[Candidates]];
    return { kv: newKv(out, layers), length, next, actions: floats(out['actions']) };
  }

  /** Up to `steps` decode steps of every row; a row that has ended is computed further and ignored by the caller. */
  async decode(f: DecodeFeeds): Promise<BurstResult> {
    const { layers, headDim } = this.manifest.model.language;
    const { tokens, steps, past } = f;
    const batch = tokens.length;
    const cells = Array.from(
      { length: steps * batch },
      (_, i) => [Math.floor(i / batch), i % batch] as const,
    );
    const draw = (row: number) => f.draws?.[row] ?? { sampling: GREEDY, sequence: 0 };
    const drawing = (part: (s: Sampling) => number) => tokens.map((_, row) => part(draw(row).sampling));
    const feeds: Record<string, ort.Tensor> = {
      tokens: int64(tokens, [batch]),
      lengths: int64(f.lengths, [batch]),
      steps: int64([steps], [1]),
      forced: int64(cells.map(([step, row]) => f.forced?.(step, row) ?? -1), [steps, batch]),
      temperature: float32(Float32Array.from(drawing(s => s.temperature)), [batch]),
      top_k: int64(drawing(s => s.topK), [batch]),
      top_p: float32(Float32Array.from(drawing(s => s.topP)), [batch]),
      uniforms: float32(
        Float32Array.from(cells, ([step, row]) => {
          const { sampling, sequence } = draw(row);
          return sampling.temperature > 0 ? uniform(sampling.samplingSeed, sequence + step) : 0;
        }),
        [steps, batch],
      ),
    }; // prettier-ignore
    const shape = [batch, past.positions, headDim];
    for (let i = 0; i < layers; i++) {
      feeds[`past_k_${i}`] = float32(past.k[i] as Float32Array, shape);
      feeds[`past_v_${i}`] = float32(past.v[i] as Float32Array, shape);
    }
    const fetches = ['chosen', 'top_logits', 'top_ids', 'log_sum_exp', ...kvNames('new', layers)];
    const out = await this.#run('decode', feeds, fetches);
    const chosen = out['chosen']?.data as BigInt64Array;
    return {
      chosen: rowsOf(steps, step => Array.from(chosen.subarray(step * batch, (step + 1) * batch), Number)),
      next: candidates(out, steps, batch, this.manifest.topK),
      kv: newKv(out, layers),
    };
  }

  #run(
    graph: CudaGraph,
    feeds: Record<string, ort.Tensor>,
    fetches: string[],
  ): Promise<ort.InferenceSession.ReturnType> {
    const session = this.#graphs[graph];
    if (!session) throw new OxygenError('INTERNAL', `the ${graph} graph was not loaded`);
    return runSession(graph, session, feeds, fetches);
  }

  /** [steps, 2L+1, 3W], computed at first use of a step count. */
  modulations(steps: number): Float32Array {
    let table = this.#modulations.get(steps);
    if (!table) {
      table = modulationTable(this.manifest.model, name => this.#host.read(name), steps);
      this.#modulations.set(steps, table);
    }
    return table;
  }
}

const rowsOf = <T>(length: number, row: (i: number) => T): T[] => Array.from({ length }, (_, i) => row(i));

const kvNames = (which: string, layers: number): string[] =>
  rowsOf(layers, i => [`${which}_k_${i}`, `${which}_v_${i}`]).flat();

const newKv = (out: ort.InferenceSession.ReturnType, layers: number): NewKv => ({
  k: rowsOf(layers, i => floats(out[`new_k_${i}`])),
  v: rowsOf(layers, i => floats(out[`new_v_${i}`])),
});

/** [step][row] of `top_logits` and `top_ids` [steps, batch, topK] and `log_sum_exp` [steps, batch]. */
function candidates(
  out: ort.InferenceSession.ReturnType,
  steps: number,
  batch: number,
  topK: number,
): Candidates[][] {
  const ids = out['top_ids']?.data as BigInt64Array;
  const logits = floats(out['top_logits']);
  const sums = floats(out['log_sum_exp']);
  return rowsOf(steps, step =>
    rowsOf(batch, row => {
      const at = step * batch + row;
      return {
        ids: Array.from(ids.subarray(at * topK, (at + 1) * topK), Number),
        logits: logits.subarray(at * topK, (at + 1) * topK),
        logSumExp: sums[at] as number,
      };
    }),
  );
}
