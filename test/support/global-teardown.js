const fs = require('node:fs');

module.exports = async () => {
  const { watcher, folder } = globalThis.__stalls;
  watcher.stdin.end();
  await new Promise(resolve => watcher.on('exit', resolve));
  fs.rmSync(folder, { recursive: true, force: true });
};
