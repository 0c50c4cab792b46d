/**
 * How large the float16 values of an engine for NVIDIA become, as the CPU computes them: from copies of its graphs that also give
 * Max |x| (see builder/range-graph.ts). A CPU computes float16 in float32, so an overflow shows nowhere else.
 */
import * as ort from 'onnxruntime-node';
import { frameNoise } from '../core/noise';
import type { KvView } from '../core/ports';
import { readManifest, type Manifest } from '../model/manifest';
import { RANGE_PREFIX, rangesGraph } from '../model/ranges';
import { TENSORRT_GRAPHS, type TensorRtGraph } from '../model/tensorrt-engine';
import { decodeFeeds, frameFeeds } from './cuda-feeds';
import { pastFeeds, type Feeds } from './feeds';
import { HostTensors } from './host-tensors';
import { modulationTable } from './modulations';
import { newKv } from './outputs';
import { sessionOptions } from './session-options';
import { floats, openSessions, runSession } from './session-run';

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
    const frame = await runSession(GRAPHS[0], sessions[GRAPHS[0]], noisyFrame(manifest, host), [
      ...sessions[GRAPHS[0]].outputNames,
    ]);
    const feeds = rowAfter(manifest, frame);
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
    const { noise, modulations: table, ...rest } = noisyFrame(manifest, host);
    const prefill = await run('prefill', { ...rest, ...narrowed(rest, ['prompt_ids', 'causal_from']) });
    const past = pastFeeds(manifest, pastOf(manifest, prefill));
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
function pastOf({ model }: Manifest, results: Results): KvView {
  const { layers, headDim } = model.language;
  const kv = newKv(results, layers);
  return { batch: 1, positions: (kv.k[0] as Float32Array).length / headDim, ...kv };
}

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

/** Noise pictures of all cameras, and made-up tokens after the begin token. */
function noisyFrame({ model, special }: Manifest, host: HostTensors): Feeds {
  const { imageHeight, imageWidth } = model.vision;
  const pixels = model.cameraSlots.length * imageHeight * imageWidth * 3;
  const length = model.maxPromptTokens;
  const frame = {
    images: Uint8Array.from({ length: pixels }, (_, i) => Math.imul(i, STEP) >>> 24),
    cameras: model.cameraSlots,
    promptIds: Array.from({ length }, (_, i) =>
      i === 0 ? special.begin : (i * STEP) % model.language.vocab,
    ),
    causal: false,
    noise: frameNoise(0n, 0n, model.horizon * model.actionDim),
    steps: model.denoiseSteps,
  };
  return frameFeeds(
    { model },
    frame,
    modulationTable(model, name => host.read(name), frame.steps),
  );
}

/** One greedy row after the frame. */
function rowAfter(manifest: Manifest, frame: Results): Feeds {
  const first = Number((frame['top_ids']?.data as BigInt64Array)[0]);
  const past = pastOf(manifest, frame);
  return decodeFeeds(manifest, { tokens: [first], lengths: [past.positions], past, steps: DECODE_STEPS });
}
