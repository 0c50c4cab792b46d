// What a measurement runs on: the installed node, peers of its own, and the processes under it. All end with it.
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startChild } from '../../demo/children.mjs';
import { at, ENGINE, INSTALL } from '../setup/paths.mjs';

export { sleep };

const PEER = fileURLToPath(new URL('peer.py', import.meta.url));
const PEER_PROFILE = fileURLToPath(new URL('peer.xml', import.meta.url));
const PROGRAM = path.join(INSTALL, 'lib/oxygen_vla/oxygen');
const ROBOT = at('config/robots/demo.yaml');

/** An engine process has to notice the end of its node within this. */
const ORPHANS_MS = 5000;
export const CAMERA = 'camera/base_0_rgb/image_raw';
export const LATCHED = { durability: 'transient_local', depth: 1 };
const SENSOR = { reliability: 'best_effort', depth: 5 };

/** As the peers' clock: ms since the epoch. */
export const nowMs = () => Date.now();

export class Peer {
  #child;
  #listeners = new Set();
  #calls = 0;

  /** @param {NodeJS.ProcessEnv} env */
  constructor(env) {
    this.#child = startChild('peer', 'python3', [PEER], {
      // By both names: Fast DDS has changed it.
      env: {
        ...env,
        FASTDDS_DEFAULT_PROFILES_FILE: PEER_PROFILE,
        FASTRTPS_DEFAULT_PROFILES_FILE: PEER_PROFILE,
      },
      input: true,
      onStdout: line => {
        const event = JSON.parse(line);
        for (const listener of [...this.#listeners]) listener(event);
      },
    });
  }

  static async start(env) {
    const peer = new Peer(env);
    await peer.next('the peer', event => event.event === 'ready', 30_000);
    return peer;
  }

  send(op, fields) {
    this.#child.stdin.write(`${JSON.stringify({ op, ...fields })}\n`);
  }

  subscribe(topic, type, more = {}) {
    this.send('subscribe', { topic, type, ...more });
  }

  /** Calls `listener` with every event until the returned function is called. */
  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Messages of a topic from now on; the list grows until `stop`. */
  collect(topic) {
    const messages = [];
    const stop = this.listen(event => {
      if (event.event === 'message' && event.topic === topic) messages.push(event);
    });
    return { messages, stop };
  }

  /** The next event that fits. */
  next(what, fits, timeoutMs = 20_000) {
    const found = new Promise((resolve, reject) => {
      const end = timer => {
        clearTimeout(timer);
        stop();
      };
      const timer = setTimeout(() => {
        end(timer);
        const tail = this.#child.tail().filter(line => !line.startsWith('{'));
        reject(new Error(`waited ${timeoutMs} ms in vain for ${what}\n${tail.join('\n')}`));
      }, timeoutMs);
      const stop = this.listen(event => {
        if (!fits(event)) return;
        end(timer);
        resolve(event);
      });
    });
    // Who waits for something else that fails first waits no more; that is not the end of everything.
    found.catch(() => {});
    return found;
  }

  message(topic, fits = () => true, timeoutMs = undefined) {
    const of = event => event.event === 'message' && event.topic === topic && fits(event.msg, event);
    return this.next(`a message on ${topic}`, of, timeoutMs);
  }

  /** The response, or null when none came. */
  async call(service, type, request = {}) {
    const id = ++this.#calls;
    const answer = this.next(service, event => event.event === 'response' && event.id === id);
    this.send('call', { id, service, type, request });
    return (await answer).response;
  }

  async state() {
    const answer = await this.call('/oxygen/get_state', 'lifecycle_msgs/srv/GetState');
    return answer?.current_state.label ?? null;
  }

  /** Latched: a node that is started again hears it too. */
  instruct(text) {
    const msg = { data: text };
    this.send('publish', { topic: 'instruction', type: 'std_msgs/msg/String', msg, qos: LATCHED });
  }

  camera({ width, height } = { width: 84, height: 84 }, over = {}) {
    this.send('stream', {
      topic: CAMERA,
      type: 'sensor_msgs/msg/Image',
      hz: 30,
      msg: { height, width, encoding: 'rgb8', step: width * 3, ...over },
      bytes: width * height * 3,
      qos: SENSOR,
    });
  }

  joints() {
    this.send('stream', {
      topic: 'joint_states',
      type: 'sensor_msgs/msg/JointState',
      hz: 50,
      msg: { name: ['yaw', 'shoulder', 'elbow', 'wrist'], position: [0, 0.6, -1.2, 0] },
      qos: SENSOR,
    });
  }

  end() {
    return this.#child.stop([
      ['SIGTERM', 1000],
      ['SIGKILL', 1000],
    ]);
  }
}

/** A robot that stands still and can see, and everything that the node says of its work. */
export const standStill = (peer, instruction = 'go to the green block') => {
  // Deep: what the peer is too slow for at the moment still counts.
  const action = { fields: ['data'], qos: { depth: 1000 } };
  peer.subscribe('action', 'std_msgs/msg/Float64MultiArray', action);
  peer.subscribe('action_chunk', 'oxygen_vla/msg/ActionChunk', { fields: ['stamp', 'dt', 'horizon'] });
  peer.subscribe('status', 'oxygen_vla/msg/Status', { qos: LATCHED });
  peer.joints();
  peer.camera();
  peer.instruct(instruction);
};

export class NodeUnderTest {
  #child;
  /** ms since the epoch. */
  startedMs = nowMs();

  constructor(env, parameters = {}) {
    const values = { engine: ENGINE, robot: ROBOT, ...parameters };
    const given = Object.entries(values).flatMap(([name, value]) => ['-p', `${name}:=${value}`]);
    this.#child = startChild('node', PROGRAM, ['node', '--ros-args', ...given], {
      env,
      orphansMs: ORPHANS_MS,
    });
  }

  get pid() {
    return this.#child.pid;
  }

  log() {
    return this.#child.tail();
  }

  /** Of the engine process; undefined while there is none. */
  enginePid() {
    return childrenOf(this.pid).find(pid => read(`/proc/${pid}/cmdline`).includes('engine/process.js'));
  }

  /** Kills without a chance to tidy up; resolves with true when nothing of it is left in time. */
  async kill() {
    const pids = [this.pid, this.enginePid()];
    process.kill(this.pid, 'SIGKILL');
    return becomes(() => !pids.some(isAlive), ORPHANS_MS);
  }

  /** '' after a clean end. */
  end() {
    return this.#child.stop();
  }
}

const read = file => {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

const childrenOf = pid => read(`/proc/${pid}/task/${pid}/children`).trim().split(' ').map(Number);

/** MB in RAM; 0 of a process that is gone. */
export const rssMb = pid => Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;

/** Not a zombie either. */
export const isAlive = pid => {
  const stat = read(`/proc/${pid}/stat`);
  return stat !== '' && !stat.includes(') Z ');
};

/** Waits until `look` is true; false when that takes too long. */
export const becomes = async (look, timeoutMs) => {
  const end = nowMs() + timeoutMs;
  while (!look()) {
    if (nowMs() > end) return false;
    await sleep(10);
  }
  return true;
};

let domains = process.pid;
/** A ROS graph of its own. */
export const isolated = env => ({
  ...env,
  ROS_DOMAIN_ID: String(1 + (domains++ % 99)),
  ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST',
  PYTHONUNBUFFERED: '1',
});

/** Runs `work` with a peer, and a node that plays chunks; both end, whatever happens. */
export const withNode = async (env, parameters, work) => {
  const peer = await Peer.start(env);
  const node = new NodeUnderTest(env, parameters);
  try {
    const chunk = peer.message('action_chunk', undefined, 60_000);
    standStill(peer);
    await chunk;
    return await work(peer, node);
  } catch (error) {
    error.message += `\nThe node said last:\n${node.log().join('\n')}`;
    throw error;
  } finally {
    await node.end();
    await peer.end();
  }
};
