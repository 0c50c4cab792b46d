/** The sample bag, and an independent player of it that obeys. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { NodeProcess, ROOT, until } from '../ros/harness';

export const SAMPLE = join(ROOT, 'demo/sample.mcap');
export const CAMERA = '/camera/base_0_rgb/image_raw';
/** What the node hears; what it says itself is played by nobody. */
export const INPUTS = [CAMERA, '/joint_states', '/instruction', '/language_request'];

export interface PlayerEvent {
  readonly event: 'ready' | 'started' | 'looped' | 'paused' | 'resumed' | 'sought' | 'finished';
  /** s, of `peerClock`. */
  readonly t: number;
  /** Time of the bag. */
  readonly bag_ns: number;
  /** Messages played so far, by topic. */
  readonly counts: Readonly<Record<string, number>>;
}

export class Player {
  readonly #process: NodeProcess;

  /** `args`: of peers/bag_player.py. It begins when somebody listens to every topic. */
  constructor(args: readonly string[] = [], topics = INPUTS) {
    const script = join(__dirname, 'peers/bag_player.py');
    this.#process = new NodeProcess(['python3', script, SAMPLE, ...args, '--topics', ...topics], ROOT);
  }

  tell(command: 'pause' | 'resume' | 'stop' | `seek ${number}`): void {
    this.#process.child.stdin.write(`${command}\n`);
  }

  /** The nth event of a kind, from 1. */
  async event(kind: PlayerEvent['event'], nth = 1, timeoutMs = 30_000): Promise<PlayerEvent> {
    const found = await until(`${kind} of the player`, timeoutMs, () => this.#events(kind)[nth - 1]).catch(
      error => {
        throw new Error(`${(error as Error).message}\n${this.#process.log}`);
      },
    );
    return found;
  }

  /** Exit code. */
  ended(): Promise<number | null> {
    return this.#process.exit;
  }

  #events(kind: PlayerEvent['event']): readonly PlayerEvent[] {
    const lines = this.#process.log.split('\n').slice(0, -1);
    return lines
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line) as PlayerEvent)
      .filter(({ event }) => event === kind);
  }
}

export interface BagTopic {
  readonly type: string;
  readonly reliability: string;
  readonly durability: string;
  readonly messages: readonly {
    /** ns, as text. */
    readonly log: string;
    readonly sha256: string;
    /** Of the header, or of the observation. */
    readonly stamp?: string;
    /** Positions of joints, or the actions of a chunk. */
    readonly values?: readonly number[];
    /** SHA-256 of the bytes of a raw picture. */
    readonly picture?: string;
    readonly text?: string;
    readonly id?: string;
  }[];
}

/** What another library reads from a bag, by topic. */
export const bagContents = (file: string): Readonly<Record<string, BagTopic>> =>
  JSON.parse(
    execFileSync('python3', [join(__dirname, 'peers/bag_contents.py'), file], {
      encoding: 'utf8',
      maxBuffer: 1 << 26,
    }),
  ) as Record<string, BagTopic>;

/** A stamp of a message as text, ns. */
export const stampNs = ({ sec, nanosec }: { sec: number; nanosec: number }): string =>
  String(BigInt(sec) * 1_000_000_000n + BigInt(nanosec));
