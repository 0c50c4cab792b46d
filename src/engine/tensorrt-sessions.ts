/**
 * The two graphs of an engine for TensorRT as ONNX Runtime sessions, with their tensors. On a GPU they are engine files
 * in wrapper models, on the CPU the graphs that those were made of, for checks.
 */
import * as ort from 'onnxruntime-node';
import { OxygenError } from '../core/errors';
import type { Candidates, KvView, PrefillResult } from '../core/ports';
import type { Frame } from '../core/types';
import { imageTokens, longestPrefix } from '../model/config';
import { readManifest, type Manifest } from '../model/manifest';
import { TENSORRT_GRAPHS, type TensorRtGraph } from '../model/tensorrt-engine';
import { denoiseFeeds, pastFeeds } from './feeds';
import { HostTensors } from './host-tensors';
import { modulationTable } from './modulations';
import { CANDIDATE_NAMES, candidates, kvNames, newKv } from './outputs';
import { sessionOptions, type Pool } from './session-options';
import { floats, openSessions, runSession } from './session-run';
import { tensorRtEngines, tensorRtMachine, type TensorRtMachine } from './tensorrt-key';

type Sessions = Readonly<Record<TensorRtGraph, ort.InferenceSession>>;

/** Where the sessions come from: engine files of this machine, or the graphs themselves. */
export type TensorRtSource =
  { readonly on: 'tensorrt'; readonly machine?: TensorRtMachine } | { readonly on: 'cpu' };

export class TensorRtSessions {
  readonly manifest: Manifest;
  readonly #host: HostTensors;
  readonly #sessions: Sessions;
  readonly #modulations: Float32Array;

  private constructor(manifest: Manifest, host: HostTensors, sessions: Sessions) {
    this.manifest = manifest;
    this.#host = host;
    this.#sessions = sessions;
    const { model } = manifest;
    this.#modulations = modulationTable(model, name => host.read(name), model.denoiseSteps);
  }

  /** Throws ENGINE_*, RUNTIME_VERSION, or PROVIDER_MISSING where the engine files cannot be loaded. */
  static async load(
    dir: string,
    pool: Pool,
    source: TensorRtSource,
    manifest = readManifest(dir),
  ): Promise<TensorRtSessions> {
    const models =
      source.on === 'cpu' ? dir : tensorRtEngines(dir, manifest, source.machine ?? tensorRtMachine());
    return TensorRtSessions.open(models, manifest, new HostTensors(dir, manifest), pool, source.on);
  }

  /** `models`: the folder of prefill.onnx and denoise.onnx. */
  static async open(
    models: string,
    manifest: Manifest,
    host: HostTensors,
    pool: Pool,
    on: TensorRtSource['on'],
  ): Promise<TensorRtSessions> {
    let sessions: Sessions | null = null;
    try {
      sessions = await openModels(models, pool, on);
      return new TensorRtSessions(manifest, host, sessions);
    } catch (error) {
      await releaseAll(host, sessions);
      throw error;
    }
  }

  release(): Promise<void> {
    return releaseAll(this.#host, this.#sessions);
  }

  /** Vision and root prefix. `fullLogits`: [vocab] of the last position as well. */
  async prefill(
    f: Pick<Frame, 'cameras' | 'images' | 'promptIds'>,
    causal: boolean,
    fullLogits = false,
  ): Promise<PrefillResult & { readonly logits: Float32Array | null }> {
    const { model } = this.manifest;
    const { layers } = model.language;
    const { imageHeight, imageWidth } = model.vision;
    const imageLength = f.cameras.length * imageTokens(model);
    const length = imageLength + f.promptIds.length;
    const feeds = {
      images: new ort.Tensor('uint8', f.images, [f.cameras.length, imageHeight, imageWidth, 3]),
      prompt_ids: new ort.Tensor('int32', Int32Array.from(f.promptIds), [1, f.promptIds.length]),
      causal_from: new ort.Tensor('int32', Int32Array.of(causal ? imageLength : length), [1]),
    };
    const fetches = [...CANDIDATE_NAMES, ...kvNames(layers), ...(fullLogits ? ['logits'] : [])];
    const out = await runSession('prefill', this.#sessions.prefill, feeds, fetches);
    const [next] = candidates(out, 1, this.manifest.topK) as [Candidates];
    const logits = fullLogits ? floats(out['logits']) : null;
    return { kv: newKv(out, layers), length, next, logits };
  }

  /** All Euler steps from noise [H·A] over the prefix (batch 1) → [H·A] normalised actions. Throws CONFIG_INVALID. */
  async denoise(noise: Float32Array, prefix: KvView): Promise<Float32Array> {
    const { denoiseSteps } = this.manifest.model;
    const feeds = {
      ...denoiseFeeds(this.manifest, noise, this.#modulations, denoiseSteps),
      ...pastFeeds(this.manifest, prefix),
    };
    const { actions } = await runSession('denoise', this.#sessions.denoise, feeds, ['actions']);
    return floats(actions);
  }
}

/** ONNX Runtime cannot keep K and V on the device between runs, so every frame hands them over through this process. */
export interface KvHandOver {
  /** Of the longest prefix, float32: down after the prefill, and as much up again for the denoiser. */
  readonly bytes: number;
  /** In one line for the log. */
  readonly text: string;
}

export function kvHandOver({ model }: Pick<Manifest, 'model'>, cameras: number): KvHandOver {
  const positions = longestPrefix(model, cameras);
  const { layers, headDim } = model.language;
  const bytes = 2 * layers * positions * headDim * Float32Array.BYTES_PER_ELEMENT;
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  const text =
    `KV of a prefix of up to ${positions} positions: ${size} from the prefill to the host in each frame, ` +
    `${size} up to the denoiser, and a row's part of the cache up to each decode burst`;
  return { bytes, text };
}

async function openModels(models: string, pool: Pool, on: TensorRtSource['on']): Promise<Sessions> {
  if (on === 'cpu') return openSessions(models, TENSORRT_GRAPHS, sessionOptions(pool, on));
  try {
    // a wrapper has nothing that could be optimised
    const options = { ...sessionOptions(pool, on), graphOptimizationLevel: 'disabled' } as const;
    return await openSessions(models, TENSORRT_GRAPHS, options);
  } catch (error) {
    throw wrapperError(models, error);
  }
}

async function releaseAll(host: HostTensors, sessions: Sessions | null): Promise<void> {
  host.close();
  for (const session of Object.values(sessions ?? {})) await session.release();
}

/** What ONNX Runtime says when its TensorRT provider is not there, or did not take the wrapper. */
const NO_PROVIDER = /failed to load shared library|EPContext/i;

function wrapperError(models: string, error: unknown): unknown {
  if (!(error instanceof OxygenError) || error.code !== 'ENGINE_INVALID') return error;
  const said = error.cause instanceof Error ? error.cause.message : error.message;
  const [why, cure] = NO_PROVIDER.test(said)
    ? [
        'ONNX Runtime has no TensorRT provider here, and nothing else reads engine files',
        'install the provider and TensorRT 10 (see docs/nvidia.md; `oxygen doctor` checks each library)',
      ]
    : [
        said.split('\n')[0],
        'if TensorRT, the driver or the GPU changed, run build.sh of the engine folder again',
      ];
  // no cause: the ladder takes the words of one for the reason, and the cure would be lost
  const message = `the TensorRT engines in ${models} cannot be loaded: ${why}; ${cure}`;
  return new OxygenError('PROVIDER_MISSING', message);
}
