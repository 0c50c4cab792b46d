import { GraphWatch, nameFaults, otherPublishers, topicFaults } from '../../src/ros/graph-watch';
import type { EndpointInfo, OwnEndpoint } from '../../src/ros/graph-watch';
import type { Durability, Reliability } from '../../src/ros/rcl';

const ME = '/oxygen';
const NONE = { seconds: 9223372036n, nanoseconds: 854775807n };
const STRING = 'std_msgs/msg/String';

const theirs = (
  reliability: Reliability,
  durability: Durability,
  change: Partial<EndpointInfo> = {},
): EndpointInfo => ({
  node_name: 'cam',
  node_namespace: '/front',
  topic_type: STRING,
  qos_profile: {
    reliability: reliability === 'reliable' ? 1 : 2,
    durability: durability === 'transient_local' ? 1 : 2,
    liveliness: 1,
    deadline: NONE,
  },
  ...change,
});
const mine = (node_name = 'oxygen') => theirs('reliable', 'volatile', { node_name, node_namespace: '/' });
const ours = (
  direction: 'in' | 'out',
  reliability: Reliability,
  durability: Durability = 'volatile',
  more: Partial<OwnEndpoint> = {},
): OwnEndpoint => ({
  topic: '/t',
  type: STRING,
  direction,
  qos: { reliability, durability, depth: 1 },
  ...more,
});
const messages = (...args: Parameters<typeof topicFaults>): string[] =>
  topicFaults(...args).map(fault => fault.message);

const POLICIES = [
  ['reliable', 'volatile'],
  ['reliable', 'transient_local'],
  ['best_effort', 'volatile'],
  ['best_effort', 'transient_local'],
] as const;

test('a fault exactly when what is asked is more than what is offered, both ways', () => {
  for (const [offeredR, offeredD] of POLICIES) {
    for (const [askedR, askedD] of POLICIES) {
      const clash =
        (askedR === 'reliable' && offeredR === 'best_effort') ||
        (askedD === 'transient_local' && offeredD === 'volatile');
      const asIn = topicFaults(ME, [ours('in', askedR, askedD)], [theirs(offeredR, offeredD)], []);
      const asOut = topicFaults(ME, [ours('out', offeredR, offeredD)], [], [theirs(askedR, askedD)]);
      expect([offeredR, offeredD, askedR, askedD, asIn.length, asOut.length]).toEqual([
        offeredR,
        offeredD,
        askedR,
        askedD,
        Number(clash),
        Number(clash),
      ]);
    }
  }
});

test('the message names both sides, the policies and the way out', () => {
  expect(messages(ME, [ours('in', 'reliable')], [theirs('best_effort', 'volatile')], [])).toEqual([
    '/t: /front/cam publishes best effort, /oxygen subscribes to it reliable, so nothing arrives. Publish reliable, ' +
      'or set qos_overrides./t.subscription.reliability to best_effort',
  ]);
  const out = ours('out', 'reliable');
  expect(messages(ME, [out], [], [theirs('reliable', 'transient_local')])).toEqual([
    '/t: /front/cam subscribes to transient local, /oxygen publishes it volatile, so nothing arrives. Subscribe ' +
      'volatile, or set qos_overrides./t.publisher.durability to transient_local',
  ]);
});

test('the two instruction subscriptions: a fault only when neither hears', () => {
  const both = [ours('in', 'reliable'), ours('in', 'reliable', 'transient_local', { id: 'latched' })];
  expect(
    messages(ME, both, [theirs('reliable', 'volatile'), theirs('reliable', 'transient_local')], []),
  ).toEqual([]);
  expect(messages(ME, both, [theirs('best_effort', 'transient_local')], [])).toHaveLength(1);
  expect(messages(ME, both.slice(1), [theirs('reliable', 'volatile')], [])).toEqual([
    expect.stringContaining('qos_overrides./t.subscription_latched.durability to volatile'),
  ]);
});

test('policies that are unknown or chosen by the middleware are no clash', () => {
  const unknown = theirs('reliable', 'volatile', {
    qos_profile: { reliability: 3, durability: 3, liveliness: 4, deadline: { seconds: 0n, nanoseconds: 0n } },
  });
  const all = [ours('in', 'reliable', 'transient_local'), ours('out', 'best_effort')];
  expect(messages(ME, all, [unknown], [unknown])).toEqual([]);
});

test('a subscriber with a deadline or manual liveliness hears nothing of us', () => {
  const { qos_profile: qos } = theirs('reliable', 'volatile');
  const asks = (change: Partial<EndpointInfo['qos_profile']>) =>
    messages(
      ME,
      [ours('out', 'reliable')],
      [],
      [theirs('reliable', 'volatile', { qos_profile: { ...qos, ...change } })],
    );
  expect(asks({ deadline: { seconds: 0n, nanoseconds: 100_000_000n } })[0]).toMatch(/with a deadline/);
  expect(asks({ liveliness: 3 })[0]).toMatch(/manual liveliness/);
});

test('another type on the topic', () => {
  const image = theirs('reliable', 'volatile', { topic_type: 'sensor_msgs/msg/Image' });
  expect(topicFaults(ME, [ours('in', 'reliable')], [image], [])).toEqual([
    {
      kind: 'type',
      topic: '/t',
      level: 'error',
      message:
        '/t: /front/cam publishes sensor_msgs/msg/Image, /oxygen subscribes to std_msgs/msg/String. Remap one of ' +
        'them to another topic',
    },
  ]);
  expect(messages(ME, [ours('out', 'reliable')], [], [image])[0]).toMatch(
    /\/front\/cam subscribes to sensor_msgs/,
  );
});

describe('who else commands the robot', () => {
  const action = ours('out', 'reliable', 'volatile', { topic: '/action', exclusive: true });

  test('our own publisher is none, another node is', () => {
    expect(topicFaults(ME, [action], [mine()], [])).toEqual([]);
    const faults = topicFaults(ME, [action], [mine(), theirs('reliable', 'volatile')], []);
    expect(faults).toMatchObject([{ kind: 'publisher', level: 'error' }]);
    expect(faults[0]!.message).toMatch(/^\/action: \/front\/cam publishes here too/);
    expect(otherPublishers(ME, [mine(), theirs('reliable', 'volatile')])).toEqual(['/front/cam']);
  });

  test('a second publisher under our name may be what is left of a killed process', () => {
    expect(topicFaults(ME, [action], [mine(), mine()], [])).toMatchObject([
      { kind: 'publisher', level: 'warn' },
    ]);
  });

  test('topics that others may publish on too', () => {
    expect(topicFaults(ME, [ours('out', 'reliable')], [mine(), theirs('reliable', 'volatile')], [])).toEqual(
      [],
    );
  });

  test('the same name in another namespace is another node', () => {
    expect(otherPublishers('/left/oxygen', [mine()])).toEqual(['/oxygen']);
  });
});

test('a name that two nodes have', () => {
  expect(nameFaults(ME, ['/a', ME, '/left/oxygen'])).toEqual([]);
  expect(nameFaults(ME, [ME, '/a', ME])).toMatchObject([{ kind: 'name', level: 'warn' }]);
});

describe('the watch', () => {
  const graph = (publishers: () => readonly EndpointInfo[] = () => []) => {
    const asked: string[] = [];
    return {
      asked,
      infoPublishers: (topic: string) => (asked.push(`publishers ${topic}`), publishers()),
      infoSubscriptions: (topic: string) => (asked.push(`subscriptions ${topic}`), []),
      nodeNames: () => (asked.push('names'), [ME]),
    };
  };
  const inputs = (count: number): OwnEndpoint[] =>
    Array.from({ length: count }, (_, i) => ours('in', 'reliable', 'volatile', { topic: `/in${i}` }));

  test('asks of one topic per step, of each what matters, and begins again', () => {
    const source = graph();
    const both = [ours('in', 'reliable'), ours('in', 'reliable', 'transient_local')];
    const action = ours('out', 'reliable', 'volatile', { topic: '/action', exclusive: true });
    const watch = new GraphWatch(
      ME,
      [...both, action, ours('out', 'reliable', 'volatile', { topic: '/o' })],
      source,
    );
    for (let i = 0; i < 5; i++) watch.step();
    expect(source.asked).toEqual([
      'names',
      'publishers /t',
      'publishers /action',
      'subscriptions /action',
      'subscriptions /o',
      'names',
    ]);
  });

  test.each([3, 19, 25, 90])('with %d topics a round takes 20 steps at most', count => {
    const source = graph();
    const watch = new GraphWatch(ME, inputs(count), source);
    for (let i = 0; i < 20; i++) watch.step();
    expect(new Set(source.asked).size).toBe(count + 1);
  });

  test('a fault comes and goes with the peer, and says so once', () => {
    let peers = [theirs('best_effort', 'volatile')];
    const watch = new GraphWatch(
      ME,
      inputs(1),
      graph(() => peers),
    );
    const round = () => [watch.step(), watch.step()];
    expect(round()).toEqual([false, true]);
    expect(watch.faults).toMatchObject([{ kind: 'qos', topic: '/in0' }]);
    expect(round()).toEqual([false, false]);
    peers = [];
    expect(round()).toEqual([false, true]);
    expect(watch.faults).toEqual([]);
  });
});
