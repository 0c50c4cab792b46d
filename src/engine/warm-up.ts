/** Runs every graph once, so that the first frame of a robot is not the slow one. */
import { dummyFrame, prefixCache } from './deployment';
import type { ModelSessions } from './model-sessions';
import { runDecode, runPrefill } from './onnx-executor';

export async function warmUp(sessions: ModelSessions, cameras: number, maxRequests: number): Promise<void> {
  const { model, special } = sessions.manifest;
  const prefix = await runPrefill(sessions, dummyFrame(sessions, cameras), false);
  const cache = prefixCache(sessions, prefix, maxRequests, 1);
  const noise = new Float32Array(model.horizon * model.actionDim);
  await sessions.expert(cache.prefixView(), model.denoiseSteps)(noise, 0);
  for (let b = 0; b < maxRequests; b++) cache.attach(String(b), prefix.length + 1);
  const tokens = new Array<number>(maxRequests).fill(special.begin);
  const lengths = new Array<number>(maxRequests).fill(prefix.length);
  await runDecode(sessions, tokens, lengths, cache.batchView());
}
