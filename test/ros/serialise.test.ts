import { ros2jazzy } from '@foxglove/rosmsg-msgs-common';
import { MessageReader } from '@foxglove/rosmsg2-serialization';
import fc from 'fast-check';
import { OWN_MESSAGES } from '../../src/ros/own-messages';
import { publishingBytes, serialiser } from '../../src/ros/serialise';

const reader = (type: string) => {
  const all = Object.entries(ros2jazzy).map(([name, { definitions }]) => ({ name, definitions }));
  const root = { definitions: ros2jazzy[type as keyof typeof ros2jazzy].definitions };
  return new MessageReader([root, ...all]);
};
const write = serialiser('diagnostic_msgs/msg/DiagnosticArray');
const read = (bytes: Uint8Array) =>
  reader('diagnostic_msgs/DiagnosticArray').readMessage(bytes) as { header: object; status: object[] };
const header = { stamp: { sec: 1, nanosec: 2 }, frame_id: '' };

test('any text and any number of elements come back from an independent reader', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter(s => !s.includes('\0'));
  const status = fc.record({
    level: fc.integer({ min: 0, max: 3 }),
    name: text,
    message: text,
    hardware_id: text,
    values: fc.array(fc.record({ key: text, value: text }), { maxLength: 5 }),
  });
  fc.assert(
    fc.property(fc.array(status, { maxLength: 20 }), statuses => {
      const message = { header, status: statuses };
      expect(read(write(message))).toEqual(message);
    }),
  );
});

test('what is longer than the buffer makes it grow, and nothing of it stays for the next message', () => {
  const status = [{ level: 1, name: 'n'.repeat(100_000), message: '', hardware_id: '', values: [] }];
  expect(read(write({ header, status })).status).toEqual(status);
  const short = { header: { ...header, frame_id: 'é' }, status: [] };
  expect(write(short)).toEqual(serialiser('diagnostic_msgs/msg/DiagnosticArray')(short));
});

test('earlier bytes are not touched by later messages', () => {
  const first = write({ header, status: [] });
  const before = Buffer.from(first);
  write({ header: { ...header, frame_id: 'other' }, status: [] });
  expect(first).toEqual(before);
});

test('a zero character ends no text early, and fields that are not given have their defaults', () => {
  expect(read(write({ status: [{ name: 'a\0b' }] }))).toEqual({
    header: { stamp: { sec: 0, nanosec: 0 }, frame_id: '' },
    status: [{ level: 0, name: 'ab', message: '', hardware_id: '', values: [] }],
  });
});

test('numbers of all kinds, with the defaults of their type', () => {
  const markers = [
    { id: -7, color: { r: 0.5 }, points: [{ x: 1 / 3 }], frame_locked: true, lifetime: { sec: -1 } },
  ];
  const bytes = serialiser('visualization_msgs/msg/MarkerArray')({ markers });
  expect(reader('visualization_msgs/MarkerArray').readMessage(bytes)).toMatchObject({
    markers: [
      {
        id: -7,
        color: { r: 0.5, g: 0, b: 0, a: 0 },
        points: [{ x: 1 / 3, y: 0, z: 0 }],
        frame_locked: true,
        lifetime: { sec: -1, nanosec: 0 },
        pose: { orientation: { x: 0, y: 0, z: 0, w: 1 } },
        texture: { format: '', data: new Uint8Array(0) },
      },
    ],
  });
});

describe('the status, with what no other type has', () => {
  const status = serialiser('oxygen_vla/msg/Status');
  type Definition = ConstructorParameters<typeof MessageReader>[0][number];
  const definition = OWN_MESSAGES['oxygen_vla/Status'] as Definition;
  const readStatus = (bytes: Uint8Array) => new MessageReader([definition]).readMessage(bytes);

  test('64 bits as bigint or number, lists of them, booleans', () => {
    const given = { enabled: true, ticks: 2n ** 64n - 1n, frames: 7, drop_counts: [0n, 2n ** 53n + 1n, 3] };
    expect(readStatus(status(given))).toMatchObject({
      enabled: true,
      dry_run: false,
      ticks: 2n ** 64n - 1n,
      frames: 7n,
      chunks: 0n,
      drop_counts: BigUint64Array.of(0n, 2n ** 53n + 1n, 3n),
    });
  });

  test.each([{ ticks: -1n }, { ticks: 2n ** 64n }, { batch: -1 }, { tokens_per_frame: 2 ** 31 }])(
    'a number that does not fit is an error, not another number: %p',
    given => expect(() => status(given)).toThrow('out of range'),
  );
});

test('a typed array gives the same bytes as a list, wherever it lies in its memory', () => {
  const multiArray = serialiser('std_msgs/msg/Float64MultiArray');
  const values = [1 / 3, NaN, -0, 1e300];
  for (const labels of [[], [{ label: 'a' }], [{ label: 'abcde' }]]) {
    const message = (data: unknown) => multiArray({ layout: { dim: labels }, data });
    const expected = message(values);
    expect(message(Float64Array.from(values))).toEqual(expected);
    expect(message(Float64Array.from([0, ...values, 0]).subarray(1, 5))).toEqual(expected);
    expect(message(Float32Array.from([0.5]))).toEqual(message([0.5]));
    expect(message(new Float64Array(0))).toEqual(message([]));
  }
});

test('a type without a definition is a bug', () => {
  expect(() => serialiser('no_msgs/msg/No')).toThrow('no definition of the message type no_msgs/No');
});

test('a publisher stays the one that rclnodejs knows, and sends bytes only of these types', () => {
  const sent: object[] = [];
  const fake = () =>
    new (class {
      publish(message: object): void {
        sent.push(message);
      }
    })();
  const [bytes, plain] = [fake(), fake()];
  expect(publishingBytes(bytes, 'diagnostic_msgs/msg/DiagnosticArray')).toBe(bytes);
  publishingBytes(plain, 'std_msgs/msg/String');
  bytes.publish({ header, status: [] });
  plain.publish({ data: 'a' });
  expect(sent).toEqual([write({ header, status: [] }), { data: 'a' }]);
});
