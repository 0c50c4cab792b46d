/** Computes, with the engine, every number of a golden folder that belongs to one frame: prefix, actions, language. */
import type { KvCache } from '../core/kv-cache';
import { OxygenError } from '../core/errors';
import { prefixCache } from '../engine/deployment';
import type { LanguageResult, ModelSessions } from '../engine/model-sessions';
import { denoise, firstOf, runDecode, runPrefill, runSeed } from '../engine/onnx-executor';
import type { Attention, GoldenFolder } from './golden';

const INPUTS = 'goldens_jax.safetensors';
const CONTINUATIONS = 'goldens_continuation.safetensors';

/** Positions per row after the prefix: room for the longest continuation of a golden folder. */
export const SPARE_POSITIONS = 64;

/** Computed numbers by canonical key. */
export type Computed = Map<string, ArrayLike<number>>;

/** One frame of a golden folder. */
export interface GoldenFrame {
  readonly name: string;
  readonly prompt: number;
  readonly cameras: readonly string[];
  readonly images: Uint8Array;
  readonly promptIds: readonly number[];
}

/** Whether the engine's weights are rounded ones of the folder's checkpoint. */
export const isRounded = (sessions: ModelSessions, golden: GoldenFolder): boolean =>
  sessions.manifest.precision === 'int8' || golden.bf16Copy;

/** All frames that the folder's keys speak of, each with both attentions. */
export async function computeFrames(
  sessions: ModelSessions,
  golden: GoldenFolder,
  computed: Computed,
): Promise<void> {
  const wanted = new Map<string, Set<string>>();
  for (const { meaning } of golden.tensors) {
    const m =
      meaning.kind === 'skip' ? null : /^(\w+)\.p(\d+)\.(causal|bidirectional)\.(.+)$/.exec(meaning.key);
    if (!m) continue;
    const frame = `${m[1]}/${m[2]}/${m[3]}`;
    wanted.set(frame, (wanted.get(frame) ?? new Set()).add(m[4] as string));
  }
  for (const [frame, parts] of wanted) {
    const [name, prompt, attention] = frame.split('/') as [string, string, Attention];
    await computeFrame(
      sessions,
      golden,
      goldenFrame(sessions, golden, name, Number(prompt)),
      attention,
      parts,
      computed,
    );
  }
}

export function goldenFrame(
  sessions: ModelSessions,
  golden: GoldenFolder,
  name: string,
  prompt: number,
): GoldenFrame {
  const slots = sessions.manifest.model.cameraSlots;
  const mask = golden.ints(INPUTS, `${name}.image_mask`);
  const cameras = slots.filter((_, i) => mask[i] === 1);
  const promptMask = golden.ints(INPUTS, `prompt.${prompt}.mask`);
  return {
    name,
    prompt,
    cameras,
    images: Buffer.concat(cameras.map(slot => golden.bytes(INPUTS, `${name}.image_u8.${slot}`))),
    promptIds: golden.ints(INPUTS, `prompt.${prompt}.ids`).filter((_, i) => promptMask[i] === 1),
  };
}

async function computeFrame(
  sessions: ModelSessions,
  golden: GoldenFolder,
  frame: GoldenFrame,
  attention: Attention,
  parts: ReadonlySet<string>,
  computed: Computed,
): Promise<void> {
  const key = `${frame.name}.p${frame.prompt}.${attention}`;
  const { model } = sessions.manifest;
  for (const part of parts) {
    const slot = /^image_emb\.(.+)$/.exec(part)?.[1];
    // Also of cameras that the frame masks: the goldens hold them, the engine would leave them out.
    if (slot)
      computed.set(
        `${key}.${part}`,
        await sessions.vision(golden.bytes(INPUTS, `${frame.name}.image_u8.${slot}`), 1),
      );
  }
  computed.set(`${key}.prompt_emb`, sessions.host.embed(frame.promptIds));

  const prefix = await runPrefill(sessions, frame, attention === 'causal', true);
  computed.set(`${key}.prefix_k`, join(prefix.kv.k));
  computed.set(`${key}.prefix_v`, join(prefix.kv.v));
  const cache = prefixCache(sessions, prefix, 1, SPARE_POSITIONS);

  const noise = golden.floats(INPUTS, 'noise');
  const vs: Float32Array[] = [];
  const xs: Float32Array[] = [];
  const actions = await denoise(sessions, noise, model.denoiseSteps, cache.prefixView(), (v, x) => {
    vs.push(v);
    xs.push(x);
  });
  computed.set(`${key}.actions`, actions);
  computed.set(`${key}.v_t`, join(vs));
  computed.set(`${key}.x_t`, join(xs));
  for (const part of parts) {
    const steps = /^actions_ns(\d+)$/.exec(part)?.[1];
    if (steps)
      computed.set(`${key}.${part}`, await denoise(sessions, noise, Number(steps), cache.prefixView()));
  }

  // an exact engine must find the golden tokens by itself
  const fed = (text: readonly number[]) => (isRounded(sessions, golden) ? text : []);
  const text = goldenTokens(golden, key);
  if (text.length > 0) {
    const { tokens, logits } = await generate(sessions, cache, prefix, [], text.length, fed(text));
    computed.set(`${key}.lang.tokens`, tokens);
    computed.set(`${key}.lang.logits`, logits);
  }
  for (const part of parts) {
    const n = /^cont(\d+)\.tokens$/.exec(part)?.[1];
    if (!n) continue;
    const name = `${key.replace('bidirectional', 'bidir')}.cont${n}`;
    const ids = golden.ints(CONTINUATIONS, `${name}.seed`);
    const continuation = golden.ints(CONTINUATIONS, `${name}.tokens`);
    const { length } = continuation;
    const { tokens, logits } = await generate(sessions, cache, prefix, ids, length, fed(continuation));
    computed.set(`${key}.cont${n}.tokens`, tokens);
    computed.set(`${key}.cont${n}.logits`, logits);
  }
}

export interface Generated {
  /** The best token of each step. */
  readonly tokens: number[];
  /** [steps + 1, vocab]: of the last given token, then after each generated one. */
  readonly logits: Float32Array;
}

/**
 * Greedy tokens after the cache's prefix and a causal seed, which may be empty. The prefix must have full logits. Where
 * `fed` has a token, it is fed instead of the best one: a rounded engine is compared step by step.
 */
export async function generate(
  sessions: ModelSessions,
  cache: KvCache,
  prefix: LanguageResult,
  seedIds: readonly number[],
  steps: number,
  fed: readonly number[] = [],
): Promise<Generated> {
  const id = 'text';
  cache.attach(id, cache.shape.capacity);
  let given = prefix;
  if (seedIds.length > 0) {
    given = await runSeed(sessions, seedIds, cache.rowView(id), true);
    cache.append(id, given.kv, 0, seedIds.length);
  }
  const tokens = [firstOf(given.next).ids[0] as number];
  const logits = [given.logits as Float32Array];
  for (let s = 0; s < steps; s++) {
    const lengths = cache.batch().map(r => r.length);
    const step = await runDecode(
      sessions,
      [fed[s] ?? (tokens[s] as number)],
      lengths,
      cache.batchView(),
      true,
    );
    cache.append(id, step.kv, 0, 1);
    logits.push(step.logits as Float32Array);
    if (tokens.length < steps) tokens.push(firstOf(step.next).ids[0] as number);
  }
  cache.release(id);
  return { tokens, logits: join(logits) };
}

/** The longest golden text of a frame. */
function goldenTokens(golden: GoldenFolder, key: string): number[] {
  const texts = golden.tensors
    .filter(t => t.meaning.kind === 'lang.tokens' && t.meaning.key === `${key}.lang.tokens`)
    .map(t => golden.ints(t.file, t.name));
  return texts.reduce((longest, text) => (text.length > longest.length ? text : longest), []);
}

export function join(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  if (all.length === 0) throw new OxygenError('INTERNAL', 'a run returned nothing');
  return all;
}
