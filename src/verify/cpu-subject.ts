/** The three graphs of an engine for the CPU, which give all numbers. */
import { prefixCache } from '../engine/deployment';
import type { LanguageResult, ModelSessions } from '../engine/model-sessions';
import { denoise, firstOf, OnnxExecutor, runDecode, runPrefill, runSeed } from '../engine/onnx-executor';
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
  const id = 'text';
  const text: Prefix['text'] = async (seedIds, steps, fed = []) => {
    cache.attach(id, cache.shape.capacity);
    let given: Pick<LanguageResult, 'next' | 'logits'> = prefix;
    if (seedIds.length > 0) {
      const seed = await runSeed(sessions, seedIds, cache.rowView(id), true);
      cache.append(id, seed.kv, 0, seedIds.length);
      given = seed;
    }
    const tokens = [firstOf(given.next).ids[0] as number];
    const logits = [given.logits as Float32Array];
    for (let s = 0; s < steps; s++) {
      const past = cache.batchView();
      const token = fed[s] ?? (tokens[s] as number);
      const step = await runDecode(sessions, [token], [past.positions], past, true);
      cache.append(id, step.kv, 0, 1);
      logits.push(step.logits as Float32Array);
      if (tokens.length < steps) tokens.push(firstOf(step.next).ids[0] as number);
    }
    cache.release(id);
    return { tokens, logits: join(logits) };
  };
  return {
    kv: prefix.kv,
    length: prefix.length,
    actions: async (noise, steps) => {
      if (steps < 1) return null;
      const [vs, xs]: [Float32Array[], Float32Array[]] = [[], []];
      const actions = await denoise(sessions, noise, steps, cache.prefixView(), (v, x) => {
        vs.push(v);
        xs.push(x);
      });
      return { actions, v: join(vs), x: join(xs) };
    },
    text,
  };
}
