/** Damaged tokenizers: a tokenizer or TOKENIZER_INVALID, never anything else, and never much memory. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { tokenizerJson } from '../../src/model/sentencepiece-json';
import { loadTokenizer } from '../../src/model/tokenizer';
import { mutated } from '../support/mutate';
import { GEMMA_FIRST, modelBytes, piece } from './sentencepiece-writer';

const temporary = join(__dirname, '../.tmp/tokenizer');
const tiny = readFileSync(join(__dirname, '../data/golden/tiny/tokenizer.json'), 'utf8');
const TEXT = 'Task: pick up 12 red  cups 🤖\n<loc0001><eos>▁';
/** A load of the undamaged file takes less than 10 MB. */
const MEMORY_LIMIT = 64 * 1024 * 1024;

beforeAll(() => mkdirSync(temporary, { recursive: true }));

/** What came of it. Throws when it was neither a working tokenizer nor the right error. */
function outcome(extension: 'json' | 'model', bytes: string | Uint8Array): 'tokenizer' | 'refused' {
  const path = join(temporary, `fuzz.${extension}`);
  const json = join(temporary, 'fuzz_converted.json');
  writeFileSync(path, bytes);
  const used = (): number => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  const before = used();
  try {
    if (extension === 'model') writeFileSync(json, tokenizerJson(path));
    const tokenizer = loadTokenizer(extension === 'model' ? json : path);
    const ids = tokenizer.encode(TEXT);
    expect(ids.every(id => Number.isInteger(id) && id >= 0 && id < tokenizer.textIds)).toBe(true);
    tokenizer.decode(ids);
    return 'tokenizer';
  } catch (error) {
    expect(error).toMatchObject({ code: 'TOKENIZER_INVALID' });
    return 'refused';
  } finally {
    expect(used() - before).toBeLessThan(MEMORY_LIMIT);
  }
}

const count = (outcomes: readonly string[], of: string): number => outcomes.filter(o => o === of).length;

/** Another value somewhere in a JSON document. */
function restructured(text: string): fc.Arbitrary<string> {
  const value = fc.oneof(
    fc.constantFrom(null, true, false, 0, -1, 1.5, 2 ** 20, 2 ** 31, 1e300, '', ' ', 'x', [], {}, [[]]),
    fc.constantFrom(
      'Split',
      'Regex',
      '(',
      '(a+)+$',
      '▁',
      '<0x41>',
      { String: '' },
      { Regex: '' },
      { Regex: '[' },
    ),
    fc.jsonValue({ maxDepth: 2 }),
  );
  return fc
    .record({ value, steps: fc.array(fc.nat(100_000), { minLength: 1, maxLength: 7 }), drop: fc.boolean() })
    .map(({ value, steps, drop }) => {
      const root = JSON.parse(text) as Record<string, unknown>;
      let at: Record<string, unknown> = root;
      for (const [i, step] of steps.entries()) {
        const keys = Object.keys(at);
        const key = keys[step % keys.length]!;
        const child = at[key];
        if (
          i < steps.length - 1 &&
          typeof child === 'object' &&
          child !== null &&
          Object.keys(child).length > 0
        ) {
          at = child as Record<string, unknown>;
          continue;
        }
        if (drop) delete at[key];
        else at[key] = value;
        break;
      }
      return JSON.stringify(root);
    });
}

test('1000 damaged tokenizer.json', () => {
  const damaged = [
    ...fc.sample(mutated(tiny), { numRuns: 500, seed: 1 }),
    ...fc.sample(restructured(tiny), { numRuns: 500, seed: 2 }),
  ];
  const outcomes = damaged.map(text => outcome('json', text));
  expect(count(outcomes, 'tokenizer')).toBeGreaterThan(50);
  expect(count(outcomes, 'refused')).toBeGreaterThan(300);
});

/** Gemma's kind: special, byte, user-defined and ordinary pieces. */
const model = modelBytes([
  ...GEMMA_FIRST,
  ...['\n', '▁▁', '<loc0001>'].map(text => piece(text, 0, 4)),
  ...['pi', 'ck', 'pick', '▁u', '▁up', 're', '▁re', '▁red', 'cu', 'cup'].map((text, i) => piece(text, -i, 1)),
  ...[...'▁:abcdefghijklmnopqrstuvwxyzT12'].map((text, i) => piece(text, -100 - i, 1)),
]);

test('1000 damaged sentencepiece models', () => {
  expect(outcome('model', model)).toBe('tokenizer');
  const edit = fc.record({
    at: fc.nat(model.length - 1),
    bytes: fc.oneof(
      fc.uint8Array({ maxLength: 6 }),
      // Lengths beyond the file, beyond exact numbers, and without an end.
      fc.constantFrom(
        [0xff, 0xff, 0xff, 0xff, 0x0f],
        [0x0a, ...new Array<number>(9).fill(0xff), 1],
        [0x80, 0x80],
      ),
    ),
    removed: fc.option(fc.nat(8)),
    end: fc.boolean(),
  });
  const damaged = fc.sample(
    fc.array(edit, { minLength: 1, maxLength: 3, size: 'max' }).map(edits =>
      edits.reduce<Uint8Array>((bytes, { at, bytes: put, removed, end }) => {
        const rest = end && edits.length === 3 ? [] : bytes.subarray(at + (removed ?? put.length));
        return Uint8Array.from([...bytes.subarray(0, at), ...put, ...rest]);
      }, model),
    ),
    { numRuns: 1000, seed: 3 },
  );
  const outcomes = damaged.map(bytes => outcome('model', bytes));
  expect(count(outcomes, 'tokenizer')).toBeGreaterThan(5);
  expect(count(outcomes, 'refused')).toBeGreaterThan(300);
});

test.each<[string, Uint8Array]>([
  ['an empty file', new Uint8Array()],
  ['the end missing', model.subarray(0, model.length - 1)],
  ['a text', Buffer.from('{"model": {}}')],
  ['a length of 2^63', Uint8Array.from([0x0a, ...new Array<number>(8).fill(0xff), 0x7f])],
  ['a number without an end', new Uint8Array(100_000).fill(0x80)],
  ['five million empty pieces', new Uint8Array(10_000_000).map((_, i) => (i % 2 === 0 ? 0x0a : 0))],
  ['a piece of a million letters', modelBytes([piece('a'.repeat(1_000_000), 0, 1)])],
  ['a score that is no number', modelBytes([piece('a', NaN, 1)])],
  ['a piece twice', modelBytes([piece('a', 0, 1), piece('a', -1, 1)])],
  ['a piece of an unknown kind', modelBytes([piece('a', 0, 9)])],
])('%s is refused at once', (_, bytes) => {
  const begin = performance.now();
  expect(outcome('model', bytes)).toBe('refused');
  expect(performance.now() - begin).toBeLessThan(5000);
});
