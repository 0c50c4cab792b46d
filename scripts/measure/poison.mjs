// A copy of an engine in which one word makes the model's actions NaN.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

const EMBEDDING = 'paligemma_with_expert.paligemma.lm_head.weight';
const FLOAT_BYTES = 4;
const TABLE = 'poisoned.weights';

/** Copies `engine` to `folder`; the embedding of `word`, one token of the vocabulary, becomes NaN. */
export const poison = (engine, folder, word) => {
  fs.cpSync(engine, folder, { recursive: true });
  const manifestFile = path.join(folder, 'engine.json');
  const manifest = JSON.parse(fs.readFileSync(manifestFile, 'utf8'));
  const { vocab } = JSON.parse(fs.readFileSync(path.join(folder, 'tokenizer.json'), 'utf8')).model;
  const token = vocab[`\u2581${word}`];
  if (token === undefined) throw new Error(`${engine} has no token for '${word}'`);
  // A table of its own: the model's logits go on with the good one, and only frames with the word are bad.
  const { file, offset, shape } = manifest.hostTensors[EMBEDDING];
  const row = shape[1] * FLOAT_BYTES;
  const table = fs.readFileSync(path.join(folder, file)).subarray(offset, offset + shape[0] * row);
  for (let at = token * row; at < (token + 1) * row; at += FLOAT_BYTES) table.writeFloatLE(NaN, at);
  fs.writeFileSync(path.join(folder, TABLE), table);
  manifest.hostTensors[EMBEDDING] = { ...manifest.hostTensors[EMBEDDING], file: TABLE, offset: 0 };
  const sha256 = createHash('sha256').update(table).digest('hex');
  manifest.files[TABLE] = { bytes: table.length, sha256 };
  fs.writeFileSync(manifestFile, JSON.stringify(manifest));
};
