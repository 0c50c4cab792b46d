/** Checks of the native libraries: ONNX Runtime with a self-test, sharp, and ROS 2 in a process of its own. */
import type * as Ort from 'onnxruntime-node';
import { fault, ok, type Check, type Outcome } from './check';
import { programPackage } from './machine';
import { rosOutcome } from './ros-check';
import { floatModel, integerModel, SELF_TEST_DEPTH, SELF_TEST_ZERO } from './self-test-models';

const REINSTALL = 'run `npm ci` in the checkout, or build the ROS package again';

export const runtimeChecks = (): readonly Check[] => [
  { name: 'onnxruntime', cure: REINSTALL, run: runtimeOutcome },
  { name: 'sharp', cure: REINSTALL, run: sharpOutcome },
  { name: 'ros', cure: 'source ROS 2', run: () => rosOutcome() },
];

async function runtimeOutcome(): Promise<Outcome> {
  // Here, not at the top: a library that does not load is a finding, not the end of the doctor.
  const ort = await import('onnxruntime-node');
  const wanted = programPackage().dependencies['onnxruntime-node'] ?? '';
  const version = String(ort.env.versions.node);
  if (version !== wanted) {
    return fault(`onnxruntime-node ${version}, this release needs exactly ${wanted}`, REINSTALL);
  }
  const x = new ort.Tensor('float32', Float32Array.of(1, 2, 3, -4, 5, 6), [2, 3]);
  const y = await compute(ort, floatModel(), { x });
  if (y.join() !== '6,6,7,7') {
    return fault(`the self-test model gives ${y.join()} instead of 6,6,7,7`, REINSTALL);
  }
  return ok(`onnxruntime-node ${version} loads and computes`, [
    { name: 'int8', cure: REINSTALL, run: () => integerOutcome(ort) },
  ]);
}

/** Extreme activations against extreme weights, one row and many: the sums either are exact or they are not. */
async function integerOutcome(ort: typeof Ort): Promise<Outcome> {
  for (const code of [0, 255]) {
    for (const activation of [0, 255]) {
      for (const rows of [1, 5]) {
        const bytes = new Uint8Array(rows * SELF_TEST_DEPTH).fill(activation);
        const a = new ort.Tensor('uint8', bytes, [rows, SELF_TEST_DEPTH]);
        const y = await compute(ort, integerModel(code), { a });
        const exact = (activation - SELF_TEST_ZERO) * (code - SELF_TEST_ZERO) * SELF_TEST_DEPTH;
        const wrong = y.find(sum => sum !== exact);
        if (wrong !== undefined) {
          return fault(
            `8-bit products are summed wrongly on this CPU (${wrong} instead of ${exact})`,
            'use engines built with --precision fp32 here',
          );
        }
      }
    }
  }
  return ok('8-bit products of extreme values are summed exactly');
}

async function compute(
  ort: typeof Ort,
  model: Uint8Array,
  feeds: Record<string, Ort.Tensor>,
): Promise<Float32Array> {
  const session = await ort.InferenceSession.create(model, {
    executionProviders: ['cpu'],
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  try {
    const { y } = await session.run(feeds);
    return y?.data as Float32Array;
  } finally {
    await session.release();
  }
}

/** A lossless picture must come back as it was. */
async function sharpOutcome(): Promise<Outcome> {
  const { default: sharp } = await import('sharp');
  const pixels = Uint8Array.from({ length: 4 * 4 * 3 }, (_, i) => i * 5);
  const raw = { width: 4, height: 4, channels: 3 } as const;
  const png = await sharp(pixels, { raw }).png().toBuffer();
  const back = await sharp(png).raw().toBuffer();
  const what = `sharp ${sharp.versions.sharp ?? ''} (libvips ${sharp.versions.vips})`;
  if (Buffer.compare(back, pixels) !== 0) return fault(`${what} alters a lossless picture`, REINSTALL);
  return ok(`${what} loads and decodes`);
}
