/** 70 Hz of actions while language is saturated, counted by an independent peer; every token once and right. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demoScene, show, textsById } from './demo-scene';
import { NodeProcess, Peer, killAll, sleep, until } from './harness';
import { stalls } from '../support/stalls';

const SECONDS = 10;
const OPEN_REQUESTS = 8;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen-rate-'));
});
afterEach(killAll);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('actions at 70.0 ± 0.5 Hz with eight requests always open; tokens gapless and greedy', async () => {
  const scene = demoScene(folder);
  const node = NodeProcess.start('demo', 'demo.yaml', { max_requests: OPEN_REQUESTS, tokens_per_frame: 5 });
  const peer = await Peer.start();
  await node.says(/engine demo is ready/);
  await peer.listening('/language_request');
  show(peer, scene);
  await peer.waitForMessage('action_chunk', () => true);

  const seeds = [...scene.texts.keys()];
  const asked: string[] = [];
  const finished = (): number =>
    peer.messages('language/tokens').filter(e => e.msg.finish_reason !== '').length;
  const ask = (): void => {
    while (asked.length - finished() < OPEN_REQUESTS) {
      const seed = seeds[asked.length % seeds.length]!;
      asked.push(seed);
      peer.request({ id: `${asked.length - 1}`, text: seed, max_tokens: 16 });
    }
  };
  ask();
  await sleep(1000);
  const from = peer.events.length;
  const end = Date.now() + SECONDS * 1000;
  while (Date.now() < end) {
    ask();
    await sleep(20);
  }
  const times = peer.messages('action', from).map(event => event.t);
  const hz = (times.length - 1) / (times.at(-1)! - times[0]!);
  const errors = times
    .slice(1)
    .map((t, i) => Math.abs((t - times[i]!) * 1000 - 1000 / 70))
    .sort((a, b) => a - b);
  const p99 = errors[Math.floor(errors.length * 0.99)]!;
  const status = peer.messages('status').at(-1)!.msg;
  console.log(
    `action ${hz.toFixed(3)} Hz, p99 of |dt - 14.286 ms| ${p99.toFixed(2)} ms, max ${errors.at(-1)!.toFixed(1)} ms; ` +
      `replan ${status.replan_hz.toFixed(1)} Hz, ${status.tokens_per_s.toFixed(0)} tokens/s, batch ${status.batch_max}`,
  );
  // A tick that comes too late is left out; what the machine took away is not the node's.
  const { total } = stalls(times[0]!, times.at(-1)!);
  expect(hz).toBeLessThanOrEqual(70.5);
  expect(hz).toBeGreaterThanOrEqual(69.5 - (70 * total) / (times.at(-1)! - times[0]!));
  expect(status.batch_max).toBeGreaterThanOrEqual(3);
  expect(status.fresh_ratio).toBeGreaterThan(0.8);
  expect(status.drop_reasons).toEqual([]);

  await until('the last requests to end', 20_000, () => finished() === asked.length);
  const byId = textsById(peer);
  expect(byId.size).toBe(asked.length);
  for (const [id, stream] of byId) {
    const { tokens, text } = scene.texts.get(asked[Number(id)]!)!;
    expect(stream.map(token => token.sequence_number)).toEqual(stream.map((_, n) => n));
    expect(stream.slice(0, -1).map(token => token.token_id)).toEqual(tokens);
    expect(stream.map(token => token.text_delta).join('')).toBe(text);
    expect(stream.filter(token => token.finish_reason !== '').map(token => token.finish_reason)).toEqual([
      'end',
    ]);
    expect(stream.at(-1)).toMatchObject({ finish_reason: 'end', token_id: -1 });
  }
  peer.end();
  expect(await node.end()).toMatchObject({ code: 0 });
  console.log(/main thread: .*/.exec(node.log)?.[0]);
});
