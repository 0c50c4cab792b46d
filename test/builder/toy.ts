/** A pi0.5 of a few thousand numbers, as the projects would store it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formulaTensor } from '../../src/builder/formula';
import { SafetensorsWriter } from '../../src/builder/safetensors-writer';
import type { StoredDtype } from '../../src/builder/safetensors-floats';
import { describeModel } from '../../src/model/config';
import { tensorShapes } from '../../src/model/tensors';

export const TOY_CONFIG = {
  name: 'toy',
  action_dim: 6,
  action_horizon: 4,
  max_token_len: 8,
  discrete_state_input: true,
  vocab_size: 96,
  image_keys: ['base_0_rgb'],
  image_resolution: [28, 28],
  paligemma_config: { width: 16, depth: 2, mlp_dim: 24, num_heads: 2, num_kv_heads: 1, head_dim: 8 },
  action_expert_config: { width: 12, depth: 2, mlp_dim: 20, num_heads: 2, num_kv_heads: 1, head_dim: 8 },
  siglip_config: { width: 12, depth: 1, mlp_dim: 18, num_heads: 2, patch_size: [14, 14] },
};

export interface ToyTensor {
  readonly shape: readonly number[];
  readonly values: Float32Array;
  readonly dtype?: StoredDtype;
}
export type Tensors = Map<string, ToyTensor>;

/** The toy's tensors under openpi's names. */
export function toyTensors(): Tensors {
  const shapes = tensorShapes(describeModel(TOY_CONFIG, 'toy').config);
  return new Map(
    Array.from(shapes, ([name, shape]) => [name, { shape, values: formulaTensor(name, shape, 7) }]),
  );
}

export function rename(tensors: Tensors, change: (name: string) => string): void {
  for (const [name, tensor] of [...tensors]) {
    tensors.delete(name);
    tensors.set(change(name), tensor);
  }
}

export function writeTensors(path: string, tensors: ReadonlyMap<string, ToyTensor>): void {
  const stored = Array.from(
    tensors,
    ([name, t]) => [name, { dtype: t.dtype ?? 'F32', shape: t.shape }] as const,
  );
  const writer = new SafetensorsWriter(path, new Map(stored));
  for (const [name, { values }] of tensors) writer.write(name, values);
  writer.finish();
}

/** A checkpoint folder of `tensors`. */
export function toyFolder(
  folder: string,
  tensors: ReadonlyMap<string, ToyTensor>,
  config: object = TOY_CONFIG,
): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  writeTensors(join(folder, 'model.safetensors'), tensors);
  return folder;
}

/** The same in `count` shards with an index. */
export function toyShards(folder: string, tensors: ReadonlyMap<string, ToyTensor>, count: number): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify(TOY_CONFIG));
  const map: Record<string, string> = {};
  for (let k = 0; k < count; k++) {
    const shard = `model-${String(k + 1).padStart(5, '0')}-of-${String(count).padStart(5, '0')}.safetensors`;
    const part = new Map([...tensors].filter((_, i) => i % count === k));
    for (const name of part.keys()) map[name] = shard;
    writeTensors(join(folder, shard), part);
  }
  writeFileSync(
    join(folder, 'model.safetensors.index.json'),
    JSON.stringify({ metadata: { total_size: 0 }, weight_map: map }),
  );
  return folder;
}
