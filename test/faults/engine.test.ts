/** The engine process is slow, hangs, crashes, or fails again and again. Commands never pause and never jump. */
import { JOINTS, textsById } from '../ros/demo-scene';
import { peerClock, sleep, until } from '../ros/harness';
import { lastChange, measured, useRig } from './rig';

const rig = useRig();

/** What the robot got since the event `from`: no gap, no jump, nothing but numbers. */
function expectSmooth(from: number): void {
  const actions = rig.peer.messages('action', from);
  const gaps = actions.slice(1).map((event, i) => event.t - actions[i]!.t);
  expect(Math.max(...gaps)).toBeLessThan(0.2);
  const values = actions.map(event => event.msg.data as number[]);
  const steps = values
    .slice(1)
    .flatMap((action, i) => action.map((value, d) => Math.abs(value - values[i]![d]!)));
  // 4 rad/s is the limit of every joint, and a tick is granted 50 ms at most.
  expect(Math.max(...steps)).toBeLessThan(0.21);
}

const running = (from: number): Promise<unknown> =>
  rig.peer.waitForMessage('status', msg => msg.state === 'running', 8000, from);

test('kill -9 in the middle of both tasks: held at once, told, texts fail, started again', async () => {
  const { node, peer, scene } = rig;
  for (let n = 0; n < 4; n++)
    peer.request({ id: `open-${n}`, text: 'Scene: ', max_tokens: 64, temperature: 50, seed: n });
  await peer.waitForMessage('language/tokens', msg => msg.request_id === 'open-0');
  const restarts = peer.messages('status').at(-1)!.msg.engine_restarts as number;
  const from = peer.events.length;
  const before = node.enginePid();
  await rig.drops('ENGINE_DOWN', () => process.kill(before, 'SIGKILL'));
  const killed = peerClock();
  const down = await peer.waitForMessage('status', msg => msg.state === 'engine_down', 1000, from);
  expect(down.msg).toMatchObject({
    last_error: expect.stringMatching(/ENGINE_DOWN/),
    instruction: scene.instruction,
  });
  const told = await rig.says('engine', ({ level }) => level === 2, 2000, from);
  expect(told.message).toMatch(/down, being started again: the engine process was ended by SIGKILL/);

  await until('the end of all requests', 3000, () =>
    [...textsById(peer).values()].every(stream => stream.at(-1)!.finish_reason !== ''),
  );
  for (const [id, stream] of textsById(peer)) {
    expect([id, stream.map(token => token.sequence_number)]).toEqual([id, stream.map((_, n) => n)]);
    expect(stream.filter(token => token.finish_reason !== '')).toHaveLength(1);
  }
  expect([...textsById(peer).values()].some(stream => stream.at(-1)!.finish_reason === 'failed')).toBe(true);
  // A request while the engine is down has an answer too.
  peer.request({ id: 'late', text: 'Scene: ' });
  const late = await peer.waitForMessage('language/tokens', msg => msg.request_id === 'late', 5000);
  expect(['failed', '']).toContain(late.msg.finish_reason);

  await running(from + 1);
  expect(node.enginePid()).not.toBe(before);
  expect(peer.messages('status').at(-1)!.msg.engine_restarts).toBe(restarts + 1);
  expectSmooth(from);
  expect(told.t - killed).toBeLessThan(1);
});

test('a crash while the arm moves: the command stands still within 100 ms', async () => {
  const { node, peer, scene } = rig;
  // Far from where the instruction leads: the chunk moves all the time.
  peer.joints(JOINTS, [1.2, 0.2, -0.5, -0.2], 50);
  await rig.chunk();
  await sleep(300);
  const from = peer.events.length;
  const killed = peerClock();
  process.kill(node.enginePid(), 'SIGKILL');
  const told = await rig.says('engine', ({ level }) => level === 2, 2000, from);
  const hold = await peer.waitForMessage('status', msg => msg.gate === 'hold', 2000, from);
  await sleep(200);
  const still = lastChange(peer, killed, hold.t + 0.2);
  measured('engine killed → safe command', still - killed);
  measured('engine killed → diagnostics', told.t - killed);
  expect(still - killed).toBeLessThan(0.1);
  expect(told.t - killed).toBeLessThan(1);
  expect(scene.state).toHaveLength(4);
  await running(from + 1);
  expectSmooth(from);
});

test('slow: the chunk plays to its end, then the pose is held; old steps are never played again', async () => {
  const { node, peer } = rig;
  const from = peer.events.length;
  const pid = node.enginePid();
  process.kill(pid, 'SIGSTOP');
  const held = await peer.waitForMessage('status', msg => msg.gate === 'hold', 2000, from);
  expect(held.msg.gate_reason).toBe('the last action chunk has ended');
  process.kill(pid, 'SIGCONT');
  await peer.waitForMessage('status', msg => msg.gate === 'active', 3000, from);
  expect(node.enginePid()).toBe(pid);
  expectSmooth(from);
});

test('hangs: the pose is held, the process is replaced', async () => {
  const { node, peer } = rig;
  const from = peer.events.length;
  const pid = node.enginePid();
  await rig.drops('ENGINE_DOWN', () => process.kill(pid, 'SIGSTOP'));
  expect(peer.messages('status').at(-1)!.msg.last_error).toMatch(/the engine (hangs in|was silent for)/);
  expect(peer.messages('status', from).some(({ msg }) => msg.gate === 'hold')).toBe(true);
  await running(peer.events.length);
  expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
  expectSmooth(from);
});

// The crashes before this one count too: ten good chunks would have cleared them, and none of the tests waits for them.
test('five failures in a row: given up, told how to go on; deactivate, clean up, configure, activate help', async () => {
  const { node, peer } = rig;
  const from = peer.events.length;
  let last = 0;
  await until('the end of all tries', 9000, () => {
    const pid = node.enginePid();
    if (pid > 0 && pid !== last) process.kill((last = pid), 'SIGKILL');
    return node.log.includes('failures in a row, giving up');
  });
  const told = await rig.says('engine', ({ message }) => message.startsWith('given up'), 2000, from);
  expect(told).toMatchObject({
    level: 2,
    message: expect.stringMatching(/deactivate, clean up and configure/),
  });
  expect(peer.messages('status').at(-1)!.msg).toMatchObject({ state: 'engine_down', lifecycle: 'active' });
  expectSmooth(from);
  for (const label of ['deactivate', 'cleanup', 'configure', 'activate']) {
    const answer = await peer.call('/oxygen/change_state', 'lifecycle_msgs/srv/ChangeState', {
      transition: { label },
    });
    expect([label, answer]).toEqual([label, { success: true }]);
  }
  const back = peer.events.length;
  await rig.recovers();
  await running(back);
});
