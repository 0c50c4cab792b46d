import { ros2jazzy } from '@foxglove/rosmsg-msgs-common';
import { MessageWriter } from '@foxglove/rosmsg2-serialization';
import fc from 'fast-check';
import { OxygenError } from '../../src/core/errors';
import { readCompressedImage, readImage, readJointState } from '../../src/ros/cdr';
import { DropLog } from '../../src/ros/drops';
import { Instruction } from '../../src/ros/instruction';
import { multiArrayMessage, toFloat64 } from '../../src/ros/outputs';

type Sensor = 'sensor_msgs/Image' | 'sensor_msgs/CompressedImage' | 'sensor_msgs/JointState';
const write = (type: Sensor, message: unknown): Uint8Array =>
  new MessageWriter([
    { definitions: ros2jazzy[type].definitions },
    { name: 'std_msgs/Header', definitions: ros2jazzy['std_msgs/Header'].definitions },
  ]).writeMessage(message);
const header = { stamp: { sec: 5, nanosec: 6 }, frame_id: 'cam' };
const image = { header, height: 1, width: 2, encoding: 'rgb8', is_bigendian: 0, step: 6 };

describe('serialised messages', () => {
  test('a picture is a view of the bytes, not a copy', () => {
    const bytes = write('sensor_msgs/Image', { ...image, data: Uint8Array.of(1, 2, 3, 4, 5, 6) });
    const message = readImage(bytes);
    expect(message).toMatchObject({ width: 2, encoding: 'rgb8', header });
    expect(message.data).toEqual(Uint8Array.of(1, 2, 3, 4, 5, 6));
    expect(message.data.buffer).toBe(bytes.buffer);
  });

  test('compressed pictures and joint states', () => {
    const compressed = readCompressedImage(
      write('sensor_msgs/CompressedImage', { header, format: 'jpeg', data: Uint8Array.of(9) }),
    );
    expect(compressed).toMatchObject({ format: 'jpeg', data: Uint8Array.of(9) });
    const state = { header, name: ['a', 'b'], position: [1, 2], velocity: [], effort: [] };
    expect(Array.from(readJointState(write('sensor_msgs/JointState', state)).position)).toEqual([1, 2]);
  });

  test('a length that is longer than the message is refused, even when the buffer behind it is longer', () => {
    const bytes = write('sensor_msgs/Image', { ...image, data: new Uint8Array(600) });
    expect(() => readImage(bytes.subarray(0, bytes.length - 10))).toThrow(OxygenError);
    // What lies behind it would do: in a bag, the next message.
    const state = { header, name: ['a', 'b'], position: [1, 2], velocity: [], effort: [] };
    const whole = write('sensor_msgs/JointState', state);
    for (let length = 0; length < whole.length; length++)
      expect(() => readJointState(whole.subarray(0, length))).toThrow(/is damaged/);
  });

  test('damaged bytes never do more than throw an OxygenError', () => {
    const good = write('sensor_msgs/Image', { ...image, data: new Uint8Array(6) });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }),
        edits => {
          const bytes = Uint8Array.from(good);
          for (const [at, value] of edits) bytes[at] = value;
          try {
            expect(readImage(bytes).data.byteLength).toBeLessThanOrEqual(bytes.byteLength);
          } catch (error) {
            expect((error as OxygenError).code).toBe('IMAGE_CORRUPT');
          }
        },
      ),
    );
  });
});

test('float64[] fields never get a Float32Array, nor a view into a longer buffer', () => {
  const view = Float64Array.of(7, 8, 9).subarray(1);
  expect(toFloat64(view)).toEqual(Float64Array.of(8, 9));
  expect(toFloat64(view).buffer.byteLength).toBe(16);
  const message = multiArrayMessage(Float32Array.of(0.5, 1.5)) as { data: unknown };
  expect(message.data).toEqual(Float64Array.of(0.5, 1.5));
  const own = Float64Array.of(1);
  expect(toFloat64(own)).toBe(own);
});

describe('the instruction', () => {
  const origin = (sentNs: bigint, publisher = 'p') => ({ publisher, sentNs });

  test('last writer wins; the same text, a second copy and an older message are no change', () => {
    const instruction = new Instruction();
    expect(instruction.command(' reach the red block\n', origin(1n))).toBe(true);
    expect(instruction.command('reach the red block', origin(2n))).toBe(false);
    expect(instruction.command('go to the blue block', origin(3n))).toBe(true);
    expect(instruction.command('reach the red block', origin(2n))).toBe(false);
    expect(instruction.command('reach the red block', origin(1n, 'q'))).toBe(true);
    expect(instruction.text).toBe('reach the red block');
  });

  test('a second copy that comes after the message of another is no news', () => {
    const instruction = new Instruction();
    instruction.command('red', origin(1n));
    instruction.command('blue', origin(1n, 'q'));
    expect(instruction.command('red', origin(1n))).toBe(false);
    expect(instruction.text).toBe('blue');
    // however many publishers there were before
    for (let i = 0; i < 1000; i++) instruction.command(`go ${i}`, origin(1n, `once ${i}`));
    expect(instruction.command('go 998', origin(1n, 'once 998'))).toBe(false);
    expect(instruction.command('red', origin(2n))).toBe(true);
  });

  test('control characters are left out', () => {
    const instruction = new Instruction();
    instruction.command('go\u0007 to\u001b[31m\tred\0', origin(1n));
    expect(instruction.text).toBe('go to[31m\tred');
  });

  test.each(['', ' \n ', '\u0001\0', 'x'.repeat(5000)])('refused: %#', text => {
    const instruction = new Instruction();
    instruction.command('stay', origin(1n));
    expect(() => instruction.command(text, origin(2n))).toThrow(/the last one stays/);
    expect(instruction.text).toBe('stay');
    // the copy of the other subscription
    expect(instruction.command(text, origin(2n))).toBe(false);
    expect(instruction.command('go', origin(3n))).toBe(true);
  });
});

test('drops are all counted, warned about once per cause and then every few seconds, with the number in between', () => {
  const lines: string[] = [];
  let nowMs = 0;
  const add = (text: string) => lines.push(text);
  const drops = new DropLog({ info: add, warn: add, error: add }, () => nowMs);
  for (let n = 0; n < 100; n++, nowMs += 100) drops.drop('IMAGE_CORRUPT', 'camera/a: cut', 'camera/a');
  drops.drop('IMAGE_CORRUPT', 'camera/b: cut', 'camera/b');
  expect(lines).toEqual([
    'IMAGE_CORRUPT: camera/a: cut',
    'IMAGE_CORRUPT: camera/a: cut (and 49 more since the last warning)',
    'IMAGE_CORRUPT: camera/b: cut',
  ]);
  expect(drops.counts()).toEqual([['IMAGE_CORRUPT', 101n]]);
  drops.recovered('IMAGE_CORRUPT', 'camera/a');
  drops.recovered('IMAGE_CORRUPT', 'camera/a');
  expect(lines.slice(3)).toEqual(['recovered: camera/a (IMAGE_CORRUPT)']);
  expect(drops.lastError).toBe('IMAGE_CORRUPT: camera/b: cut');
});
