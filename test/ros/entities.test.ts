/** The topics of a configured node are opened all or none, and messages are told apart by who sent them. */
import { join } from 'node:path';
import type { OxygenError } from '../../src/core/errors';
import { Entities } from '../../src/ros/entities';
import type { Handlers } from '../../src/ros/entities';
import type { MessageOrigin } from '../../src/ros/instruction';
import type { Rcl, RclMessageInfo, RclNode, SubscriptionCallback } from '../../src/ros/rcl';
import { readRobotFile } from '../../src/ros/robot-file';

const robot = readRobotFile(join(__dirname, '../../config/robots/aloha.yaml'));

const rcl = {
  QoS: Object.assign(class {}, { HistoryPolicy: {}, ReliabilityPolicy: {}, DurabilityPolicy: {} }),
  QoSPolicyKind: {},
  QoSOverridingOptions: class {},
} as unknown as Rcl;

/** A graph that refuses what is opened as the `refused`-th. */
class Graph {
  readonly open = new Set<object>();
  readonly subscriptions: { readonly topic: string; readonly callback: SubscriptionCallback }[] = [];
  readonly names: string[] = [];
  readonly #refused: number;

  constructor(refused = Infinity) {
    this.#refused = refused;
  }

  get node(): RclNode {
    const create = (_type: string, name: string): object => {
      if (this.names.length === this.#refused) {
        this.names.push(name);
        throw new Error('Invalid topic name');
      }
      this.names.push(name);
      const entity = { publish: () => undefined };
      this.open.add(entity);
      return entity;
    };
    const destroy = (entity: object): void => void expect(this.open.delete(entity)).toBe(true);
    return {
      createPublisher: create,
      createService: create,
      createSubscription: (type: string, topic: string, _: object, callback: SubscriptionCallback) => {
        this.subscriptions.push({ topic, callback });
        return create(type, topic);
      },
      destroyPublisher: destroy,
      destroySubscription: destroy,
      destroyService: destroy,
      resolveTopicName: (name: string) => `/${name}`,
    } as unknown as RclNode;
  }
}

const opened = (graph: Graph, handlers: Partial<Handlers> = {}): Entities =>
  new Entities(rcl, graph.node, robot, 'multi_array', handlers as Handlers);

const COUNT = ((): number => {
  const graph = new Graph();
  opened(graph);
  return graph.open.size;
})();

test('closing closes all', () => {
  const graph = new Graph();
  opened(graph).close();
  expect([COUNT > 15, graph.open.size]).toEqual([true, 0]);
});

test.each([...Array(COUNT).keys()])(
  'number %i cannot be opened: nothing stays open, and its name is told',
  n => {
    const graph = new Graph(n);
    let error: OxygenError | undefined;
    try {
      opened(graph);
    } catch (thrown) {
      error = thrown as OxygenError;
    }
    expect(graph.open.size).toBe(0);
    expect(error?.code).toBe('CONFIG_INVALID');
    expect(error?.message).toContain(
      ` ${graph.names[n]} cannot be opened: Invalid topic name. Look at its name`,
    );
  },
);

test('a name that cannot be resolved leaves nothing open', () => {
  const graph = new Graph();
  const node = Object.assign(graph.node, {
    resolveTopicName: () => {
      throw new Error('no name');
    },
  });
  expect(() => new Entities(rcl, node, robot, 'multi_array', {} as Handlers)).toThrow('no name');
  expect([graph.names.length, graph.open.size]).toEqual([COUNT, 0]);
});

test('any two publishers of instructions are told apart, whatever the bytes of their identity', () => {
  const graph = new Graph();
  const origins: MessageOrigin[] = [];
  opened(graph, { instruction: (_, origin) => void origins.push(origin) });
  const { callback } = graph.subscriptions.find(({ topic }) => topic === 'instruction')!;
  // As text 0x81 and 0x92 are the same: neither is UTF-8.
  const gids = [...Array(256).keys()].map(byte => Buffer.from([byte, 1]));
  for (const publisherGid of gids) {
    const info: RclMessageInfo = { sourceTimestamp: 7n, publisherGid };
    callback({ data: 'go' } as never, info);
  }
  expect(new Set(origins.map(({ publisher }) => publisher)).size).toBe(256);
});
