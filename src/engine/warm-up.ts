/** Runs every graph once, so that the first frame of a robot is not the slow one. */
import { KvCache } from '../core/kv-cache';
import type { Candidates } from '../core/ports';
import type { ModelSessions } from './model-sessions';
import { runDecode, runPrefill } from './onnx-executor';

export async function warmUp(sessions: ModelSessions, cameras: number, maxRequests: number): Promise<void> {
  const { model, special } = sessions.manifest;
  const { imageHeight, imageWidth } = model.vision;
  const frame = {
    cameras: model.cameraSlots.slice(0, cameras),
    images: new Uint8Array(cameras * imageHeight * imageWidth * 3),
    promptIds: new Array<number>(model.maxPromptTokens).fill(special.begin),
  };
  const { kv, length, next } = await runPrefill(sessions, frame, false);
  const { layers, headDim } = model.language;
  const cache = new KvCache({ layers, headDim, maxRequests, capacity: length + 1 });
  cache.commitPrefix({ frameId: 0, stampNs: 0n, epoch: 0, length, next: next[0] as Candidates }, kv);
  await sessions.expertStep(
    new Float32Array(model.horizon * model.actionDim),
    0,
    model.denoiseSteps,
    cache.prefixView(),
  );
  for (let b = 0; b < maxRequests; b++) cache.attach(String(b), length + 1);
  const [tokens, lengths] = [
    new Array<number>(maxRequests).fill(special.begin),
    new Array<number>(maxRequests).fill(length),
  ];
  await runDecode(sessions, tokens, lengths, cache.batchView());
}
