// Preloaded: clocks of this process that run wild. What depends on one of them differs from run to run.
const { performance } = require('node:perf_hooks');
let time = 1e6 * Math.random();
const wild = () => (time += 1000 * Math.random());
Object.defineProperty(performance, 'now', { value: wild });
Date.now = wild;
const { hrtime } = process;
process.hrtime = Object.assign(() => [Math.floor(wild()), 0], {
  bigint: () => BigInt(Math.floor(wild() * 1e6)),
});
void hrtime;
