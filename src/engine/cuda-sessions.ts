/**
 * The two graphs of an engine for CUDA as ONNX Runtime sessions, with their tensors: frame.onnx goes from pictures to
 * actions in one run, decode.onnx does several decode steps in one run. On the CPU they give the same, slowly: for checks.
 */
import type * as ort from 'onnxruntime-node';
import { OxygenError } from '../core/errors';
import type { Candidates, NewKv } from '../core/ports';
import { readManifest, TARGET_GRAPHS, type Manifest } from '../model/manifest';
import type { BurstResult } from './burst';
import { decodeFeeds, frameFeeds, prefixLength, type DecodeFeeds, type FrameFeeds } from './cuda-feeds';
import type { Feeds } from './feeds';
import { HostTensors } from './host-tensors';
import { modulationTable } from './modulations';
import { CANDIDATE_NAMES, candidates, kvNames, newKv } from './outputs';
import type { Provider } from './providers';
import { sessionOptions } from './session-options';
import { floats, openSessions, runSession } from './session-run';

export interface FrameResult {
  readonly kv: NewKv;
  /** Tokens of the root prefix. */
  readonly length: number;
  readonly next: Candidates;
  /** [H·A], normalised. */
  readonly actions: Float32Array;
}

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
   * `provider`: cuda, or cpu for checks. `graphs`: those that will be run; the others take no memory. `manifest`: where
   * it was read already. Throws ENGINE_* or RUNTIME_VERSION.
   */
  static async load(
    dir: string,
    threads: number,
    spinUs: number,
    provider: Provider,
    graphs: readonly CudaGraph[] = TARGET_GRAPHS.cuda,
    manifest = readManifest(dir),
  ): Promise<CudaSessions> {
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
    const { layers } = this.manifest.model.language;
    const feeds = frameFeeds(this.manifest, f, this.modulations(f.steps));
    const fetches = ['actions', ...CANDIDATE_NAMES, ...kvNames(layers)];
    const out = await this.#run('frame', feeds, fetches);
    const [next] = candidates(out, 1, this.manifest.topK) as [Candidates];
    const length = prefixLength(this.manifest, f);
    return { kv: newKv(out, layers), length, next, actions: floats(out['actions']) };
  }

  /** Up to `steps` decode steps of every row; a row that has ended is computed further and ignored by the caller. */
  async decode(f: DecodeFeeds): Promise<BurstResult> {
    const { layers } = this.manifest.model.language;
    const { steps } = f;
    const batch = f.tokens.length;
    const fetches = ['chosen', ...CANDIDATE_NAMES, ...kvNames(layers)];
    const out = await this.#run('decode', decodeFeeds(this.manifest, f), fetches);
    const chosen = out['chosen']?.data as BigInt64Array;
    const next = candidates(out, steps * batch, this.manifest.topK);
    const rowsOf = <T>(of: (from: number, to: number) => T): T[] =>
      Array.from({ length: steps }, (_, step) => of(step * batch, (step + 1) * batch));
    return {
      chosen: rowsOf((from, to) => Array.from(chosen.subarray(from, to), Number)),
      next: rowsOf((from, to) => next.slice(from, to)),
      kv: newKv(out, layers),
    };
  }

  #run(graph: CudaGraph, feeds: Feeds, fetches: string[]): Promise<ort.InferenceSession.ReturnType> {
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
