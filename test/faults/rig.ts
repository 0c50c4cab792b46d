/**
 * One node and one peer for all tests of a file. A test provokes its fault, reads from the peer that it was counted,
 * and ends with one good chunk: `rig.recovers()`.
 */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { demoScene, show } from '../ros/demo-scene';
import type { Scene } from '../ros/demo-scene';
import { NodeProcess, Peer, ROBOTS, killAll, peerClock, sleep, until } from '../ros/harness';
import type { PeerEvent } from '../ros/harness';

/** A machine that does nothing else needs a third of it; a fault test is made for 5 s. */
export const FAULT_TEST_MS = 15_000;

/** Little load, and a status that is never older than 0.1 s. */
const QUICK = { status_rate_hz: 10, replan_rate_hz: 10, threads: 1 };

export interface RigOptions {
  readonly engine?: string;
  readonly robot?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly rosArgs?: readonly string[];
  /** A script that spoils the node before it starts. */
  readonly preload?: string;
}

/** What one part says in /diagnostics. */
export interface Diagnosis {
  /** Of `peerClock`, at receipt. */
  readonly t: number;
  readonly level: number;
  readonly message: string;
  readonly values: Readonly<Record<string, string>>;
}

export class Rig {
  readonly folder = mkdtempSync(join(tmpdir(), 'oxygen-faults-'));
  readonly scene: Scene = demoScene(this.folder);
  node!: NodeProcess;
  peer!: Peer;

  async start(options: RigOptions): Promise<void> {
    const { engine = 'demo', robot = 'demo.yaml', parameters, rosArgs, preload } = options;
    const node = NodeProcess.start(engine, robot, { ...QUICK, ...parameters }, rosArgs, preload);
    this.node = node;
    this.peer = await Peer.start();
    this.peer.subscribe('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', { depth: 100 });
  }

  /** Writes a file of the test; gives its path. The peer may be reading the old one. */
  file(name: string, content: string | Uint8Array): string {
    const path = join(this.folder, name);
    writeFileSync(`${path}.new`, content);
    renameSync(`${path}.new`, path);
    return path;
  }

  /** The demo's robot file with a change. */
  robot(name: string, what: string | RegExp, to: string, from = 'demo.yaml'): string {
    return this.file(name, readFileSync(resolve(ROBOTS, from), 'utf8').replace(what, to));
  }

  /** The scene as it should be; chunks come. Other robots have other scenes. */
  recovers = async (): Promise<PeerEvent['msg']> => {
    show(this.peer, this.scene);
    return this.chunk();
  };

  /** A chunk of what was seen after this call. */
  async chunk(timeoutMs = 8000): Promise<PeerEvent['msg']> {
    const from = this.peer.events.length;
    const sinceS = Date.now() / 1000;
    const seen = (msg: PeerEvent['msg']): boolean => seconds(msg.observation_stamp) >= sinceS;
    const { msg } = await this.peer.waitForMessage('action_chunk', seen, timeoutMs, from);
    expect((msg.values as number[]).every(Number.isFinite)).toBe(true);
    return msg;
  }

  /** Does `fault` until the peer reads `count` more drops of `code`; gives when it did (peerClock). */
  async drops(code: string, fault: () => void, count = 1): Promise<number> {
    const before = this.peer.drops()[code] ?? 0;
    fault();
    let at = 0;
    await until(`${count} drops of ${code}`, 8000, () => {
      at = peerClock();
      return (this.peer.drops()[code] ?? 0) >= before + count;
    }).catch(error => {
      const now = JSON.stringify(this.peer.drops());
      throw new Error(`${(error as Error).message}; drops are ${now}\n${this.node.log}`);
    });
    return at;
  }

  /** Waits until a part says something that fits, from the event `from` on. */
  async says(
    part: string,
    fits: (diagnosis: Diagnosis) => boolean,
    timeoutMs = 4000,
    from = 0,
  ): Promise<Diagnosis> {
    let found: Diagnosis | undefined;
    const look = (): boolean =>
      this.peer.messages('/diagnostics', from).some(event => {
        found = diagnosisOf(event, part);
        return found !== undefined && fits(found);
      });
    await until(`a fitting diagnostic of ${part}`, timeoutMs, look).catch(error => {
      const last = this.peer.messages('/diagnostics').map(event => diagnosisOf(event, part)?.message);
      throw new Error(
        `${(error as Error).message}; it said ${JSON.stringify(last.slice(-5))}\n${this.node.log}`,
      );
    });
    return found!;
  }

  /** Ends with everything in order, unless a test has ended it. */
  async end(): Promise<void> {
    const { exitCode, signalCode } = this.node.child;
    if (exitCode === null && signalCode === null) expect(await this.node.end()).toMatchObject({ code: 0 });
    expect(this.node.log).not.toMatch(/SIGSEGV|Abort|terminate called|has been shut down/);
    expect(this.peer.errors).not.toMatch(/Traceback/);
    await this.peer.end(); // a killed one leaves the shared memory of its middleware behind
  }

  remove(): void {
    killAll();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Starts before the tests of a file, ends after them. Each test begins and ends with a good chunk. */
export function useRig(options: (rig: Rig) => RigOptions | Promise<RigOptions> = () => ({})): Rig {
  const rig = new Rig();
  jest.setTimeout(FAULT_TEST_MS);
  beforeAll(async () => {
    await rig.start(await options(rig));
    await rig.recovers();
  }, 30_000);
  afterEach(() => rig.recovers());
  afterAll(async () => {
    try {
      await rig.end();
    } finally {
      rig.remove();
    }
  });
  return rig;
}

function diagnosisOf({ t, msg }: PeerEvent, part: string): Diagnosis | undefined {
  const statuses = msg.status as { name: string; level: number[]; message: string; values: KeyValue[] }[];
  const status = statuses.find(({ name }) => name.endsWith(`: ${part}`));
  if (!status) return undefined;
  const values = Object.fromEntries(status.values.map(({ key, value }) => [key, value]));
  return { t, level: status.level[0]!, message: status.message, values };
}

interface KeyValue {
  readonly key: string;
  readonly value: string;
}

export const seconds = (stamp: { sec: number; nanosec: number }): number => stamp.sec + stamp.nanosec / 1e9;

/** Time of day (s) as `peerClock`. */
export const fromWall = (wall: number): number => peerClock() + (wall - Date.now() / 1000);

/** Last change of the command after `since`, both of `peerClock`; `since` if it never changed. */
export function lastChange(peer: Peer, since: number, until = Infinity): number {
  const actions = peer.messages('action').filter(event => event.t >= since - 0.05 && event.t < until);
  let at = since;
  actions.slice(1).forEach((event, i) => {
    const before = actions[i]!.msg.data as number[];
    if ((event.msg.data as number[]).some((value, d) => value !== before[d])) at = event.t;
  });
  return at;
}

/** Tells what was measured; it is read by people. */
export const measured = (what: string, seconds: number): void =>
  console.log(`${what}: ${(seconds * 1000).toFixed(0)} ms`);

export { peerClock, sleep };
