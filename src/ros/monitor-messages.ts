/**
 * What people look at: the chunk as lines in a panel beside the robot, the command of now as dots on them, the text
 * above, and the pose at the end of the chunk for a ghost robot. Pure: plain data in, plain messages out.
 *
 * The panel stands upright to the left of the robot (y-z plane of its frame, as seen from the front), one lane per
 * action; left is the beginning of the chunk, right its end, and a lane is as high as min..max of its action.
 */
import type { ActionDim, Robot } from '../core/robot';
import { fromNs } from './messages';
import { row } from './trajectory-messages';
import type { Plan } from './trajectory-messages';

export interface MonitorView {
  readonly robot: Robot;
  /** Frame of the markers. */
  readonly frame: string;
  readonly nowNs: bigint;
  /** Lines of running text; empty is none, as for the instruction. */
  readonly caption: string;
  readonly instruction: string;
  /** What the node does, such as the mode of the safety gate. */
  readonly state: string;
  /** The chunk that plays. */
  readonly plan: Plan | null;
  /** The last command [actions]. */
  readonly command: ArrayLike<number> | null;
}

/** visualization_msgs/msg/Marker. */
const TYPE = { lineStrip: 4, sphere: 2, text: 9 } as const;
const ACTION = { add: 0, deleteAll: 3 } as const;

/** Metres, in the marker frame. */
const PANEL = { y: 0.5, z: 0.1, width: 0.8, height: 0.8, lane: 0.1, gap: 0.2 } as const;
const TEXT = { z: 1.3, letter: 0.06, wrap: 60, lines: 10 } as const;
const LINE_WIDTH = 0.006;
const DOT = 0.03;
/** A line needs no more points, and rclnodejs takes its time for each. */
const MOST_POINTS = 25;
/** When the node is gone, its markers go too. */
const LIFETIME_NS = 2_000_000_000n;

interface Point {
  readonly x: number;
  readonly y: number;
  readonly z: number;
}
interface Color {
  readonly r: number;
  readonly g: number;
  readonly b: number;
  readonly a: number;
}

const WHITE: Color = { r: 1, g: 1, b: 1, a: 1 };
const ORIGIN: Point = { x: 0, y: 0, z: 0 };

/** visualization_msgs/msg/MarkerArray. Without a playing chunk it begins with the order to remove all markers. */
export function markersMessage(view: MonitorView): { readonly markers: readonly object[] } {
  const { robot, plan, command } = view;
  const words = monitorText(view);
  const lanes = robot.actions.map((action, d) => ({ action, d, ...lane(d, robot.actions.length) }));
  const markers = words === '' ? [] : [textMarker(view, 'language', 0, words, textPlace, TEXT.letter, WHITE)];
  if (plan === null) return { markers: [{ ...blank(view), action: ACTION.deleteAll }, ...markers] };
  for (const { action, d, bottom, height, color } of lanes) {
    const at = (time: number, value: number): Point => ({
      x: 0,
      y: PANEL.y + clamp(time) * PANEL.width,
      z: bottom + share(action, value) * height,
    });
    markers.push({
      ...blank(view),
      ns: 'chunk',
      id: d,
      type: TYPE.lineStrip,
      scale: { x: LINE_WIDTH, y: 0, z: 0 },
      color,
      points: course(plan, d, at),
    });
    const labelAt = { x: 0, y: PANEL.y - PANEL.gap, z: bottom + height / 2 };
    markers.push(textMarker(view, 'labels', d, action.name, labelAt, Math.min(0.04, height), color));
    if (command === null) continue;
    markers.push({
      ...blank(view),
      ns: 'command',
      id: d,
      type: TYPE.sphere,
      pose: poseAt(at(elapsed(plan, view.nowNs), command[d] ?? NaN)),
      scale: { x: DOT, y: DOT, z: DOT },
      color,
    });
  }
  return { markers };
}

/** sensor_msgs/msg/JointState of the positions at the end of the playing chunk; null when there are none. */
export function predictedJointStates(plan: Plan | null, robot: Robot, nowNs: bigint): object | null {
  if (plan === null) return null;
  const last = row(plan.chunk, plan.chunk.horizon - 1);
  const positions = robot.actions
    .map((action, d) => ({ action, value: last[d]! }))
    .filter(({ action }) => action.kind === 'position');
  if (positions.length === 0) return null;
  return {
    // The time of the prediction would lie in the future, where no transform is looked for.
    header: { stamp: fromNs(nowNs), frame_id: '' },
    name: positions.map(({ action }) => action.joint),
    position: Float64Array.from(positions, ({ value }) => value),
    velocity: new Float64Array(0),
    effort: new Float64Array(0),
  };
}

/** Instruction and state, then the caption; long lines are wrapped, and the newest lines stay. */
export function monitorText({ instruction, state, caption }: MonitorView): string {
  const heading = [instruction, state === '' ? '' : `[${state}]`].filter(part => part !== '').join('  ');
  const head = wrapped(heading).slice(0, 2);
  const lines = caption.split('\n').flatMap(wrapped);
  return [...head, ...lines.slice(-(TEXT.lines - head.length))].join('\n');
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  for (let rest = text.trim(); rest !== '';) {
    const space = rest.length > TEXT.wrap ? rest.lastIndexOf(' ', TEXT.wrap) : rest.length;
    const end = space > 0 ? space : TEXT.wrap;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trim();
  }
  return lines;
}

const textPlace: Point = { x: 0, y: 0, z: TEXT.z };

/** Fields that every marker has. Those that not every ROS 2 has (texture, mesh_file) keep their defaults. */
const blank = ({ frame, nowNs }: MonitorView): object => ({
  header: { frame_id: frame, stamp: fromNs(nowNs) },
  ns: '',
  id: 0,
  action: ACTION.add,
  pose: poseAt(ORIGIN),
  lifetime: fromNs(LIFETIME_NS),
});

const textMarker = (
  view: MonitorView,
  ns: string,
  id: number,
  text: string,
  place: Point,
  height: number,
  color: Color,
): object => ({
  ...blank(view),
  ns,
  id,
  type: TYPE.text,
  pose: poseAt(place),
  scale: { x: 0, y: 0, z: height },
  color,
  text,
});

const poseAt = (position: Point): object => ({ position, orientation: { x: 0, y: 0, z: 0, w: 1 } });

/** Lane of an action: the first one is the highest. */
function lane(
  d: number,
  count: number,
): { readonly bottom: number; readonly height: number; readonly color: Color } {
  const pitch = Math.min(PANEL.lane, PANEL.height / count);
  return { bottom: PANEL.z + (count - 1 - d) * pitch, height: pitch * 0.8, color: laneColor(d) };
}

/** Steps of the golden angle round the colour circle: neighbours are far apart, and no two are alike. */
function laneColor(d: number): Color {
  const hue = (d * 0.618034) % 1;
  const part = (shift: number): number => {
    const at = (hue + shift) % 1;
    return 0.35 + 0.65 * clamp(Math.abs(at * 6 - 3) - 1);
  };
  return { r: part(0), g: part(2 / 3), b: part(1 / 3), a: 1 };
}

function course({ chunk }: Plan, d: number, at: (time: number, value: number) => Point): Point[] {
  const last = chunk.horizon - 1;
  const count = Math.min(chunk.horizon, MOST_POINTS);
  return Array.from({ length: count }, (_, i) => {
    const step = count === 1 ? 0 : Math.round((i * last) / (count - 1));
    return at(last === 0 ? 0 : step / last, chunk.values[step * chunk.dims + d]!);
  });
}

/** Which part of the chunk has been played, 0..1. */
function elapsed({ chunk, startNs, stepSeconds }: Plan, nowNs: bigint): number {
  const last = chunk.horizon - 1;
  return last === 0 ? 0 : Number(nowNs - startNs) / 1e9 / stepSeconds / last;
}

/** Place of a value in min..max, 0..1. */
const share = ({ min, max }: ActionDim, value: number): number =>
  max > min && Number.isFinite(value) ? clamp((value - min) / (max - min)) : 0.5;

const clamp = (x: number): number => Math.min(1, Math.max(0, x));
