// A process that reads a bag and nothing else: node read.js DIST BAG. Prints messages, bytes of data and its peak memory.
const [dist, path] = process.argv.slice(2);
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { openBag } = require(join(dist, 'bag/open'));

async function main() {
  const bag = await openBag(path);
  let messages = 0;
  let bytes = 0;
  for await (const { data } of bag.messages({ topics: null, fromNs: null, toNs: null })) {
    messages++;
    bytes += data.byteLength;
  }
  await bag.close();
  // Not resourceUsage().maxRSS: that begins with the size of the process that started this one.
  const peakMb = Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
  console.log(JSON.stringify({ messages, bytes, peakMb, faults: bag.faults.length }));
}

main();
