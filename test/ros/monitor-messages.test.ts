import fc from 'fast-check';
import type { ActionDim, Robot } from '../../src/core/robot';
import type { ActionChunk, ActionKind } from '../../src/core/types';
import { markersMessage, monitorText, predictedJointStates } from '../../src/ros/monitor-messages';
import type { MonitorView } from '../../src/ros/monitor-messages';
import {
  actionTrajectory,
  hasChunkTrajectory,
  jointTrajectory,
  trajectoryRefusal,
} from '../../src/ros/trajectory-messages';

const SECOND = 1_000_000_000n;

const dim = (name: string, kind: ActionKind, more: Partial<ActionDim> = {}): ActionDim => ({
  name,
  kind,
  joint: `${name}_joint`,
  min: -1,
  max: 1,
  maxRate: null,
  ...more,
});
const robotOf = (...actions: ActionDim[]): Robot => ({
  name: 'arm',
  platform: 'none',
  cameras: [],
  state: { topic: 'joint_states', joints: actions.map(action => action.joint) },
  actions,
  relativeTo: actions.map(() => null),
  rates: { trainHz: 10, executeSteps: null },
  sync: { toleranceMs: 50, timeoutMs: 300, stamps: 'header' },
});
/** Row after row. */
const chunkOf = (dims: number, ...values: number[]): ActionChunk => ({
  observationStampNs: 0n,
  epoch: 0,
  horizon: values.length / dims,
  dims,
  values: Float64Array.from(values),
});
const arm = robotOf(dim('a', 'position'), dim('b', 'position', { min: 0, max: 4 }));
const chunk = chunkOf(2, -1, 0, 0, 2, 1, 4);

interface Marker {
  ns: string;
  id: number;
  type: number;
  action: number;
  text: string;
  header: object;
  scale: Record<'x' | 'y' | 'z', number>;
  color: Record<'r' | 'g' | 'b' | 'a', number>;
  pose: { position: { y: number; z: number } };
  points: { x: number; y: number; z: number }[];
}
const view: MonitorView = {
  robot: arm,
  frame: 'base_link',
  nowNs: SECOND,
  caption: 'a red block\nnear the arm',
  instruction: 'reach the red block',
  state: 'active',
  plan: { chunk, startNs: SECOND - 100_000_000n, stepSeconds: 0.1 },
  command: [0, 2],
};
const markers = (change: Partial<MonitorView> = {}) =>
  markersMessage({ ...view, ...change }).markers as readonly Marker[];
const ofNs = (all: readonly Marker[], ns: string) => all.filter(marker => marker.ns === ns);

describe('markers', () => {
  test('text, a line, a label and a dot per action, each with an id of its own', () => {
    const all = markers();
    expect(all.map(({ ns, id, type, action }) => [ns, id, type, action])).toEqual([
      ['language', 0, 9, 0],
      ['chunk', 0, 4, 0],
      ['labels', 0, 9, 0],
      ['command', 0, 2, 0],
      ['chunk', 1, 4, 0],
      ['labels', 1, 9, 0],
      ['command', 1, 2, 0],
    ]);
    for (const marker of all) {
      expect(marker).toMatchObject({
        header: { frame_id: 'base_link', stamp: { sec: 1, nanosec: 0 } },
        lifetime: { sec: 2, nanosec: 0 },
        pose: { orientation: { x: 0, y: 0, z: 0, w: 1 } },
      });
    }
    expect(ofNs(all, 'labels').map(marker => marker.text)).toEqual(['a', 'b']);
    expect(all[0]!.text).toBe('reach the red block  [active]\na red block\nnear the arm');
  });

  test('a line goes from min to max of its lane and from the left to the right of the panel', () => {
    const [first, second] = ofNs(markers(), 'chunk');
    const y = first!.points.map(point => point.y);
    const z = first!.points.map(point => point.z);
    expect(y[1]! - y[0]!).toBeCloseTo(0.4);
    expect(y[2]! - y[0]!).toBeCloseTo(0.8);
    expect(z[1]! - z[0]!).toBeCloseTo((z[2]! - z[0]!) / 2);
    // The same course in its own range: the same shape, one lane below and not over it.
    expect(Math.max(...second!.points.map(point => point.z))).toBeLessThan(Math.min(...z));
    expect(second!.points.map(point => point.y)).toEqual(y);
  });

  test('the command of now is a dot on the line', () => {
    const all = markers();
    ofNs(all, 'command').forEach((dot, d) => {
      const line = ofNs(all, 'chunk')[d]!.points;
      expect(dot.pose.position.y).toBeCloseTo(line[1]!.y);
      expect(dot.pose.position.z).toBeCloseTo(line[1]!.z);
    });
    expect(ofNs(markers({ command: null }), 'command')).toEqual([]);
  });

  test('without a chunk all is removed, and only the text comes anew', () => {
    expect(markers({ plan: null }).map(({ action, ns }) => [action, ns])).toEqual([
      [3, ''],
      [0, 'language'],
    ]);
    const nothing = { plan: null, caption: '', instruction: '', state: '' };
    expect(markers(nothing).map(marker => marker.action)).toEqual([3]);
  });

  test('any robot, chunk and command stays within the panel, in colours that differ', () => {
    const value = fc.oneof(fc.double(), fc.constant(NaN), fc.constant(Infinity));
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 32 }),
        fc.integer({ min: 1, max: 60 }),
        fc.array(value, { minLength: 32, maxLength: 32 }),
        fc.bigInt({ min: 0n, max: 100n * SECOND }),
        (dims, horizon, values, nowNs) => {
          const robot = robotOf(...Array.from({ length: dims }, (_, d) => dim(`d${d}`, 'position')));
          const long = chunkOf(dims, ...Array.from({ length: dims * horizon }, (_, i) => values[i % 32]!));
          const plan = { chunk: long, startNs: SECOND, stepSeconds: 0.1 };
          const all = markers({ robot, plan, nowNs, command: values });
          const places = all
            .filter(({ ns }) => ns === 'chunk' || ns === 'command')
            .flatMap(marker => marker.points ?? [marker.pose.position]);
          expect(places.filter(({ y, z }) => !(y >= 0.5 && y < 1.301 && z >= 0.1 && z < 0.901))).toEqual([]);
          const lines = ofNs(all, 'chunk');
          expect(lines.filter(line => line.points.length > 25)).toEqual([]);
          expect(new Set(lines.map(line => JSON.stringify(line.color))).size).toBe(dims);
          const apart = (d: number) =>
            (['r', 'g', 'b'] as const).reduce(
              (sum, c) => sum + Math.abs(lines[d]!.color[c] - lines[d - 1]!.color[c]),
              0,
            );
          for (let d = 1; d < dims; d++) expect(apart(d)).toBeGreaterThan(0.3);
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('the text', () => {
  const lines = (change: Partial<MonitorView>) => monitorText({ ...view, ...change }).split('\n');

  test('long lines are wrapped between words, words that are longer are cut', () => {
    const long = lines({ caption: `${'word '.repeat(30)}\n${'x'.repeat(150)}` });
    expect(long.every(line => line.length <= 60)).toBe(true);
    expect(long.slice(1).join('').replaceAll(' ', '')).toBe('word'.repeat(30) + 'x'.repeat(150));
  });

  test('of much text the newest lines stay', () => {
    const many = lines({ caption: Array.from({ length: 50 }, (_, i) => `line ${i}`).join('\n') });
    expect(many).toHaveLength(10);
    expect(many[0]).toBe('reach the red block  [active]');
    expect(many.at(-1)).toBe('line 49');
  });

  test('nothing is nothing', () => {
    expect(monitorText({ ...view, caption: ' \n ', instruction: '', state: '' })).toBe('');
  });
});

describe('the ghost robot', () => {
  test('stands where the positions end', () => {
    const robot = robotOf(dim('a', 'position'), dim('v', 'velocity'), dim('c', 'position'));
    // As the timeline gives it: a view of a longer buffer.
    const values = Float64Array.of(0, 1, 2, 3, 4, 5, 6).subarray(1);
    const plan = { chunk: { ...chunkOf(3, ...values), values }, startNs: 0n, stepSeconds: 0.1 };
    const message = predictedJointStates(plan, robot, SECOND) as { position: Float64Array };
    expect(message).toEqual({
      header: { stamp: { sec: 1, nanosec: 0 }, frame_id: '' },
      name: ['a_joint', 'c_joint'],
      position: Float64Array.of(4, 6),
      velocity: new Float64Array(0),
      effort: new Float64Array(0),
    });
    expect(message.position.buffer.byteLength).toBe(16);
  });

  test('is not there without positions or without a chunk', () => {
    const plan = { chunk: chunkOf(1, 1), startNs: 0n, stepSeconds: 0.1 };
    expect(predictedJointStates(plan, robotOf(dim('v', 'velocity')), 0n)).toBeNull();
    expect(predictedJointStates(null, arm, 0n)).toBeNull();
  });
});

interface Trajectory {
  header: { stamp: { sec: number; nanosec: number } };
  joint_names: string[];
  points: {
    positions: Float64Array;
    velocities: Float64Array;
    time_from_start: { sec: number; nanosec: number };
  }[];
}

describe('a chunk as a trajectory', () => {
  const of = (startNs: bigint, nowNs: bigint, of = chunk, stepSeconds = 0.1) =>
    jointTrajectory({ chunk: of, startNs, stepSeconds }, arm, nowNs) as Trajectory | null;
  const times = (trajectory: Trajectory | null) =>
    trajectory?.points.map(({ time_from_start: t }) => t.sec + t.nanosec / 1e9);

  test('is stamped with the time of step 0, and the step of now is left out', () => {
    const trajectory = of(SECOND, SECOND)!;
    expect(trajectory).toMatchObject({
      header: { stamp: { sec: 1, nanosec: 0 }, frame_id: '' },
      joint_names: ['a_joint', 'b_joint'],
    });
    expect(times(trajectory)).toEqual([0.1, 0.2]);
    expect(trajectory.points.map(point => [...point.positions])).toEqual([
      [0, 2],
      [1, 4],
    ]);
    expect(trajectory.points.every(point => point.velocities.length === 0)).toBe(true);
  });

  test('past steps are left out, and nothing is sent when all are past', () => {
    expect(times(of(SECOND, SECOND + 150_000_000n))).toEqual([0.2]);
    expect(of(SECOND, 2n * SECOND)).toBeNull();
    expect(of(SECOND, SECOND, chunkOf(2, 1, 1))).toBeNull();
  });

  test('played at half speed, the steps are twice as far apart', () => {
    expect(times(of(SECOND, SECOND, chunk, 0.2))).toEqual([0.2, 0.4]);
  });

  test('as the controller wants it, whenever it starts', () => {
    const ns = fc.bigInt({ min: SECOND, max: 3n * SECOND });
    fc.assert(
      fc.property(ns, ns, fc.double({ min: 0.001, max: 2, noNaN: true }), (startNs, nowNs, stepSeconds) => {
        const trajectory = of(startNs, nowNs, chunk, stepSeconds);
        if (trajectory === null) return;
        const at = times(trajectory)!;
        expect(at.every((time, i) => time > (at[i - 1] ?? 0))).toBe(true);
        expect(Number(startNs) / 1e9 + at[0]!).toBeGreaterThan(Number(nowNs) / 1e9 - 1e-6);
        for (const { positions } of trajectory.points) {
          expect(positions).toHaveLength(2);
          expect(positions.buffer.byteLength).toBe(positions.byteLength);
        }
      }),
    );
  });

  test('only of robots that have nothing but positions', () => {
    expect(hasChunkTrajectory(arm)).toBe(true);
    for (const kind of ['velocity', 'delta', 'binary'] as const) {
      expect(hasChunkTrajectory(robotOf(dim('a', 'position'), dim('b', kind)))).toBe(false);
    }
  });
});

describe('a command as a trajectory of one point', () => {
  const command = (robot: Robot, values: ArrayLike<number>) =>
    actionTrajectory(values, robot, 14_285_714n) as Trajectory;

  test('positions and binaries are positions', () => {
    const robot = robotOf(dim('a', 'position'), dim('g', 'binary'));
    expect(command(robot, [0.5, 1])).toEqual({
      header: { stamp: { sec: 0, nanosec: 0 }, frame_id: '' },
      joint_names: ['a_joint', 'g_joint'],
      points: [
        {
          positions: Float64Array.of(0.5, 1),
          velocities: new Float64Array(0),
          accelerations: new Float64Array(0),
          effort: new Float64Array(0),
          time_from_start: { sec: 0, nanosec: 14285714 },
        },
      ],
    });
  });

  test('velocities are velocities', () => {
    const [point] = command(robotOf(dim('v', 'velocity')), [0.5]).points;
    expect([point!.positions.length, ...point!.velocities]).toEqual([0, 0.5]);
  });

  test('no views and no single precision go out', () => {
    const robot = robotOf(dim('a', 'position'), dim('b', 'position'));
    const view = Float64Array.of(0, 1, 2).subarray(1);
    expect(command(robot, view).points[0]!.positions.buffer.byteLength).toBe(16);
    expect(command(robot, Float32Array.of(1, 2)).points[0]!.positions).toEqual(Float64Array.of(1, 2));
  });

  test.each<[RegExp | null, ActionDim[]]>([
    [null, [dim('a', 'position'), dim('g', 'binary')]],
    [null, [dim('a', 'velocity'), dim('b', 'velocity')]],
    [/no place for a delta, and x, y has/, [dim('x', 'delta'), dim('y', 'delta'), dim('g', 'binary')]],
    [/positions of all joints or velocities of all, and v has/, [dim('v', 'velocity'), dim('g', 'binary')]],
    [/joint j belongs to two/, [dim('a', 'position', { joint: 'j' }), dim('b', 'binary', { joint: 'j' })]],
  ])('robots that it does not fit are told why: %s', (reason, actions) => {
    const refusal = trajectoryRefusal(robotOf(...actions));
    if (reason === null) expect(refusal).toBeNull();
    else {
      expect(refusal).toMatch(reason);
      expect(refusal).toMatch(/multi_array/);
    }
  });
});
