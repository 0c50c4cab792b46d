/** The node's parameters as one table of data: declarations, checks and the README table all come from here. */
import { AGGREGATIONS, MODES } from '../core/types';
import { PROVIDERS } from '../engine/providers';
import { LONG_PROMPTS } from '../model/prompt-ids';
import {
  choice,
  double,
  flag,
  integer,
  list,
  live,
  range,
  required,
  shownChoices,
  text,
} from './parameter-spec';
import type { ParameterSpec, ParameterValue } from './parameter-spec';
import { LIMITS_EXAMPLE } from './limits';
import { STANDING_EXAMPLE, STANDING_LIST, standingParameters } from './standing';

export const ACTION_TYPES = ['multi_array', 'joint_trajectory'] as const;
export type ActionType = (typeof ACTION_TYPES)[number];

export const PARAMETERS: readonly ParameterSpec[] = [
  required('engine', 'a path', 'Folder of the engine, made by `oxygen build`.'),
  required('robot', 'a path', 'Robot file: cameras, joints, action kinds, limits, rates.'),
  flag(
    'autostart',
    'Configure and activate by itself; false waits for `ros2 lifecycle set` or a lifecycle manager.',
    true,
  ),
  // actions
  live(double('action_rate_hz', 70, 1, 500, 'Rate of the `action` topic.')),
  choice(
    'action_type',
    ACTION_TYPES,
    'Type of the `action` topic: std_msgs/Float64MultiArray or trajectory_msgs/JointTrajectory with one point.',
  ),
  live(
    flag(
      'dry_run',
      'Shadow mode: commands go to `action_preview`, and nothing to a topic that moves a robot.',
    ),
  ),
  live(double('speed_scale', 1, 0, 1, 'How fast chunks are played; 0 stands still.')),
  live(
    choice(
      'aggregation',
      AGGREGATIONS,
      'What becomes of the steps that a new chunk and the playing one both have.',
    ),
  ),
  live(
    integer(
      'execution_horizon',
      0n,
      0,
      1000,
      'Steps of a chunk that are played at most before the next one; 0 is as the robot file says.',
    ),
  ),
  live(
    double(
      'ramp_ms',
      300,
      0,
      10_000,
      'Blend from the measured pose into the first chunk after a start, stop or reset.',
    ),
  ),
  double(
    'max_start_jump',
    0.2,
    0,
    1e6,
    'How far outside its limits a joint may be measured when commands begin; farther off none are sent.',
  ),
  integer('fault_after', 10n, 1, 1000, 'Non-finite chunks or commands in a row that latch a fault.'),
  choice(
    'on_engine_down',
    ['hold', 'continue'],
    'When the engine process ends: stop at once, or play the chunk out.',
  ),
  flag('allow_other_publishers', 'Become active although another node publishes on `action`.'),
  // language and frames
  choice(
    'mode',
    [...MODES].reverse(),
    'How the two tasks share the model: `oxygen` as described here; `shared` and `isolated` are for comparison, texts to their end inside each frame.',
  ),
  live(
    integer(
      'tokens_per_frame',
      5n,
      0,
      1000,
      'Decode steps per camera frame: language against replan rate. 0 is auto: as many as the playing chunk leaves time for.',
    ),
  ),
  live(integer('min_tokens_per_frame', 1n, 0, 1000, 'Decode steps per camera frame that auto always takes.')),
  live(
    double('replan_rate_hz', 0, 0, 1000, 'Cap of the frames per second that the engine takes; 0 is no cap.'),
  ),
  integer(
    'max_requests',
    8n,
    1,
    64,
    'Language requests that are decoded at the same time (rows of the KV cache).',
  ),
  integer('max_queue', 32n, 0, 10_000, 'Language requests that may wait for a row.'),
  double('ageing_s', 5, 0, 3600, 'Seconds of waiting that are worth one step of priority; 0 is none.'),
  integer('max_tokens', 64n, 1, 8192, 'Upper limit of a request’s max_tokens.'),
  integer('max_seed_tokens', 32n, 0, 8192, 'Longest seed of a request, in tokens.'),
  choice(
    'on_instruction',
    ['continue', 'hold'],
    'On a new instruction: the playing chunk goes on, or stops at once.',
  ),
  choice(
    'on_long_prompt',
    LONG_PROMPTS,
    'On an instruction that does not fit the prompt: its end is left out, or no frame is taken.',
  ),
  // model
  {
    ...list(
      'execution_providers',
      'Where the model may run, in order of preference: tensorrt, cuda, cpu. One that is not there is said and left out; without `cpu` in the list the node does not configure on a machine that has none of them.',
    ),
    default: ['cpu'],
    choices: PROVIDERS,
    notEmpty: 'at least one',
  },
  choice(
    'required_provider',
    ['', ...PROVIDERS],
    'The node does not configure below this one; empty: any of execution_providers is good enough, and what is passed over is said.',
  ),
  integer('denoise_steps', 10n, 1, 1000, 'Euler steps from noise to actions.'),
  integer('seed', 0n, -(2 ** 63), 2 ** 63, 'Seed of the action noise.'),
  integer('threads', 0n, 0, 1024, 'Threads of one model run; 0 is all cores but one.'),
  choice(
    'attention',
    ['engine', 'bidirectional', 'causal'],
    'Attention inside the prefix; `engine` is as the checkpoint was trained.',
  ),
  flag(
    'raw_units',
    'Start although the engine has no normalisation statistics: its raw numbers are the commands.',
  ),
  text('noise_file', '', 'Raw float32 file that replaces the noise of every frame (tests); empty is none.'),
  text(
    'frame_log',
    '',
    'File that gets a line of JSON for each frame that enters the engine: stamp, instruction, cameras, state, SHA-256 of the pictures; empty is none. `oxygen replay` has the same, to compare.',
  ),
  // monitoring
  live(double('status_rate_hz', 1, 0.1, 50, 'Rate of the `status` topic.')),
  text('marker_frame', 'base_link', 'Frame of `markers`.'),
  STANDING_LIST,
];

/** The README's table of parameters. */
export function parameterTable(): string {
  const all = [...PARAMETERS, ...standingParameters([STANDING_EXAMPLE]), ...LIMITS_EXAMPLE];
  const rows = all.map(spec => {
    const value = spec.default === null ? 'required' : `\`${shownDefault(spec.default)}\``;
    const numbers = spec.min === undefined ? '' : range(spec);
    const allowed = spec.choices ? shownChoices(spec.choices) : numbers;
    const live = spec.readOnly ? '' : ' Can be changed live.';
    return `| \`${spec.name}\` | ${spec.kind} | ${value} | ${allowed} | ${spec.description}${live} |`;
  });
  return ['| parameter | type | default | allowed | |', '| --- | --- | --- | --- | --- |', ...rows].join(
    '\n',
  );
}

const shownDefault = (value: ParameterValue): string =>
  Array.isArray(value) ? JSON.stringify(value) : value === '' ? "''" : String(value);
