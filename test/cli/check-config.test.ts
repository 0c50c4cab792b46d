/** `oxygen check-config`: what a file is, and every fault in it. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding, Report } from '../../src/doctor/check';
import { configCheck } from '../../src/doctor/config-file';
import { readManifest } from '../../src/model/manifest';
import { engineDir, goldenDir, oxygen, ROOT } from '../support/engines';
import { faultsIn, findingsOf } from './findings';

const CONFIG = join(ROOT, 'config');
const shipped = [
  // The layout is Foxglove's (test/config/monitoring).
  ...readdirSync(CONFIG).filter(name => /\.(yaml|json)$/.test(name) && !name.startsWith('foxglove')),
  ...readdirSync(join(CONFIG, 'robots')).map(name => join('robots', name)),
];
const demoRobot = readFileSync(join(CONFIG, 'robots/demo.yaml'), 'utf8');
const defaults = readFileSync(join(CONFIG, 'oxygen.yaml'), 'utf8');

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'oxygen-config-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const manifests = { tiny: readManifest(engineDir('tiny')), odd: readManifest(engineDir('odd')) };

const check = (path: string, engine: 'tiny' | 'odd' | null = null, node = 'oxygen'): Promise<Finding[]> =>
  findingsOf(configCheck(path, { manifest: engine && manifests[engine], node }));

const file = (name: string, content: string | Uint8Array): string => {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
};

const faults = async (...args: Parameters<typeof check>): Promise<string[]> =>
  faultsIn(await check(...args)).map(finding => `${finding.name}: ${finding.what}`);

describe('what a file is', () => {
  test('the shipped configuration passes', async () => {
    expect(shipped.length).toBeGreaterThan(3);
    for (const name of shipped) {
      const findings = await check(join(CONFIG, name));
      expect([name, findings.filter(finding => finding.status !== 'ok')]).toEqual([name, []]);
      const kind = name.startsWith('robots')
        ? 'robot'
        : name.endsWith('.json')
          ? 'model config'
          : 'parameters';
      expect([name, findings[1]!.name]).toEqual([name, kind]);
    }
  });

  test.each(['config.json', 'norm_stats.json', 'tokenizer.json'])(
    '%s of a checkpoint, under any name',
    async name => {
      const path = join(goldenDir('tiny'), name);
      const [, second] = await check(path, 'tiny');
      expect(second).toMatchObject({ status: 'ok' });
      const renamed = await check(file('copy.json', readFileSync(path)));
      expect(renamed.map(finding => finding.name)).toEqual(['file', second!.name]);
    },
  );

  test('engine.json, with all that loading checks', async () => {
    expect(await faults(join(engineDir('tiny'), 'engine.json'))).toEqual([]);
    const alone = file('engine.json', readFileSync(join(engineDir('tiny'), 'engine.json')));
    expect(await faults(alone)).toEqual([expect.stringMatching(/^engine: ENGINE_INVALID: .* is missing/)]);
  });

  test.each<[string, string | Uint8Array, RegExp]>([
    ['x.yaml', '', /is empty/],
    ['x.yaml', Buffer.from([0, 1, 2, 3, 255, 254]), /is binary/],
    ['x.yaml', Buffer.from([0xff, 0xfe, 0x41, 0x80, 0x41]), /is binary/],
    ['x.yaml', 'just: text', /neither ros__parameters nor the keys of a robot file/],
    ['package.json', '{"name": "x", "version": 1}', /none of our keys; found: name, version/],
    ['x.json', '{"a": ', /is not JSON/],
    ['x.json', 'null', /found: none/],
    ['x.yaml', 'a'.repeat(100_000), /at most 65536/],
    ['x.yaml', `state: ${'['.repeat(3000)}`, /nested more than 64/],
    [
      'x.yaml',
      `state:\n${Array.from({ length: 300 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')}`,
      /indented/,
    ],
    ['x.yaml', `state: {}\n${'- '.repeat(100)}`, /nested more than 64/],
  ])('%s that is none of ours says what was expected (%#)', async (name, content, why) => {
    const findings = await check(file(name, content));
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({
      status: 'fault',
      cure: expect.stringMatching(/robot file.*parameter file.*engine\.json/),
    });
    expect(findings[0]!.what).toMatch(why);
  });

  test('a missing file, a folder, a device, a huge file', async () => {
    expect(await faults(join(dir, 'none'))).toEqual([expect.stringMatching(/no such file/)]);
    mkdirSync(join(dir, 'folder.yaml'));
    expect(await faults(join(dir, 'folder.yaml'))).toEqual([
      expect.stringMatching(/is a folder; `oxygen doctor`/),
    ]);
    expect(await faults('/dev/zero')).toEqual([expect.stringMatching(/no regular file/)]);
    const huge = file('tokenizer.json', '');
    truncateSync(huge, 3e9);
    expect(await faults(huge)).toEqual([expect.stringMatching(/has 3000000000 bytes/)]);
  });
});

describe('robot files', () => {
  test('every fault with its key', async () => {
    const text = demoRobot
      .replace('kind: position', 'kind: torque')
      .replace('train_hz: 20', 'train_hz: fast')
      .replace('transport: raw', 'transport: rtsp');
    const found = await faults(file('r.yaml', `${text}colour: red\n`));
    expect(found).toHaveLength(4);
    const all = found.join('\n');
    for (const key of [
      'actions\\[0\\]\\.kind',
      'rates\\.train_hz',
      'cameras\\.base_0_rgb\\.transport',
      '.*colour',
    ])
      expect(all).toMatch(new RegExp(`^robot: ${key}`, 'm'));
  });

  test('an alias bomb is refused at once', async () => {
    const levels = Array.from(
      { length: 20 },
      (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i}, `.repeat(9)}*a${i}]`,
    );
    const bomb = ['a0: &a0 [x]', ...levels, 'state: *a20'].join('\n');
    expect(await faults(file('r.yaml', bomb))).toEqual([expect.stringMatching(/^robot: .*YAML/)]);
    expect(await faults(file('p.yaml', `${bomb}\nros__parameters: *a20`))).not.toEqual([]);
  });

  test('against an engine', async () => {
    const robot = join(CONFIG, 'robots/tiny.yaml');
    expect(await faults(robot, 'tiny')).toEqual([]);
    expect((await faults(robot, 'odd')).join('\n')).toMatch(
      /robot and engine: cameras\.left_wrist_0_rgb: the engine odd/,
    );
  });
});

describe('parameter files', () => {
  const parameters = (lines: string, node = '/**'): string =>
    file('p.yaml', `${node}:\n  ros__parameters:\n${lines.replace(/^/gm, '    ')}\n`);

  test.each<[string, RegExp]>([
    [
      'acton_rate_hz: 70.0',
      /^parameters: line 3, \/\*\*: there is no parameter acton_rate_hz; did you mean action_rate_hz\?$/,
    ],
    ['action_rate_hz: fast', /action_rate_hz: 'fast' is not allowed; a number from 1 to 500/],
    ['action_rate_hz: 501', /501 is not allowed/],
    ['action_rate_hz: .nan', /NaN is not allowed/],
    ['max_tokens: 64.0', /64 is not allowed; an integer/],
    ['max_tokens: "64"', /'64' is not allowed; an integer/],
    ['max_tokens: [1, 2]', /1,2 is not allowed/],
    ['max_tokens: 0x2001', /8193 is not allowed; an integer from 1 to 8192/],
    ['attention: sideways', /one of .*bidirectional, causal is wanted/],
    ['on_instruction: yes', /true is not allowed/],
    ['engine: ""', /'' is not allowed; a path/],
    ['engine: 5', /engine: 5 is not allowed; a string/],
    ['a: {b: 1}', /there is no parameter a\.b/],
    [
      'standing_requests: [a]\na: {text: x, every_frames: -1}',
      /line 4, .* a\.every_frames: -1 is not allowed/,
    ],
    [
      'standing_requests: [a]\na: {text: x, every_frame: 1}',
      /no parameter a\.every_frame; did you mean a\.every_frames\?/,
    ],
    [
      'standing_requests: [a]\na: {text: x, max_tokens: 65}',
      /a\.max_tokens: 65 is more than the parameter max_tokens/,
    ],
    ['standing_requests: a', /standing_requests: 'a' is not allowed; a list of strings is wanted/],
    ['max_tokens:', /line 3: max_tokens has no value/],
    ['max_tokens: &a 1\nmax_queue: *a', /line 4: max_queue is an alias/],
    ['max_tokens: 1\nmax_tokens: 2', /line 4: .*unique/],
    ['max_tokens: [1', /line \d/],
  ])('%j', async (lines, expected) => {
    const found = await faults(parameters(lines));
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(expected);
  });

  test('what is right: integers for doubles, 64-bit seeds, foreign names of ROS itself', async () => {
    const lines =
      'action_rate_hz: 70\nseed: 9223372036854775807\nuse_sim_time: yes\nqos_overrides: {/a: {depth: 1}}';
    const findings = await check(parameters(lines));
    expect(findings.map(finding => finding.status)).toEqual(['ok', 'ok']);
    expect(findings[1]!.what).toMatch(/4 values for \/\*\*; engine and robot must come from launch/);
  });

  test('standing requests: what is named there is known, and a text may come from elsewhere', async () => {
    const lines = "standing_requests: [a, b]\na: {text: 'Scene: ', every_frames: 2}\nc: {text: later}";
    const findings = await check(parameters(lines));
    expect(findings.map(finding => finding.status)).toEqual(['ok', 'ok']);
    expect(findings[1]!.what).toMatch(/4 values for .*; engine and robot and b\.text must come from launch/);
  });

  test('all faults, not only the first; paths that are not there are a warning', async () => {
    const findings = await check(
      parameters('max_queue: -1\nmax_tokens: 0\nthreads: none\nrobot: nowhere.yaml'),
    );
    expect(faultsIn(findings)).toHaveLength(3);
    expect(findings.at(-1)).toMatchObject({
      status: 'warning',
      what: expect.stringMatching(/robot nowhere\.yaml does not exist/),
    });
  });

  test('a robot file that is named there is checked too', async () => {
    const robot = file('r.yaml', demoRobot.replace('kind: position', 'kind: torque'));
    expect(await faults(parameters(`robot: ${robot}`))).toEqual([
      expect.stringMatching(/^robot: actions\[0\]\.kind/),
    ]);
  });

  test.each(['/**', '/*', 'oxygen', '/oxygen', '/arm/oxygen', '/**/oxygen', '/*/oxygen'])(
    'the node under the name %s',
    async node => {
      expect(await faults(parameters('max_tokens: 0', node))).toEqual([
        expect.stringMatching(/max_tokens: 0/),
      ]);
    },
  );

  test('sections of other nodes are left alone, unless --node says they are ours', async () => {
    const text = `/cam:\n  ros__parameters: {fps: 30}\n/arm/vla:\n  ros__parameters: {max_tokens: 0}\n${defaults}`;
    const path = file('p.yaml', text);
    const findings = await check(path);
    expect(findings.map(finding => finding.status)).toEqual(['ok', 'warning', 'warning', 'ok']);
    expect(findings[1]!.cure).toMatch(/--node cam/);
    expect(await faults(path, null, 'vla')).toEqual([
      expect.stringMatching(/line 4, \/arm\/vla: .*max_tokens: 0/),
    ]);
    const other = file('o.yaml', '/cam:\n  ros__parameters: {fps: 30}\n');
    expect(await faults(other)).toEqual([expect.stringMatching(/no section is for a node named oxygen/)]);
  });
});

test('norm_stats.json and tokenizer.json against an engine', async () => {
  const odd = (name: string): string => join(goldenDir('odd'), name);
  expect(await faults(odd('norm_stats.json'), 'tiny')).toEqual([
    expect.stringMatching(/the engine has 7 and 7/),
  ]);
  expect(await faults(odd('norm_stats.json'), 'odd')).toEqual([]);
  expect(await faults(file('tokenizer.model', 'no model'))).toEqual([
    expect.stringMatching(/TOKENIZER_INVALID: .*tokenizer\.model/),
  ]);
});

describe('the command', () => {
  test('a right file: exit code 0; a wrong one: 1, as JSON too', async () => {
    const right = await oxygen(['check-config', join(CONFIG, 'oxygen.yaml')]);
    expect(right).toMatchObject({ code: 0, stderr: '' });
    expect(right.stdout).toMatch(/^2 checks ok, 0 warnings$/m);
    const wrong = file('r.yaml', demoRobot.replace('kind: position', 'kind: torque'));
    const run = await oxygen(['check-config', wrong, '--json', '--engine', join(dir, 'none')]);
    const report = JSON.parse(run.stdout) as Report;
    expect(report.checks.filter(one => one.status === 'fault').map(one => one.name)).toEqual([
      'engine',
      'robot',
    ]);
    expect(run.code).toBe(1);
  });

  test('one file is wanted', async () => {
    expect(await oxygen(['check-config'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/wanted is FILE/),
    });
  });
});
