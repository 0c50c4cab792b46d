/** Reads a robot file (config/robots/*.yaml) and checks it against the engine. */
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { OxygenError } from '../core/errors';
import { ACTION_KINDS, isMotion } from '../core/types';
import { CAMERA_ROTATIONS, IMAGE_TRANSPORTS, ON_MISSING, PLATFORM_NAMES, STAMP_SOURCES } from '../core/robot';
import type { Robot } from '../core/robot';
import { readSmallFile } from '../model/small-file';
import { PLATFORMS } from '../policies/platforms';
import type { Platform } from '../policies/platforms';
import { SMALLEST_RATE } from './limits';
import { topicNameFault } from './topics';
import { refusedYaml } from './yaml-guard';

/** Names become those of parameters and messages, where a NUL would be the end. */
const word = z.string().regex(/^\P{Cc}+$/u, 'must be text without control characters, not empty');
const finite = z.number().refine(Number.isFinite, 'must be finite');

/** An hour: of two inputs that lie that far apart nothing is to be observed. */
const LONGEST_MS = 3_600_000;

const cameraSchema = z.strictObject({
  topic: word.optional(),
  transport: z.enum(IMAGE_TRANSPORTS).default('raw'),
  rotate: z.literal(CAMERA_ROTATIONS).default(0),
  on_missing: z.enum(ON_MISSING).default('block'),
  rate_hz: z.number().positive().max(1000).optional(),
});

const actionSchema = z
  .strictObject({
    name: word,
    kind: z.enum(ACTION_KINDS),
    joint: word.optional(),
    min: finite,
    max: finite,
    max_rate: z.number().min(SMALLEST_RATE).optional(),
    relative_to_state: z.boolean().optional(),
  })
  .refine(action => action.min < action.max, { path: ['min'], message: 'must be below max' })
  .refine(action => !isMotion(action.kind) || (action.min <= 0 && action.max >= 0), {
    path: ['min'],
    message: 'must not be above 0, and max not below it: 0 is how a velocity or delta stops',
  });

const robotSchema = z.strictObject({
  name: word,
  platform: z.enum(PLATFORM_NAMES).default('none'),
  cameras: z
    .record(word, cameraSchema)
    .refine(c => Object.keys(c).length > 0, 'must name at least one camera'),
  state: z.strictObject({ topic: word.default('joint_states'), joints: z.array(word).min(1) }),
  actions: z.array(actionSchema).min(1),
  rates: z.strictObject({
    train_hz: z.number().min(0.1).max(1000),
    execute_steps: z.number().int().positive().optional(),
  }),
  sync: z
    .strictObject({
      tolerance_ms: z.number().positive().max(LONGEST_MS).default(50),
      timeout_ms: z.number().positive().max(LONGEST_MS).default(300),
      stamps: z.enum(STAMP_SOURCES).default('header'),
    })
    .default({ tolerance_ms: 50, timeout_ms: 300, stamps: 'header' }),
});

/** Far above any robot file. */
const MAX_BYTES = 256 * 1024;

/** @throws OxygenError ROBOT_FILE_INVALID naming the file, the key and what is allowed. */
export function readRobotFile(path: string): Robot {
  const file = resolve(path);
  let text: string;
  try {
    text = readSmallFile(file, MAX_BYTES).toString('utf8');
  } catch (cause) {
    throw invalid(
      file,
      [`cannot be read (${(cause as NodeJS.ErrnoException).code ?? (cause as Error).message})`],
      cause,
    );
  }
  return parseRobot(text, file);
}

/** `source` names the text in errors. @throws OxygenError ROBOT_FILE_INVALID */
export function parseRobot(text: string, source: string): Robot {
  const refused = refusedYaml(text);
  if (refused !== null) throw invalid(source, [refused]);
  let content: unknown;
  try {
    content = parse(text, { maxAliasCount: 0 });
  } catch (cause) {
    throw invalid(source, [`is not YAML: ${(cause as Error).message}`], cause);
  }
  const result = robotSchema.safeParse(content);
  if (!result.success) throw invalid(source, result.error.issues.map(issueText));
  const file = result.data;
  const platform = PLATFORMS[file.platform];
  const robot: Robot = {
    name: file.name,
    platform: file.platform,
    cameras: Object.entries(file.cameras).map(([slot, camera]) => ({
      slot,
      transport: camera.transport,
      rotate: camera.rotate,
      onMissing: camera.on_missing,
      rateHz: camera.rate_hz ?? null,
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
    relativeTo: relativeTo(file, platform),
    rates: { trainHz: file.rates.train_hz, executeSteps: file.rates.execute_steps ?? null },
    sync: {
      toleranceMs: file.sync.tolerance_ms,
      timeoutMs: file.sync.timeout_ms,
      stamps: file.sync.stamps,
    },
  };
  const faults = [
    ...duplicates(robot.state.joints).map(joint => `state.joints: ${joint} is listed twice`),
    ...duplicates(robot.actions.map(action => action.name)).map(name => `actions: ${name} is listed twice`),
    ...duplicates(robot.cameras.map(camera => camera.topic)).map(topic => `cameras: two slots use ${topic}`),
  ];
  faults.push(
    ...topicFaults(robot),
    ...rateFaults(robot),
    ...platformFaults(robot, platform),
    ...relativeFaults(robot),
  );
  if (faults.length > 0) throw invalid(source, faults);
  return robot;
}

/** An index of -1 is a fault that `relativeFaults` tells. */
function relativeTo(
  { actions, state }: z.infer<typeof robotSchema>,
  platform: Platform,
): readonly (number | null)[] {
  return actions.map((action, i) => {
    if (action.relative_to_state === undefined) return platform.relative[i] ? i : null;
    return action.relative_to_state ? state.joints.indexOf(action.joint ?? action.name) : null;
  });
}

function relativeFaults(robot: Robot): readonly string[] {
  return robot.relativeTo.flatMap((index, i) => {
    const { joint, kind } = robot.actions[i]!;
    const key = `actions[${i}].relative_to_state`;
    if (index === null) return [];
    if (index === -1) return [`${key}: ${joint} is not among state.joints; name it there or with "joint"`];
    return kind === 'position' ? [] : [`${key}: only a position can be relative to the state, not a ${kind}`];
  });
}

/** A slot without a topic gives its name to one. */
function topicFaults({ cameras, state }: Robot): readonly string[] {
  const keyed = cameras.map(({ slot, topic }) => ({ key: `cameras.${slot}`, topic }));
  return [...keyed, { key: 'state', topic: state.topic }].flatMap(({ key, topic }) => {
    const fault = topicNameFault(topic);
    return fault === null ? [] : [`${key}.topic: ${fault}`];
  });
}

/** A camera that is as fast as it says must not count as missing between two of its pictures. */
function rateFaults({ cameras, sync }: Robot): readonly string[] {
  return cameras.flatMap(({ slot, rateHz }) =>
    rateHz === null || 1000 / rateHz < sync.timeoutMs
      ? []
      : [
          `cameras.${slot}.rate_hz: at ${rateHz} Hz a picture comes every ${Math.round(1000 / rateHz)} ms, ` +
            `but after sync.timeout_ms (${sync.timeoutMs}) without one a camera is missing; set more`,
        ],
  );
}

function platformFaults(robot: Robot, platform: Platform): readonly string[] {
  const widths = [
    ['state.joints', robot.state.joints.length, platform.stateDims],
    ['actions', robot.actions.length, platform.actionDims],
  ] as const;
  return widths.flatMap(([key, mine, wanted]) =>
    wanted === null || mine === wanted
      ? []
      : [`${key}: ${mine} entries, but the platform ${platform.name} has ${wanted}`],
  );
}

/** What a robot must agree with. */
export interface EngineShape {
  readonly name: string;
  readonly cameraSlots: readonly string[];
  /** Widths that the statistics give; those of the model where there are none. */
  readonly stateDim: number;
  readonly actionDims: number;
  /** Width of the model's actions. */
  readonly actionDim: number;
  readonly horizon: number;
}

/**
 * Compares the robot file with the engine. Returns lines for the log about what is left unused.
 * @throws OxygenError ROBOT_FILE_INVALID where they contradict each other.
 */
export function checkRobot(robot: Robot, engine: EngineShape, source: string): readonly string[] {
  const faults = robot.cameras
    .filter(camera => !engine.cameraSlots.includes(camera.slot))
    .map(
      ({ slot }) =>
        `cameras.${slot}: the engine ${engine.name} has no such slot; it has ${engine.cameraSlots.join(', ')}`,
    );
  const notes: string[] = [];
  const fits = (key: string, mine: number, theirs: number, what: string): void => {
    if (mine > theirs)
      faults.push(`${key}: ${mine} entries, but the engine ${engine.name} has ${theirs} ${what}`);
    if (mine < theirs)
      notes.push(`${key}: ${mine} entries; the first ${mine} of the engine's ${theirs} ${what} are used`);
  };
  fits('state.joints', robot.state.joints.length, engine.stateDim, 'state dimensions');
  const { length } = robot.actions;
  if (length > engine.actionDim) fits('actions', length, engine.actionDim, 'action dimensions in its model');
  else fits('actions', length, engine.actionDims, 'action dimensions');
  const { executeSteps } = robot.rates;
  if (executeSteps !== null && executeSteps > engine.horizon) {
    faults.push(
      `rates.execute_steps: ${executeSteps}, but a chunk of the engine ${engine.name} has ${engine.horizon} steps`,
    );
  }
  if (faults.length > 0) throw invalid(source, faults);
  return notes;
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
