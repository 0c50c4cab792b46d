/** Has ONNX Runtime pack the weight of a one-product model, as it would at load, and write the result to a file. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { externalWeights } from '../model/onnx-weights';
import type { PackedWeight, PackModel } from '../model/packed';

const FILES = { model: 'pack.onnx', packedModel: 'packed.onnx', packedData: 'packed.weights' } as const;

/** Leaves the file of the packed bytes in `dir`; the caller removes it. */
export const packModel: PackModel = async (dir, model) => {
  const path = (name: keyof typeof FILES) => join(dir, FILES[name]);
  writeFileSync(path('model'), model);
  const session = await ort.InferenceSession.create(path('model'), {
    graphOptimizationLevel: 'disabled',
    intraOpNumThreads: 1,
    optimizedModelFilePath: path('packedModel'),
    logSeverityLevel: 3,
    extra: {
      session: {
        optimized_model_external_initializers_file_name: FILES.packedData,
        optimized_model_external_initializers_min_size_in_bytes: '1024',
        save_external_prepacked_constant_initializers: '1',
      },
    },
  });
  await session.release();
  const entry = prepackedEntry(readFileSync(path('packedModel')));
  for (const name of ['model', 'packedModel'] as const) rmSync(path(name));
  if (!entry) rmSync(path('packedData'), { force: true });
  return entry;
};

/** ONNX Runtime notes it beside the weight as `prepacked_0`: `key|offset;length;…|…`. */
function prepackedEntry(model: Uint8Array): PackedWeight | null {
  const notes = externalWeights(model).flatMap(({ entries }) => entries.get('prepacked_0') ?? []);
  if (notes[0] === undefined) return null;
  const [key = '', ...places] = notes[0].split('|');
  const parts = places.filter(Boolean).map(place => {
    const [offset = NaN, bytes = NaN] = place.split(';').map(Number);
    return { file: FILES.packedData, offset, length: bytes };
  });
  return { key, parts };
}
