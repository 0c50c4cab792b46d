import type { Robot } from '../../src/core/robot';
import type { EngineInfo, ToEngine } from '../../src/engine/protocol';
import { FramePull } from '../../src/ros/frames';
import type { PreprocessFailure, PreprocessJob, PreprocessResult } from '../../src/ingest/preprocess';
import type { FrameInputs } from '../../src/ros/ingest';

const info = {
  cameraSlots: ['base', 'left', 'right'],
  imageHeight: 2,
  imageWidth: 2,
  resize: 'torch',
} as unknown as EngineInfo;

const robot = {
  cameras: [
    { slot: 'right', topic: 'camera/right', transport: 'raw', rotate: 180 },
    { slot: 'base', topic: 'camera/base', transport: 'raw', rotate: 0 },
  ],
} as unknown as Robot;

const header = { stamp: { sec: 1, nanosec: 0 }, frame_id: '' };
const inputs = (stampNs: bigint): FrameInputs => ({
  stampNs,
  state: Float64Array.of(1),
  cameras: new Map(
    robot.cameras.map(camera => [
      camera.slot,
      { kind: 'compressed', message: { header, format: 'jpeg', data: new Uint8Array(1) } },
    ]),
  ),
});

/** Sets wait in `ready`; the worker answers when `finish` is called. */
function setUp() {
  const ready: FrameInputs[] = [];
  const sent: ToEngine[] = [];
  const drops: string[] = [];
  const jobs: { job: PreprocessJob; finish: (result: Partial<PreprocessResult>) => Promise<void> }[] = [];
  const context = { epoch: 3, instruction: 'go' as string | null };
  const take = jest.fn(() => ready.shift() ?? null);
  const decoded = jest.fn(
    (_: readonly string[], failures: readonly PreprocessFailure[]) => failures.length === 0,
  );
  const pull = new FramePull({
    robot,
    source: { take, decoded },
    preprocessing: {
      run: job =>
        new Promise(resolve => {
          const finish = async (result: Partial<PreprocessResult>): Promise<void> => {
            resolve({ images: new Uint8Array(24), failures: [], ...result });
            await new Promise(setImmediate);
          };
          jobs.push({ job, finish });
        }),
    },
    context: () => context,
    send: message => sent.push(message) > 0,
    nowNs: () => 5_000_007n,
    drop: (code, message) => drops.push(`${code}: ${message}`),
    sent: () => undefined,
  });
  pull.engineUp(info);
  return { pull, ready, sent, drops, jobs, context, decoded, take };
}
const kinds = (sent: ToEngine[]): string[] => sent.map(message => message.type);

test('a waiting set is preprocessed in the engine’s slot order (O-04 a), as engine and robot file say, and sent once', async () => {
  const { pull, ready, sent, jobs } = setUp();
  ready.push(inputs(7n));
  pull.want();
  expect(jobs[0]!.job).toMatchObject({
    height: 2,
    width: 2,
    resize: 'torch',
    images: [
      { slot: 'base', rotate: 0 },
      { slot: 'right', rotate: 180 },
    ],
  });
  await jobs[0]!.finish({});
  expect(sent).toMatchObject([
    {
      type: 'frame',
      observation: { stampNs: 7n, ageMs: 5, epoch: 3, instruction: 'go', cameras: ['base', 'right'] },
    },
  ]);
  ready.push(inputs(8n));
  expect(pull.offer()).toBe(false);
});

test('a set without one camera goes with the others, and the engine learns which (on_missing: mask)', async () => {
  const { pull, ready, sent, jobs } = setUp();
  const { cameras, ...rest } = inputs(7n);
  ready.push({ ...rest, cameras: new Map([...cameras].filter(([slot]) => slot === 'right')) });
  pull.want();
  expect(jobs[0]!.job.images.map(({ slot }) => slot)).toEqual(['right']);
  await jobs[0]!.finish({});
  expect(sent).toMatchObject([{ type: 'frame', observation: { cameras: ['right'] } }]);
});

test('a picture that cannot be decoded is left out where the source allows it, and counted all the same', async () => {
  const { pull, ready, sent, jobs, drops, decoded } = setUp();
  decoded.mockReturnValue(true);
  ready.push(inputs(7n));
  pull.want();
  const failures = [{ slot: 'base', code: 'IMAGE_CORRUPT' as const, message: 'cut short' }];
  const images = new Uint8Array(12).fill(9);
  await jobs[0]!.finish({ failures, images });
  expect(decoded).toHaveBeenCalledWith(['base', 'right'], failures);
  expect(sent).toMatchObject([{ type: 'frame', observation: { cameras: ['right'], images } }]);
  expect(drops).toEqual(['IMAGE_CORRUPT: camera/base: cut short']);
});

test('nothing new: no-frame at once, and the frame later on the same credit', async () => {
  const { pull, ready, sent, jobs } = setUp();
  pull.want();
  expect(kinds(sent)).toEqual(['no-frame']);
  ready.push(inputs(8n));
  expect(pull.offer()).toBe(true);
  expect(pull.offer()).toBe(false);
  await jobs[0]!.finish({});
  expect(kinds(sent)).toEqual(['no-frame', 'frame']);
});

test('no instruction, no frame; it comes with the instruction', () => {
  const { pull, ready, sent, jobs, context } = setUp();
  context.instruction = null;
  ready.push(inputs(1n));
  pull.want();
  expect(kinds(sent)).toEqual(['no-frame']);
  context.instruction = 'go';
  pull.offer();
  expect(jobs).toHaveLength(1);
});

test('a picture that cannot be used is a counted drop; the credit stays and the next good set goes', async () => {
  const { pull, ready, sent, jobs, drops } = setUp();
  ready.push(inputs(1n), inputs(2n));
  pull.want();
  await jobs[0]!.finish({ failures: [{ slot: 'right', code: 'IMAGE_CORRUPT', message: 'cut short' }] });
  expect(drops).toEqual(['IMAGE_CORRUPT: camera/right: cut short']);
  await jobs[1]!.finish({});
  expect(sent).toMatchObject([{ type: 'frame', observation: { stampNs: 2n } }]);
});

test('when no good set is at hand the engine is told, so that language does not wait for the camera', async () => {
  const { pull, ready, sent, jobs } = setUp();
  ready.push(inputs(1n));
  pull.want();
  expect(sent).toEqual([]);
  await jobs[0]!.finish({ failures: [{ slot: 'right', code: 'IMAGE_CORRUPT', message: 'cut short' }] });
  expect(kinds(sent)).toEqual(['no-frame']);
  ready.push(inputs(2n));
  pull.offer();
  await jobs[1]!.finish({});
  expect(kinds(sent)).toEqual(['no-frame', 'frame']);
});

test('a frame that was being decoded for a dead engine or before a reset is not sent', async () => {
  const { pull, ready, sent, jobs } = setUp();
  ready.push(inputs(1n));
  pull.want();
  pull.engineDown();
  pull.engineUp(info);
  pull.want();
  await jobs[0]!.finish({});
  expect(kinds(sent)).not.toContain('frame');

  ready.push(inputs(2n));
  pull.offer();
  pull.discard();
  await jobs[1]!.finish({});
  expect(kinds(sent)).not.toContain('frame');
  ready.push(inputs(3n));
  pull.offer();
  await jobs[2]!.finish({});
  expect(sent.at(-1)).toMatchObject({ type: 'frame', observation: { stampNs: 3n } });
});

test('a bug in what comes after a frame is counted, and the next inputs make a frame', async () => {
  const { pull, ready, sent, jobs, drops, take } = setUp();
  ready.push(inputs(1n));
  pull.want();
  take.mockImplementationOnce(() => {
    throw new TypeError('no such thing');
  });
  await jobs[0]!.finish({ failures: [{ slot: 'base', code: 'IMAGE_CORRUPT', message: 'cut' }] });
  expect(drops).toEqual(['IMAGE_CORRUPT: camera/base: cut', 'INTERNAL: preprocessing failed: no such thing']);
  ready.push(inputs(2n));
  pull.offer();
  await jobs[1]!.finish({});
  expect(sent.at(-1)).toMatchObject({ type: 'frame', observation: { stampNs: 2n } });
});
