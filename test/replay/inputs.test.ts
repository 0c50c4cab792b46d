/** What a replay is told beside the bag: stage times, parameters; and what it says of a bag. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bag } from '../../src/bag/types';
import { OxygenError } from '../../src/core/errors';
import { engineCosts, readCosts } from '../../src/replay/costs';
import { bagInfo } from '../../src/replay/info';
import { givenParameters } from '../../src/replay/parameters';
import type { TopicUse } from '../../src/replay/topic-plan';
import { COSTS } from './fixed-costs';

const folder = mkdtempSync(join(tmpdir(), 'oxygen-inputs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

describe('stage times', () => {
  const table = { vision: 1.4, prefill: 2.1, denoise: 4 * 0.6, seed: 1.6, decode: COSTS.decode };

  test('those of an engine.json, alone or with all that is around them, for any number of Euler steps', () => {
    expect(readCosts(file('alone.json', COSTS), 4)).toEqual({ table, askMs: 0 });
    expect(readCosts(file('engine.json', { format: 1, costs: { ...COSTS, threads: 2 } }), 4)).toEqual({
      table,
      askMs: 0,
    });
    expect(readCosts(file('ask.json', { ...COSTS, ask: 2.5 }), 4)).toEqual({ table, askMs: 2.5 });
    expect(engineCosts({ ...COSTS, threads: 2 }, 4, 'engines/x')).toEqual({ table, askMs: 0 });
  });

  test.each([
    ['no JSON', '{', /--cost .*: /],
    ['null', 'null', /wanted are the costs of an engine\.json in ms/],
    ['a time that is missing', { ...COSTS, seed: undefined }, /seed: /],
    ['a time that is no number', { ...COSTS, vision: 'fast' }, /vision: /],
    ['a time of nothing', { ...COSTS, prefill: 0 }, /every time must be above 0/],
    ['a negative one', { ...COSTS, decode: { 1: -1 } }, /every time must be above 0/],
    ['no decode step', { ...COSTS, decode: {} }, /decode must have one at least/],
    ['a question that is answered before it is asked', { ...COSTS, ask: -1 }, /ask: /],
  ])('%s is refused', (name, content, says) => {
    const path = file(`${name}.json`, content);
    expect(() => readCosts(path, 4)).toThrow(says);
    expect(() => readCosts(path, 4)).toThrow(OxygenError);
  });

  test('an engine that was not measured says what to do', () => {
    expect(() => engineCosts(null, 4, 'engines/x')).toThrow(/engines\/x has no stage times.*--cost FILE/);
  });
});

describe('parameters', () => {
  const FILE =
    '/**:\n  ros__parameters:\n    seed: 3\n    mode: shared\n/other:\n  ros__parameters:\n    seed: 9\n';

  test('of a file for this node, then of options, then of what has an option of its own', () => {
    const given = givenParameters(
      file('p.yaml', FILE),
      ['mode:=isolated', 'a.text:="Scene: now"', 'standing_requests:=[a]', 'ramp_ms:=10.5'],
      { seed: 5n },
    );
    expect(Object.fromEntries(given)).toEqual({
      seed: 5n,
      mode: 'isolated',
      'a.text': 'Scene: now',
      standing_requests: ['a'],
      ramp_ms: 10.5,
    });
  });

  test.each([
    [null, ['seed=3'], /--param seed=3: wanted is name:=value/],
    [null, [':=3'], /wanted is name:=value/],
    [null, ['seeed:=3'], /there is no parameter seeed; did you mean seed\?/],
    [null, ['seed:=[1, x]'], /--param seed:=\[1, x\]: .*mixes types/],
    ['nowhere.yaml', [], /--params-file .*nowhere\.yaml/],
    ['broken.yaml', [], /broken\.yaml: /],
  ])('%s %j is refused', (name, options, says) => {
    file('broken.yaml', '/**:\n  seed: 3\n');
    expect(() => givenParameters(name === null ? null : join(folder, name), options, {})).toThrow(says);
  });
});

const USES: readonly TopicUse[] = [{ kind: 'instruction' }, { kind: 'state' }];

test('what is in a bag: sizes, times, topics in order, faults; unknown is not 0', () => {
  const topic = (name: string, count: number | null) =>
    [name, { name, type: 'std_msgs/msg/String', count, definition: '', serialization: 'cdr' }] as const;
  const bag: Bag = {
    path: 'runs/a',
    storage: 'sqlite3',
    bytes: 12_345_678,
    files: ['a_0.db3', 'a_1.db3'],
    topics: new Map([topic('/b', 11), topic('/a', null)]),
    startNs: 1_700_000_000_250_000_000n,
    endNs: 1_700_000_010_250_000_000n,
    far: 0,
    faults: [new OxygenError('BAG_DAMAGED', 'a_1.db3 ends early')],
    messages: () => (async function* () {})(),
    close: () => Promise.resolve(),
  };
  expect(bagInfo(bag, null)).toEqual([
    'runs/a: sqlite3, 12.3 MB in 2 files',
    '2023-11-14 22:13:20.250 to 2023-11-14 22:13:30.250 UTC, 10.000 s',
    '  topic  type                 messages   Hz',
    '  /a     std_msgs/msg/String         ?',
    '  /b     std_msgs/msg/String        11  1.0',
    'BAG_DAMAGED: a_1.db3 ends early',
  ]);
  expect(bagInfo({ ...bag, startNs: null, endNs: null }, null)[1]).toBe(
    'times: not known without reading all of it',
  );
  const plan = {
    uses: new Map([['/b', USES]]),
    recorded: null,
    simTime: false,
    notes: ['nothing to compare with'],
  } as const;
  expect(bagInfo(bag, plan).slice(2)).toEqual([
    '  topic  type                 messages   Hz  used as',
    '  /a     std_msgs/msg/String         ?',
    '  /b     std_msgs/msg/String        11  1.0  instruction, state',
    'nothing to compare with',
    'BAG_DAMAGED: a_1.db3 ends early',
  ]);
});
