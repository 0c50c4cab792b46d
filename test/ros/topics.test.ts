/** The table of topics and services: what the README says of it, and what ROS asks of names and QoS. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MONITORS, OUTPUTS, SERVICES, TOPICS, topicNameFault } from '../../src/ros/topics';

const README = readFileSync(join(__dirname, '../../README.md'), 'utf8');

test('the README has a row for every topic, with its type', () => {
  const rows = README.split('\n').filter(line => line.startsWith('| `'));
  for (const { name, type } of TOPICS) {
    const row = rows.find(line => line.includes(`\`${name}\``)) ?? `no row for ${name}`;
    expect(row).toContain(type.replace('/msg/', '/'));
  }
  for (const { name, type } of Object.values(SERVICES)) {
    expect(README).toContain(`\`${name}\``);
    const [pkg, , srv] = type.split('/');
    if (pkg === 'std_srvs') expect(README).toContain(`std_srvs/${srv}`);
  }
});

test('names are relative, but for what every node shares, and entities of one topic have ids', () => {
  const absolute = TOPICS.filter(({ name }) => name.startsWith('/')).map(({ name }) => name);
  expect(absolute).toEqual(['/diagnostics']);
  const keys = TOPICS.map(({ name, direction, id }) => `${name} ${direction} ${id ?? ''}`);
  expect(new Set(keys).size).toBe(keys.length);
});

test('REP-2003: what we publish is reliable, and only the status is kept for late comers', () => {
  for (const { qos } of [...Object.values(OUTPUTS), ...Object.values(MONITORS)])
    expect(qos.reliability).toBe('reliable');
  const kept = TOPICS.filter(
    ({ qos, direction }) => direction === 'out' && qos.durability === 'transient_local',
  );
  expect(kept.map(({ name }) => name)).toEqual(['status']);
});

describe('names of topics', () => {
  const NAMES = 'joint_states a/b /a /a/b_1 ~/a _a a__b a/_b A/B9'.split(' ').concat('a'.repeat(240));
  const NO_NAMES = '/ ~ ~/ a/ a//b //a ~//a 1a a/1b a/~ ~~/a a-b a.b a:b é {a {} {foo}/a a}'
    .split(' ')
    .concat('', ' ', 'a b', 'a\n', 'a'.repeat(300));

  test('all that are taken rcl takes, and of those that are not only ~ and substitutions', () => {
    const asked = [...NAMES, ...NO_NAMES, '{ns}/a', '{node}/a', '~a'];
    const names = [...Array(asked.length).keys()];
    expect(names.filter(i => topicNameFault(asked[i]!) === null).map(i => asked[i])).toEqual(NAMES);
    const answers = JSON.parse(
      execFileSync('python3', ['-c', RCL], { input: JSON.stringify(asked), encoding: 'utf8' }),
    ) as boolean[];
    expect(names.filter(i => answers[i]).map(i => asked[i])).toEqual([...NAMES, '~', '{node}/a', '~a']);
  });

  test('the fault says what is allowed', () => {
    expect(topicNameFault('a\0b')).toMatch(/is no topic name/); // rcl would open `a`
    expect(topicNameFault('a b')).toMatch(
      /'a b' is no topic name; parts of letters, digits and _ are allowed/,
    );
    expect(topicNameFault('a'.repeat(300))).toMatch(/300 letters, more than 247/);
  });
});

/** Which names rcl expands to a topic that may be opened, for a node without a namespace. */
const RCL = `
import json, sys
from rclpy.expand_topic_name import expand_topic_name
from rclpy.validate_full_topic_name import validate_full_topic_name
def taken(name):
    try:
        return validate_full_topic_name(expand_topic_name(name, 'oxygen', '/'))
    except Exception:
        return False
print(json.dumps([taken(name) for name in json.load(sys.stdin)]))
`;
