/** The recorder of the demo against a player that others could have written: what was played is what is recorded. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CAMERA, Player, SAMPLE, bagContents } from '../replay/player';
import { NodeProcess, ROOT, killAll } from '../ros/harness';

const SECONDS = 2;
const TOPICS = [CAMERA, '/joint_states', '/instruction', '/language_request', '/action', '/action_chunk'];
const folder = mkdtempSync(join(tmpdir(), 'oxygen-record-'));

afterAll(() => {
  killAll();
  rmSync(folder, { recursive: true, force: true });
});

const record = (file: string, ...args: string[]): NodeProcess =>
  new NodeProcess(['python3', join(ROOT, 'demo/record.py'), file, ...args], ROOT);

test('every message with its bytes, its QoS and the time of its receipt; SIGINT ends with a whole file', async () => {
  const file = join(folder, 'again.mcap');
  const recorder = record(file, '--wait-for', ...TOPICS, '/clock');
  const player = new Player(['--playback-duration', String(SECONDS)], TOPICS);
  const finished = await player.event('finished');
  expect(await player.ended()).toBe(0);
  expect(await recorder.end('SIGINT')).toMatchObject({ code: 0 });

  const [played, recorded] = [bagContents(SAMPLE), bagContents(file)];
  const endNs = Number(played['/instruction']!.messages[0]!.log) + SECONDS * 1e9;
  expect(Object.keys(recorded).sort()).toEqual([...TOPICS, '/clock'].sort());
  expect(recorded['/clock']!.messages.length).toBeGreaterThan(30 * SECONDS);
  for (const topic of TOPICS) {
    const { messages: before, ...kind } = played[topic]!;
    const { messages: after, ...same } = recorded[topic]!;
    const sent = before.filter(({ log }) => Number(log) < endNs);
    expect(same).toEqual(kind);
    expect(after.map(({ sha256 }) => sha256)).toEqual(sent.map(({ sha256 }) => sha256));
    expect(finished.counts[topic]).toBe(sent.length);
    // Recorded as far apart as they were played.
    const length = ({ log }: { log: string }, first: { log: string }): number =>
      Number(log) - Number(first.log);
    const off = length(after.at(-1)!, after[0]!) - length(sent.at(-1)!, sent[0]!);
    expect(Math.abs(off)).toBeLessThan(0.3e9);
  }
}, 30_000);

test('a file that is there already is refused, and stays', async () => {
  const recorder = record(SAMPLE);
  expect(await recorder.exit).toBe(1);
  expect(recorder.log).toMatch(/cannot write .*sample\.mcap: File exists/);
});

test('a recording without a message is no success', async () => {
  const recorder = record(join(folder, 'empty.mcap'), '--topics', '/nobody');
  await recorder.says(/waiting for publishers/);
  expect(await recorder.end('SIGTERM')).toMatchObject({ code: 1 });
  expect(recorder.log).toMatch(/nobody published \/nobody[\s\S]*not one message came/);
});
