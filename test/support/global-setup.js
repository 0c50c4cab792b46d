// Gives all tests, and the processes that they start, the environment of ROS 2. `npm test` sets up first.
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { buildTestEngines } = require('./build-engines');

module.exports = async () => {
  const { projectEnv } = await import('../../scripts/setup/ros-env.mjs');
  Object.assign(process.env, projectEnv());
  buildTestEngines();
  watchTheMachine();
};

/** See stalls.ts. Ends with its input, so with this process, however that ends. */
function watchTheMachine() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'oxygen-stalls-'));
  process.env.OXYGEN_TEST_STALLS = path.join(folder, 'stalls');
  const watcher = spawn('python3', [path.join(__dirname, 'stalls.py'), process.env.OXYGEN_TEST_STALLS], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  globalThis.__stalls = { watcher, folder };
}
