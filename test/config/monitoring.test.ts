/** The files for RViz and Foxglove against the table of topics, the messages and the robot of the demo. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseMessage } from '@foxglove/rosmsg';
import { ros2jazzy } from '@foxglove/rosmsg-msgs-common';
import { parse } from 'yaml';
import { topicFaults } from '../../src/ros/graph-watch';
import type { OwnEndpoint } from '../../src/ros/graph-watch';
import { readRobotFile } from '../../src/ros/robot-file';
import { TOPICS, cameraTopic, stateTopic } from '../../src/ros/topics';
import type { TopicSpec } from '../../src/ros/topics';

const ROOT = join(__dirname, '../..');
const file = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const robot = readRobotFile(join(ROOT, 'config/robots/demo.yaml'));
/** By the name that a node without a namespace gives it. */
const table = new Map<string, TopicSpec>(
  [...TOPICS, ...robot.cameras.map(cameraTopic), stateTopic(robot)].map(topic => [
    topic.name.startsWith('/') ? topic.name : `/${topic.name}`,
    topic,
  ]),
);
table.set('/rosout', {
  name: '/rosout',
  type: 'rcl_interfaces/msg/Log',
  direction: 'out',
  qos: { reliability: 'reliable', depth: 1000, durability: 'transient_local' },
});

interface Field {
  readonly name: string;
  readonly type: string;
  readonly isArray?: boolean;
  readonly isConstant?: boolean;
}
const ours = Object.fromEntries(
  readdirSync(join(ROOT, 'msg')).map(name => [
    `oxygen_vla/${name.replace('.msg', '')}`,
    parseMessage(file(`msg/${name}`), { ros2: true })[0]!,
  ]),
);
const messages: Readonly<Record<string, { readonly definitions: readonly Field[] }>> = {
  ...ros2jazzy,
  ...ours,
};

/** Type at the end of a path such as `/topic.points[:].positions[0]`; throws where it leads nowhere. */
function typeAt(path: string): string {
  const [, topic, rest] = /^([^.]+)(.*)$/.exec(path)!;
  let type = table.get(topic!)!.type.replace('/msg/', '/');
  for (const [, name, index] of rest!.matchAll(/\.(\w+)(\[(?:\d+|:)\])?/g)) {
    const field = messages[type]?.definitions.find(each => each.name === name && !each.isConstant);
    if (!field || Boolean(field.isArray) !== (index !== undefined))
      throw new Error(`${path}: ${name} of ${type}`);
    type = field.type;
  }
  return type;
}

describe('config/oxygen.rviz', () => {
  interface Display {
    readonly Class: string;
    readonly Enabled: boolean;
    readonly Value: boolean;
    readonly Namespaces?: Readonly<Record<string, boolean>>;
    readonly Topic?: Readonly<Record<string, string | number>>;
  }
  const rviz = parse(file('config/oxygen.rviz'))['Visualization Manager'] as {
    Displays: Display[];
    Tools: object[];
    'Global Options': Record<string, unknown>;
  };
  const shown = rviz.Displays.filter(display => display.Topic);
  const TYPES: Readonly<Record<string, string>> = {
    'rviz_default_plugins/Image': 'sensor_msgs/msg/Image',
    'rviz_default_plugins/MarkerArray': 'visualization_msgs/msg/MarkerArray',
  };

  test('shows camera, text and actions, of topics and types that the node has', () => {
    expect(shown.map(({ Class, Topic }) => [Topic!['Value'], TYPES[Class]])).toEqual([
      ['/camera/base_0_rgb/image_raw', 'sensor_msgs/msg/Image'],
      ['/markers', 'visualization_msgs/msg/MarkerArray'],
    ]);
    for (const { Class, Topic, Enabled, Value } of shown) {
      expect(table.get(String(Topic!['Value']))?.type).toBe(TYPES[Class]);
      expect([Enabled, Value]).toEqual([true, true]);
    }
    expect(Object.keys(shown[1]!.Namespaces!)).toEqual(['chunk', 'command', 'labels', 'language']);
    // No tool of RViz sends a goal or a pose: this node listens to none.
    expect(JSON.stringify(rviz.Tools)).not.toContain('Topic');
  });

  test('hears all that is published', () => {
    for (const { Topic } of shown) {
      const spec = table.get(String(Topic!['Value']))!;
      const offers: OwnEndpoint = { ...spec, topic: spec.name, direction: 'out' };
      const asks = {
        node_name: 'rviz',
        node_namespace: '/',
        topic_type: spec.type,
        qos_profile: {
          reliability: Topic!['Reliability Policy'] === 'Reliable' ? 1 : 2,
          durability: Topic!['Durability Policy'] === 'Transient Local' ? 1 : 2,
          liveliness: 1,
          deadline: { seconds: 0n, nanoseconds: 0n },
        },
      };
      expect(topicFaults('/oxygen', [offers], [], [asks])).toEqual([]);
    }
  });

  test('stands in the frame of the markers', () => {
    const [, frame] = /marker_frame:\s*(\S+)/.exec(file('config/oxygen.yaml'))!;
    expect(rviz['Global Options']['Fixed Frame']).toBe(frame);
  });
});

describe('config/foxglove_layout.json', () => {
  type Node = string | { readonly first: Node; readonly second: Node; readonly splitPercentage: number };
  type Panel = Readonly<Record<string, never>>;
  const layout = JSON.parse(file('config/foxglove_layout.json')) as {
    configById: Record<string, Panel>;
    layout: Node;
  };
  const panels = (kind: string): Panel[] =>
    Object.entries(layout.configById)
      .filter(([id]) => id.startsWith(`${kind}!`))
      .map(([, panel]) => panel);
  const paths = (kind: string): { value: string; label?: string }[] =>
    panels(kind).flatMap(panel => panel['paths']!);

  test('every panel is placed once and every place has its panel', () => {
    const ids = (node: Node): string[] =>
      typeof node === 'string' ? [node] : [...ids(node.first), ...ids(node.second)];
    expect(ids(layout.layout).sort()).toEqual(Object.keys(layout.configById).sort());
  });

  test('shows camera, actions, text, state and health at once, of topics that the node has', () => {
    expect(panels('Image').map(panel => panel['imageMode']!['imageTopic'])).toEqual([
      '/camera/base_0_rgb/image_raw',
    ]);
    expect(typeAt('/camera/base_0_rgb/image_raw')).toBe('sensor_msgs/Image');
    expect(Object.keys(panels('3D')[0]!['topics']!)).toEqual(['/markers']);
    expect(typeAt('/markers')).toBe('visualization_msgs/MarkerArray');
    expect(panels('DiagnosticSummary').map(panel => typeAt(panel['topicToRender']!))).toEqual([
      'diagnostic_msgs/DiagnosticArray',
    ]);
    expect(panels('RosOut').map(panel => typeAt(panel['topicToRender']!))).toEqual(['rcl_interfaces/Log']);
    expect(panels('RawMessages').map(panel => typeAt(panel['topicPath']!))).toEqual([
      'std_msgs/String',
      'oxygen_vla/LanguageToken',
      'oxygen_vla/ActionChunk',
    ]);
    const words = new Set(Object.keys(layout.configById).map(id => id.split('!')[0]!));
    expect([...words].sort()).toEqual(
      ['3D', 'DiagnosticSummary', 'Image', 'Plot', 'RawMessages', 'RosOut', 'StateTransitions'].sort(),
    );
  });

  test('every line of a plot is a number and every state a word of a message', () => {
    for (const { value } of paths('Plot'))
      expect([value, typeAt(value)]).toEqual([value, expect.stringMatching(/^float/)]);
    for (const { value } of paths('StateTransitions'))
      expect([value, typeAt(value)]).toEqual([value, 'string']);
  });

  test('a command and a course of the chunk for every action, under its name', () => {
    const lines = (prefix: string) =>
      paths('Plot')
        .filter(({ value }) => value.startsWith(prefix))
        .map(({ value, label }) => [value.slice(prefix.length), label]);
    const expected = robot.actions.map(({ name }, i) => [`[${i}]`, name]);
    expect(lines('/action.data')).toEqual(expected);
    expect(lines('/action_chunk/joint_trajectory.points[:].positions')).toEqual(expected);
  });

  test('a path that leads nowhere is found', () => {
    expect(() => typeAt('/action.values[0]')).toThrow(/values of std_msgs\/Float64MultiArray/);
    expect(() => typeAt('/status.gait')).toThrow(/gait/);
    expect(() => typeAt('/action.data')).toThrow(/data/);
  });
});
