/** The modes on the real graph: chunks come, and of the same picture every mode says the same, word by word. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demoScene, show, textsById } from './demo-scene';
import { ENGINES, NodeProcess, Peer, ROBOTS, killAll, launchCommand } from './harness';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen-modes-'));
});
afterEach(killAll);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(['shared', 'isolated'])('%s', async mode => {
  const scene = demoScene(folder);
  const paths = { engine: join(ENGINES, 'demo'), robot: join(ROBOTS, 'demo.yaml') };
  const node = new NodeProcess(launchCommand({ ...paths, mode }));
  const peer = await Peer.start();
  await node.says(/engine demo is ready/);
  await peer.listening('/language_request');
  show(peer, scene);
  await peer.waitForMessage('action_chunk', () => true);

  const from = peer.events.length;
  for (const seed of scene.texts.keys()) peer.request({ id: seed, text: seed, max_tokens: 24 });
  // A temperature with one candidate is greedy too.
  peer.request({ id: 'one', text: 'Scene: ', max_tokens: 24, temperature: 5, top_k: 1 });
  peer.request({ id: 'sure', text: 'Scene: ', max_tokens: 24, temperature: 5, top_p: 1e-6 });
  const wanted = new Map([...scene.texts].map(([seed, { text }]) => [seed, text]));
  for (const id of ['one', 'sure']) wanted.set(id, scene.texts.get('Scene: ')!.text);
  for (const [id, text] of wanted) {
    await peer.waitForMessage('language/tokens', msg => msg.request_id === id && msg.finish_reason === 'end');
    const stream = textsById(peer).get(id)!;
    expect([id, stream.map(token => token.text_delta).join('')]).toEqual([id, text]);
    expect(stream.map(token => token.sequence_number)).toEqual(stream.map((_, n) => n));
  }
  await peer.waitForMessage('action_chunk', () => true, 5000, peer.events.length);
  const { msg } = await peer.waitForMessage('status', status => status.request_ms > 0, 5000, from);
  expect(msg).toMatchObject({ mode, language: 'on', drop_reasons: [] });
  expect(msg.first_token_ms).toBeGreaterThan(0);
  expect(msg.request_ms).toBeGreaterThan(msg.first_token_ms);
  expect(await node.end()).toMatchObject({ code: 0 });
});
