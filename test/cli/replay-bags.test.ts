/** What `oxygen replay` and its --info say of a bag that is not as it should be, and their exit codes. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from 'node-sqlite3-wasm';
import type { ReplaySummary } from '../../src/replay/result';
import { recorded, writeMcap, writeSqlite } from '../bag/rewrite';
import type { Recorded } from '../bag/rewrite';
import { ROBOT, replayWith } from '../replay/command';
import { costFile } from '../replay/fixed-costs';
import { oxygen, ROOT } from '../support/engines';
import type { CliResult } from '../support/engines';

const SAMPLE = join(ROOT, 'demo/sample.mcap');
const COMPLETE = 0;
const REFUSED = 1;
const PARTIAL = 3;

const folder = mkdtempSync(join(tmpdir(), 'oxygen-replay-bags-'));
const at = (name: string): string => join(folder, name);
const cost = costFile(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let sample: readonly Recorded[];
beforeAll(async () => {
  sample = await recorded(SAMPLE, 1.5);
});

const replay = replayWith(cost);
const info = (bag: string): Promise<CliResult> => oxygen(['replay', bag, '--info', '--robot', ROBOT]);

/** Of the sample with every message changed; `nth` counts those of its topic. */
async function bagOf(
  name: string,
  change: (message: Recorded, nth: number, i: number) => Partial<Recorded>,
): Promise<string> {
  const counts = new Map<string, number>();
  const changed = sample.map((message, i) => {
    const nth = counts.get(message.topic) ?? 0;
    counts.set(message.topic, nth + 1);
    return { ...message, ...change(message, nth, i) };
  });
  return writeMcap(at(name), changed);
}

async function played(
  bag: string,
): Promise<{ readonly code: number | null; readonly summary: ReplaySummary }> {
  const { code, stdout, stderr } = await replay(bag, '--json');
  expect(stdout === '' ? stderr : '').toBe('');
  return { code, summary: JSON.parse(stdout) as ReplaySummary };
}

const count = (topic: string): number => sample.filter(message => message.topic === topic).length;

test.each([
  ['two of three', (nth: number) => nth % 3 > 0],
  ['all', () => true],
])('%s recorded actions cannot be read: damage, and refused', async (name, isBroken) => {
  let broken = 0;
  const bag = await bagOf(`actions-${name}.mcap`, ({ topic, data }, nth) => {
    if (topic !== '/action' || !isBroken(nth)) return {};
    broken += 1;
    return { data: data.subarray(0, 9) };
  });
  const { code, summary } = await played(bag);
  expect([code, summary.partial]).toEqual([PARTIAL, true]);
  expect(summary.comparison).toMatchObject({ used: count('/action') - broken, refused: broken });
  expect(summary.faults).toMatchObject([
    {
      code: 'BAG_DAMAGED',
      message: expect.stringMatching(
        new RegExp(`^${broken} messages of /action cannot be read and were left out, .*9 bytes`),
      ),
    },
  ]);
});

test.each([
  ['/joint_states', 60],
  ['/camera/base_0_rgb/image_raw', 5],
])('%s, every second one cut by %i bytes: damage that is counted', async (cut, bytes) => {
  const bag = await bagOf(`cut${bytes}.mcap`, ({ topic, data }, nth) =>
    topic === cut && nth % 2 === 1 ? { data: data.subarray(0, -bytes) } : {},
  );
  const { code, summary } = await played(bag);
  expect([code, summary.partial]).toEqual([PARTIAL, true]);
  expect(summary.faults.map(({ message }) => message)).toEqual([
    expect.stringContaining(`${Math.floor(count(cut) / 2)} messages of ${cut} cannot be read`),
  ]);
  expect(summary.frames).toBeGreaterThan(5);
});

test('an MCAP file without its last four bytes: exit code 3, from --info too', async () => {
  const whole = await bagOf('whole.mcap', () => ({}));
  expect((await info(whole)).code).toBe(COMPLETE);
  writeFileSync(at('tail.mcap'), readFileSync(whole).subarray(0, -4));
  const { code, summary } = await played(at('tail.mcap'));
  expect([code, summary.partial, summary.bag.messages > 100]).toEqual([PARTIAL, true, true]);
  expect(summary.faults).toMatchObject([
    { code: 'BAG_DAMAGED', message: expect.stringContaining('closing record') },
  ]);
  const { code: infoCode, stdout } = await info(at('tail.mcap'));
  expect([infoCode, stdout]).toEqual([
    PARTIAL,
    expect.stringContaining('BAG_DAMAGED: tail.mcap: the closing record'),
  ]);
});

test.each([
  ['one stamp near 0', (i: number) => i === 50],
  ['a clock that was set while recording', (i: number) => i < sample.length * 0.45],
])('%s: told by --info and by the result; the instruction of before is in force', async (name, isFar) => {
  const bag = await bagOf(`${name}.mcap`, (_, __, i) => (isFar(i) ? { logNs: BigInt(i) * 1_000_000n } : {}));
  const far = sample.filter((_, i) => isFar(i)).length;
  const says = new RegExp(
    `^${far} messages? left out: .* \\(${sample.length - far} of ${sample.length}\\); left out are`,
  );
  const { code, summary } = await played(bag);
  expect([code, summary.partial]).toEqual([COMPLETE, false]);
  expect(summary.faults).toMatchObject([{ code: 'BAG_DISORDER', message: expect.stringMatching(says) }]);
  expect(summary.frames).toBeGreaterThan(5);
  const { code: infoCode, stdout } = await info(bag);
  expect([infoCode, stdout]).toEqual([COMPLETE, expect.stringContaining(`BAG_DISORDER: ${far} message`)]);
  expect(stdout).toContain(`, ${sample.length - far} messages\n`);
});

test('an instruction that no reading can find: what was left out is in the refusal', async () => {
  const noon = sample[0]!.logNs + 10n * 86_400_000_000_000n;
  const bag = await bagOf('future.mcap', ({ topic }) => (topic === '/instruction' ? { logNs: noon } : {}));
  const { code, stderr } = await replay(bag);
  expect([code, stderr]).toEqual([
    REFUSED,
    expect.stringMatching(/BAG_EMPTY: no complete observation .*1 message left out: their stamps/),
  ]);
});

test('a topic of two types: how many messages are left out', async () => {
  const half = Math.floor(count('/action') / 2);
  const bag = await bagOf('types.mcap', ({ topic }, nth) =>
    topic === '/action' && nth >= half ? { type: 'trajectory_msgs/msg/JointTrajectory', definition: '' } : {},
  );
  const { summary } = await played(bag);
  expect(summary.faults).toMatchObject([
    {
      code: 'BAG_UNSUPPORTED',
      message: expect.stringContaining(
        `; ${count('/action') - half} messages of trajectory_msgs/msg/JointTrajectory left out`,
      ),
    },
  ]);
  expect(summary.comparison).toMatchObject({ used: half, refused: 0 });
  expect((await info(bag)).stdout).toMatch(new RegExp(`/action +std_msgs/msg/Float64MultiArray +${half} `));
});

test('a database whose messages are all lost is not empty: exit code 3 of --info, and the cause', async () => {
  const path = writeSqlite(at('lost.db3'), sample);
  const db = new Database(path, { readOnly: true });
  const roots = db.all("SELECT rootpage FROM sqlite_master WHERE name IN ('messages', 'timestamp_idx')");
  db.close();
  const bytes = readFileSync(path);
  for (const { rootpage } of roots)
    bytes.fill(0xff, (Number(rootpage) - 1) * 4096, (Number(rootpage) - 1) * 4096 + 64);
  writeFileSync(path, bytes);
  const { code, stderr } = await replay(path);
  expect([code, stderr]).toEqual([
    REFUSED,
    expect.stringMatching(/BAG_EMPTY: no message of .*lost\.db3 can be read: lost\.db3: .*damaged/),
  ]);
  const { code: infoCode, stdout } = await info(path);
  expect([infoCode, stdout]).toEqual([PARTIAL, expect.stringContaining('BAG_DAMAGED: lost.db3: ')]);
});

test('a bag that is cut before its topics: the cut is said first', async () => {
  writeFileSync(at('short.mcap'), readFileSync(SAMPLE).subarray(0, 100));
  const { code, stderr } = await replay(at('short.mcap'));
  expect([code, stderr]).toEqual([
    REFUSED,
    expect.stringMatching(
      /^oxygen: BAG_EMPTY: short\.mcap, byte \d+: .*it is cut[^]*\n {2}camera base_0_rgb: the bag has no topic/,
    ),
  ]);
});
