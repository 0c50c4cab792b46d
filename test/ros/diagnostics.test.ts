import fc from 'fast-check';
import type { DiagnosticSnapshot } from '../../src/ros/diagnostic-snapshot';
import { diagnosticArray, diagnosticChange } from '../../src/ros/diagnostics';
import { camera, snapshot as good } from './diagnostic-sample';

const array = (change: Partial<DiagnosticSnapshot> = {}) =>
  diagnosticArray({ ...good, ...change }, 12_000_000_345n);
/** What one part says after a change. */
const part = (name: string, change: Partial<DiagnosticSnapshot> = {}) => {
  const status = array(change).status.find(each => each.name === `left/oxygen: ${name}`)!;
  return { ...status, values: Object.fromEntries(status.values.map(({ key, value }) => [key, value])) };
};
const says = (name: string, change: Partial<DiagnosticSnapshot>) => {
  const { level, message } = part(name, change);
  return [level, message];
};

test('one status for each part, all well', () => {
  const { header, status } = array();
  expect(header).toEqual({ stamp: { sec: 12, nanosec: 345 }, frame_id: '' });
  expect(status.map(each => [each.name, each.level, each.message, each.hardware_id])).toEqual([
    ['left/oxygen: lifecycle', 0, 'active', 'demo_arm'],
    ['left/oxygen: engine', 0, 'running on cpu', 'demo_arm'],
    ['left/oxygen: action loop', 0, 'steady', 'demo_arm'],
    ['left/oxygen: safety', 0, 'active', 'demo_arm'],
    ['left/oxygen: language', 0, 'on', 'demo_arm'],
    ['left/oxygen: cache', 0, 'room for requests', 'demo_arm'],
    ['left/oxygen: input camera/base_0_rgb/image_raw', 0, 'OK', 'demo_arm'],
    ['left/oxygen: graph', 0, 'all peers match', 'demo_arm'],
  ]);
});

test('values carry their unit in the key, and what is not known says so', () => {
  expect(part(`input ${camera.topic}`).values).toEqual({
    name: 'base_0_rgb',
    blocking: 'false',
    rate_hz: '29.988',
    age_ms: '12',
    offset_ms: '3.250',
    received: '300',
    refused: '1',
    replaced: '2',
  });
  const silent = { ...camera, word: 'NotReceived', ageMs: null, offsetMs: null, rateHz: NaN } as const;
  expect(part(`input ${camera.topic}`, { inputs: [silent] }).values).toMatchObject({
    age_ms: 'unknown',
    offset_ms: 'unknown',
    rate_hz: 'unknown',
  });
  expect(part('engine').values).toMatchObject({
    provider: 'cpu',
    precision: 'fp32',
    stage_prefill_ms: '41.500',
  });
  expect(part('lifecycle').values).toMatchObject({ drops_IMAGE_CORRUPT: '7', callback_exceptions: '0' });
  expect(part('action loop').values).toMatchObject({
    rate_hz: '70.010',
    missed: '0',
    loop_late_p99_ms: '0.400',
  });
});

describe('inputs', () => {
  test.each([
    ['NotReceived', true, 2],
    ['Timeout', true, 2],
    ['Timeout', false, 1],
    ['BadStamps', true, 2],
    ['Frozen', false, 1],
    ['WarnRate', false, 1],
    ['ErrorRate', false, 2],
  ] as const)(
    '%s (blocking: %s) has level %d; the word comes first, then the sentence',
    (word, blocking, level) => {
      const inputs = [{ ...camera, word, blocking, message: 'nothing for 0.4 s' }];
      expect(says(`input ${camera.topic}`, { inputs })).toEqual([level, `${word}: nothing for 0.4 s`]);
    },
  );

  test('each has a status of its own', () => {
    const wrist = { ...camera, topic: 'camera/wrist/image_raw' };
    const names = array({ inputs: [camera, wrist] }).status.map(each => each.name);
    expect(names.filter(name => name.includes(': input '))).toEqual([
      'left/oxygen: input camera/base_0_rgb/image_raw',
      'left/oxygen: input camera/wrist/image_raw',
    ]);
  });
});

test('before configure there is no engine, no robot and no fault', () => {
  const change = {
    robot: '',
    engine: null,
    inputs: [],
    lifecycle: { state: 'unconfigured', transitionError: '' },
    gate: { ...good.gate, mode: 'off' },
    action: { ...good.action, hz: null },
  } as const;
  const { status } = array(change);
  expect(status.map(each => each.level)).toEqual(status.map(() => 0));
  expect(status.every(each => each.hardware_id === '')).toBe(true);
  expect(says('engine', change)).toEqual([0, 'not started: the node is unconfigured']);
  expect(says('action loop', change)).toEqual([0, 'no commands are due']);
});

test.each<[string, Partial<DiagnosticSnapshot>, number, RegExp]>([
  [
    'lifecycle',
    { lifecycle: { state: 'unconfigured', transitionError: 'ENGINE_NOT_FOUND: no x' } },
    2,
    /no x/,
  ],
  ['lifecycle', { callbackExceptions: 2 }, 1, /2 exceptions.*report/],
  [
    'engine',
    { engine: { ...good.engine!, providerNotes: ['cuda: no library'] } },
    1,
    /on cpu.*cuda: no library/,
  ],
  ['engine', { engine: { ...good.engine!, up: false } }, 1, /^starting$/],
  ['engine', { engine: { ...good.engine!, up: false, lastError: 'killed' } }, 2, /^down.*killed/],
  ['engine', { engine: { ...good.engine!, up: false, givingUp: true, restarts: 5 } }, 2, /^given up after 5/],
  ['action loop', { action: { ...good.action, hz: 64.5 } }, 1, /64\.5 Hz instead of 70 Hz/],
  ['action loop', { action: { ...good.action, hz: 81 } }, 2, /81\.0 Hz instead of 70 Hz/],
  ['action loop', { action: { ...good.action, stdMs: 3.5 } }, 1, /irregular.* 3\.5 ms/],
  ['action loop', { action: { ...good.action, stdMs: 6 } }, 2, /irregular/],
  [
    'safety',
    { gate: { ...good.gate, mode: 'fault', reason: '10 commands held NaN' } },
    2,
    /fault; 10 commands/,
  ],
  [
    'safety',
    { gate: { ...good.gate, mode: 'hold', reason: 'the engine is down' } },
    1,
    /hold; the engine is down/,
  ],
  ['safety', { gate: { ...good.gate, enabled: false, mode: 'hold' } }, 1, /taken over: ~\/enable/],
  [
    'safety',
    { gate: { ...good.gate, dryRun: true, speedScale: 0.5 } },
    0,
    /action_preview; speed scale 0\.5/,
  ],
  ['language', { language: { ...good.language, on: false } }, 1, /~\/reset/],
  ['cache', { cache: { use: 0.96, bytes: 1 }, language: { ...good.language, queued: 2 } }, 1, /full/],
  ['cache', { cache: { use: 1, bytes: 1 } }, 0, /room/],
  ['graph', { graph: [{ kind: 'name', topic: '', level: 'warn', message: 'twice' }] }, 1, /twice/],
  ['graph', { graph: [{ kind: 'qos', topic: '/a', level: 'error', message: 'deaf' }] }, 2, /deaf/],
])('%s after a fault: %#', (name, change, level, message) => {
  const status = part(name, change);
  expect(status.level).toBe(level);
  expect(status.message).toMatch(message);
});

test('a message that goes out says every fault of the graph with its topic', () => {
  const graph = [
    { kind: 'qos', topic: '/a', level: 'error', message: 'deaf' },
    { kind: 'type', topic: '/b', level: 'error', message: 'other type' },
  ] as const;
  expect(part('graph', { graph })).toMatchObject({
    message: 'deaf; other type',
    values: { '/a': 'deaf', '/b': 'other type' },
  });
});

describe('what is worth a message at once', () => {
  test('a level, a sentence, a new or a lost part', () => {
    expect(diagnosticChange(null, array())).toBe(true);
    expect(diagnosticChange(array(), array({ inputs: [] }))).toBe(true);
    expect(diagnosticChange(array(), array({ inputs: [{ ...camera, topic: 'other' }] }))).toBe(true);
    expect(diagnosticChange(array(), array({ inputs: [{ ...camera, word: 'Timeout' }] }))).toBe(true);
    expect(diagnosticChange(array(), array({ gate: { ...good.gate, reason: 'why' } }))).toBe(true);
  });

  test('not the numbers, neither as values nor in a sentence', () => {
    const late = (seconds: string) =>
      array({ inputs: [{ ...camera, word: 'Timeout', message: `${seconds} s` }] });
    expect(diagnosticChange(late('0.4'), late('12'))).toBe(false);
    fc.assert(
      fc.property(fc.double({ min: 66, max: 74, noNaN: true }), fc.nat(), (hz, ticks) => {
        const next = diagnosticArray({ ...good, action: { ...good.action, hz, ticks } }, 5n);
        expect(diagnosticChange(array(), next)).toBe(false);
      }),
    );
  });
});
