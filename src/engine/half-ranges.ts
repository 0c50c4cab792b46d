/**
 * How large the float16 values of an engine for NVIDIA become, as the CPU computes them: from copies of its graphs that also give
 * Max |x| (see builder/range-graph.ts). A CPU computes float16 in float32, so an overflow shows nowhere else.
 */
import * as ort from 'onnxruntime-node';
import { frameNoise } from '../core/noise';
import { imageTokens } from '../model/config';
import { readManifest, type Manifest } from '../model/manifest';
import { RANGE_PREFIX, rangesGraph } from '../model/ranges';
import { TENSORRT_GRAPHS, type TensorRtGraph } from '../model/tensorrt-engine';
import { HostTensors } from './host-tensors';
import { modulations } from './modulations';
import { sessionOptions } from './session-options';
import { float32, floats, int64, openSessions, runSession } from './session-run';

export interface HalfRange {
  readonly graph: 'frame' | 'decode' | TensorRtGraph;
  /** Name of the value, and the last weight on the way to it. */
  readonly value: string;
  /** The largest magnitude; NaN when one is NaN. */
  readonly max: number;
}

const GRAPHS = [rangesGraph('frame'), rangesGraph('decode')] as const;
const DECODE_STEPS = 4;
const STEP = 2654435761;

/**
 * Of a frame of noise pictures and made-up tokens after the begin token, and of four decode steps from it; the largest
 * first. Throws ENGINE_INVALID where the folder has no such graphs.
 */
export async function halfRanges(dir: string, threads: number): Promise<HalfRange[]> {
  const manifest = readManifest(dir);
  const sessions = await openSessions(dir, GRAPHS, sessionOptions({ threads, spinUs: 0 }));
  const host = new HostTensors(dir, manifest);
  try {
    const frame = await runSession(GRAPHS[0], sessions[GRAPHS[0]], frameFeeds(manifest, host), [
      ...sessions[GRAPHS[0]].outputNames,
    ]);
    const feeds = decodeFeeds(manifest, frame);
    const decode = await runSession(GRAPHS[1], sessions[GRAPHS[1]], feeds, [
      ...sessions[GRAPHS[1]].outputNames,
    ]);
    const all = [...rangesOf('frame', frame), ...rangesOf('decode', decode)];
    if (manifest.target === 'tensorrt') all.push(...(await tensorRtRanges(dir, threads, manifest, host)));
    return all.sort((a, b) => (Number.isNaN(a.max) ? -1 : Number.isNaN(b.max) ? 1 : b.max - a.max));
  } finally {
    host.close();
    for (const session of Object.values(sessions)) await session.release();
  }
}

/** The same frame through the two graphs that TensorRT's engines are made of. */
async function tensorRtRanges(
  dir: string,
  threads: number,
  manifest: Manifest,
  host: HostTensors,
): Promise<HalfRange[]> {
  const graphs = TENSORRT_GRAPHS.map(rangesGraph);
  const sessions = await openSessions(dir, graphs, sessionOptions({ threads, spinUs: 0 }));
  const run = (graph: TensorRtGraph, feeds: Feeds) => {
    const session = sessions[rangesGraph(graph)];
    return runSession(graph, session, feeds, [...session.outputNames]);
  };
  try {
    const { noise, modulations: table, ...rest } = frameFeeds(manifest, host) as Record<string, ort.Tensor>;
    const prefill = await run('prefill', { ...rest, ...narrowed(rest, ['prompt_ids', 'causal_from']) });
    const past = pastFeeds(manifest, prefill);
    const denoise = await run('denoise', { noise, modulations: table, ...past } as Feeds);
    return [...rangesOf('prefill', prefill), ...rangesOf('denoise', denoise)];
  } finally {
    for (const session of Object.values(sessions)) await session.release();
  }
}

/** As int32. */
const narrowed = (feeds: Feeds, names: readonly string[]): Feeds =>
  Object.fromEntries(
    names.map(name => {
      const { data, dims } = feeds[name] as ort.Tensor;
      return [name, new ort.Tensor('int32', Int32Array.from(data as BigInt64Array, Number), dims)];
    }),
  );

/** Keys and values that a prefix gave, as those of the past. */
function pastFeeds({ model }: Manifest, results: Results): Feeds {
  const { layers, headDim } = model.language;
  const length = floats(results['new_k_0']).length / headDim;
  const names = Array.from({ length: layers }, (_, i) => [`k_${i}`, `v_${i}`]).flat();
  return Object.fromEntries(
    names.map(name => [`past_${name}`, float32(floats(results[`new_${name}`]), [1, length, headDim])]),
  );
}

type Feeds = Parameters<typeof runSession>[2];
type Results = Awaited<ReturnType<typeof runSession>>;

const rangesOf = (graph: HalfRange['graph'], results: Results): HalfRange[] =>
  Object.keys(results)
    .filter(name => name.startsWith(RANGE_PREFIX))
    .map(name => ({
      graph,
      value: name.slice(RANGE_PREFIX.length),
      // one for each turn of a loop
      max: floats(results[name]).reduce((a, b) => Math.max(a, b), 0),
    }));

function frameFeeds({ model, special }: Manifest, host: HostTensors): Feeds {
  const { imageHeight, imageWidth } = model.vision;
  const cameras = model.cameraSlots.length;
  const pixels = cameras * imageHeight * imageWidth * 3;
  const images = Uint8Array.from({ length: pixels }, (_, i) => Math.imul(i, STEP) >>> 24);
  const length = model.maxPromptTokens;
  const ids = Array.from({ length }, (_, i) => (i === 0 ? special.begin : (i * STEP) % model.language.vocab));
  const noise = frameNoise(0n, 0n, model.horizon * model.actionDim);
  const tables = modulations(model, name => host.read(name), model.denoiseSteps);
  const table = new Float32Array(tables.length * (tables[0]?.length ?? 0));
  for (const [step, values] of tables.entries()) table.set(values, step * values.length);
  const rows = 2 * model.language.layers + 1;
  return {
    images: new ort.Tensor('uint8', images, [cameras, imageHeight, imageWidth, 3]),
    prompt_ids: int64(ids, [1, length]),
    causal_from: int64([cameras * imageTokens(model) + length], [1]),
    noise: float32(noise, [1, model.horizon, model.actionDim]),
    modulations: float32(table, [tables.length, rows, 3 * model.expert.width]),
  };
}

/** One greedy row after the frame. */
function decodeFeeds(manifest: Manifest, frame: Results): Feeds {
  const { headDim } = manifest.model.language;
  const first = Number((frame['top_ids']?.data as BigInt64Array)[0]);
  const length = floats(frame['new_k_0']).length / headDim;
  const grid = [DECODE_STEPS, 1];
  const feeds: Feeds = {
    tokens: int64([first], [1]),
    lengths: int64([length], [1]),
    steps: int64([DECODE_STEPS], [1]),
    forced: int64(new Array<number>(DECODE_STEPS).fill(-1), grid),
    temperature: float32(new Float32Array(1), [1]),
    top_p: float32(new Float32Array(1).fill(1), [1]),
    top_k: int64([0], [1]),
    uniforms: float32(new Float32Array(DECODE_STEPS), grid),
  };
  return { ...feeds, ...pastFeeds(manifest, frame) };
}
