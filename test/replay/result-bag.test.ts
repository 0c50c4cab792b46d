/** Result bags as independent libraries read them (result_bag_peer.py). */
import { parse } from '@foxglove/rosmsg';
import { MessageReader } from '@foxglove/rosmsg2-serialization';
import fc from 'fast-check';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageText } from '../../src/replay/message-text';
import { ResultBag } from '../../src/replay/result-bag';
import { OWN_MESSAGES } from '../../src/ros/own-messages';
import { serialiser } from '../../src/ros/serialise';
import { MONITORS, OUTPUTS } from '../../src/ros/topics';
import { anyMessage, plain } from './messages';

const ROOT = join(__dirname, '../..');
const START_NS = 1_700_000_000_123_456_789n;
const PERIOD_NS = 14_285_714n;
const PER_TOPIC = 40;

const topics = [...Object.values(OUTPUTS), MONITORS.status].map(topic => ({
  ...topic,
  name: `/${topic.name}`,
}));
/** Nothing is said here. */
const SILENT = '/action_preview';
const speaking = topics.filter(({ name }) => name !== SILENT);

interface Message {
  readonly topic: string;
  readonly type: string;
  readonly message: object;
  readonly timeNs: bigint;
}

/** `count` messages of each type, round about, three at the same time. */
function manyMessages(count: number): Message[] {
  const byTopic = speaking.map(({ name, type }) => ({
    topic: name,
    type,
    messages: fc.sample(anyMessage(type.replace('/msg/', '/')), { numRuns: count, seed: 7 }),
  }));
  return Array.from({ length: count }, (_, i) =>
    byTopic.map(({ topic, type, messages }) => ({ topic, type, message: messages[i]! })),
  )
    .flat()
    .map((given, i) => ({ ...given, timeNs: START_NS + BigInt(Math.floor(i / 3)) * PERIOD_NS }));
}

const messages = manyMessages(PER_TOPIC).map((given, i) =>
  // Two long ones, so that there is more than one chunk.
  given.topic === '/language/text' && i < 2 * speaking.length
    ? { ...given, message: { data: '😀'.repeat(200_000) } }
    : given,
);

let folder: string;
const at = (name: string): string => join(folder, name);
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'oxygen-result-'))));
afterAll(() => rmSync(folder, { recursive: true }));

async function write(path: string, given: readonly Message[], flushEvery = Infinity): Promise<void> {
  const bag = await ResultBag.open(path, topics);
  for (const [i, { topic, message, timeNs }] of given.entries()) {
    bag.write(topic, message, timeNs);
    if (i % flushEvery === 0) await bag.flush();
  }
  await bag.close();
}

const sha256 = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

describe('read by rosbags and mcap-ros2-support', () => {
  interface Found {
    readonly topic: string;
    readonly time: string;
    readonly value: unknown;
  }
  interface Overview {
    readonly topics: readonly { name: string; type: string; count: number; qos: unknown }[];
    readonly start: string;
    readonly end: string;
  }
  interface Peer {
    readonly folder: Overview;
    readonly rosbags: Overview & {
      readonly foreign: readonly string[];
      readonly standard: readonly string[];
      readonly differing: readonly string[];
      readonly messages: readonly Found[];
    };
    readonly mcap: {
      readonly profile: string;
      readonly library: string;
      readonly topics: readonly string[];
      readonly compression: readonly string[];
      readonly chunks: number;
      readonly counts: readonly number[];
      readonly messages: readonly (Found & { published: string; sequence: number })[];
    };
  }
  let peer: Peer;

  beforeAll(async () => {
    await write(at('folder'), messages);
    await write(at('file.mcap'), messages);
    const python = join(ROOT, '.venv/bin/python');
    const script = join(__dirname, 'result_bag_peer.py');
    const found = execFileSync(python, [script, at('file.mcap'), at('folder')], { maxBuffer: 1 << 28 });
    peer = JSON.parse(String(found)) as Peer;
  });

  test.each(['rosbags', 'mcap'] as const)('%s: every field of every message, in order', library => {
    const found = peer[library].messages;
    expect(found).toHaveLength(messages.length);
    for (const [i, { topic, type, message, timeNs }] of messages.entries()) {
      expect(found[i]).toMatchObject({ topic, time: String(timeNs) });
      expect(found[i]!.value).toEqual(plain(message, { type: type.replace('/msg/', '/') }));
    }
  });

  test('a message was published when it was logged, and each topic counts its own', () => {
    const sequences = new Map<string, number>();
    for (const { topic, time, published, sequence } of peer.mcap.messages) {
      expect({ topic, published, sequence }).toEqual({
        topic,
        published: time,
        sequence: sequences.get(topic) ?? 0,
      });
      sequences.set(topic, sequence + 1);
    }
  });

  test('topics in the given order with their types and counts, also the one that says nothing', () => {
    const counts = topics.map(({ name }) => (name === SILENT ? 0 : PER_TOPIC));
    expect(peer.rosbags.topics.map(({ name, type, count }) => [name, type, count])).toEqual(
      topics.map(({ name, type }, i) => [name, type, counts[i]]),
    );
    expect(peer.mcap.topics).toEqual(topics.map(({ name }) => name));
    expect(peer.mcap.counts).toEqual(counts);
    expect(peer.rosbags).toMatchObject({ start: String(START_NS) });
    expect(BigInt(peer.rosbags.end)).toBe(messages.at(-1)!.timeNs + 1n);
  });

  test('metadata.yaml of a folder says what the file says', () => {
    const { topics, start, end } = peer.rosbags;
    expect(peer.folder).toEqual({ topics, start, end });
  });

  test('ros2 bag play offers what the node offers', () => {
    for (const [i, { qos }] of topics.entries()) {
      const { reliability, durability, depth } = qos;
      expect(peer.rosbags.topics[i]!.qos).toEqual([
        [reliability.toUpperCase(), durability.toUpperCase(), 'KEEP_LAST', depth, 'AUTOMATIC'],
      ]);
    }
    expect(JSON.stringify(peer.rosbags.topics)).toContain('"TRANSIENT_LOCAL"');
  });

  test('standard types are those of Jazzy, with every constant; only ours are of another package', () => {
    expect(peer.rosbags.differing).toEqual([]);
    expect(peer.rosbags.standard).toContain('visualization_msgs/msg/Marker');
    const own = speaking.map(({ type }) => type).filter(type => type.startsWith('oxygen_vla/'));
    expect([...peer.rosbags.foreign].sort()).toEqual(own.sort());
  });

  test('profile, library and compression, and the test has more than one chunk', () => {
    expect(peer.mcap).toMatchObject({ profile: 'ros2', library: 'oxygen_vla', compression: ['zstd'] });
    expect(peer.mcap.chunks).toBeGreaterThan(1);
  });
});

test('a third reader, which Foxglove uses, makes the same of definitions and bytes', () => {
  for (const { type } of speaking) {
    const reader = new MessageReader(parse(messageText(type), { ros2: true }));
    const name = type.replace('/msg/', '/');
    for (const { message } of messages.filter(given => given.type === type).slice(0, 10)) {
      const read = reader.readMessage(serialiser(type)(message));
      expect(plain(read, { type: name })).toEqual(plain(message, { type: name }));
    }
  }
});

test('the definitions of our own messages are those of msg/*.msg, without the comments', () => {
  for (const name of Object.keys(OWN_MESSAGES)) {
    const lines = readFileSync(join(ROOT, 'msg', `${name.split('/')[1]}.msg`), 'utf8').split('\n');
    const [own, ...used] = messageText(name).split(`${'='.repeat(80)}\nMSG: `);
    expect(own).toBe(lines.filter(line => line !== '' && !line.startsWith('#')).join('\n') + '\n');
    const times = ['Time', 'Duration']
      .map(time => `builtin_interfaces/${time}`)
      .filter(time => own!.includes(time));
    expect(used).toEqual(times.map(time => `${time}\nint32 sec\nuint32 nanosec\n`));
  }
});

test('equal messages give equal bytes, in a file and in a folder, whenever the file keeps up', async () => {
  const many = [...messages, ...messages];
  await write(at('a.mcap'), many);
  await write(at('b.mcap'), many, 7);
  await write(at('c'), many, 100);
  expect(sha256(at('b.mcap'))).toBe(sha256(at('a.mcap')));
  expect(sha256(at('c/result.mcap'))).toBe(sha256(at('a.mcap')));
  await write(at('c'), many);
  const first = sha256(at('c/metadata.yaml'));
  await write(at('d'), many);
  expect(sha256(at('d/metadata.yaml'))).toBe(first);
});
