/** Runs the node and an independent rclpy peer as processes of their own, isolated from other ROS graphs. */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const ROOT = join(__dirname, '../..');
export const ENGINES = join(ROOT, 'test/.tmp/engines');
export const ROBOTS = join(ROOT, 'config/robots');

/**
 * Every test file has a ROS graph of its own: a killed process haunts its graph for some 20 s. Domains that are in use
 * on this machine, by whomever, are passed over: their discovery ports (RTPS: 7400 + 250 · domain) are bound.
 */
function freeDomain(): number {
  const bound = new Set(
    readFileSync('/proc/net/udp', 'utf8')
      .split('\n')
      .slice(1)
      .map(line => parseInt(line.trim().split(/[ :]+/)[2] ?? '', 16)),
  );
  const file = [...(expect.getState().testPath ?? '')].reduce(
    (hash, letter) => hash * 31 + letter.codePointAt(0)!,
    7,
  );
  const first = Math.abs(process.pid * 7 + (file % 101)) % 101;
  const domains = Array.from({ length: 101 }, (_, i) => 1 + ((first + i) % 101));
  return domains.find(domain => !bound.has(7400 + 250 * domain)) ?? domains[0]!;
}

const env = {
  ...process.env,
  ROS_DOMAIN_ID: String(freeDomain()),
  ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST',
};

/** Seconds of the clock of the peer: the monotonic one, which all processes share. */
export const peerClock = (): number => Number(process.hrtime.bigint()) / 1e9;

export const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

/** Polls until `look` gives something. */
export async function until<T>(
  what: string,
  timeoutMs: number,
  look: () => T | undefined | null | false,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const found = look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await sleep(20);
  }
}

const running = new Set<ChildProcessWithoutNullStreams>();
/** Nodes of the present test, for the message of a failure. */
let nodes: NodeProcess[] = [];

/** For afterEach: nothing survives a failed test. */
export function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
  nodes = [];
}

function launch(command: readonly string[], cwd: string): ChildProcessWithoutNullStreams {
  const child = spawn(command[0]!, command.slice(1), { cwd, env });
  running.add(child);
  child.on('exit', () => running.delete(child));
  return child;
}

export class NodeProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly exit: Promise<number | null>;
  log = '';

  /** `command`: program and arguments. */
  constructor(command: readonly string[], cwd = '/') {
    this.child = launch(command, cwd);
    nodes.push(this);
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.on('data', (chunk: Buffer) => (this.log += chunk.toString()));
    }
    this.exit = new Promise(resolve => this.child.on('close', code => resolve(code)));
  }

  /** The node with an engine of the tests and a robot file of the repository. */
  static start(
    engine: string,
    robot: string,
    parameters: Readonly<Record<string, unknown>> = {},
    rosArgs: readonly string[] = [],
    preload?: string,
  ): NodeProcess {
    const values = { engine: join(ENGINES, engine), robot: join(ROBOTS, robot), ...parameters };
    const given = Object.entries(values).flatMap(([name, value]) => ['-p', `${name}:=${String(value)}`]);
    const spoilt = preload === undefined ? [] : ['env', `NODE_OPTIONS=--require=${preload}`];
    return new NodeProcess([...spoilt, join(ROOT, 'bin/oxygen'), 'node', '--ros-args', ...given, ...rosArgs]);
  }

  says(text: string | RegExp, timeoutMs = 20_000): Promise<RegExpExecArray> {
    const pattern = typeof text === 'string' ? new RegExp(text) : text;
    return until(`${String(pattern)} in the log:\n${this.log}`, timeoutMs, () =>
      pattern.exec(this.log),
    ).catch(error => {
      throw new Error(`${(error as Error).message}\nlog now:\n${this.log}`);
    });
  }

  /** Pid of the engine process. */
  enginePid(): number {
    const pid = this.child.pid!;
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
  }

  /** Waits until the engine process is there; it has hardly begun to load. */
  async engineStarts(): Promise<void> {
    await until('the engine process', 20_000, () => {
      try {
        return readFileSync(`/proc/${this.enginePid()}/cmdline`, 'utf8').includes('engine/process.js');
      } catch {
        return false; // gone already: one of the shell that starts the node
      }
    });
  }

  /** Exit code and the time to the end. */
  async end(signal: NodeJS.Signals = 'SIGINT'): Promise<{ code: number | null; ms: number }> {
    const start = Date.now();
    this.child.kill(signal);
    return { code: await this.exit, ms: Date.now() - start };
  }
}

export interface Launched {
  readonly arguments: readonly {
    readonly name: string;
    readonly default: string;
    readonly description: string;
  }[];
  readonly processes: readonly { readonly argv: string[]; readonly respawnDelay: number | null }[];
}

/** What `ros2 launch` would do with the installed launch file. */
export function resolveLaunch(args: Readonly<Record<string, string>>): Launched {
  const file = join(ROOT, 'install/oxygen_vla/share/oxygen_vla/launch/oxygen.launch.xml');
  const given = Object.entries(args).map(([name, value]) => `${name}:=${value}`);
  const script = join(__dirname, 'peers/launch_command.py');
  return JSON.parse(execFileSync('python3', [script, file, ...given], { encoding: 'utf8' })) as Launched;
}

/** The command of the node in it. */
export const launchCommand = (args: Readonly<Record<string, string>>): string[] =>
  resolveLaunch(args).processes[0]!.argv;

export interface PeerEvent {
  readonly event: string;
  readonly topic?: string;
  readonly id?: number;
  /** Of `peerClock`, at receipt. */
  readonly t: number;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- messages of any type
  readonly msg?: any;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly response?: any;
}

export type Entities = Readonly<Record<'publisher' | 'subscriber' | 'service' | 'client', readonly string[]>>;

export interface Qos {
  readonly depth?: number;
  readonly reliability?: 'reliable' | 'best_effort';
  readonly durability?: 'volatile' | 'transient_local';
}

export const SENSOR: Qos = { reliability: 'best_effort', depth: 5 };

export class Peer {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly events: PeerEvent[] = [];
  errors = '';
  #calls = 0;

  private constructor(name: string) {
    this.#child = launch(['python3', join(__dirname, 'peers/bridge.py'), name], ROOT);
    // The executor of the peer prints warnings of its own when the machine is busy.
    createInterface({ input: this.#child.stdout }).on('line', line => {
      if (line.startsWith('{')) this.events.push(JSON.parse(line) as PeerEvent);
      else this.errors += `${line}\n`;
    });
    this.#child.stderr.on('data', (chunk: Buffer) => (this.errors += chunk.toString()));
  }

  /** One that does only what it is told. */
  static async bare(name = 'test_peer'): Promise<Peer> {
    const peer = new Peer(name);
    await peer.waitFor('the peer', event => event.event === 'ready');
    return peer;
  }

  /** A peer that listens to everything the node says. */
  static async start(): Promise<Peer> {
    const peer = await Peer.bare();
    peer.subscribe('action', 'std_msgs/msg/Float64MultiArray');
    peer.subscribe('action_chunk', 'oxygen_vla/msg/ActionChunk');
    peer.subscribe('language/tokens', 'oxygen_vla/msg/LanguageToken', { depth: 1000 });
    peer.subscribe('language/text', 'std_msgs/msg/String');
    peer.subscribe('status', 'oxygen_vla/msg/Status', { durability: 'transient_local' });
    return peer;
  }

  send(op: string, fields: object): void {
    this.#child.stdin.write(`${JSON.stringify({ op, ...fields })}\n`);
  }

  subscribe(topic: string, type: string, qos: Qos = {}): void {
    this.send('subscribe', { topic, type, qos });
  }

  publish(topic: string, type: string, msg: object, more: object = {}): void {
    this.send('publish', { topic, type, msg, ...more });
  }

  /** Publishes a raw RGB image from a file, once or as a stream with fresh stamps. */
  image(
    slot: string,
    file: string,
    [height, width]: readonly [number, number],
    hz?: number,
    over: object = {},
  ): void {
    const topic = `camera/${slot}/image_raw`;
    const msg = { height, width, encoding: 'rgb8', step: width * 3, ...over };
    const fields = { topic, type: 'sensor_msgs/msg/Image', msg, file, stamp: 0, qos: SENSOR };
    if (hz === undefined) this.send('publish', fields);
    else this.send('stream', { ...fields, name: topic, hz });
  }

  joints(names: readonly string[], position: readonly unknown[], hz?: number): void {
    const msg = { name: names, position };
    const fields = { topic: 'joint_states', type: 'sensor_msgs/msg/JointState', msg, stamp: 0, qos: SENSOR };
    if (hz === undefined) this.send('publish', fields);
    else this.send('stream', { ...fields, name: 'joint_states', hz });
  }

  instruction(text: string, qos: Qos = {}): void {
    this.publish('instruction', 'std_msgs/msg/String', { data: text }, { qos });
  }

  request(msg: object): void {
    this.publish('language_request', 'oxygen_vla/msg/LanguageRequest', { max_tokens: 16, ...msg });
  }

  call(service: string, type: string, request: object): Promise<PeerEvent['response']> {
    const before = this.events.length;
    const id = ++this.#calls;
    this.send('call', { id, service, type, request });
    return this.waitFor(service, event => event.event === 'response' && event.id === id, 15_000, before).then(
      event => event.response,
    );
  }

  /** Full names of what a node has open, as the graph shows it now. */
  async entities(node: string, namespace = '/'): Promise<Entities> {
    const before = this.events.length;
    this.send('entities', { node, namespace });
    return (await this.waitFor('entities', e => e.event === 'entities', 5000, before)).response as Entities;
  }

  /** Waits until the node listens to a topic. */
  async listening(topic: string, count = 1): Promise<void> {
    const before = this.events.length;
    this.send('subscribers', { topic, count });
    await this.waitFor(`a subscriber of ${topic}`, e => e.event === 'subscribers', 20_000, before);
  }

  /** What the node answers to one parameter. `value`: fields of rcl_interfaces/msg/ParameterValue. */
  async set(
    name: string,
    value: object,
    service: 'set_parameters' | 'set_parameters_atomically' = 'set_parameters',
  ): Promise<unknown> {
    const kind = service === 'set_parameters' ? 'SetParameters' : 'SetParametersAtomically';
    const parameters = [{ _type: 'rcl_interfaces/msg/Parameter', name, value }];
    const answer = (await this.call(`/oxygen/${service}`, `rcl_interfaces/srv/${kind}`, { parameters })) as {
      results?: unknown[];
      result?: unknown;
    };
    return answer.result ?? answer.results![0];
  }

  messages(topic: string, from = 0): readonly PeerEvent[] {
    return this.events.slice(from).filter(event => event.event === 'message' && event.topic === topic);
  }

  waitFor(
    what: string,
    match: (event: PeerEvent) => boolean,
    timeoutMs = 20_000,
    from = 0,
  ): Promise<PeerEvent> {
    return until(what, timeoutMs, () => this.events.slice(from).find(match)).catch(error => {
      const logs = nodes.map(node => `log of the node:\n${node.log}`).join('\n');
      throw new Error(`${(error as Error).message}\n${this.errors}\n${logs}`);
    });
  }

  waitForMessage(
    topic: string,
    match: (msg: PeerEvent['msg']) => boolean,
    timeoutMs?: number,
    from = 0,
  ): Promise<PeerEvent> {
    const fits = (event: PeerEvent): boolean =>
      event.event === 'message' && event.topic === topic && match(event.msg);
    return this.waitFor(`a message on ${topic}`, fits, timeoutMs, from);
  }

  /** Count of drops by code in the newest status. */
  drops(): Readonly<Record<string, number>> {
    const status = this.messages('status').at(-1)?.msg;
    if (!status) return {};
    return Object.fromEntries(
      (status.drop_reasons as string[]).map((code, i) => [code, status.drop_counts[i] as number]),
    );
  }

  /** Resolves when it has left the graph in good order. */
  async end(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const gone = new Promise<void>(resolve => this.#child.once('exit', () => resolve()));
    this.#child.stdin.end();
    await gone;
  }

  /** Without a word to the others; SIGKILL is as if its machine had lost power. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#child.kill(signal);
  }
}
