import type { BagTopic } from '../../src/bag/types';
import { OxygenError } from '../../src/core/errors';
import { planTopics, resolved } from '../../src/replay/topic-plan';
import type { TopicNames } from '../../src/replay/topic-plan';
import { parseRobot } from '../../src/ros/robot-file';

const ROBOT = parseRobot(
  `name: r
cameras:
  base_0_rgb: {}
  wrist_0_rgb: { topic: /wrist/image/compressed, transport: compressed, on_missing: mask }
state: { joints: [a] }
actions: [{ name: a, kind: position, min: -1, max: 1 }]
rates: { train_hz: 20 }`,
  'r.yaml',
);
const TYPES = {
  image: 'sensor_msgs/msg/Image',
  compressed: 'sensor_msgs/msg/CompressedImage',
  state: 'sensor_msgs/msg/JointState',
  string: 'std_msgs/msg/String',
  array: 'std_msgs/msg/Float64MultiArray',
  clock: 'rosgraph_msgs/msg/Clock',
} as const;
const FULL: Readonly<Record<string, keyof typeof TYPES>> = {
  '/camera/base_0_rgb/image_raw': 'image',
  '/wrist/image/compressed': 'compressed',
  '/joint_states': 'state',
  '/instruction': 'string',
  '/action': 'array',
};
const NAMES: TopicNames = { namespace: '/', remaps: new Map(), action: null, instructed: false };

const bag = (topics: Readonly<Record<string, keyof typeof TYPES>>): ReadonlyMap<string, BagTopic> =>
  new Map(
    Object.entries(topics).map(([name, type]) => [
      name,
      { name, type: TYPES[type], count: null, definition: '', serialization: 'cdr' },
    ]),
  );
const plan = (topics = FULL, names: Partial<TopicNames> = {}) =>
  planTopics({ topics: bag(topics), faults: [] }, ROBOT, { ...NAMES, ...names });
const without = (...names: readonly string[]): typeof FULL =>
  Object.fromEntries(Object.entries(FULL).filter(([name]) => !names.includes(name)));
const kinds = ({ uses }: ReturnType<typeof plan>): Record<string, string[]> =>
  Object.fromEntries([...uses].map(([name, all]) => [name, all.map(({ kind }) => kind)]));
function refusal(topics: typeof FULL, names: Partial<TopicNames> = {}): string {
  try {
    plan(topics, names);
  } catch (error) {
    expect(error).toMatchObject({ code: 'BAG_EMPTY' });
    return (error as OxygenError).message;
  }
  throw new Error('it was planned');
}

test('every topic is what the robot file and the node call it', () => {
  const all = plan();
  expect(kinds(all)).toEqual({
    '/camera/base_0_rgb/image_raw': ['camera'],
    '/wrist/image/compressed': ['camera'],
    '/joint_states': ['state'],
    '/instruction': ['instruction'],
    '/action': ['action'],
  });
  expect(all.recorded).toEqual({ topic: '/action', type: TYPES.array });
  expect([all.simTime, all.notes]).toEqual([false, []]);
  expect(plan({ ...FULL, '/clock': 'clock' }).simTime).toBe(true);
});

test('namespaces and remaps resolve names as ROS does', () => {
  const remaps = new Map([
    ['joint_states', '/js'],
    ['/arm/action', 'cmd'],
  ]);
  const names = { namespace: '/arm', remaps };
  expect(
    ['joint_states', 'action', '/arm/action', '/x', 'y', '~/y'].map(name => resolved(name, names)),
  ).toEqual(['/js', '/arm/cmd', '/arm/cmd', '/x', '/arm/y', '/arm/oxygen/y']);
  const topics = {
    '/arm/camera/base_0_rgb/image_raw': 'image',
    '/wrist/image/compressed': 'compressed',
    '/js': 'state',
    '/arm/instruction': 'string',
    '/arm/cmd': 'array',
  } as const;
  expect(Object.keys(kinds(plan(topics, names)))).toEqual(Object.keys(topics));
});

test('one topic may have two uses: joint states that are the recorded actions too', () => {
  const both = plan(FULL, { action: 'joint_states' });
  expect(kinds(both)['/joint_states']).toEqual(['state', 'action']);
  expect(both.recorded).toEqual({ topic: '/joint_states', type: TYPES.state });
});

test('a camera that may be missing is left out with a note, and so is what there is to compare with', () => {
  const { notes, recorded } = plan(without('/wrist/image/compressed', '/action'));
  expect(recorded).toBeNull();
  expect(notes).toEqual([
    'camera wrist_0_rgb is left out: the bag has no topic /wrist/image/compressed; it has no sensor_msgs/msg/CompressedImage at all',
    'no recorded actions: the bag has no topic /action; it has /joint_states; name them with --action-topic',
  ]);
});

test('every input that is missing is told at once, with the cure', () => {
  const message = refusal({ '/cam': 'image', '/js': 'state' });
  expect(message.split('\n').map(line => line.trim())).toEqual([
    'camera base_0_rgb: the bag has no topic /camera/base_0_rgb/image_raw; it has sensor_msgs/msg/Image on /cam: ' +
      'name the right one in the robot file, or with --remap /camera/base_0_rgb/image_raw:=/cam',
    'joint states: the bag has no topic /joint_states; it has sensor_msgs/msg/JointState on /js: ' +
      'name the right one in the robot file, or with --remap /joint_states:=/js',
    'the bag has no /instruction; say what the robot is to do with --instruction TEXT',
  ]);
});

test('a wrong type is a fault even where the topic may be missing', () => {
  expect(refusal({ ...FULL, '/wrist/image/compressed': 'image' })).toBe(
    '/wrist/image/compressed is sensor_msgs/msg/Image in the bag, wanted is sensor_msgs/msg/CompressedImage; ' +
      'set transport: raw in the robot file',
  );
  expect(refusal({ ...FULL, '/joint_states': 'string' })).toMatch(
    /^\/joint_states is std_msgs\/msg\/String in the bag, wanted is sensor_msgs\/msg\/JointState$/,
  );
  expect(refusal(FULL, { action: '/instruction' })).toMatch(
    /recorded actions: \/instruction is std_msgs\/msg\/String; recorded actions may be/,
  );
});

test('an instruction of the command line is enough; no camera at all is not', () => {
  expect(kinds(plan(without('/instruction'), { instructed: true }))['/instruction']).toBeUndefined();
  const blind = {
    ...ROBOT,
    cameras: ROBOT.cameras.map(camera => ({ ...camera, onMissing: 'mask' as const })),
  };
  const topics = without('/camera/base_0_rgb/image_raw', '/wrist/image/compressed');
  expect(() => planTopics({ topics: bag(topics), faults: [] }, blind, NAMES)).toThrow(
    'the bag has none of the cameras',
  );
});

test.each([
  ['as it should be', 'string'],
  ['of another type', 'array'],
] as const)(
  'an instruction of the command line replaces that of the bag, %s, and a note says so',
  (_, type) => {
    const { uses, notes } = plan({ ...FULL, '/instruction': type }, { instructed: true });
    expect(uses.get('/instruction')).toBeUndefined();
    expect(notes).toContain('/instruction of the bag is not used: --instruction replaces it');
    expect(plan(without('/instruction'), { instructed: true }).notes.join()).not.toContain('--instruction');
  },
);

describe('pictures that were recorded in the other way', () => {
  const compressed = {
    ...without('/camera/base_0_rgb/image_raw'),
    '/wrist/image/compressed': 'compressed',
  } as const;

  test('beside the name of the robot file: its two lines are said', () => {
    expect(refusal({ ...compressed, '/camera/base_0_rgb/image_raw/compressed': 'compressed' })).toBe(
      'camera base_0_rgb: the bag has no topic /camera/base_0_rgb/image_raw; it has sensor_msgs/msg/CompressedImage on ' +
        '/camera/base_0_rgb/image_raw/compressed: in the robot file, under cameras, base_0_rgb needs ' +
        '"topic: /camera/base_0_rgb/image_raw/compressed" and "transport: compressed"',
    );
  });

  test('under any name, but not what another camera takes', () => {
    expect(refusal({ ...compressed, '/front/compressed': 'compressed', '/side': 'compressed' })).toMatch(
      /it has sensor_msgs\/msg\/CompressedImage on \/front\/compressed, \/side: .* "topic: \/front\/compressed"/,
    );
    expect(refusal(compressed)).toMatch(/it has no sensor_msgs\/msg\/Image at all$/);
  });

  test('raw, where the robot file has the compressed name', () => {
    const { notes } = plan({ ...without('/wrist/image/compressed'), '/wrist/image': 'image' });
    expect(notes).toEqual([
      expect.stringContaining('wrist_0_rgb needs "topic: /wrist/image" and "transport: raw"'),
    ]);
  });
});

test('what is damaged is said before what is missing', () => {
  const faults = [
    new OxygenError('BAG_DAMAGED', 'a.mcap, byte 100: the file ends'),
    new OxygenError('BAG_DISORDER', 'far'),
  ];
  expect(() => planTopics({ topics: bag(without('/joint_states')), faults }, ROBOT, NAMES)).toThrow(
    /^a\.mcap, byte 100: the file ends\n {2}joint states: the bag has no topic \/joint_states/,
  );
});

describe('messages that are not what their name says', () => {
  const withTopic = (name: string, change: Partial<BagTopic>, topics = FULL) => {
    const all = new Map(bag(topics));
    all.set(name, { ...all.get(name)!, ...change });
    return { topics: all, faults: [] };
  };

  test('a recording of ROS 1 is called that, once, with the cure', () => {
    const old = withTopic('/joint_states', { type: 'sensor_msgs/JointState', serialization: 'ros1' });
    expect(() => planTopics(old, ROBOT, NAMES)).toThrow(
      /^this is a recording of ROS 1 \(\/joint_states is serialised as "ros1"\): .*rosbags-convert/,
    );
  });

  test('another serialisation', () => {
    expect(() => planTopics(withTopic('/joint_states', { serialization: 'json' }), ROBOT, NAMES)).toThrow(
      /^\/joint_states is serialised as "json", only cdr is read/,
    );
  });

  test('an instruction of the wrong type is one fault, not two', () => {
    expect(refusal({ ...FULL, '/instruction': 'state' })).toBe(
      '/instruction is sensor_msgs/msg/JointState in the bag, wanted is std_msgs/msg/String',
    );
  });

  test('a definition in the bag that contradicts the type', () => {
    expect(() => planTopics(withTopic('/instruction', { definition: 'int32 data' }), ROBOT, NAMES)).toThrow(
      /^\/instruction is std_msgs\/msg\/String, but by the definition in the bag it has "int32 data" where "string data" should be/,
    );
    // There need be nothing to compare with.
    const { recorded, notes } = planTopics(
      withTopic('/action', { definition: 'float64 data' }),
      ROBOT,
      NAMES,
    );
    expect([recorded, notes]).toEqual([
      null,
      [expect.stringMatching(/^no recorded actions: \/action is .* "float64 data"/)],
    ]);
  });
});
