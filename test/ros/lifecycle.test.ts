/** The managed node's state machine: ids and labels of rcl_lifecycle, work that takes time, fails or throws. */
import fc from 'fast-check';
import { Lifecycle, STATES, TRANSITIONS } from '../../src/ros/lifecycle';
import type { Outcome, WorkName } from '../../src/ros/lifecycle';

const NAMES: readonly WorkName[] = ['configure', 'cleanup', 'activate', 'deactivate', 'shutdown', 'error'];
type Result = Outcome | 'throws';

function setUp(work: Partial<Record<WorkName, () => Promise<Outcome> | Outcome>> = {}) {
  const seen: string[] = [];
  const failed: string[] = [];
  const all = Object.fromEntries(NAMES.map(name => [name, work[name] ?? (() => 'success' as const)]));
  const lifecycle = new Lifecycle(
    all as Record<WorkName, () => Outcome>,
    ({ start, label, goal }) => seen.push(`${start} -${label}-> ${goal}`),
    (error, during) => failed.push(`${during}: ${String(error)}`),
  );
  const change = (label: string) => lifecycle.change({ id: 0, label });
  return { lifecycle, change, seen, failed };
}

test('the whole round, each step with both of its transitions', async () => {
  const { lifecycle, change, seen } = setUp();
  for (const label of ['configure', 'activate', 'deactivate', 'cleanup', 'shutdown'])
    expect(await change(label)).toBe(true);
  expect(lifecycle.state).toBe('finalized');
  expect(lifecycle.available).toEqual([]);
  expect(seen).toEqual([
    'unconfigured -configure-> configuring',
    'configuring -transition_success-> inactive',
    'inactive -activate-> activating',
    'activating -transition_success-> active',
    'active -deactivate-> deactivating',
    'deactivating -transition_success-> inactive',
    'inactive -cleanup-> cleaningup',
    'cleaningup -transition_success-> unconfigured',
    'unconfigured -shutdown-> shuttingdown',
    'shuttingdown -transition_success-> finalized',
  ]);
});

test('by id as ros2 lifecycle sends it; the label wins when both are there', async () => {
  const { lifecycle } = setUp();
  expect(await lifecycle.change({ id: 3, label: '' })).toBe(false);
  expect(await lifecycle.change({ id: 1, label: '' })).toBe(true);
  expect(await lifecycle.change({ id: 1, label: 'activate' })).toBe(true);
  expect(lifecycle.state).toBe('active');
});

test('while a transition runs, no other one begins', async () => {
  let done: (outcome: Outcome) => void = () => undefined;
  const { lifecycle, change } = setUp({ configure: () => new Promise(resolve => (done = resolve)) });
  const first = change('configure');
  expect(lifecycle.state).toBe('configuring');
  for (const label of ['configure', 'activate', 'shutdown', 'transition_success'])
    expect(await change(label)).toBe(false);
  done('success');
  expect(await first).toBe(true);
  expect(lifecycle.state).toBe('inactive');
});

test('a failure goes back, an exception tidies up', async () => {
  const failing = setUp({ configure: () => 'failure' });
  expect(await failing.change('configure')).toBe(false);
  expect(failing.lifecycle.state).toBe('unconfigured');
  const throwing = setUp({ activate: () => Promise.reject(new Error('no')) });
  await throwing.change('configure');
  expect(await throwing.change('activate')).toBe(false);
  expect(throwing.seen.at(-1)).toBe('errorprocessing -transition_success-> unconfigured');
  expect(throwing.failed).toEqual(['activate: Error: no']);
  const hopeless = setUp({
    configure: () => 'error',
    error: () => {
      throw new Error('worse');
    },
  });
  expect(await hopeless.change('configure')).toBe(false);
  expect(hopeless.lifecycle.state).toBe('finalized');
  expect(hopeless.failed).toEqual(['error: Error: worse']);
});

test('whatever is asked and however the work ends, states follow the graph and rest in a primary state', async () => {
  const asked = fc.record({ id: fc.integer({ min: 0, max: 99 }), label: fc.constantFrom('', '', ...NAMES) });
  const results = fc.infiniteStream(
    fc.constantFrom<Result>('success', 'success', 'failure', 'error', 'throws'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(asked, { maxLength: 30 }), results, async (requests, stream) => {
      const next = (): Outcome => {
        const result = stream.next().value as Result;
        if (result === 'throws') throw new Error('thrown');
        return result;
      };
      const { lifecycle, seen } = setUp(Object.fromEntries(NAMES.map(name => [name, next])));
      const known = new Set(TRANSITIONS.map(({ start, label, goal }) => `${start} -${label}-> ${goal}`));
      for (const request of requests) {
        await lifecycle.change(request);
        expect(STATES[lifecycle.state].id).toBeLessThan(10);
      }
      let state = 'unconfigured';
      for (const step of seen) {
        expect(known).toContain(step);
        expect(step.startsWith(`${state} `)).toBe(true);
        state = step.split('-> ')[1]!;
      }
    }),
  );
});
