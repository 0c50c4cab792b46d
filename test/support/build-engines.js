// Builds the engines that tests use into test/.tmp/engines, again only when the builder or the data changed.
const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { writeFormulaCheckpoint } = require('../../scripts/formula-checkpoint.cjs');

const ROOT = path.resolve(__dirname, '../..');
const OUT = path.join(ROOT, 'test/.tmp/engines');
const golden = name => path.join(ROOT, 'test/data/golden', name);

/** The golden checkpoints are formula weights, so no weight file is in the repository. */
const formula = (name, seed) => [
  '--random-init', path.join(golden(name), 'config.json'), '--seed', seed,
  '--tokenizer', path.join(golden(name), 'tokenizer.json'), '--norm-stats', path.join(golden(name), 'norm_stats.json'),
]; // prettier-ignore

const INT8 = ['--precision', 'int8'];
const CUDA = ['--target', 'cuda'];
const ENGINES = {
  tiny: formula('tiny', '1006'),
  odd: formula('odd', '2002'),
  demo: ['--checkpoint', path.join(ROOT, 'demo/checkpoint')],
  'tiny-int8': [...formula('tiny', '1006'), ...INT8],
  'odd-int8': [...formula('odd', '2002'), ...INT8],
  'demo-int8': ['--checkpoint', path.join(ROOT, 'demo/checkpoint'), ...INT8],
  'tiny-cuda': [...formula('tiny', '1006'), ...CUDA],
  'odd-cuda': [...formula('odd', '2002'), ...CUDA],
  'tiny-bf16': ['--checkpoint', path.join(OUT, 'checkpoint-bf16')],
};

/** The bfloat16 copy of the golden checkpoint `tiny`. */
function writeBf16Checkpoint(dir) {
  writeFormulaCheckpoint(dir, path.join(golden('tiny'), 'config.json'), 1006);
  for (const file of ['tokenizer.json', 'norm_stats.json'])
    fs.copyFileSync(path.join(golden('tiny'), file), path.join(dir, file));
}

/** A hash of the compiled builder: other code, other engines. */
function builderHash() {
  const hash = createHash('sha256');
  for (const folder of ['dist/builder', 'dist/model', 'dist/policies', 'dist/engine'])
    for (const file of fs.readdirSync(path.join(ROOT, folder)).sort())
      if (file.endsWith('.js')) hash.update(fs.readFileSync(path.join(ROOT, folder, file)));
  return hash.digest('hex');
}

module.exports.buildTestEngines = () => {
  const stamp = path.join(OUT, 'stamp');
  const key = builderHash();
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === key) return;
  fs.rmSync(OUT, { recursive: true, force: true });
  fs.mkdirSync(OUT, { recursive: true });
  writeBf16Checkpoint(path.join(OUT, 'checkpoint-bf16'));
  for (const [name, args] of Object.entries(ENGINES)) {
    const main = path.join(ROOT, 'dist/main.js');
    execFileSync(process.execPath, [main, 'build', ...args, '--out', path.join(OUT, name)], {
      stdio: 'pipe',
    });
  }
  fs.writeFileSync(stamp, key);
};
