/** The three graphs of an engine for the CPU, which give all numbers. */
import { prefixCache } from '../engine/deployment';
import type { ModelSessions } from '../engine/model-sessions';
import { denoise, OnnxExecutor, runDecode, runPrefill, runSeed } from '../engine/onnx-executor';
import { generate, type Steps } from './generate';
import { join } from './join';
import { SPARE_POSITIONS, type FrameInput, type Prefix, type Subject } from './subject';

export const cpuSubject = (sessions: ModelSessions): Subject => ({
  manifest: sessions.manifest,
  notGiven: new Map(),
  imageTokens: images => sessions.vision(images, images.length / pictureBytes(sessions)),
  promptEmbedding: ids => sessions.host.embed(ids),
  prefix: (frame, causal) => prefixOf(sessions, frame, causal),
  executor: (options, costs) => new OnnxExecutor(sessions, options, costs),
});

const pictureBytes = ({ manifest: { model } }: ModelSessions): number =>
  model.vision.imageHeight * model.vision.imageWidth * 3;

async function prefixOf(sessions: ModelSessions, frame: FrameInput, causal: boolean): Promise<Prefix> {
  const prefix = await runPrefill(sessions, frame, causal, true);
  const cache = prefixCache(sessions, prefix, 1, SPARE_POSITIONS);
  const run: Steps = {
    seed: (ids, past) => runSeed(sessions, ids, past, true),
    decode: (token, length, past) => runDecode(sessions, [token], [length], past, true),
  };
  return {
    kv: prefix.kv,
    length: prefix.length,
    actions: async (noise, steps) => {
      const [vs, xs]: [Float32Array[], Float32Array[]] = [[], []];
      const actions = await denoise(sessions, noise, steps, cache.prefixView(), (v, x) => {
        vs.push(v);
        xs.push(x);
      });
      return { actions, v: join(vs), x: join(xs) };
    },
    text: (seedIds, steps, fed = []) => generate(run, cache, prefix, seedIds, steps, fed),
  };
}
