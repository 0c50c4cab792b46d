/** The table of topics and services: what the README says of it, and what ROS asks of names and QoS. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MONITORS, OUTPUTS, SERVICES, TOPICS } from '../../src/ros/topics';

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
