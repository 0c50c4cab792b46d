/** Warm-up computes what the deployment will use, and nothing else that stays. */
import { ModelSessions } from '../../src/engine/model-sessions';
import { warmUp } from '../../src/engine/warm-up';
import { engineDir } from '../support/engines';

test('the table of modulations is that of the deployment, also when its number of Euler steps is not the model’s', async () => {
  const sessions = await ModelSessions.load(engineDir('tiny'), 1);
  const made = jest.spyOn(sessions, 'modulations');
  expect(sessions.manifest.model.denoiseSteps).not.toBe(3);
  await warmUp(sessions, { cameras: 1, denoiseSteps: 3, shape: { maxRequests: 2, capacity: 300 } }, null);
  expect(new Set(made.mock.calls.map(([steps]) => steps))).toEqual(new Set([3]));
  await sessions.release();
}); // prettier-ignore
