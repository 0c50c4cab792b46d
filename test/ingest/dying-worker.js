// The real worker, except that a camera called `die` or `exit` ends the thread, as a bug or a lack of memory would.
const { parentPort } = require('node:worker_threads');

parentPort.on('message', ({ job }) => {
  const slots = job.images.map(({ slot }) => slot);
  if (slots.includes('die')) throw new Error('out of luck');
  if (slots.includes('exit')) process.exit(3);
});
require('../../dist/ingest/preprocess-worker.js');
