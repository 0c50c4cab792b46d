/** Reads a robot file (config/robots/*.yaml) and checks it against the engine. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { OxygenError } from '../core/errors';
import { ACTION_KINDS } from '../core/types';
import { IMAGE_TRANSPORTS } from '../core/robot';
import type { Robot } from '../core/robot';

const word = z.string().min(1);
const finite = z.number().refine(Number.isFinite, 'must be finite');

const cameraSchema = z.strictObject({
  topic: word.optional(),
  transport: z.enum(IMAGE_TRANSPORTS).default('raw'),
});

const actionSchema = z
  .strictObject({
    name: word,
    kind: z.enum(ACTION_KINDS),
    joint: word.optional(),
    min: finite,
    max: finite,
    max_rate: z.number().positive().optional(),
  })
  .refine(action => action.min < action.max, { path: ['min'], message: 'must be below max' })
  .refine(action => !isMotion(action.kind) || (action.min <= 0 && action.max >= 0), {
    path: ['min'],
    message: 'must not be above 0, and max not below it: 0 is how a velocity or delta stops',
  });

const robotSchema = z.strictObject({
  name: word,
  cameras: z
    .record(word, cameraSchema)
    .refine(c => Object.keys(c).length > 0, 'must name at least one camera'),
  state: z.strictObject({ topic: word.default('joint_states'), joints: z.array(word).min(1) }),
  actions: z.array(actionSchema).min(1),
  rates: z.strictObject({ train_hz: z.number().positive().max(1000) }),
  sync: z
    .strictObject({
      tolerance_ms: z.number().positive().default(50),
      timeout_ms: z.number().positive().default(300),
    })
    .default({ tolerance_ms: 50, timeout_ms: 300 }),
});

function isMotion(kind: string): boolean {
  return kind === 'velocity' || kind === 'delta';
}

/** @throws OxygenError ROBOT_FILE_INVALID naming the file, the key and what is allowed. */
export function readRobotFile(path: string): Robot {
  const file = resolve(path);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw invalid(
      file,
      [`cannot be read (${(cause as NodeJS.ErrnoException).code ?? String(cause)})`],
      cause,
    );
  }
  return parseRobot(text, file);
}

/** `source` names the text in errors. @throws OxygenError ROBOT_FILE_INVALID */
export function parseRobot(text: string, source: string): Robot {
  let content: unknown;
  try {
    content = parse(text, { maxAliasCount: 0 });
  } catch (cause) {
    throw invalid(source, [`is not YAML: ${(cause as Error).message}`], cause);
  }
  const result = robotSchema.safeParse(content);
  if (!result.success) throw invalid(source, result.error.issues.map(issueText));
  const file = result.data;
  const robot: Robot = {
    name: file.name,
    cameras: Object.entries(file.cameras).map(([slot, camera]) => ({
      slot,
      transport: camera.transport,
      topic:
        camera.topic ?? `camera/${slot}/${camera.transport === 'raw' ? 'image_raw' : 'image_raw/compressed'}`,
    })),
    state: file.state,
    actions: file.actions.map(action => ({
      name: action.name,
      kind: action.kind,
      joint: action.joint ?? action.name,
      min: action.min,
      max: action.max,
      maxRate: action.max_rate ?? null,
    })),
    rates: { trainHz: file.rates.train_hz },
    sync: { toleranceMs: file.sync.tolerance_ms, timeoutMs: file.sync.timeout_ms },
  };
  const repeated = [
    ...duplicates(robot.state.joints).map(joint => `state.joints: ${joint} is listed twice`),
    ...duplicates(robot.actions.map(action => action.name)).map(name => `actions: ${name} is listed twice`),
    ...duplicates(robot.cameras.map(camera => camera.topic)).map(topic => `cameras: two slots use ${topic}`),
  ];
  if (repeated.length > 0) throw invalid(source, repeated);
  return robot;
}

/** What a robot must agree with. */
export interface EngineShape {
  readonly name: string;
  readonly cameraSlots: readonly string[];
  readonly stateDim: number;
  readonly actionDims: number;
}

/** @throws OxygenError ROBOT_FILE_INVALID where the robot file and the engine contradict each other. */
export function checkRobot(robot: Robot, info: EngineShape, source: string): void {
  const strangers = robot.cameras.filter(camera => !info.cameraSlots.includes(camera.slot));
  const faults = strangers.map(
    camera =>
      `cameras.${camera.slot}: the engine ${info.name} has no such slot; it has ${info.cameraSlots.join(', ')}`,
  );
  const count = (key: string, mine: number, theirs: number): void => {
    if (mine !== theirs) faults.push(`${key}: ${mine} entries, but the engine ${info.name} has ${theirs}`);
  };
  count('state.joints', robot.state.joints.length, info.stateDim);
  count('actions', robot.actions.length, info.actionDims);
  if (faults.length > 0) throw invalid(source, faults);
}

const duplicates = (names: readonly string[]): readonly string[] => [
  ...new Set(names.filter((name, i) => names.indexOf(name) !== i)),
];

function issueText(issue: z.core.$ZodIssue): string {
  const key = issue.path.map(part => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  const missing =
    issue.code === 'invalid_type' && issue.input === undefined && /received undefined/.test(issue.message);
  const allowed =
    issue.code === 'invalid_value' ? `must be one of ${issue.values.join(', ')}` : issue.message;
  return `${key.replace(/^\./, '') || 'file'}: ${missing ? `is missing (${issue.message})` : allowed}`;
}

const invalid = (source: string, faults: readonly string[], cause?: unknown): OxygenError =>
  new OxygenError('ROBOT_FILE_INVALID', `${source}: ${faults.join('; ')}`, {
    details: { file: source, faults },
    cause,
  });
