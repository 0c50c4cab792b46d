// Native modules make typed arrays of the outer realm; inside Jest's realm their `instanceof` checks fail.
// Sharing the outer constructors cures that for the whole family (onnxruntime-node, sharp).
const { TestEnvironment } = require('jest-environment-node');

const SHARED = [
  'ArrayBuffer',
  'SharedArrayBuffer',
  'DataView',
  'Uint8Array',
  'Int8Array',
  'Uint8ClampedArray',
  'Uint16Array',
  'Int16Array',
  'Uint32Array',
  'Int32Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
];

module.exports = class NativeEnvironment extends TestEnvironment {
  async setup() {
    await super.setup();
    for (const name of SHARED) this.global[name] = globalThis[name];
  }
};
