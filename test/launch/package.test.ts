/** package.xml names what the installed package needs, and what the repository offers is installed. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SERVICES, TOPICS, cameraTopic, stateTopic } from '../../src/ros/topics';
import { readRobotFile } from '../../src/ros/robot-file';
import { ROBOTS, ROOT, resolveLaunch } from '../ros/harness';

const SHARE = join(ROOT, 'install/oxygen_vla/share/oxygen_vla');
const PACKAGE = 'oxygen_vla';

test('every package of a type on the graph is a dependency', () => {
  const robot = readRobotFile(join(ROBOTS, 'demo.yaml'));
  const sensors = [...robot.cameras.map(cameraTopic), stateTopic(robot)];
  const types = [...TOPICS, ...sensors, ...Object.values(SERVICES)].map(({ type }) => type.split('/')[0]!);
  const xml = readFileSync(join(ROOT, 'package.xml'), 'utf8');
  const depends = [...xml.matchAll(/<(?:exec_)?depend>([\w-]+)</g)].map(([, name]) => name!);
  const wanted = [...new Set(types)].filter(name => name !== PACKAGE);
  expect(wanted.length).toBeGreaterThan(5);
  expect(depends).toEqual(expect.arrayContaining([...wanted, 'rcl_interfaces', 'rosgraph_msgs']));
});

test.each(['launch', 'config'])('every file of %s/ is installed, as it is', folder => {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).filter(name =>
    /\.\w+$/.test(name),
  );
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) {
    const path = join(folder, name);
    expect([path, existsSync(join(SHARE, path))]).toEqual([path, true]);
    expect(readFileSync(join(SHARE, path), 'utf8')).toBe(readFileSync(join(ROOT, path), 'utf8'));
  }
});

const DOCUMENTS = ['README.md', 'SECURITY.md', 'docs/deployment.md', 'config/ros2_control/README.md'];

test.each(DOCUMENTS)('%s: launch arguments, tests and links that it names exist', document => {
  const text = readFileSync(join(ROOT, document), 'utf8').replaceAll('\\\n', ' ');
  const known = resolveLaunch({}).arguments.map(({ name }) => name);
  const lines = text.split('\n').filter(line => line.includes('oxygen.launch.xml'));
  const used = lines.flatMap(line => [...line.matchAll(/ (\w+):=/g)].map(([, name]) => name!));
  expect(known).toEqual(expect.arrayContaining(used));

  const tests = [...text.matchAll(/\btest\/[\w/-]+/g)].map(([path]) => path);
  const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path]) =>
    join(dirname(document), path!),
  );
  for (const path of [...tests, ...links]) {
    const exists = ['', '.test.ts', '.md'].some(end => existsSync(join(ROOT, path.replace(/\/$/, '') + end)));
    expect([path, exists]).toEqual([path, true]);
  }
});
