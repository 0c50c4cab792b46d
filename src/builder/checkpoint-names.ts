/** Which tensor of a file is which tensor of the model: the layouts in use, and everything that does not fit. */
import { OxygenError } from '../core/errors';
import type { ModelConfig } from '../model/config';
import { EMBEDDING_NAMES, EXPERT, LANGUAGE, tensorShapes, UNUSED_TENSORS, VISION } from '../model/tensors';
import type { Weights } from './checkpoint-files';
import { sizeContradictions } from './checkpoint-sizes';
import { FLOAT_DTYPES } from './safetensors-floats';
import { printable, shapeText, type TensorInfo } from './safetensors-header';

const PALIGEMMA = 'paligemma_with_expert.paligemma.';

/** Names of other layouts → openpi's, applied in this order. */
const RENAMES: readonly (readonly [from: RegExp, to: string])[] = [
  // lerobot: what PI05Policy saves; its pi05_base has openpi's names
  [/^model\./, ''],
  // transformers before 4.52 (also as an attribute path in older ports)
  [/^paligemma_with_expert\.paligemma\.language_model\.lm_head\./, `${PALIGEMMA}lm_head.`],
  [/^paligemma_with_expert\.paligemma\.language_model\.model\./, LANGUAGE],
  [/^paligemma_with_expert\.paligemma\.(vision_tower|multi_modal_projector)\./, `${PALIGEMMA}model.$1.`],
  // newer transformers, and ports on them: the vision tower without its inner model
  [/^paligemma_with_expert\.paligemma\.model\.vision_tower\.(?!vision_model\.)/, VISION],
];
/** pi0 gives these another meaning, so they are renamed only where the action expert is that of pi0.5. */
const PI05_RENAME: readonly [from: RegExp, to: string] = [/^action_time_mlp_/, 'time_mlp_'];

export interface Match {
  /** Name in the model → name in the file, for every tensor of the model. */
  readonly names: ReadonlyMap<string, string>;
  /** Tensors of the file that nothing uses. */
  readonly unused: readonly string[];
}

/** What does not fit, in words. */
interface Faults {
  readonly missing: string[];
  readonly unexpected: string[];
  /** Of another shape or type, or there twice. */
  readonly wrong: string[];
}

/** Throws CHECKPOINT_KEYS with everything that does not fit. */
export function matchTensors(config: ModelConfig, weights: Weights): Match {
  const found = new Map<string, string>();
  const faults: Faults = { missing: [], unexpected: [], wrong: [] };
  const pi0 = looksLikePi0(weights.tensors.keys());
  for (const name of weights.tensors.keys()) {
    const canonical = canonicalName(name, pi0);
    const other = found.get(canonical);
    if (other !== undefined)
      faults.wrong.push(`${printable(other)} and ${printable(name)} are the same tensor`);
    else found.set(canonical, name);
  }
  const tied = EMBEDDING_NAMES.find(name => found.has(name)) ?? EMBEDDING_NAMES[0];
  const names = new Map<string, string>();
  for (const [name, shape] of tensorShapes(config)) {
    const inFile = found.get(name === EMBEDDING_NAMES[0] ? tied : name);
    const info = inFile === undefined ? undefined : weights.tensors.get(inFile);
    if (inFile === undefined || !info) faults.missing.push(`${name} ${shapeText(shape)}`);
    else {
      faults.wrong.push(...tensorFaults(inFile, info, shape));
      names.set(name, inFile);
    }
  }
  const used = new Set([...names.values(), ...EMBEDDING_NAMES.map(n => found.get(n))]);
  const unused: string[] = [];
  for (const [canonical, name] of found) {
    if (used.has(name)) continue;
    if (!pi0 && (UNUSED_TENSORS as readonly string[]).includes(canonical)) unused.push(name);
    else faults.unexpected.push(printable(name));
  }
  if (Object.values(faults).flat().length > 0) throw keysError(config, weights, found, faults, pi0);
  refuseDifferentTables(weights, found);
  return { names, unused };
}

function canonicalName(name: string, pi0: boolean): string {
  const renames = pi0 ? RENAMES : [...RENAMES, PI05_RENAME];
  return renames.reduce((n, [from, to]) => n.replace(from, to), name);
}

/** pi0's action expert has plain norms, pi0.5's are modulated by time. */
function looksLikePi0(names: Iterable<string>): boolean {
  const norms = [...names].filter(n => n.includes(EXPERT) && n.includes('norm.'));
  return norms.length > 0 && norms.every(n => n.endsWith('norm.weight'));
}

function tensorFaults(name: string, { dtype, shape }: TensorInfo, wanted: readonly number[]): string[] {
  const faults: string[] = [];
  if (shape.join() !== wanted.join())
    faults.push(`${printable(name)} is ${shapeText(shape)}, expected ${shapeText(wanted)}`);
  if (!FLOAT_DTYPES.has(dtype))
    faults.push(`${printable(name)} is ${dtype}, expected floating-point numbers`);
  return faults;
}

function keysError(
  config: ModelConfig,
  { path, tensors }: Weights,
  found: ReadonlyMap<string, string>,
  { missing, unexpected, wrong }: Faults,
  pi0: boolean,
): OxygenError {
  const contradictions = sizeContradictions(config, name => {
    const inFile = found.get(name);
    return inFile === undefined ? undefined : tensors.get(inFile)?.shape;
  });
  const firstOf = (list: readonly string[]) => list.slice(0, 3).join(', ') + (list.length > 3 ? ', ...' : '');
  const shown = [
    missing.length > 0 && `${missing.length} missing ${firstOf(missing)}`,
    unexpected.length > 0 && `${unexpected.length} unexpected ${firstOf(unexpected)}`,
    wrong.length > 0 && `${wrong.length} wrong: ${firstOf(wrong)}`,
  ].filter(part => part !== false);
  const hints = [
    pi0 && 'It looks like a pi0 checkpoint; only pi0.5 is supported.',
    [...found.keys()].some(n => n.startsWith('proprio_history_proj.')) &&
      'It is a lerobot policy with observation memory, which is not supported.',
    [...found.keys()].some(n => /normalize_(inputs|targets|outputs)\./.test(n)) &&
      "It holds statistics as an old lerobot does; run lerobot's migrate_policy_normalization first.",
    contradictions.length > 0 && `config.json contradicts the weights: ${contradictions.join('; ')}.`,
  ].filter(h => h !== false);
  return new OxygenError(
    'CHECKPOINT_KEYS',
    [`${path} (${tensors.size} tensors) does not fit: ${shown.join('; ')}.`, ...hints].join(' '),
    { details: { missing, unexpected, wrong, contradictions } },
  );
}

/** Values compared at a time. */
const CHUNK = 1 << 20;

/** The two names of the embedding table, when both are there, must hold the same numbers. */
function refuseDifferentTables(weights: Weights, found: ReadonlyMap<string, string>): void {
  const [head, embedding] = EMBEDDING_NAMES.map(name => found.get(name));
  if (head === undefined || embedding === undefined) return;
  const shape = weights.tensors.get(head)?.shape ?? [];
  const other = weights.tensors.get(embedding)?.shape ?? [];
  const differ = (where: string) =>
    new OxygenError(
      'CHECKPOINT_KEYS',
      `${weights.path}: ${head} and ${embedding} are one tensor in pi0.5 but differ in this file (${where}); ` +
        'which one was trained is not known, save the model with only that one',
    );
  if (shape.join() !== other.join()) throw differ(`${shapeText(shape)} and ${shapeText(other)}`);
  const [rows = 0, width = 1] = shape;
  const step = Math.max(1, Math.floor(CHUNK / width));
  for (let first = 0; first < rows; first += step) {
    const count = Math.min(step, rows - first);
    const a = weights.readRowsFloat32(head, first, count);
    const b = weights.readRowsFloat32(embedding, first, count);
    if (Buffer.compare(new Uint8Array(a.buffer), new Uint8Array(b.buffer)) === 0) continue;
    const at = a.findIndex((x, i) => x !== b[i]);
    if (at >= 0) throw differ(`first in row ${first + Math.floor(at / width)}`);
  }
}
