/** Standing requests and auto k on the real graph: what the node asks itself, and what it makes of the answers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scene } from './demo-scene';
import { demoScene, show, textsById } from './demo-scene';
import { NodeProcess, Peer, killAll, peerClock, sleep, until } from './harness';
import { stalls } from '../support/stalls';

let folder: string;
let scene: Scene;
let node: NodeProcess;
let peer: Peer;

const PARAMETERS = `
/**:
  ros__parameters:
    status_rate_hz: 4.0
    standing_requests: [scene, pulse]
    scene: { text: 'Scene: ', max_tokens: 24 }
    pulse: { text: 'Scene: ', max_tokens: 1, every_frames: 2, priority: 1 }
    # Not asked at first.
    subtask: { text: 'Subtask: ', on_done: set_instruction }
`;

const listOf = (...names: string[]): object => ({ type: 9, string_array_value: names });
const status = () => peer.messages('status').at(-1)!.msg;
const textOf = (id: string): string =>
  (textsById(peer).get(id) ?? []).map(token => token.text_delta).join('');
/** Ids of a standing request that have ended, in order. */
const endedOf = (name: string): string[] =>
  [...textsById(peer)]
    .filter(([id, stream]) => id.startsWith(`${name}/`) && stream.at(-1)!.finish_reason !== '')
    .map(([id]) => id);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen-standing-'));
  scene = demoScene(folder);
  const file = join(folder, 'parameters.yaml');
  writeFileSync(file, PARAMETERS);
  node = NodeProcess.start('demo', 'demo.yaml', {}, ['--params-file', file]);
  peer = await Peer.start();
  await node.says(/engine demo is ready/);
  await peer.listening('/language_request');
  show(peer, scene);
});
afterAll(() => {
  killAll();
  rmSync(folder, { recursive: true, force: true });
});

test('one is asked whenever the last has ended: one at a time, numbered, each with its text', async () => {
  await until('six scenes', 20_000, () => endedOf('scene').length >= 6);
  expect(node.log).not.toMatch(/unknown parameter/);
  expect(endedOf('scene').slice(0, 6)).toEqual([0, 1, 2, 3, 4, 5].map(n => `scene/${n}`));
  const order = peer.messages('language/tokens').map(event => event.msg.request_id as string);
  endedOf('scene').slice(0, -1).forEach((id, n) => {
    expect([id, textOf(id)]).toEqual([id, scene.texts.get('Scene: ')!.text]);
    expect(order.lastIndexOf(id)).toBeLessThan(order.indexOf(`scene/${n + 1}`));
  });
  // People see it as any other text.
  await peer.waitForMessage('language/text', msg => msg.data.includes('Scene: red far centre'));
}); // prettier-ignore

test('another is asked at every second frame', async () => {
  // A busy machine makes few frames.
  await until('pulse/6', 20_000, () =>
    peer.messages('language/tokens').some(({ msg }) => msg.request_id === 'pulse/6'),
  );
  const frames = peer.messages('action_chunk').map(event => JSON.stringify(event.msg.observation_stamp));
  const asked = peer
    .messages('language/tokens')
    .filter(({ msg }) => msg.request_id.startsWith('pulse/') && msg.sequence_number === 0)
    .map(({ msg }) => frames.indexOf(JSON.stringify(msg.stamp)))
    .filter(index => index >= 0);
  expect(asked.length).toBeGreaterThan(5);
  const steps = asked.slice(1).map((index, i) => index - asked[i]!);
  console.log(`frames between two askings: ${steps.join(' ')}`);
  expect(steps.filter(step => step === 2).length).toBeGreaterThanOrEqual(steps.length * 0.8);
});

test('its text may change live; the next one has it', async () => {
  const from = peer.events.length;
  expect(await peer.set('scene.text', { type: 4, string_value: 'Subtask: ' })).toMatchObject({ successful: true });
  expect(await peer.set('scene.text', { type: 4, string_value: '' })).toMatchObject({ successful: false });
  await peer.waitForMessage('language/text', msg => msg.data.includes('Subtask: '), 10_000, from);
  const wanted = scene.texts.get('Subtask: ')!.text;
  await until('the subtask', 10_000, () => textOf(endedOf('scene').at(-1)!) === wanted);
  const words = 'far too long a seed '.repeat(40);
  expect(await peer.set('scene.text', { type: 4, string_value: words })).toMatchObject({ successful: true });
  await until('a drop', 5000, () => peer.drops()['REQUEST_INVALID'] === 1);
  expect(node.log).toMatch(/REQUEST_INVALID: standing request scene is not asked: the seed text has \d+ tokens/);
  await peer.set('scene.text', { type: 4, string_value: 'Scene: ' });
}); // prettier-ignore

test('tokens_per_frame 0 is auto: texts fill the time that the chunk plays, and it never runs out', async () => {
  expect(await peer.set('tokens_per_frame', { type: 2, integer_value: 0 })).toMatchObject({ successful: true });
  // Hot sampling seldom meets the end token: there is always somebody to speak.
  let asked = 0;
  const ended = (): number =>
    peer.messages('language/tokens').filter(({ msg }) => /^long-/.test(msg.request_id) && msg.finish_reason !== '').length;
  const talk = async (ms: number): Promise<void> => {
    for (const end = Date.now() + ms; Date.now() < end; await sleep(20)) {
      while (asked - ended() < 6)
        peer.request({ id: `long-${asked++}`, text: 'Scene: ', max_tokens: 64, temperature: 50, seed: asked });
    }
  };
  await talk(1500);
  // Another process of the machine may take time away: one window of four must be whole, but for what the machine itself lost.
  let fresh = 0;
  let wanted = 0.99;
  let replan = Infinity;
  let steps: number[] = [];
  for (let window = 0; window < 4 && (fresh < wanted || replan > 5); window++) {
    const from = peer.events.length;
    const begin = peerClock();
    await talk(2000);
    wanted = 0.99 - stalls(begin, peerClock()).total / 2;
    const seen = peer.messages('status', from).map(event => event.msg);
    const grown = (field: string): number => seen.at(-1)[field] - seen[0][field];
    fresh = grown('fresh_ticks') / grown('ticks');
    replan = (70 * grown('chunks')) / grown('ticks');
    steps = seen.map(msg => msg.tokens_per_frame as number);
    console.log(
      `auto: fresh ${fresh.toFixed(4)}, replan ${replan.toFixed(1)} Hz, ${seen.at(-1).tokens_per_s.toFixed(0)} tokens/s, ` +
        `${Math.min(...steps)} to ${Math.max(...steps)} steps in a frame`,
    );
  }
  expect(fresh).toBeGreaterThanOrEqual(wanted);
  // Chunks play for 0.5 s; with the 5 steps of before, frames came at ten times that rate.
  expect(replan).toBeLessThanOrEqual(5);
  expect(Math.max(...steps)).toBeGreaterThan(20);
  await peer.set('tokens_per_frame', { type: 2, integer_value: 5 });
  await until('the last long text', 20_000, () => ended() === asked);
}); // prettier-ignore

test('the list may change live, among the names of the start', async () => {
  const refused = (reason: RegExp) => ({ successful: false, reason: expect.stringMatching(reason) as string });
  expect(await peer.set('standing_requests', listOf('nobody'))).toEqual(refused(/'nobody' had no nobody\.text/));
  expect(await peer.set('standing_requests', { type: 4, string_value: 'scene' })).toMatchObject({ successful: false });
  expect(await peer.set('subtask.keep_on_instruction', { type: 1, bool_value: true })).toMatchObject({ successful: true });
  expect(await peer.set('standing_requests', listOf('subtask'))).toEqual(refused(/an answer to an old instruction/));
  expect(await peer.set('subtask.keep_on_instruction', { type: 1, bool_value: false })).toMatchObject({ successful: true });
  expect(await peer.set('standing_requests', listOf())).toMatchObject({ successful: true });
  await sleep(500);
  const count = peer.messages('language/tokens').length;
  await sleep(500);
  expect(peer.messages('language/tokens').length).toBe(count);
}); // prettier-ignore

test('set_instruction: the text is the instruction of the next frames until it changes; a new command wins', async () => {
  const changes = (): string[] =>
    [...node.log.matchAll(/instruction, set by subtask: (.*)/g)].map(([, text]) => text!);
  /** Equal answers are no changes. */
  const settled = async (): Promise<void> => {
    for (let answers = 0, count = -1; changes().length !== count; count = changes().length) {
      answers = endedOf('subtask').length;
      await until('four more answers', 10_000, () => endedOf('subtask').length >= answers + 4);
    }
  };
  peer.request({ id: 'question', text: 'Scene: ', max_tokens: 64, temperature: 50 });
  expect(await peer.set('standing_requests', listOf('subtask'))).toMatchObject({ successful: true });
  await settled();
  expect(changes()[0]).toBe(scene.texts.get('Subtask: ')!.text);
  await until('the subtask in force', 5000, () => status().instruction === changes().at(-1));
  // No epoch of its own: nothing that runs is ended by it.
  expect(peer.messages('action_chunk').at(-1)!.msg.epoch).toBe(0);
  const question = await peer.waitForMessage('language/tokens', msg => msg.request_id === 'question' && msg.finish_reason !== '');
  expect(['end', 'length']).toContain(question.msg.finish_reason);

  const before = changes().length;
  peer.instruction('go to the green block');
  await until('the command and its subtask', 10_000, () =>
    /instruction: go to the green block[^]*instruction, set by subtask: /.test(node.log));
  await settled();
  expect(changes().slice(before).every(text => text.includes('green block'))).toBe(true);
  expect(peer.messages('action_chunk').at(-1)!.msg.epoch).toBe(1);
  for (const stream of textsById(peer).values()) {
    expect(stream.map(token => token.sequence_number)).toEqual(stream.map((_, n) => n));
    expect(stream.filter(token => token.finish_reason !== '').length).toBeLessThanOrEqual(1);
  }
  expect(await node.end()).toMatchObject({ code: 0 });
}); // prettier-ignore
