/** What leaves the language graph for sampling, against its full logits; and what a failed run is called. */
import { dummyFrame } from '../../src/engine/deployment';
import { ModelSessions } from '../../src/engine/model-sessions';
import { runPrefill } from '../../src/engine/onnx-executor';
import { runError } from '../../src/engine/session-run';
import { engineDir } from '../support/engines';

it('gives the best logits in order and the logarithm of the sum of all exponentials', async () => {
  const sessions = await ModelSessions.load(engineDir('tiny'), 1);
  try {
    const frame = dummyFrame(sessions, 2);
    for (const causal of [false, true]) {
      const { logits, next } = await runPrefill(sessions, frame, causal, true);
      const all = Array.from(logits!, (logit, id) => ({ logit, id })).sort((a, b) => b.logit - a.logit);
      const { ids, logits: best, logSumExp } = next[0]!;
      expect(Array.from(best)).toEqual(all.slice(0, best.length).map(c => c.logit));
      expect(ids[0]).toBe(all[0]!.id);
      const sum = all.reduce((n, { logit }) => n + Math.exp(logit - all[0]!.logit), 0);
      expect(logSumExp).toBeCloseTo(all[0]!.logit + Math.log(sum), 5);
    }
  } finally {
    await sessions.release();
  }
});

it.each([
  ['Failed to allocate memory for requested buffer of size 268435456', 'OUT_OF_MEMORY'],
  ['Non-zero status code returned while running MatMul node: std::bad_alloc', 'OUT_OF_MEMORY'],
  ['CUDA error: out of memory', 'OUT_OF_MEMORY'],
  ['Invalid Feed Input Name:x', 'RUN_FAILED'],
])('%s is %s', (message, code) => {
  expect(runError('language', new Error(message))).toMatchObject({ code });
});
