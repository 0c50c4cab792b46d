/** `oxygen replay` as a command, on the sample bag and what can become of a bag. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReplaySummary } from '../../src/replay/result';
import { engineDir, oxygen } from '../support/engines';
import { ROBOT, replayWith } from './command';
import { costFile } from './fixed-costs';
import { framesOf } from './frame-log';
import { SAMPLE, bagContents } from './player';

const WILD_CLOCK = join(__dirname, 'wild-clock.js');

const folder = mkdtempSync(join(tmpdir(), 'oxygen-replay-'));
const cost = costFile(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);
const sha = (name: string): string =>
  createHash('sha256')
    .update(readFileSync(at(name)))
    .digest('hex');

const replay = replayWith(cost);

/** With both results under that name; the summary, and what `replay` gives. */
async function played(name: string, ...more: readonly string[]): Promise<ReplaySummary> {
  const files = [
    '--out',
    at(`${name}.mcap`),
    '--report',
    at(`${name}.html`),
    '--frame-log',
    at(`${name}.jsonl`),
  ];
  const { code, stdout, stderr } = await replay(SAMPLE, '--json', ...files, ...more);
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  writeFileSync(at(`${name}.json`), stdout);
  return JSON.parse(stdout) as ReplaySummary;
}

const FILES = ['mcap', 'html', 'jsonl', 'json'] as const;
const hashes = (name: string): string[] => FILES.map(ending => sha(`${name}.${ending}`));

/** Values of the chunks of a result by the stamp of their observation, as `rosbags` reads them. */
const chunksOf = (name: string): ReadonlyMap<string, readonly number[]> =>
  new Map(
    bagContents(at(`${name}.mcap`))['/action_chunk']!.messages.map(({ stamp, values }) => [stamp!, values!]),
  );

describe('fast', () => {
  test.each([
    ['k = 5', []],
    ['auto', ['--tokens-per-frame', 'auto']],
    ['isolated', ['--mode', 'isolated']],
  ] as const)(
    '%s: two replays give equal bytes, whatever the clocks of the machine say',
    async (_, options) => {
      const name = options.join('') || 'plain';
      const summary = await played(name, '--duration', '4', ...options);
      const before = process.env['NODE_OPTIONS'];
      process.env['NODE_OPTIONS'] = `--require=${WILD_CLOCK}`;
      try {
        await played(`${name}-again`, '--duration', '4', ...options);
      } finally {
        if (before === undefined) delete process.env['NODE_OPTIONS'];
        else process.env['NODE_OPTIONS'] = before;
      }
      expect(hashes(`${name}-again`)).toEqual(hashes(name));
      expect(summary.frames).toBeGreaterThan(100);
      expect(summary.chunks).toBeGreaterThan(summary.frames - 3);
      expect(summary.tokens).toBeGreaterThan(20);
    },
  );

  test('another seed gives other actions of the same frames, another mode the same', async () => {
    const base = chunksOf('plain');
    await played('seed', '--duration', '2', '--seed', '7');
    const [seed, isolated] = [chunksOf('seed'), chunksOf('--modeisolated')];
    const common = (other: ReadonlyMap<string, unknown>): string[] =>
      [...other.keys()].filter(stamp => base.has(stamp));
    expect(common(seed).length).toBeGreaterThan(40);
    expect(common(isolated).length).toBeGreaterThan(40);
    for (const stamp of common(seed)) expect(seed.get(stamp)).not.toEqual(base.get(stamp));
    for (const stamp of common(isolated)) expect(isolated.get(stamp)).toEqual(base.get(stamp));
  });

  test('frames come as fast as the stage times allow, and no faster than the camera', async () => {
    const slow = costFile(folder, { vision: 150, ask: 20 });
    const { stdout } = await replay(
      SAMPLE,
      '--json',
      '--cost',
      slow,
      '--duration',
      '6',
      '--tokens-per-frame',
      '1',
    );
    const { frames, latency, settings } = JSON.parse(stdout) as ReplaySummary;
    // 150 + 2.1 + 10 x 0.6 + 20, and few decode steps.
    expect(frames).toBeGreaterThan(5.7 / 0.185);
    expect(frames).toBeLessThan(6 / 0.178 + 1);
    expect(latency.chunk_ms!.p50).toBeGreaterThan(178);
    expect(settings).toMatchObject({ pace: 'fast', cost: 'cost-vision-ask.json', tokens_per_frame: 1 });
  });

  test('in the middle of a bag the instruction is the one in force', async () => {
    await played('middle', '--start', '6', '--duration', '1');
    const [first] = framesOf(at('middle.jsonl'));
    const all = framesOf(at('plain.jsonl'));
    expect(first!.instruction).toBe(all.at(-1)!.instruction);
    expect(BigInt(first!.stamp)).toBeGreaterThan(BigInt(all.at(-1)!.stamp));
  });

  test('parameters as on a ROS command line: a standing request talks, the robot is told by option', async () => {
    const file = at('parameters.yaml');
    writeFileSync(
      file,
      `/**:\n  ros__parameters:\n    standing_requests: [narration]\n    narration.text: 'Scene: '\n    status_rate_hz: 7.0\n`,
    );
    const summary = await played('standing', '--duration', '2', '--params-file', file, '--param', 'speed_scale:=0.5',
      '--instruction', 'reach the red block', '--remap', 'instruction:=/none', '--remap', 'language_request:=/nobody'); // prettier-ignore
    expect(summary.requests.finished).toBeGreaterThan(3);
    expect(summary.settings.options).toEqual(
      expect.arrayContaining([
        '--params-file',
        'parameters.yaml',
        '--param',
        'speed_scale:=0.5',
        '--threads',
        '1',
      ]),
    );
    expect(new Set(framesOf(at('standing.jsonl')).map(frame => frame.instruction))).toEqual(
      new Set(['reach the red block']),
    );
    expect(readFileSync(at('standing.html'), 'utf8')).toContain('narration');
  });
});

test('commands as trajectories and in shadow mode: the result has what the node would have said', async () => {
  const count = (summary: ReplaySummary, name: string, topic: string): [string, boolean] => {
    const { type, messages } = bagContents(at(`${name}.mcap`))[topic]!;
    return [type, messages.length === summary.actions && messages.length > 50];
  };
  const trajectories = await played(
    'trajectories',
    '--duration',
    '1',
    '--param',
    'action_type:=joint_trajectory',
  );
  expect(count(trajectories, 'trajectories', '/action')).toEqual([
    'trajectory_msgs/msg/JointTrajectory',
    true,
  ]);
  const shadow = await played('shadow', '--duration', '1', '--param', 'dry_run:=true', '--namespace', '/');
  expect(count(shadow, 'shadow', '/action_preview')).toEqual(['std_msgs/msg/Float64MultiArray', true]);
  expect(Object.keys(bagContents(at('shadow.mcap')))).not.toContain('/action');
});

test('real: by the clock of this machine, with the engine as a process', async () => {
  const start = Date.now();
  const { code, stdout, stderr } = await oxygen(['replay', SAMPLE, '--engine', engineDir('demo'), '--robot', ROBOT,
    '--json', '--pace', 'real', '--duration', '2', '--out', at('real.mcap')]); // prettier-ignore
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  expect(Date.now() - start).toBeGreaterThan(2000);
  const summary = JSON.parse(stdout) as ReplaySummary;
  expect(summary.settings).toMatchObject({ pace: 'real', cost: null });
  expect(summary.frames).toBeGreaterThan(10);
  expect(summary.actions).toBeGreaterThan(70);
  expect(existsSync(at('real.mcap'))).toBe(true);
});

describe('bags that are not whole', () => {
  test('cut: everything whole is played, the result says partial, exit code 3', async () => {
    const bytes = readFileSync(SAMPLE);
    writeFileSync(at('cut.mcap'), bytes.subarray(0, Math.floor(bytes.length / 4)));
    const { code, stdout } = await replay(at('cut.mcap'), '--json', '--report', at('cut.html'));
    const summary = JSON.parse(stdout) as ReplaySummary;
    expect(code).toBe(3);
    expect(summary.partial).toBe(true);
    expect(summary.faults[0]).toMatchObject({ code: 'BAG_DAMAGED' });
    expect(summary.frames).toBeGreaterThan(30);
    expect(readFileSync(at('cut.html'), 'utf8')).toContain('BAG_DAMAGED');
  });

  test('a folder without metadata.yaml plays as the file does', async () => {
    mkdirSync(at('folder'));
    writeFileSync(at('folder/run_0.mcap'), readFileSync(SAMPLE));
    const { code, stdout } = await replay(at('folder'), '--json', '--duration', '1');
    expect(code).toBe(0);
    expect((JSON.parse(stdout) as ReplaySummary).frames).toBeGreaterThan(10);
  });

  const refused: readonly (readonly [string, () => string, readonly string[], RegExp])[] = [
    ['no such bag', () => at('nowhere'), [], /^oxygen: BAG_NOT_FOUND: .*nowhere/],
    ['an empty file', () => file('empty.mcap', ''), [], /^oxygen: BAG_UNSUPPORTED: .*empty/],
    ['a ROS 1 bag', () => file('old.bag', '#ROSBAG V2.0\n'), [], /^oxygen: BAG_UNSUPPORTED: .*ROS 1/],
    ['a file of another kind', () => ROBOT, [], /^oxygen: BAG_UNSUPPORTED: .*demo\.yaml/],
    ['not one frame in what is played', () => SAMPLE, ['--duration', '0.1'], /^oxygen: BAG_EMPTY: no complete observation/],
    ['a camera that is not there', () => SAMPLE, ['--remap', 'camera/base_0_rgb/image_raw:=/cam'],
      /BAG_EMPTY: camera base_0_rgb: the bag has no topic \/cam; it has sensor_msgs\/msg\/Image on \/camera\/base_0_rgb\/image_raw.*--remap/], // prettier-ignore
    ['joint states of another type', () => SAMPLE, ['--remap', 'joint_states:=/action'], /\/action is std_msgs\/msg\/Float64MultiArray in the bag, wanted is sensor_msgs\/msg\/JointState/],
    ['no instruction', () => SAMPLE, ['--remap', 'instruction:=/none'], /has no \/none; .*--instruction TEXT/],
    ['recorded actions that are not there', () => SAMPLE, ['--action-topic', '/leader'], /recorded actions: the bag has no topic \/leader; it has .*\/action/],
    ['a beginning behind the end', () => SAMPLE, ['--start', '100'], /^oxygen: USAGE: nothing is left to play: the bag is 18\.322 s long/],
    ['stage times that are none', () => SAMPLE, ['--cost', file('odd.json', '{"vision": 1}')], /CONFIG_INVALID: --cost .*odd\.json: prefill/],
    ['a parameter that is not there', () => SAMPLE, ['--param', 'sed:=3'], /CONFIG_INVALID: there is no parameter sed; did you mean seed/],
  ]; // prettier-ignore
  test.each(refused)('%s: said plainly, no result is left', async (_, bag, options, says) => {
    const { code, stdout, stderr } = await replay(
      bag(),
      '--out',
      at('no.mcap'),
      '--report',
      at('no.html'),
      ...options,
    );
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect([code, stdout]).toEqual([/USAGE/.test(stderr) ? 2 : 1, '']);
    expect([existsSync(at('no.mcap')), existsSync(at('no.html'))]).toEqual([false, false]);
  });
});

function file(name: string, text: string): string {
  writeFileSync(at(name), text);
  return at(name);
}

test('--info says what is in a bag and what the robot uses', async () => {
  const { code, stdout } = await oxygen(['replay', SAMPLE, '--info', '--robot', ROBOT]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/sample\.mcap: mcap, 0\.9 MB in 1 file\n.* UTC, 18\.322 s, 3513 messages\n/);
  expect(stdout).toMatch(/\/camera\/base_0_rgb\/image_raw +sensor_msgs\/msg\/Image +542 +29\.5 +camera\n/);
  expect(stdout).toMatch(/\/joint_states +sensor_msgs\/msg\/JointState +877 +47\.8 +state\n/);
  expect(stdout).toMatch(/\/action_chunk +oxygen_vla\/msg\/ActionChunk +540 +29\.4\n/);
});
