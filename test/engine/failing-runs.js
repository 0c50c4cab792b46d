/**
 * Loaded before the engine process (NODE_OPTIONS): from run number FROM on its runs fail with TEXT, as those of a GPU do,
 * until the process ends. Only the first process that gets there: it leaves the file MARK.
 */
const { existsSync, writeFileSync } = require('node:fs');
const { InferenceSession } = require('onnxruntime-node');

const { FROM, TEXT, MARK } = JSON.parse(process.env.FAILING_RUNS);
const run = InferenceSession.prototype.run;
let runs = 0;
let broken = false;
InferenceSession.prototype.run = function (...args) {
  if (!broken && ++runs >= FROM && !existsSync(MARK)) {
    broken = true;
    writeFileSync(MARK, '');
  }
  return broken ? Promise.reject(new Error(TEXT)) : run.apply(this, args);
};
