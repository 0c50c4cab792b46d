/** Raw images, joint state and instruction through ROS; golden actions and golden text come out. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { goldenDir } from '../support/engines';
import { readSafetensors } from '../support/safetensors';
import { ENGINES, NodeProcess, Peer, ROBOTS, killAll, launchCommand } from './harness';

interface Case {
  readonly case: string;
  readonly instruction: string;
  readonly state: readonly number[];
  readonly cameras_present: readonly string[];
  readonly language: readonly { seed: string; tokens: number[]; text: string }[];
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen-whole-path-'));
});
afterEach(killAll);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A robot file with only the cameras of the case. */
function robotFile(name: string, cameras: readonly string[]): string {
  const kept = readFileSync(join(ROBOTS, `${name}.yaml`), 'utf8')
    .split('\n')
    .filter(line => !/^ {2}\w+_0_rgb:/.test(line) || cameras.some(camera => line.startsWith(`  ${camera}:`)));
  const path = join(folder, `${name}-${cameras.length}.yaml`);
  writeFileSync(path, kept.join('\n'));
  return path;
}

function bytesFile(name: string, data: ArrayBufferView): string {
  const path = join(folder, name);
  writeFileSync(path, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  return path;
}

const cases = (['tiny', 'odd'] as const).flatMap(name => {
  const { cases } = JSON.parse(readFileSync(join(goldenDir(name), 'whole_path.json'), 'utf8')) as {
    cases: Case[];
  };
  return cases.map(golden => [name, golden.case, golden] as const);
});

test.each(cases)('%s %s', async (name, id, golden) => {
  const whole = readSafetensors(join(goldenDir(name), 'whole_path.safetensors'));
  const images = readSafetensors(join(goldenDir(name), 'images.safetensors'));
  const parameters = join(folder, 'parameters.yaml');
  writeFileSync(
    parameters,
    `/**/vla:\n  ros__parameters:\n    noise_file: ${bytesFile(`${name}.noise`, whole.get('noise')!.data)}\n    threads: 1\n`,
  );
  const command = launchCommand({
    engine: join(ENGINES, name),
    robot: robotFile(name, golden.cameras_present),
    params_file: parameters,
    namespace: 'arm',
    name: 'vla',
  });
  const node = new NodeProcess(command, '/');
  const peer = await Peer.start();
  peer.subscribe('/arm/action_chunk', 'oxygen_vla/msg/ActionChunk');
  peer.subscribe('/arm/language/tokens', 'oxygen_vla/msg/LanguageToken', { depth: 1000 });
  await node.says(/engine .* is ready/);
  await peer.listening('/arm/language_request');

  peer.publish('/arm/instruction', 'std_msgs/msg/String', { data: golden.instruction });
  const joints = golden.state.map((_, i) => `joint_${i + 1}`).reverse();
  // As a stream: best-effort messages may be lost while the two sides are still discovering each other.
  const stream = (topic: string, type: string, hz: number, msg: object, more: object = {}): void =>
    peer.send('stream', {
      name: topic,
      topic,
      type,
      hz,
      msg,
      stamp: 0,
      qos: { reliability: 'best_effort' },
      ...more,
    });
  const position = [...golden.state].reverse();
  stream('/arm/joint_states', 'sensor_msgs/msg/JointState', 50, { name: joints, position });
  for (const camera of golden.cameras_present) {
    const { shape, data } = images.get(`raw.${camera}`)!;
    const [height, width] = shape as [number, number];
    const msg = { height, width, encoding: 'rgb8', step: width * 3 };
    const file = bytesFile(`${name}.${camera}`, data);
    stream(`/arm/camera/${camera}/image_raw`, 'sensor_msgs/msg/Image', 5, msg, { file });
  }
  golden.language.forEach(({ seed, tokens }, i) => {
    const request = { id: `${i}`, text: seed, max_tokens: tokens.length };
    peer.publish('/arm/language_request', 'oxygen_vla/msg/LanguageRequest', request);
  });

  const chunk = (await peer.waitForMessage('/arm/action_chunk', () => true)).msg;
  const wanted = whole.get(`${id}.actions_unnormalized`)!;
  const [horizon, dims] = wanted.shape as [number, number];
  expect(chunk).toMatchObject({
    horizon,
    dt: 0.05,
    names: [...joints].reverse(),
    kinds: Array(dims).fill('position'),
  });
  const errors = (chunk.values as number[]).map((value, i) => Math.abs(value - Number(wanted.data[i])));
  expect(errors).toHaveLength(horizon * dims);
  expect(Math.max(...errors)).toBeLessThan(1e-4);

  for (const [i, { tokens, text }] of golden.language.entries()) {
    const done = (msg: { request_id: string; finish_reason: string }): boolean =>
      msg.request_id === `${i}` && msg.finish_reason !== '';
    expect((await peer.waitForMessage('/arm/language/tokens', done)).msg.finish_reason).toBe(
      tokens.at(-1) === 1 ? 'end' : 'length',
    );
    const heard = peer
      .messages('/arm/language/tokens')
      .map(e => e.msg)
      .filter(msg => msg.request_id === `${i}`);
    expect(heard.map(msg => msg.sequence_number)).toEqual(heard.map((_, n) => n));
    expect(heard.slice(0, -1).map(msg => msg.token_id)).toEqual(tokens.filter(token => token !== 1));
    expect(heard.map(msg => msg.text_delta).join('')).toBe(text);
    expect(heard.every(msg => msg.stamp.sec > 0)).toBe(true);
  }
  peer.end();
  expect(await node.end()).toMatchObject({ code: 0 });
});
