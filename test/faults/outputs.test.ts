/** What the model must not make the robot do: NaN, and commands outside the limits. */
import { createHash } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENGINES, sleep } from '../ros/harness';
import { lastChange, measured, peerClock, useRig } from './rig';

const FAULT_AFTER = 5;
const POISON = 'reach the blue block';

const rig = useRig(it => ({
  parameters: {
    engine: poisoned(it.folder, 'blue'),
    fault_after: FAULT_AFTER,
    // The shoulder of the scene is at 0.98 and moves up from there.
    robot: it.robot(
      'narrow.yaml',
      'shoulder, kind: position, min: -0.6, max: 2.2',
      'shoulder, kind: position, min: -0.6, max: 0.99',
    ),
  },
}));

/**
 * The demo engine with an embedding that overflows, once scaled by √width, for every token that spells `word`. The
 * table is that of the logits too, so NaN itself would spoil every frame.
 */
function poisoned(folder: string, word: string): string {
  const path = join(folder, 'poisoned');
  cpSync(join(ENGINES, 'demo'), path, { recursive: true });
  const { model } = JSON.parse(readFileSync(join(path, 'tokenizer.json'), 'utf8')) as {
    model: { vocab: Record<string, number> };
  };
  const manifest = JSON.parse(readFileSync(join(path, 'engine.json'), 'utf8'));
  const table = manifest.hostTensors['paligemma_with_expert.paligemma.lm_head.weight'];
  const weights = readFileSync(join(path, table.file));
  const [, width] = table.shape as [number, number];
  const rows = Object.entries(model.vocab).filter(([token]) => token.includes(word));
  expect(rows).not.toEqual([]);
  for (const [, row] of rows) weights.writeFloatLE(3.1e37, table.offset + 4 * row * width);
  writeFileSync(join(path, table.file), weights);
  manifest.files[table.file].sha256 = createHash('sha256').update(weights).digest('hex');
  writeFileSync(join(path, 'engine.json'), JSON.stringify(manifest));
  return path;
}

test('NaN: the chunk is not played, the pose is held; so many in a row latch a fault, which a reset clears', async () => {
  const { peer, scene } = rig;
  const from = peer.events.length;
  const since = peerClock();
  await rig.drops('NON_FINITE', () => peer.instruction(POISON));
  const fault = await peer.waitForMessage('status', msg => msg.gate === 'fault', 4000, from);
  expect(fault.msg.gate_reason).toMatch(/5 chunks in a row held NaN or infinity; a reset clears this/);
  const told = await rig.says(
    'safety',
    ({ level, message }) => level === 2 && message.startsWith('fault'),
    2000,
    from,
  );
  measured('fault latched → diagnostics', told.t - fault.t);
  expect(told.t - fault.t).toBeLessThan(1);
  expect(peer.drops()['NON_FINITE']).toBeGreaterThanOrEqual(FAULT_AFTER);
  measured('fault latched → safe command', lastChange(peer, fault.t) - fault.t);
  expect(lastChange(peer, fault.t) - fault.t).toBeLessThan(0.1);
  expect(fault.t - since).toBeLessThan(3);

  // Latched: a good instruction alone does not help.
  peer.instruction(scene.instruction);
  await sleep(500);
  const held = peer.events.length;
  await sleep(300);
  expect(peer.messages('action_chunk', held)).toEqual([]);
  expect(peer.messages('status', held).every(({ msg }) => msg.gate === 'fault')).toBe(true);
  expect(
    peer
      .messages('action', from)
      .flatMap(({ msg }) => msg.data as number[])
      .every(Number.isFinite),
  ).toBe(true);
  expect(peer.messages('action', held).length).toBeGreaterThan(10);

  expect(await peer.call('/oxygen/reset', 'std_srvs/srv/Trigger', {})).toMatchObject({ success: true });
  await peer.waitForMessage('status', msg => msg.gate === 'active', 4000, held);
});

test('less NaN than that: it goes on with the next good chunk', async () => {
  const { peer, scene } = rig;
  const set = (value: number): Promise<unknown> =>
    peer.set('replan_rate_hz', { type: 3, double_value: value });
  await set(2);
  const from = peer.events.length;
  await rig.drops('NON_FINITE', () => peer.instruction(POISON));
  peer.instruction(scene.instruction);
  await set(10);
  await rig.chunk();
  expect(peer.messages('status', from).some(({ msg }) => msg.gate === 'fault')).toBe(false);
});

test('commands outside the limits are clamped, counted and told by name', async () => {
  await rig.drops('ACTION_LIMITED', () => undefined, 3);
  expect(rig.node.log).toMatch(/ACTION_LIMITED: command for shoulder was outside the limits and was clamped/);
  const shoulder = rig.peer.messages('action').map(({ msg }) => msg.data[1] as number);
  expect(Math.max(...shoulder)).toBeLessThanOrEqual(0.99);
});
