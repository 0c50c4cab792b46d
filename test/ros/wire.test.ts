/** Our serialised messages and our view of the graph against rclpy: real processes, real DDS. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from '@foxglove/rosmsg';
import type { Robot } from '../../src/core/robot';
import { diagnosticArray } from '../../src/ros/diagnostics';
import { GraphWatch } from '../../src/ros/graph-watch';
import type { EndpointInfo, OwnEndpoint } from '../../src/ros/graph-watch';
import { markersMessage, predictedJointStates } from '../../src/ros/monitor-messages';
import { actionChunkMessage, multiArrayMessage, tokenMessage } from '../../src/ros/outputs';
import { OWN_MESSAGES } from '../../src/ros/own-messages';
import { serialiser } from '../../src/ros/serialise';
import type { SerialisedType } from '../../src/ros/serialise';
import { actionTrajectory, jointTrajectory } from '../../src/ros/trajectory-messages';
import { snapshot } from './diagnostic-sample';
import { NodeProcess, Peer, ROOT, killAll, until } from './harness';

const robot: Robot = {
  name: 'arm',
  platform: 'none',
  cameras: [],
  state: { topic: 'joint_states', joints: ['a', 'b'] },
  actions: ['a', 'b'].map(name => ({ name, kind: 'position', joint: name, min: -1, max: 1, maxRate: null })),
  relativeTo: [null, null],
  rates: { trainHz: 10, executeSteps: null },
  sync: { toleranceMs: 50, timeoutMs: 300, stamps: 'header' },
};
const values = Float64Array.of(0.1, -0.2, 1 / 3, 1e-300, 0.5, -0.6);
const chunk = { observationStampNs: 0n, epoch: 0, horizon: 3, dims: 2, values };
const plan = { chunk, startNs: 12_000_000_345n, stepSeconds: 0.1 };
const view = {
  robot,
  frame: 'base_link',
  nowNs: 12_000_000_345n,
  caption: `Größe: 日本 😀\n${'long '.repeat(2000)}`,
  instruction: 'reach the red block',
  state: 'active',
  plan,
  command: [0.25, -0.25],
};

/** Every message that goes out as bytes, as plain data. */
const MESSAGES: readonly (readonly [string, SerialisedType, object])[] = [
  ['/markers', 'visualization_msgs/msg/MarkerArray', markersMessage(view)],
  ['/cleared', 'visualization_msgs/msg/MarkerArray', markersMessage({ ...view, plan: null })],
  ['/predicted', 'sensor_msgs/msg/JointState', predictedJointStates(plan, robot, 5n)!],
  ['/chunk', 'trajectory_msgs/msg/JointTrajectory', jointTrajectory(plan, robot, 0n)!],
  ['/point', 'trajectory_msgs/msg/JointTrajectory', actionTrajectory([1 / 3, -1], robot, 14_285_714n)],
  ['/command', 'std_msgs/msg/Float64MultiArray', multiArrayMessage([1 / 3, -1, 1e300])],
  ['/action_chunk', 'oxygen_vla/msg/ActionChunk', actionChunkMessage(chunk, 12_000_000_345n, 0.1, robot)],
  [
    '/token',
    'oxygen_vla/msg/LanguageToken',
    tokenMessage({ type: 'token', id: 'ä/0', sequence: 7, tokenId: -1, text: '日😀', frameStampNs: 5n }),
  ],
  ['/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', diagnosticArray(snapshot, 12_000_000_345n)],
];

/** As the peer prints it: plain arrays, colours in single precision, a byte as a list of one. */
const printed = (value: unknown, key = ''): unknown => {
  if (Array.isArray(value) || ArrayBuffer.isView(value))
    return Array.from(value as ArrayLike<unknown>, element => printed(element));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, printed(field, name)]));
  if (key === 'level') return [value];
  return ['r', 'g', 'b', 'a'].includes(key) ? Math.fround(value as number) : value;
};

const wire = (publishers: object[], subscriptions: object[] = []): NodeProcess =>
  new NodeProcess(['node', join(__dirname, 'peers/wire.cjs'), JSON.stringify({ publishers, subscriptions })]);

afterEach(killAll);

test('our own messages have the fields of msg/*.msg', () => {
  for (const [type, { definitions }] of Object.entries(OWN_MESSAGES)) {
    const text = readFileSync(join(ROOT, 'msg', `${type.split('/')[1]}.msg`), 'utf8');
    const [root] = parse(text, { ros2: true });
    const plain = root!.definitions.map(({ name, type, isArray }) => ({
      name,
      type: type.replace('builtin_interfaces/Time', 'time'),
      ...(isArray ? { isArray } : {}),
    }));
    expect(plain).toEqual(definitions);
  }
});

test('each message arrives at rclpy with every field', async () => {
  wire(
    MESSAGES.map(([topic, type, message]) => ({
      topic,
      type,
      bytes: serialiser(type)(message).toString('base64'),
    })),
  );
  const peer = await Peer.start();
  for (const [topic, type] of MESSAGES) peer.subscribe(topic, type);
  for (const [topic, , message] of MESSAGES) {
    const { msg } = await peer.waitForMessage(topic, () => true);
    expect(msg).toMatchObject(printed(message) as object);
  }
  // Fields that we leave to their defaults.
  const { msg } = await peer.waitForMessage('/markers', () => true);
  expect(msg.markers[0]).toMatchObject({
    frame_locked: false,
    mesh_resource: '',
    colors: [],
    uv_coordinates: [],
  });
  peer.end();
});

test('what keeps peers from us is told with both names, and forgotten when they are gone', async () => {
  const endpoint = (topic: string, direction: 'in' | 'out', type = 'std_msgs/msg/String'): OwnEndpoint => ({
    topic,
    type,
    direction,
    qos: { reliability: 'reliable', durability: 'volatile', depth: 10 },
    exclusive: topic === '/action',
  });
  const ins = ['/weak', '/typed', '/fine'].map(topic => endpoint(topic, 'in'));
  const out = endpoint('/action', 'out', 'std_msgs/msg/Float64MultiArray');
  const data = Buffer.of(0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0).toString('base64');
  const ours = wire([{ ...out, bytes: data }], ins);

  interface Graph {
    readonly publishers: Record<string, EndpointInfo[]>;
    readonly subscriptions: Record<string, EndpointInfo[]>;
    readonly nodes: { readonly name: string; readonly namespace: string }[];
  }
  const graph = (): Graph =>
    JSON.parse(ours.log.slice(0, ours.log.lastIndexOf('\n')).split('\n').at(-1)!, (_, value) =>
      typeof value === 'string' && /^\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value,
    ) as Graph;
  await ours.says(/\n/);
  const watch = new GraphWatch('/wire', [...ins, out], {
    infoPublishers: topic => graph().publishers[topic]!,
    infoSubscriptions: topic => graph().subscriptions[topic]!,
    nodeNames: () => graph().nodes.map(({ name, namespace }) => `${namespace}${name}`),
  });
  const told = (): string[] => {
    for (let i = 0; i < 20; i++) watch.step();
    return watch.faults.map(({ kind, topic, message }) => `${kind} ${topic} ${/\/test_peer/.test(message)}`);
  };
  expect(told()).toEqual([]);

  const peer = await Peer.start();
  peer.publish('/weak', 'std_msgs/msg/String', {}, { qos: { reliability: 'best_effort' } });
  peer.publish('/typed', 'std_msgs/msg/Float64MultiArray', {});
  peer.publish('/fine', 'std_msgs/msg/String', {}, { qos: { durability: 'transient_local' } });
  peer.publish('/action', 'std_msgs/msg/Float64MultiArray', {});
  peer.send('subscribe', { topic: '/action', type: out.type, qos: { durability: 'transient_local' } });
  const twin = wire([], []);
  const all = [
    'name  false',
    'qos /weak true',
    'type /typed true',
    'qos /action true',
    'publisher /action true',
  ];
  await until('all faults', 15_000, () => told().join() === all.join()).catch(() =>
    expect(told()).toEqual(all),
  );
  peer.end();
  await twin.end();
  await until('no faults', 15_000, () => told().length === 0).catch(() => expect(told()).toEqual([]));
});
