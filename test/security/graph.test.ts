/** The SROS2 policy allows what the node has open on the real graph, and nothing else; no TCP port is open. */
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { readRobotFile } from '../../src/ros/robot-file';
import { SERVICES, TOPICS, cameraTopic, stateTopic } from '../../src/ros/topics';
import type { Entities } from '../ros/harness';
import { NodeProcess, Peer, ROBOTS, ROOT, killAll, sleep } from '../ros/harness';

interface Enclave {
  readonly path: string;
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
  readonly reply: readonly string[];
  readonly request: readonly string[];
  readonly call: readonly string[];
  readonly execute: readonly string[];
}

const SECURITY_FILE = join(ROOT, 'config/sros2/policy.xml');
const policy = (): Enclave => {
  const script = join(__dirname, 'policy.py');
  const enclaves = JSON.parse(
    execFileSync('python3', [script, SECURITY_FILE], { encoding: 'utf8' }),
  ) as Enclave[];
  expect(enclaves).toHaveLength(1);
  return enclaves[0]!;
};
const sorted = (names: Iterable<string>): string[] => [...new Set(names)].sort();

/** What ROS itself opens for every node; the last only on distributions from Jazzy on. */
const PARAMETER_SERVICES = [
  ...['describe_parameters', 'get_parameter_types', 'get_parameters', 'list_parameters', 'set_parameters'],
  'set_parameters_atomically',
];
const TYPE_SERVICE = '/oxygen/get_type_description';

const full = (name: string): string =>
  name.startsWith('/') ? name : name.startsWith('~/') ? `/oxygen${name.slice(1)}` : `/${name}`;

afterEach(killAll);

test('the policy is the table of topics and services, with what ROS opens for every node', () => {
  const robot = readRobotFile(join(ROBOTS, 'demo.yaml'));
  const names = (direction: 'in' | 'out'): string[] =>
    TOPICS.filter(topic => topic.direction === direction).map(({ name }) => full(name));
  const sensors = [...robot.cameras.map(cameraTopic), stateTopic(robot)].map(({ name }) => full(name));
  const services = [
    ...Object.values(SERVICES).map(({ name }) => full(name)),
    ...PARAMETER_SERVICES.map(name => `/oxygen/${name}`),
    TYPE_SERVICE,
  ];
  const allowed = policy();
  expect({ ...allowed, publish: sorted(allowed.publish), subscribe: sorted(allowed.subscribe), reply: sorted(allowed.reply) }).toEqual({
    path: '/oxygen',
    publish: sorted([...names('out'), '/rosout', '/parameter_events']),
    subscribe: sorted([...names('in'), ...sensors, '/clock']),
    reply: sorted(services),
    request: [],
    call: [],
    execute: [],
  }); // prettier-ignore
});

/** Inodes of the sockets of a process. */
function socketsOf(pid: number): Set<string> {
  const links = readdirSync(`/proc/${pid}/fd`).map(fd => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return ''; // closed meanwhile
    }
  });
  return new Set(links.flatMap(link => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
}

/** Local addresses (hexadecimal) on which a process waits for TCP connections. */
function listening(pid: number): string[] {
  const own = socketsOf(pid);
  return ['tcp', 'tcp6'].flatMap(kind => {
    const rows = readFileSync(`/proc/${pid}/net/${kind}`, 'utf8').trim().split('\n').slice(1);
    const fields = rows.map(row => row.trim().split(/\s+/));
    return fields.filter(f => f[3] === '0A' && own.has(f[9]!)).map(f => f[1]!);
  });
}

test('a listening socket would be found', async () => {
  expect(listening(process.pid)).toEqual([]);
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  expect(listening(process.pid)).toHaveLength(1);
  await new Promise(resolve => server.close(resolve));
});

test('on the real graph: the node has open what the policy allows; neither process waits for TCP connections', async () => {
  const node = NodeProcess.start('demo', 'demo.yaml', { use_sim_time: true });
  const peer = await Peer.start();
  await node.says(/-> active/);
  const { publish, subscribe, reply } = policy();
  const wanted: Entities = {
    publisher: sorted(publish),
    subscriber: sorted(subscribe),
    service: sorted(reply).filter(name => name !== TYPE_SERVICE),
    client: [],
  };
  // Discovery goes step by step: what is there in the end counts.
  let open: Entities = await peer.entities('oxygen');
  const shown = (): Entities => ({ ...open, service: open.service.filter(name => name !== TYPE_SERVICE) });
  for (let n = 0; n < 50 && JSON.stringify(shown()) !== JSON.stringify(wanted); n++) {
    await sleep(100);
    open = await peer.entities('oxygen');
  }
  expect(shown()).toEqual(wanted);

  // Contents are not logged; instructions are, on purpose.
  peer.request({ id: 'good', text: 'violet one' });
  peer.request({ id: 'bad', text: 'violet two', max_tokens: 0 });
  peer.instruction('open the drawer');
  await node.says(/instruction: open the drawer/);
  await peer.waitForMessage(
    'language/tokens',
    msg => msg.request_id === 'bad' && msg.finish_reason === 'rejected',
  );
  expect(node.log).toContain("'bad'");
  expect(node.log).not.toContain('violet');

  // The engine process has a pipe to the node and no more.
  expect(socketsOf(node.child.pid!).size).toBeGreaterThan(3);
  expect([listening(node.child.pid!), listening(node.enginePid())]).toEqual([[], []]);
  expect(await node.end()).toMatchObject({ code: 0 });
});
