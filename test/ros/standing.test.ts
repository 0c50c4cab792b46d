import type { OxygenError } from '../../src/core/errors';
import { engineTunables, readParameters, unknownParameters, parameterSpecs } from '../../src/ros/params';
import type { ParameterValues } from '../../src/ros/parameter-spec';
import { setsInstruction, standingFaults, standingInputs } from '../../src/ros/standing';

type Given = Readonly<Record<string, unknown>>;

const given = (values: Given): Map<string, unknown> =>
  new Map(Object.entries({ engine: 'engines/demo', robot: 'demo.yaml', ...values }));
const read = (values: Given): ParameterValues => readParameters(given(values));
const fault = (values: Given): string => {
  try {
    read(values);
  } catch (error) {
    expect((error as OxygenError).code).toBe('CONFIG_INVALID');
    return (error as OxygenError).message;
  }
  throw new Error('nothing was thrown');
};

const ROBOT = { rates: { trainHz: 20, executeSteps: null } };
const NARRATION = { standing_requests: ['narration'], 'narration.text': 'Scene: ' };

test("none by default, and [] and [''] are none", () => {
  for (const values of [{}, { standing_requests: [] }, { standing_requests: [''] }]) {
    expect(engineTunables(read(values), '', ROBOT, 10).standing).toEqual([]);
  }
});

test('defaults: greedy, when the last has ended, gives way to a new instruction', () => {
  expect(standingInputs(read(NARRATION), '')).toEqual([
    {
      name: 'narration',
      text: 'Scene: ',
      every: { kind: 'ended' },
      maxTokens: 32,
      temperature: 0,
      topK: 0,
      topP: 1,
      samplingSeed: 0,
      priority: 0,
      deadlineInMs: null,
      keepOnInstruction: false,
    },
  ]);
});

test('everything that is set goes over with its unit, in the order of the list', () => {
  const values = read({
    ...NARRATION,
    standing_requests: ['subtask', 'narration'],
    'subtask.text': '{instruction}; of {instruction}: $& ',
    'subtask.every_frames': 3n,
    'subtask.max_tokens': 9n,
    'subtask.temperature': 1n,
    'subtask.top_k': 4n,
    'subtask.top_p': 0.5,
    'subtask.priority': -2n,
    'subtask.deadline_s': 1.5,
    'subtask.keep_on_instruction': true,
  });
  const [subtask, narration] = standingInputs(values, "tidy $' up");
  expect(narration).toMatchObject({ name: 'narration', priority: 0 });
  expect(subtask).toEqual({
    name: 'subtask',
    text: "tidy $' up; of tidy $' up: $& ",
    every: { kind: 'frames', frames: 3 },
    maxTokens: 9,
    temperature: 1,
    topK: 4,
    topP: 0.5,
    samplingSeed: 0,
    priority: -2,
    deadlineInMs: 1500,
    keepOnInstruction: true,
  });
});

test.each<[string, Given, RegExp]>([
  ['a name without a text', { standing_requests: ['narration'] }, /narration\.text must be set: Seed text/],
  ['an empty text', { ...NARRATION, 'narration.text': '' }, /narration\.text: '' is not allowed; a seed text is wanted/],
  ['a name that is none', { standing_requests: ['a.b'] }, /standing_requests: 'a\.b' is no name/],
  ['a name twice', { ...NARRATION, standing_requests: ['narration', 'narration'] }, /'narration' is there twice/],
  ['no list', { standing_requests: 'narration' }, /standing_requests: 'narration' is not allowed; a list of strings/],
  ['numbers', { standing_requests: [1n] }, /standing_requests: 1 is not allowed; a list of strings/],
  ['every -1', { ...NARRATION, 'narration.every_frames': -1n }, /every_frames: -1 is not allowed; an integer from 0/],
  ['every half', { ...NARRATION, 'narration.every_frames': 0.5 }, /every_frames: 0\.5 is not allowed; an integer/],
  ['top_p 2', { ...NARRATION, 'narration.top_p': 2 }, /top_p: 2 is not allowed; a number from 0 to 1/],
  ['an unknown end', { ...NARRATION, 'narration.on_done': 'shout' }, /one of nothing, set_instruction is wanted/],
  [
    'more tokens than the node allows',
    { ...NARRATION, max_tokens: 16n },
    /narration\.max_tokens: 32 is more than the parameter max_tokens \(16\) allows/,
  ],
  [
    'an answer to an old instruction as the new one',
    { ...NARRATION, 'narration.on_done': 'set_instruction', 'narration.keep_on_instruction': true },
    /narration\.keep_on_instruction: an answer to an old instruction/,
  ],
  [
    'two that set the instruction',
    {
      standing_requests: ['a', 'b'],
      'a.text': 'x',
      'b.text': 'y',
      'a.on_done': 'set_instruction',
      'b.on_done': 'set_instruction',
    },
    /a and b cannot both set the instruction/,
  ],
])('a startup error: %s', (_, values, expected) => {
  expect(fault(values)).toMatch(expected);
}); // prettier-ignore

test('what is not in the list is declared when it has a text, and may be listed later; others may not', () => {
  const values = read({ 'narration.text': 'Scene: ', 'narration.on_done': 'set_instruction' });
  expect(standingInputs(values, '')).toEqual([]);
  expect(setsInstruction(values, 'narration')).toBe(false);
  const listed = (name: string): ParameterValues => new Map([...values, ['standing_requests', [name]]]);
  expect(standingFaults(listed('narration'))).toEqual([]);
  expect(setsInstruction(listed('narration'), 'narration')).toBe(true);
  expect(standingFaults(listed('other'))).toEqual([
    expect.stringMatching(/'other' had no other\.text at the start of the node/),
  ]);
});

test('a misspelt parameter of a standing request is found with its nearest', () => {
  const names = given({ ...NARRATION, 'narration.every_frame': 2n, 'naration.priority': 1n });
  expect(unknownParameters(names.keys(), parameterSpecs(names))).toEqual([
    { name: 'narration.every_frame', nearest: 'narration.every_frames' },
    { name: 'naration.priority', nearest: 'narration.priority' },
  ]);
});

test('tokens_per_frame 0 is auto, with its least number of steps', () => {
  const k = (values: Given) => engineTunables(read(values), '', ROBOT, 10).tokensPerFrame;
  expect(k({})).toEqual({ kind: 'fixed', steps: 5 });
  expect(k({ tokens_per_frame: 0n, min_tokens_per_frame: 2n })).toEqual({ kind: 'auto', minSteps: 2 });
});
