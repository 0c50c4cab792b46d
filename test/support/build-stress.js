// Builds the bench model as fp32 and int8 engines, or as the fp16 engine for CUDA or TensorRT, plain or as `stress`: four large
// numbers in the embedding of the begin token give it massive activations, as real Gemma has them.
// usage: build-stress.js OUT plain|stress [cpu|cuda|tensorrt]
const path = require('node:path');

const ROOT = path.resolve(__dirname, '../..');
const load = name => require(path.join(ROOT, 'dist', name));
const { buildEngine } = load('builder/build.js');
const { randomCheckpoint } = load('builder/checkpoint.js');
const { packModel } = load('engine/pack.js');
const { EMBEDDING_NAMES } = load('model/tensors.js');

const [out, kind, target = 'cpu'] = process.argv.slice(2);
const BEGIN = 2;
const COLUMNS = [7, 101, 203, 411];
const FACTOR = 300;

function stressed(checkpoint) {
  const { width } = checkpoint.config.language;
  const boost = (name, first, values) => {
    const row = BEGIN - first;
    if (name === EMBEDDING_NAMES[0] && row >= 0 && row * width < values.length)
      for (const column of COLUMNS) values[row * width + column] *= FACTOR;
    return values;
  };
  return {
    ...checkpoint,
    read: name => boost(name, 0, checkpoint.read(name)),
    readRows: (name, first, count) => boost(name, first, checkpoint.readRows(name, first, count)),
  };
}

(async () => {
  for (const precision of target === 'cpu' ? ['fp32', 'int8'] : ['fp16']) {
    const bench = randomCheckpoint(path.join(ROOT, 'config/bench.json'), 3003);
    const checkpoint = kind === 'stress' ? stressed(bench) : bench;
    const options = { target, precision, pack: packModel, tokenizer: null, stats: { missing: [] } };
    await buildEngine(checkpoint, { ...options, out: path.join(out, `${kind}-${precision}`) });
  }
})();
