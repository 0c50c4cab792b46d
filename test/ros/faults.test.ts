/** What goes wrong on a robot: the engine process dies, peers send rubbish. The node lives, counts, and recovers. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { IMAGE_SIZE, JOINTS, demoScene, show, textsById } from './demo-scene';
import type { Scene } from './demo-scene';
import { NodeProcess, Peer, killAll, sleep, until } from './harness';

let folder: string;
let scene: Scene;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen-faults-'));
  scene = demoScene(folder);
});
afterEach(killAll);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function setUp(parameters: object = {}): Promise<{ node: NodeProcess; peer: Peer }> {
  const node = NodeProcess.start('demo', 'demo.yaml', { ...parameters });
  const peer = await Peer.start();
  await node.says(/engine demo is ready/);
  await peer.listening('/language_request');
  return { node, peer };
}

const drop = (peer: Peer, code: string, count: number): Promise<unknown> =>
  until(`${count} drops of ${code}`, 10_000, () => (peer.drops()[code] ?? 0) >= count).catch(error => {
    throw new Error(`${(error as Error).message}; drops are ${JSON.stringify(peer.drops())}`);
  });

/** Rounded: the limits of the arm clamp some golden actions. */
const largestStep = (actions: readonly number[][]): number =>
  Math.max(
    ...actions.slice(1).flatMap((action, i) => action.map((value, d) => Math.abs(value - actions[i]![d]!))),
  );

test('kill -9 of the engine in the middle of both tasks', async () => {
  const { node, peer } = await setUp();
  show(peer, scene);
  await peer.waitForMessage('action_chunk', () => true);
  for (let n = 0; n < 4; n++)
    peer.request({ id: `open-${n}`, text: 'Scene: ', max_tokens: 64, temperature: 5, seed: n });
  await peer.waitForMessage('language/tokens', msg => msg.request_id === 'open-0');

  const from = peer.events.length;
  const before = node.enginePid();
  process.kill(before, 'SIGKILL');
  const killedAt = Date.now();
  const status = await peer.waitForMessage('status', msg => msg.state === 'engine_down', 1000, from);
  console.log(`engine_down in status after at most ${Date.now() - killedAt} ms`);
  expect(status.msg.last_error).toMatch(/ENGINE_DOWN/);
  expect(status.msg.instruction).toBe(scene.instruction);

  await until('the end of all requests', 5000, () =>
    [...textsById(peer).values()].every(stream => stream.at(-1)!.finish_reason !== ''),
  );
  for (const [id, stream] of textsById(peer)) {
    expect([id, stream.map(token => token.sequence_number)]).toEqual([id, stream.map((_, n) => n)]);
    expect(stream.filter(token => token.finish_reason !== '')).toHaveLength(1);
    expect(['failed', 'end', 'length']).toContain(stream.at(-1)!.finish_reason);
  }
  expect([...textsById(peer).values()].some(stream => stream.at(-1)!.finish_reason === 'failed')).toBe(true);

  // A request while the engine is down has an answer too.
  peer.request({ id: 'late', text: 'Scene: ' });
  const late = await peer.waitForMessage('language/tokens', msg => msg.request_id === 'late', 5000);
  expect(['failed', '']).toContain(late.msg.finish_reason);

  const back = await peer.waitForMessage('status', msg => msg.state === 'running', 15_000, from);
  expect(back.msg.engine_restarts).toBe(1);
  await peer.waitForMessage('action_chunk', () => true, 5000, peer.events.length);
  expect(node.enginePid()).not.toBe(before);

  // The action stream never paused and never jumped.
  const actions = peer.messages('action', from);
  const gaps = actions.slice(1).map((event, i) => event.t - actions[i]!.t);
  expect(Math.max(...gaps)).toBeLessThan(0.2);
  expect(largestStep(actions.map(event => event.msg.data as number[]))).toBeLessThan(0.25);

  peer.request({ id: 'after', text: 'Scene: ' });
  const done = await peer.waitForMessage(
    'language/tokens',
    msg => msg.request_id === 'after' && msg.finish_reason !== '',
  );
  expect(done.msg.finish_reason).toBe('end');
  expect(await node.end()).toMatchObject({ code: 0 });
});

test('unusable pictures are counted by code, and the next good frame works', async () => {
  const { node, peer } = await setUp();
  peer.joints(JOINTS, scene.state, 50);
  peer.instruction(scene.instruction);
  const bad = async (code: string, over: object, file = scene.imageFile): Promise<void> => {
    const before = peer.drops()[code] ?? 0;
    peer.image('base_0_rgb', file, IMAGE_SIZE, 20, over);
    await drop(peer, code, before + 2);
  };
  const empty = join(folder, 'empty');
  writeFileSync(empty, '');
  await bad('IMAGE_ENCODING', { encoding: 'bayer_rggb17' });
  await bad('IMAGE_SIZE', { step: 10 });
  await bad('IMAGE_SIZE', { height: 4000 });
  await bad('IMAGE_SIZE', {}, empty);
  expect(peer.messages('action_chunk')).toHaveLength(0);
  expect(node.log.match(/IMAGE_ENCODING: camera\/base_0_rgb\/image_raw/g)!.length).toBeLessThanOrEqual(2);

  peer.image('base_0_rgb', scene.imageFile, IMAGE_SIZE, 20);
  await peer.waitForMessage('action_chunk', () => true);
  expect(await node.end()).toMatchObject({ code: 0 });
});

test('compressed camera that hangs upside down: cut and empty JPEG are dropped, PNG and JPEG work', async () => {
  const robot = join(folder, 'compressed.yaml');
  const yaml = readFileSync(join(__dirname, '../../config/robots/demo.yaml'), 'utf8');
  writeFileSync(
    robot,
    yaml.replace('image_raw, transport: raw', 'image_raw/compressed, transport: compressed, rotate: 180'),
  );
  const { node, peer } = await setUp({ robot });
  peer.joints(JOINTS, scene.state, 50);
  peer.instruction(scene.instruction);

  const [height, width] = IMAGE_SIZE;
  const raw = sharp(readFileSync(scene.imageFile), { raw: { height, width, channels: 3 } }).rotate(180);
  const jpeg = await raw.clone().jpeg({ quality: 95, chromaSubsampling: '4:4:4' }).toBuffer();
  const files = {
    cut: jpeg.subarray(0, jpeg.length / 2),
    empty: Buffer.alloc(0),
    jpeg,
    png: await raw.clone().png().toBuffer(),
  };
  const stream = (name: keyof typeof files): void => {
    const file = join(folder, name);
    writeFileSync(file, files[name]);
    const topic = 'camera/base_0_rgb/image_raw/compressed';
    const msg = { format: 'bgr8; jpeg compressed bgr8' };
    const qos = { reliability: 'best_effort' };
    peer.send('stream', {
      name: topic,
      topic,
      type: 'sensor_msgs/msg/CompressedImage',
      hz: 20,
      msg,
      file,
      stamp: 0,
      qos,
    });
  };
  stream('cut');
  await drop(peer, 'IMAGE_CORRUPT', 2);
  const before = peer.drops()['IMAGE_CORRUPT']!;
  stream('empty');
  await drop(peer, 'IMAGE_CORRUPT', before + 2);
  expect(peer.messages('action_chunk')).toHaveLength(0);
  // The text names places and colours: the picture was turned back, and red and blue are not exchanged.
  for (const name of ['png', 'jpeg'] as const) {
    stream(name);
    await peer.waitForMessage('action_chunk', () => true, 5000, peer.events.length);
    await sleep(300);
    peer.request({ id: name, text: 'Scene: ' });
    const of = (msg: { request_id: string }): boolean => msg.request_id === name;
    await peer.waitForMessage('language/tokens', msg => of(msg) && msg.finish_reason === 'end');
    const text = textsById(peer)
      .get(name)!
      .map(token => token.text_delta)
      .join('');
    expect(text).toBe(scene.texts.get('Scene: ')!.text);
  }
  expect(await node.end()).toMatchObject({ code: 0 });
});

test('joint states, instructions, requests and cancels that make no sense', async () => {
  const { node, peer } = await setUp();
  const state = async (
    names: readonly string[],
    position: readonly unknown[],
    says: RegExp,
  ): Promise<void> => {
    const before = peer.drops()['STATE_INVALID'] ?? 0;
    peer.joints(names, position, 50);
    await drop(peer, 'STATE_INVALID', before + 1);
    await until(
      String(says),
      5000,
      () => says.test(peer.messages('status').at(-1)!.msg.last_error) || says.test(node.log),
    );
  };
  await state(['yaw', 'shoulder'], [0, 0], /joint_states: the joint state lacks elbow, wrist/);
  await state(JOINTS, [0, 'nan', 0, 0], /not a finite number for shoulder/);
  await state(JOINTS, [0, 0], /4 names but only 2 positions/);
  expect(peer.messages('action')).toHaveLength(0);
  expect(peer.messages('status').at(-1)!.msg).toMatchObject({ state: 'holding', mode: 'oxygen' });

  // The pose is known: it is held, in any order of the joints.
  peer.joints([...JOINTS].reverse(), [...scene.state].reverse(), 50);
  const held = await peer.waitForMessage('action', () => true);
  held.msg.data.forEach((value: number, d: number) => expect(value).toBeCloseTo(scene.state[d]!, 6));

  peer.instruction('   ');
  await drop(peer, 'INSTRUCTION_INVALID', 1);
  for (const [id, over] of Object.entries({
    zero: { max_tokens: 0 },
    negative: { max_tokens: -3 },
    huge: { max_tokens: 2 ** 31 - 1 },
    cold: { temperature: -1 },
    nan: { temperature: 'nan' },
    long: { text: 'x'.repeat(100_000) },
    seed: { text: 'far too long a seed '.repeat(40) },
  })) {
    peer.request({ id, text: 'Scene: ', ...over });
    const answer = await peer.waitForMessage('language/tokens', msg => msg.request_id === id);
    expect(answer.msg).toMatchObject({ finish_reason: 'rejected', sequence_number: 0, token_id: -1 });
  }
  await drop(peer, 'REQUEST_INVALID', 7);

  peer.publish('cancel_request', 'std_msgs/msg/String', { data: 'nobody' });
  await drop(peer, 'REQUEST_UNKNOWN', 1);
  expect(node.log).toMatch(/REQUEST_UNKNOWN: cancel_request: no unfinished request has the id 'nobody'/);

  // After all that, the node still does its work; an empty id gets one.
  show(peer, scene);
  await peer.waitForMessage('action_chunk', () => true);
  peer.request({ id: '', text: 'Scene: ' });
  await peer.waitForMessage(
    'language/tokens',
    msg => msg.request_id === 'request-1' && msg.finish_reason === 'end',
  );
  await peer.waitForMessage('language/text', msg => msg.data.startsWith('Scene: red far centre'));
  expect(peer.drops()).not.toHaveProperty('INTERNAL');
  expect(await node.end()).toMatchObject({ code: 0 });
});

test('an open request is cancelled; a reset ends all and starts anew; a new instruction supersedes', async () => {
  const { node, peer } = await setUp({ max_tokens: 512, tokens_per_frame: 1 });
  show(peer, scene);
  const endless = (id: string, over: object = {}): void =>
    // Hot sampling seldom meets the end token.
    peer.request({ id, text: 'Scene: ', max_tokens: 512, temperature: 50, seed: 1, ...over });
  const ended = async (id: string): Promise<string> =>
    (await peer.waitForMessage('language/tokens', msg => msg.request_id === id && msg.finish_reason !== ''))
      .msg.finish_reason as string;
  const talking = (id: string): Promise<unknown> =>
    peer.waitForMessage('language/tokens', msg => msg.request_id === id);

  endless('a');
  await talking('a');
  peer.publish('cancel_request', 'std_msgs/msg/String', { data: 'a' });
  expect(await ended('a')).toBe('cancelled');

  endless('b');
  endless('c', { keep_on_instruction: true });
  await Promise.all([talking('b'), talking('c')]);
  peer.instruction(scene.instruction); // the same text is no change
  await sleep(300);
  expect(textsById(peer).get('b')!.at(-1)!.finish_reason).toBe('');
  peer.instruction('go to the green block');
  expect(await ended('b')).toBe('superseded');
  const first = await peer.waitForMessage('action_chunk', msg => msg.epoch === 1);
  expect(first.msg.epoch).toBe(1);
  expect(textsById(peer).get('c')!.at(-1)!.finish_reason).toBe('');

  expect(await peer.call('/oxygen/reset', 'std_srvs/srv/Trigger', {})).toMatchObject({ success: true });
  expect(await ended('c')).toBe('superseded');
  await peer.waitForMessage('action_chunk', msg => msg.epoch === 2);
  expect(await node.end()).toMatchObject({ code: 0 });
});

test('an instruction that was latched before the node started is heard', async () => {
  const peer = await Peer.start();
  peer.send('stream', {
    name: 'latched',
    topic: 'instruction',
    type: 'std_msgs/msg/String',
    hz: 1000,
    msg: { data: 'go to the blue block' },
    qos: { durability: 'transient_local', depth: 1 },
  });
  peer.subscribe('instruction', 'std_msgs/msg/String', { durability: 'transient_local' });
  await peer.waitForMessage('instruction', () => true);
  peer.send('unstream', { name: 'latched' });
  await sleep(200);
  const node = NodeProcess.start('demo', 'demo.yaml');
  await node.says(/instruction: go to the blue block/);
  expect(node.log.match(/instruction:/g)).toHaveLength(1);
  expect(await node.end()).toMatchObject({ code: 0 });
});

test('remote parameter calls: wrong types and names are answered, integers count as doubles', async () => {
  const { node, peer } = await setUp();
  const refused = (reason: RegExp) => ({ successful: false, reason: expect.stringMatching(reason) });
  expect(await peer.set('tokens_per_frame', { type: 99 })).toMatchObject({ successful: false });
  expect(await peer.set('tokens_per_frame', { type: 99 }, 'set_parameters_atomically')).toMatchObject({
    successful: false,
  });
  expect(await peer.set('no_such', { type: 2, integer_value: 1 })).toMatchObject({ successful: false });
  expect(await peer.set('engine', { type: 4, string_value: '/x' })).toEqual(refused(/readonly/));
  expect(await peer.set('replan_rate_hz', { type: 3, double_value: 'nan' })).toEqual(
    refused(/NaN is not allowed/),
  );
  expect(await peer.set('tokens_per_frame', { type: 2, integer_value: -1 })).toEqual(
    refused(/-1 is not allowed/),
  );
  expect(await peer.set('tokens_per_frame', { type: 0 })).toMatchObject({ successful: false });
  expect(await peer.set('replan_rate_hz', { type: 2, integer_value: 2 })).toMatchObject({ successful: true });

  show(peer, scene);
  await peer.waitForMessage('action_chunk', () => true);
  await sleep(1500);
  const from = peer.events.length;
  await sleep(3000);
  const chunks = peer.messages('action_chunk', from).length;
  expect(chunks).toBeGreaterThanOrEqual(4);
  expect(chunks).toBeLessThanOrEqual(7);
  expect(await node.end()).toMatchObject({ code: 0 });
});
