/** A camera slot that the robot does not have (O-04 c), or has not now (`on_missing: mask`), takes no place in the prefix. */
import { lastValueFrom } from 'rxjs';
import type { SchedulerEvent } from '../../src/core/scheduler-io';
import type { Frame } from '../../src/core/types';
import { deploy } from '../../src/engine/deployment';
import { ModelSessions } from '../../src/engine/model-sessions';
import { runPrefill } from '../../src/engine/onnx-executor';
import { engineDir } from '../support/engines';

it('O-04 c: without the right wrist the first text token has position 512, not 768', async () => {
  const sessions = await ModelSessions.load(engineDir('tiny'), 1);
  try {
    const { headDim, width } = sessions.manifest.model.language;
    const cameras = ['base_0_rgb', 'left_wrist_0_rgb'];
    const images = Uint8Array.from({ length: 2 * 224 * 224 * 3 }, (_, i) => i % 251);
    const promptIds = [2, 30, 40];
    const prefix = await runPrefill(sessions, { cameras, images, promptIds }, false);
    expect(prefix.length).toBe(2 * 256 + promptIds.length);
    expect(prefix.kv.k[0]).toHaveLength(prefix.length * headDim);

    // the same tokens at explicit positions: equal at 512, different at 768
    const x = new Float32Array(prefix.length * width);
    x.set(await sessions.vision(images, 2));
    x.set(sessions.host.embed(promptIds), 512 * width);
    const at = async (first: number) => {
      const positions = Array.from({ length: prefix.length }, (_, i) => (i < 512 ? i : first + i - 512));
      const tokens = prefix.length;
      return sessions.language({
        batch: 1, tokens, x, positions, pastLengths: [0], past: null, causalFrom: null, want: [tokens - 1],
      }); // prettier-ignore
    };
    const textKey = (k: Float32Array | undefined) => Array.from(k!.subarray(512 * headDim, 513 * headDim));
    expect(textKey((await at(512)).kv.k[0])).toEqual(textKey(prefix.kv.k[0]));
    expect(textKey((await at(768)).kv.k[0])).not.toEqual(textKey(prefix.kv.k[0]));
  } finally {
    await sessions.release();
  }
});

it('a frame with fewer cameras than the deployment gives the chunk of a deployment that has only those', async () => {
  const sessions = await ModelSessions.load(engineDir('tiny'), 1);
  const { cameraSlots, denoiseSteps, vision } = sessions.manifest.model;
  const size = vision.imageHeight * vision.imageWidth * 3;
  const pictures = new Map(
    cameraSlots.map((slot, i) => [slot, Uint8Array.from({ length: size }, (_, at) => (at * (i + 3)) % 251)]),
  );
  const frame = (id: number, cameras: readonly string[]): Frame => ({
    id,
    stampNs: 7n,
    epoch: 0,
    cameras,
    images: Uint8Array.from(cameras.flatMap(slot => [...pictures.get(slot)!])),
    promptIds: [2, 30, 40],
  });
  const chunks = async (cameras: number, frames: readonly Frame[]): Promise<Float32Array[]> => {
    const { scheduler } = deploy(sessions, {
      attention: 'bidirectional', denoiseSteps, seed: 1n, cameras, maxRequests: 1, maxQueue: 1, maxTokens: 4,
      maxSeedTokens: 4, mode: 'oxygen', ageingMs: 0, stopIds: [],
      tunables: { tokensPerFrame: { kind: 'fixed', steps: 1 }, replanRateHz: 0, executeMs: 0, standing: [] },
    }); // prettier-ignore
    const out: Float32Array[] = [];
    scheduler.events$.subscribe((e: SchedulerEvent) => {
      if (e.type === 'drop') throw e.error;
      if (e.type !== 'chunk') return;
      out.push(e.actions.slice());
      const next = frames[out.length];
      if (next) scheduler.post({ type: 'frame', frame: next });
      else scheduler.close();
    });
    const finished = lastValueFrom(scheduler.events$);
    scheduler.post({ type: 'frame', frame: frames[0]! });
    await finished;
    return out;
  };
  try {
    const two = cameraSlots.filter((_, i) => i !== 1);
    const mixed = await chunks(3, [frame(0, cameraSlots), frame(1, two), frame(2, cameraSlots)]);
    const [only] = await chunks(2, [frame(0, two)]);
    expect(mixed[1]).toEqual(only);
    expect(mixed[2]).toEqual(mixed[0]);
    expect(mixed[1]).not.toEqual(mixed[0]);
  } finally {
    await sessions.release();
  }
});
