/** Where a checkpoint folder keeps its weights: one safetensors file, or shards with an index. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { OxygenError } from '../core/errors';
import { ShardedSafetensors } from './checkpoint-shards';
import { SafetensorsFile } from './safetensors';
import type { TensorInfo } from './safetensors-header';

/** Tensors on disk. */
export interface Weights {
  /** The file that lists them. */
  readonly path: string;
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  readFloat32(name: string): Float32Array;
  readRowsFloat32(name: string, first: number, count: number): Float32Array;
  close(): void;
}

const SINGLE = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';

/** Tokenizers that a checkpoint folder may hold: Hugging Face's, and openpi's sentencepiece model. */
export const TOKENIZER_FILES = ['tokenizer.json', 'tokenizer.model', 'paligemma_tokenizer.model'];

/** Checkpoints are published without one. */
export const TOKENIZER_SOURCES =
  "openpi's is paligemma_tokenizer.model of gs://big_vision, which openpi keeps in ~/.cache/openpi/big_vision; " +
  "lerobot's is tokenizer.json of google/paligemma-3b-pt-224";

export const tokenizerOf = (dir: string): string | null =>
  TOKENIZER_FILES.map(name => join(dir, name)).find(file => existsSync(file)) ?? null;

const hasWeights = (dir: string): boolean => existsSync(join(dir, SINGLE)) || existsSync(join(dir, INDEX));

/** Throws CHECKPOINT_NOT_FOUND, CHECKPOINT_INVALID or CHECKPOINT_KEYS. */
export function openWeights(dir: string): Weights {
  if (existsSync(join(dir, SINGLE))) return new SafetensorsFile(join(dir, SINGLE));
  if (existsSync(join(dir, INDEX))) return new ShardedSafetensors(dir, INDEX);
  const other = readdirSync(dir).find(f => f.endsWith('.safetensors'));
  const hint = other === undefined ? '' : `; ${other} would have to be named ${SINGLE}`;
  throw new OxygenError('CHECKPOINT_NOT_FOUND', `no ${SINGLE} and no ${INDEX} in ${dir}${hint}`);
}

/** Throws when `dir` is not a folder that could hold a checkpoint; says what it is instead, and the way out. */
export function refuseOtherFormats(dir: string): void {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (!found) throw new OxygenError('CHECKPOINT_NOT_FOUND', `no checkpoint folder at ${dir}`);
  if (!found.isDirectory()) {
    throw new OxygenError(
      'CHECKPOINT_NOT_FOUND',
      `${dir} is no folder; give the folder that holds ${SINGLE}`,
    );
  }
  if (hasWeights(dir)) return;
  const files = readdirSync(dir);
  const orbax = [dir, join(dir, 'params')].find(isOrbax);
  if (orbax !== undefined) throw orbaxError(dir, orbax);
  if (hasWeights(join(dir, 'pretrained_model'))) {
    throw new OxygenError(
      'CHECKPOINT_NOT_FOUND',
      `${dir} is a training step of lerobot; its checkpoint is ${join(dir, 'pretrained_model')}`,
    );
  }
  if (files.includes('adapter_model.safetensors')) {
    throw new OxygenError(
      'CHECKPOINT_INVALID',
      `${dir} holds a LoRA adapter only; merge it into its base model (peft: merge_and_unload) and save that`,
    );
  }
  const pickle = files.find(f => /\.(bin|pt|pth|ckpt|pkl)$/.test(f));
  if (pickle !== undefined) {
    throw new OxygenError(
      'CHECKPOINT_INVALID',
      `${join(dir, pickle)} is a Python pickle, which can run code and is not read; save the model as ${SINGLE} ` +
        '(safetensors.torch.save_model)',
    );
  }
}

const isOrbax = (dir: string): boolean =>
  ['_METADATA', 'manifest.ocdbt', 'ocdbt.process_0', '_CHECKPOINT_METADATA'].some(f =>
    existsSync(join(dir, f)),
  );

function orbaxError(dir: string, found: string): OxygenError {
  // the converter wants the folder above params
  const step = basename(found) === 'params' && found === dir ? join(dir, '..') : dir;
  return new OxygenError(
    'CHECKPOINT_INVALID',
    `${found} is an Orbax checkpoint, the JAX form that openpi publishes; it is not read. Either take a converted one ` +
      '(lerobot/pi05_base and its like on the Hugging Face Hub), or convert it with openpi: python ' +
      `examples/convert_jax_model_to_pytorch.py --config_name <config> --checkpoint_dir ${step} --output_path <folder>, ` +
      'then copy the assets folder of the checkpoint into <folder> if it is not there',
    { details: { format: 'orbax' } },
  );
}
