// Writes a checkpoint folder of formula weights in bfloat16, row by row: for the full-size check and for tests.
const fs = require('node:fs');
const path = require('node:path');

const load = name => require(path.join(__dirname, '../dist', name));

/** Values read at a time. */
const SLICE = 1 << 22;

/** `dir`/config.json and `dir`/model.safetensors. */
exports.writeFormulaCheckpoint = (dir, config, seed) => {
  const { randomCheckpoint } = load('builder/checkpoint.js');
  const { SafetensorsWriter } = load('builder/safetensors-writer.js');
  const { elements, tensorShapes } = load('model/tensors.js');
  const checkpoint = randomCheckpoint(config, seed);
  const shapes = tensorShapes(checkpoint.config);
  fs.mkdirSync(dir, { recursive: true });
  fs.copyFileSync(config, path.join(dir, 'config.json'));
  const stored = new Map([...shapes].map(([name, shape]) => [name, { dtype: 'BF16', shape }]));
  const writer = new SafetensorsWriter(path.join(dir, 'model.safetensors'), stored);
  for (const [name, [rows, ...rest]] of shapes) {
    const step = Math.max(1, Math.floor(SLICE / elements(rest)));
    for (let first = 0; first < rows; first += step)
      writer.write(name, checkpoint.readRows(name, first, Math.min(step, rows - first)));
  }
  writer.finish();
};
