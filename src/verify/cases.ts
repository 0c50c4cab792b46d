/** Computes, with the engine, every number of a golden folder that belongs to one frame: prefix, actions, language. */
import type { Attention, GoldenFolder } from './golden';
import { join } from './join';
import type { Numbers, Subject } from './subject';

const INPUTS = 'goldens_jax.safetensors';
const CONTINUATIONS = 'goldens_continuation.safetensors';

/** Computed numbers by canonical key. */
export type Computed = Map<string, Numbers>;

/** One frame of a golden folder. */
export interface GoldenFrame {
  readonly name: string;
  readonly prompt: number;
  readonly cameras: readonly string[];
  readonly images: Uint8Array;
  readonly promptIds: readonly number[];
}

/** Whether the engine's weights are rounded ones of the folder's checkpoint. */
export const isRounded = ({ manifest }: Pick<Subject, 'manifest'>, golden: GoldenFolder): boolean =>
  manifest.precision !== 'fp32' || golden.bf16Copy;

/** All frames that the folder's keys speak of, each with both attentions. */
export async function computeFrames(
  subject: Subject,
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
      subject,
      golden,
      goldenFrame(subject, golden, name, Number(prompt)),
      attention,
      parts,
      computed,
    );
  }
}

export function goldenFrame(
  subject: Pick<Subject, 'manifest'>,
  golden: GoldenFolder,
  name: string,
  prompt: number,
): GoldenFrame {
  const slots = subject.manifest.model.cameraSlots;
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
  subject: Subject,
  golden: GoldenFolder,
  frame: GoldenFrame,
  attention: Attention,
  parts: ReadonlySet<string>,
  computed: Computed,
): Promise<void> {
  const key = `${frame.name}.p${frame.prompt}.${attention}`;
  const set = (part: string, values: ArrayLike<number> | null) => {
    if (values) computed.set(`${key}.${part}`, values);
  };
  for (const part of parts) {
    const slot = /^image_emb\.(.+)$/.exec(part)?.[1];
    // Also of cameras that the frame masks: the goldens hold them, the engine would leave them out.
    if (slot) set(part, await subject.imageTokens(golden.bytes(INPUTS, `${frame.name}.image_u8.${slot}`)));
  }
  set('prompt_emb', subject.promptEmbedding(frame.promptIds));

  const prefix = await subject.prefix(frame, attention === 'causal');
  set('prefix_k', join(prefix.kv.k));
  set('prefix_v', join(prefix.kv.v));

  const noise = golden.floats(INPUTS, 'noise');
  const chunk = await prefix.actions(noise, subject.manifest.model.denoiseSteps);
  set('actions', chunk?.actions ?? null);
  set('v_t', chunk?.v ?? null);
  set('x_t', chunk?.x ?? null);
  for (const part of parts) {
    const steps = /^actions_ns(\d+)$/.exec(part)?.[1];
    if (steps) set(part, (await prefix.actions(noise, Number(steps)))?.actions ?? null);
  }
  const fed = (text: readonly number[]) => (isRounded(subject, golden) ? text : []);
  const text = goldenTokens(golden, key);
  if (text.length > 0) {
    const { tokens, logits } = await prefix.text([], text.length, fed(text));
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
    const { tokens, logits } = await prefix.text(ids, length, fed(continuation));
    computed.set(`${key}.cont${n}.tokens`, tokens);
    computed.set(`${key}.cont${n}.logits`, logits);
  }
}

/** The longest golden text of a frame. */
function goldenTokens(golden: GoldenFolder, key: string): number[] {
  const texts = golden.tensors
    .filter(t => t.meaning.kind === 'lang.tokens' && t.meaning.key === `${key}.lang.tokens`)
    .map(t => golden.ints(t.file, t.name));
  return texts.reduce((longest, text) => (text.length > longest.length ? text : longest), []);
}
