/** One camera that everything waits for (`on_missing: block`): silent, frozen, with wrong stamps, with wrong pictures. */
import { IMAGE_SIZE } from '../ros/demo-scene';
import { SENSOR, peerClock, sleep, until } from '../ros/harness';
import { fromWall, lastChange, measured, seconds, useRig } from './rig';

const rig = useRig();

const TOPIC = 'camera/base_0_rgb/image_raw';
const PART = `input ${TOPIC}`;
/** sync.timeout_ms of the robot file. */
const TIMEOUT_S = 0.3;

interface Wrong {
  readonly stamp?: number | readonly number[] | 'frozen' | 'zero';
  readonly msg?: object;
  readonly file?: string;
  readonly raw?: string;
}

/** The camera with something wrong. */
function camera({ stamp = 0, msg = {}, file = rig.scene.imageFile, raw }: Wrong): void {
  const [height, width] = IMAGE_SIZE;
  rig.peer.send('stream', {
    name: TOPIC,
    topic: TOPIC,
    type: 'sensor_msgs/msg/Image',
    qos: SENSOR,
    hz: 20,
    msg: { height, width, encoding: 'rgb8', step: width * 3, ...msg },
    ...(raw === undefined ? { file } : { raw }),
    ...(stamp === 'zero' || raw !== undefined ? {} : { stamp }),
  });
}

/** No chunk begins from now on. */
async function noChunks(): Promise<void> {
  await sleep(300);
  const from = rig.peer.events.length;
  await sleep(300);
  expect(rig.peer.messages('action_chunk', from)).toEqual([]);
}

test('it stops: the chunk plays to its end, the pose is held, told within a second, recovers alone', async () => {
  const { peer } = rig;
  // The log looks once a second: it shall have seen that all is well.
  await sleep(1200);
  const from = peer.events.length;
  peer.send('unstream', { name: TOPIC });
  const stopped = (await peer.waitFor('the stop', event => event.event === 'unstreamed', 2000, from)).t;
  const told = await rig.says(PART, ({ message }) => message.startsWith('Timeout'), 4000, from);
  expect(told).toMatchObject({ level: 2, values: { blocking: 'true' } });
  measured('camera silent → diagnostics, after sync.timeout_ms', told.t - stopped - TIMEOUT_S);
  expect(told.t - stopped - TIMEOUT_S).toBeLessThan(1);

  const held = await peer.waitForMessage('status', msg => msg.gate === 'hold', 3000, from);
  expect(held.msg.gate_reason).toBe('the last action chunk has ended');
  await sleep(300);
  const { stamp, dt, horizon } = peer.messages('action_chunk').at(-1)!.msg;
  const over = fromWall(seconds(stamp) + dt * horizon);
  measured('chunk over → safe command', lastChange(peer, over) - over);
  expect(lastChange(peer, over) - over).toBeLessThan(0.1);
  // Held, not silent.
  expect(peer.messages('action').at(-1)!.t).toBeGreaterThan(peerClock() - 0.2);
  await rig.node.says(/INPUT_MISSING: camera\/base_0_rgb\/image_raw: silent/, 3000);

  await rig.recovers();
  await rig.says(PART, ({ level }) => level < 2, 2000, from);
  await rig.node.says(/recovered: camera\/base_0_rgb\/image_raw \(INPUT_MISSING\)/, 3000);
});

test('its stamp stands still: as good as silent', async () => {
  const from = rig.peer.events.length;
  await rig.drops('STAMP_INVALID', () => camera({ stamp: 'frozen' }), 3);
  const told = await rig.says(PART, ({ message }) => message.startsWith('Frozen'), 4000, from);
  expect(told).toMatchObject({ level: 2, message: expect.stringMatching(/the stamp does not advance/) });
  await noChunks();
});

test('the same picture again and again, with new stamps: flagged, and used', async () => {
  const from = rig.peer.events.length;
  const told = await rig.says(PART, ({ message }) => message.startsWith('Frozen'), 5000, from);
  expect(told).toMatchObject({ level: 1, values: { blocking: 'false' } });
  expect(told.message).toMatch(/the same picture for .* though its stamps advance/);
  await rig.chunk();
});

test.each<[string, NonNullable<Wrong['stamp']>, RegExp]>([
  ['zero', 'zero', /the stamp is zero; it must be set by the driver/],
  ['an hour in the future', 3600, /the stamp lies 3[56]\d\d\.\d+ s in the future/],
  ['12,000 s behind (O-05)', -12_000, /its stamps are 1(1999|2000)\.\d+ s behind those of joint_states/],
])('stamps: %s: refused, counted, told by topic within 2 s', async (_, stamp, says) => {
  const from = rig.peer.events.length;
  const since = peerClock();
  await rig.drops('STAMP_INVALID', () => camera({ stamp }));
  const told = await rig.says(PART, ({ message }) => says.test(message), 4000, from);
  expect(told).toMatchObject({ level: 2, message: expect.stringMatching(/^BadStamps: /) });
  expect(told.t - since).toBeLessThan(2);
  await noChunks();
});

test('pictures out of order: the old ones are dropped and counted, warned about once, the others go on', async () => {
  const lines = (): number => rig.node.log.match(/the stamp runs back/g)?.length ?? 0;
  const before = lines();
  await rig.drops('STAMP_INVALID', () => camera({ stamp: [0, -0.12] }), 5);
  await rig.chunk();
  expect(lines() - before).toBeLessThanOrEqual(1);
});

test.each<[string, Wrong, string]>([
  ['an encoding that nobody knows', { msg: { encoding: 'bayer_rggb17' } }, 'IMAGE_ENCODING'],
  ['depth', { msg: { encoding: '16UC1', step: 168 } }, 'IMAGE_ENCODING'],
  ['a step that is shorter than a row', { msg: { step: 10 } }, 'IMAGE_SIZE'],
  ['more rows than bytes', { msg: { height: 4000 } }, 'IMAGE_SIZE'],
  ['a size that no memory holds', { msg: { height: 4_000_000_000, width: 4_000_000_000 } }, 'IMAGE_SIZE'],
  ['no pixels', { msg: { height: 0, width: 0, step: 0 } }, 'IMAGE_SIZE'],
  ['no bytes', { file: '/dev/null' }, 'IMAGE_SIZE'],
  // A header, then a length that the message does not have.
  ['bytes that are no message', { raw: '00010000' + '01000000'.repeat(3) + 'ffffff7f' }, 'IMAGE_CORRUPT'],
])('pictures: %s', async (_, wrong, code) => {
  const from = rig.peer.events.length;
  await rig.drops(code, () => camera(wrong), 2);
  expect(rig.peer.messages('status').at(-1)!.msg.last_error).toContain(`${code}: ${TOPIC}`);
  await until('the fault in the diagnostics', 2000, () =>
    rig.peer.messages('/diagnostics', from).some(({ msg }) => JSON.stringify(msg).includes(`drops_${code}`)),
  );
});
