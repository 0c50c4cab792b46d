import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { parse } from '@foxglove/rosmsg';
import { openBag } from '../../src/bag/open';
import { definitionFault, messageReader } from '../../src/bag/decode';
import type { BagTopic } from '../../src/bag/types';
import { OxygenError } from '../../src/core/errors';
import { messageText } from '../../src/replay/message-text';
import { serialiser } from '../../src/ros/serialise';
import { EVERYTHING, START_NS, writeBags } from './bags';

const ROOT = join(__dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'bag-decode-'));
afterAll(() => rmSync(folder, { recursive: true }));

const topic = (type: string, definition = ''): BagTopic => ({
  name: '/topic',
  type,
  count: null,
  definition,
  serialization: 'cdr',
});

interface JointState {
  readonly header: {
    readonly stamp: { readonly sec: number; readonly nanosec: number };
    readonly frame_id: string;
  };
  readonly name: readonly string[];
  readonly position: Float64Array;
  readonly effort: Float64Array;
}

/** As rosbags writes it. */
let jointState: Uint8Array;
let described: BagTopic;
beforeAll(async () => {
  const path = join(folder, 'joint.mcap');
  writeBags([{ kind: 'mcap', path, messages: [['/joint_states', START_NS, 'elbow']] }]);
  const bag = await openBag(path);
  described = bag.topics.get('/joint_states')!;
  for await (const { data } of bag.messages(EVERYTHING)) jointState = Uint8Array.from(data);
  await bag.close();
});

test('by the definition in the bag, and by the standard one', () => {
  for (const each of [
    described,
    { ...described, definition: '' },
    { ...described, definition: '%$ damaged' },
  ]) {
    const read = messageReader<JointState>(each)(jointState);
    expect(read).toMatchObject({
      header: { stamp: { sec: 1, nanosec: 2 }, frame_id: 'base' },
      name: ['elbow'],
    });
    expect([...read.position, ...read.effort]).toEqual([0.5, -1.5]);
  }
});

test('what is returned stays valid when the memory of the bag is used again', () => {
  const memory = Uint8Array.from(jointState);
  const read = messageReader<JointState>(described)(memory);
  memory.fill(0xff);
  expect([...read.position]).toEqual([0.5]);
});

test('the definition in the bag wins: a type of the same name from another release', () => {
  const own = topic(
    'std_msgs/msg/String',
    'int32 other\nlab_msgs/Part[] parts\n===\nMSG: lab_msgs/Part\nuint8 id',
  );
  const data = Uint8Array.of(0, 1, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 4, 5);
  expect(messageReader(own)(data)).toEqual({ other: 7, parts: [{ id: 4 }, { id: 5 }] });
});

test.each([
  [
    'LanguageRequest',
    {
      id: 'a',
      text: 'Subtask: ',
      max_tokens: 8,
      seed: 3n,
      deadline: { sec: 2, nanosec: 5 },
      keep_on_instruction: true,
    },
  ],
  ['LanguageToken', { request_id: 'a', token_id: -1, text_delta: 'é', finish_reason: 'end' }],
  [
    'ActionChunk',
    { names: ['x', 'y'], kinds: ['delta', 'delta'], horizon: 1, values: Float64Array.of(0.25, -1) },
  ],
])('our %s is read without a definition, and by its .msg file', (name, message) => {
  const type = `oxygen_vla/msg/${name}`;
  const data = serialiser(type)(message);
  expect(messageReader(topic(type))(data)).toMatchObject(message);
  const text = readFileSync(join(ROOT, 'msg', `${name}.msg`), 'utf8');
  expect(parse(text, { ros2: true })).toHaveLength(1);
  expect(messageReader(topic(type, text))(data)).toMatchObject(message);
});

test('a type that nobody knows, or another serialization, is refused by name', () => {
  expect(() => messageReader(topic('lab_msgs/msg/Thing'))).toThrow(
    /\/topic \(lab_msgs\/msg\/Thing\): the bag does not say/,
  );
  expect(() => messageReader({ ...described, serialization: 'json' })).toThrow(/"json", only cdr is read/);
  // Elements without bytes: any number of them would fit into a message.
  const endless = 'lab_msgs/Nothing[] all\n===\nMSG: lab_msgs/Nothing\nuint8[0] none';
  expect(() => messageReader(topic('lab_msgs/msg/Thing', endless))).toThrow(/the bag does not say/);
  expect(() => messageReader(topic('lab_msgs/msg/Thing', 'lab_msgs/Missing part'))).toThrow(
    /the bag does not say/,
  );
});

test('damaged bytes give a plain error that names topic and type, and never what lies behind the message', () => {
  const read = messageReader<JointState>(described);
  const secret = 0x53;
  fc.assert(
    fc.property(
      fc.nat(jointState.length),
      fc.nat(jointState.length - 1),
      fc.integer({ min: 0, max: 255 }),
      (length, at, value) => {
        const memory = new Uint8Array(4096).fill(secret);
        const data = memory.subarray(64, 64 + length);
        data.set(jointState.subarray(0, length));
        if (at < length) data[at] = value;
        try {
          const text = JSON.stringify(read(data));
          expect(text).not.toContain('SSSS');
        } catch (error) {
          expect(error).toBeInstanceOf(OxygenError);
          expect((error as OxygenError).code).toBe('BAG_DAMAGED');
          expect((error as OxygenError).message).toContain('/joint_states (sensor_msgs/msg/JointState)');
        }
      },
    ),
    { numRuns: 3000 },
  );
});

test('a message cut at any byte is refused', () => {
  const read = messageReader(described);
  for (let length = 0; length < jointState.length; length++)
    expect(() => read(jointState.subarray(0, length))).toThrow('does not fit its type');
});

test('a length field of 4 billion allocates nothing', () => {
  const data = Uint8Array.of(0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);
  for (const field of [
    'float64[] x',
    'uint8[] x',
    'string[] x',
    'bool[] x',
    'string x',
    'builtin_interfaces/Time[] x',
  ]) {
    const before = process.memoryUsage().arrayBuffers;
    expect(() => messageReader(topic('a/msg/B', field))(data)).toThrow('does not fit its type');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1e6);
  }
});

describe('a definition in the bag against the type that the topic claims', () => {
  const USED = [
    'sensor_msgs/msg/Image',
    'sensor_msgs/msg/CompressedImage',
    'sensor_msgs/msg/JointState',
    'std_msgs/msg/String',
    'std_msgs/msg/Float64MultiArray',
    'trajectory_msgs/msg/JointTrajectory',
    'rosgraph_msgs/msg/Clock',
    'oxygen_vla/msg/LanguageRequest',
  ];

  /** The reader knows times as something simple. */
  const shown = (field: string): string =>
    field
      .replace(/^builtin_interfaces\/(\w+)/, (_, time: string) => time.toLowerCase())
      .replace(/[[\]]/g, '.');

  test.each(USED)(
    '%s: its own is no fault; a field of another kind or name, or none at all, is told',
    type => {
      const text = messageText(type);
      expect(definitionFault(topic(type, text))).toBeNull();
      expect(
        definitionFault(
          topic(type, `${text.split('===')[0]}\nint32 more\n${text.slice(text.indexOf('==='))}`),
        ),
      ).toBeNull();
      const lines = text.split('\n');
      for (const [i, line] of lines.entries()) {
        const [, kind, name] = /^([\w/[\]]+) (\w+)/.exec(line) ?? [];
        // A time is known to the reader whatever its definition.
        if (name === undefined || kind === 'MSG:' || /^(int32 sec|uint32 nanosec)$/.test(line)) continue;
        for (const other of [`int16 ${name}`, `${kind} renamed`]) {
          const fault = definitionFault(topic(type, lines.with(i, other).join('\n')));
          expect(fault).toMatch(new RegExp(`^/topic is ${type}, but .*"${shown(other)}" where "`));
        }
      }
      expect(definitionFault(topic(type, 'int32 A=3'))).toMatch(/it has no field "/);
    },
  );

  test('as other libraries write it', () => {
    expect(described.definition).toContain('float64[] position');
    expect(definitionFault(described)).toBeNull();
    expect(
      definitionFault({
        ...described,
        definition: described.definition.replaceAll('std_msgs/', 'std_msgs/msg/'),
      }),
    ).toBeNull();
  });

  test('what is not described, or by nobody known, is no contradiction', () => {
    expect(definitionFault(topic('std_msgs/msg/String', '%$ damaged'))).toBeNull();
    expect(definitionFault(topic('lab_msgs/msg/Thing', 'int32 a'))).toBeNull();
  });
});
