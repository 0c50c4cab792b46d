/** A golden folder: numbers of independent implementations, and what each tensor of it means. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SafetensorsFile } from '../builder/safetensors';
import { OxygenError } from '../core/errors';

/** Kinds of numbers that are compared; everything else in a folder is input or unit-test material. */
export const COMPARED_KINDS = [
  'image_emb', 'prompt_emb', 'prefix_k', 'prefix_v', 'actions', 'actions_ns', 'actions_unnormalized', 'v_t', 'x_t',
  'lang.logits', 'lang.tokens', 'cont.logits', 'cont.tokens',
] as const; // prettier-ignore
export type ComparedKind = (typeof COMPARED_KINDS)[number];

export type Attention = 'causal' | 'bidirectional';

/** What a golden tensor is: compared, or left out for a reason that is printed. */
export type Meaning =
  { readonly kind: ComparedKind; readonly key: string } | { readonly kind: 'skip'; readonly reason: string };

const INPUTS =
  /(^noise$|^prompt\.\d+\.|\.image_mask$|\.image_u8\.|\.prefix_mask$|\.prefix_positions$|\.seed$)/;
const UNIT_MATERIAL =
  /\.(suffix_positions|positions|time|time_emb|adarms_cond|prefix_attn_mask|hidden|prefix_out)$/;

const BF16_WEIGHTS = 'bf16w.';

/**
 * The canonical key of a golden tensor: `case.pN.attention.kind...`. Names without an attention are the published
 * implementation's causal ones; `lang_fixed` is the intended language path of frames with a missing camera.
 * `bf16w.*` are numbers of the checkpoint's bfloat16 copy: compared, under the same keys, when `bf16Copy`.
 */
export function meaningOf(fullName: string, bf16Copy: boolean): Meaning {
  const ofCopy = fullName.startsWith(BF16_WEIGHTS);
  if (ofCopy && !bf16Copy) return { kind: 'skip', reason: 'for engines built from bf16 weights' };
  const name = ofCopy ? fullName.slice(BF16_WEIGHTS.length) : fullName;
  if (INPUTS.test(name)) return { kind: 'skip', reason: 'input' };
  if (name.includes('.lang_asis.')) return { kind: 'skip', reason: 'a recorded defect of the reference' };
  if (UNIT_MATERIAL.test(name)) return { kind: 'skip', reason: 'intermediate value, not an engine output' };
  const request = /^actions\.req_(\d+)$/.exec(name);
  if (request) return { kind: 'actions', key: `batched.${request[1]}.actions` };
  const whole = /^(c\d+)\.(actions|actions_unnormalized)$/.exec(name);
  if (whole) return { kind: whole[2] as ComparedKind, key: `whole.${name}` };
  const m = /^(\w+)\.p(\d+)\.(?:(causal|bidir)\.)?(.+)$/.exec(name);
  if (!m) return { kind: 'skip', reason: 'unknown name' };
  const attention: Attention = m[3] === 'bidir' ? 'bidirectional' : 'causal';
  const rest = (m[4] as string).replace('lang_fixed', 'lang');
  const kind = COMPARED_KINDS.find(
    k =>
      rest
        .replace(/^cont\d+/, 'cont')
        .replace(/^(actions_ns)\d+$/, '$1')
        .replace(/^(image_emb)\..*$/, '$1') === k,
  );
  if (!kind) return { kind: 'skip', reason: 'unknown name' };
  return { kind, key: `${m[1]}.p${m[2]}.${attention}.${rest}` };
}

export interface GoldenTensor {
  readonly file: string;
  readonly name: string;
  readonly meaning: Meaning;
}

export class GoldenFolder {
  readonly dir: string;
  readonly tensors: readonly GoldenTensor[];
  /** The engine was built from a bfloat16 copy of the checkpoint that the folder is about. */
  readonly bf16Copy: boolean;
  readonly #files = new Map<string, SafetensorsFile>();

  /** `sourceDtype`: element types of the checkpoint that the engine was built from. */
  constructor(dir: string, sourceDtype: string) {
    this.dir = dir;
    if (!existsSync(dir)) throw new OxygenError('GOLDEN_NOT_FOUND', `no golden folder at ${dir}`);
    const names = readdirSync(dir)
      .filter(f => /^(goldens_|batched_|whole_path).*\.safetensors$/.test(f))
      .sort();
    if (!names.includes('goldens_jax.safetensors')) {
      throw new OxygenError(
        'GOLDEN_NOT_FOUND',
        `${dir} holds no goldens_jax.safetensors, which has the inputs (images, prompts, noise)`,
      );
    }
    let found: { readonly file: string; readonly name: string }[];
    try {
      found = names.flatMap(file => Array.from(this.#file(file).tensors.keys(), name => ({ file, name })));
    } catch (error) {
      this.close();
      throw error;
    }
    // A folder that has numbers of a bfloat16 copy made its others from the float32 checkpoint.
    this.bf16Copy = sourceDtype === 'BF16' && found.some(({ name }) => name.startsWith(BF16_WEIGHTS));
    this.tensors = found.map(t => ({ ...t, meaning: meaningOf(t.name, this.bf16Copy) }));
  }

  close(): void {
    for (const file of this.#files.values()) file.close();
  }

  floats(file: string, name: string): Float32Array {
    return this.#file(file).readFloat32(name);
  }

  ints(file: string, name: string): number[] {
    return this.#file(file).readInts(name);
  }

  bytes(file: string, name: string): Uint8Array {
    return this.#file(file).readBytes(name);
  }

  shape(file: string, name: string): readonly number[] {
    return this.#file(file).info(name).shape;
  }

  /** Golden numbers as float64 or token ids as they are. */
  values(file: string, name: string): Float64Array {
    const { dtype } = this.#file(file).info(name);
    if (dtype === 'F64') return new Float64Array(this.bytes(file, name).buffer);
    return Float64Array.from(
      dtype.startsWith('F') || dtype === 'BF16' ? this.floats(file, name) : this.ints(file, name),
    );
  }

  json<T>(file: string): T | null {
    const path = join(this.dir, file);
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as T) : null;
  }

  #file(name: string): SafetensorsFile {
    const file = this.#files.get(name);
    if (file) return file;
    const path = join(this.dir, name);
    if (!existsSync(path)) throw new OxygenError('GOLDEN_NOT_FOUND', `${this.dir} holds no ${name}`);
    const opened = new SafetensorsFile(path);
    this.#files.set(name, opened);
    return opened;
  }
}
