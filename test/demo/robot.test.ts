import path from 'node:path';
import { demoEnv, startPython, type Ending } from './support';

interface Stream {
  readonly hz: number;
  readonly monotonic: boolean;
  readonly longest_gap: number;
  readonly oldest: number;
  readonly youngest: number;
}

interface Seen {
  readonly silent_verdict: { readonly colour: null; readonly distance_m: null };
  readonly images: Stream & { readonly shapes: readonly string[]; readonly levels: number };
  readonly states: Stream & { readonly names: readonly string[]; readonly fastest: number };
  readonly error_at_a: number;
  readonly error_at_b: number;
  readonly error_after_bad_actions: number;
  readonly error_after_silence: number;
  readonly error_after_shuffle: number;
  readonly verdicts: readonly {
    readonly colour: boolean;
    readonly error: number;
    readonly nearest: boolean;
  }[];
  readonly shuffle: {
    readonly moved: boolean;
    readonly different: number;
    readonly apart: number;
    readonly from_tip: number;
  };
}

const POSE_ERROR = 0.01; // rad

describe('the simulated robot, seen by an independent rclpy peer', () => {
  let seen: Seen;
  let robotEnding: Ending;

  beforeAll(async () => {
    const env = demoEnv();
    const robot = startPython(['demo/robot.py', '--seed', '4'], env);
    const peer = startPython([path.join(__dirname, 'robot_peer.py')], env);
    const ending = await peer.ended;
    robot.child.kill('SIGTERM');
    robotEnding = await robot.ended;
    if (ending.code !== 0) throw new Error(`peer: ${ending.output}\nrobot: ${robotEnding.output}`);
    seen = JSON.parse(peer.stdout()) as Seen;
  });

  test('pictures: 30 Hz, 84x84 rgb8, stamped with a time just past', () => {
    expect(seen.images.hz).toBeGreaterThan(28.5);
    expect(seen.images.hz).toBeLessThan(31.5);
    expect(seen.images.shapes).toEqual(["[84, 84, 252, 21168, 'rgb8']"]);
    expect(seen.images.levels).toBeGreaterThan(50);
    expect(seen.images.monotonic).toBe(true);
    expect(seen.images.youngest).toBeGreaterThan(0);
    expect(seen.images.oldest).toBeLessThan(0.15);
  });

  test('joint states: 50 Hz, named, moving', () => {
    expect(seen.states.hz).toBeGreaterThan(48);
    expect(seen.states.hz).toBeLessThan(52);
    expect(seen.states.names).toEqual(['yaw', 'shoulder', 'elbow', 'wrist']);
    expect(seen.states.fastest).toBeGreaterThan(0.5);
    expect(seen.states.monotonic).toBe(true);
    expect(seen.states.oldest).toBeLessThan(0.15);
  });

  test('follows the action topic, ignores unusable actions and holds the last target', () => {
    expect(seen.error_at_a).toBeLessThan(POSE_ERROR);
    expect(seen.error_at_b).toBeLessThan(POSE_ERROR);
    expect(seen.error_after_bad_actions).toBeLessThan(POSE_ERROR);
    expect(seen.error_after_silence).toBeLessThan(POSE_ERROR);
    expect(robotEnding.output).toContain('ignored an action of 3 values');
    expect(robotEnding.output).toContain('no action for 0.5 s: holding the last target');
  });

  test('the judge agrees with the peer, which knows only joint angles and lengths', () => {
    expect(seen.silent_verdict).toMatchObject({ colour: null, distance_m: null });
    expect(seen.verdicts).toHaveLength(3);
    for (const verdict of seen.verdicts) {
      expect(verdict).toMatchObject({ colour: true, nearest: true });
      expect(verdict.error).toBeLessThan(1e-3);
    }
  });

  test('a shuffle keeps the rules and leaves the arm alone', () => {
    expect(seen.shuffle).toMatchObject({ moved: true, different: 5 });
    expect(seen.shuffle.apart).toBeGreaterThan(0.0899);
    expect(seen.shuffle.from_tip).toBeGreaterThan(0.058);
    expect(seen.error_after_shuffle).toBeLessThan(POSE_ERROR);
  });

  test('SIGTERM ends it with exit code 0', () => {
    expect(robotEnding).toMatchObject({ code: 0, signal: null });
  });
});
