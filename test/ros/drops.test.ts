import { DropLog } from '../../src/ros/drops';

function setUp() {
  const lines: string[] = [];
  const write = (level: string) => (text: string) => void lines.push(`${level} ${text}`);
  const clock = { ms: 0 };
  const log = { info: write('info'), warn: write('warn'), error: write('error') };
  return { drops: new DropLog(log, () => clock.ms), lines, clock };
}

test('counts every drop and warns once per cause every few seconds', () => {
  const { drops, lines, clock } = setUp();
  for (clock.ms = 0; clock.ms < 12_000; clock.ms += 1000) drops.drop('IMAGE_CORRUPT', 'cut', 'camera/a');
  drops.drop('IMAGE_CORRUPT', 'cut', 'camera/b');
  expect(drops.counts()).toEqual([['IMAGE_CORRUPT', 13n]]);
  expect(lines).toEqual([
    'warn IMAGE_CORRUPT: cut',
    'warn IMAGE_CORRUPT: cut (and 4 more since the last warning)',
    'warn IMAGE_CORRUPT: cut (and 4 more since the last warning)',
    'warn IMAGE_CORRUPT: cut',
  ]);
  expect(drops.lastError).toBe('IMAGE_CORRUPT: cut');
});

test('what is dropped by design is counted and told now and then, but is no error', () => {
  const { drops, lines, clock } = setUp();
  for (clock.ms = 0; clock.ms < 6000; clock.ms += 1000) drops.dropByDesign('CHUNK_DISABLED', 'not played');
  expect(drops.count('CHUNK_DISABLED')).toBe(6n);
  expect(lines).toEqual([
    'info CHUNK_DISABLED: not played',
    'info CHUNK_DISABLED: not played (and 4 more since the last warning)',
  ]);
  expect(drops.lastError).toBe('');
});

test('says once that a cause is gone', () => {
  const { drops, lines } = setUp();
  drops.warn('INPUT_MISSING', 'silent', 'camera/a');
  drops.recovered('INPUT_MISSING', 'camera/a');
  drops.recovered('INPUT_MISSING', 'camera/a');
  expect(lines.slice(1)).toEqual(['info recovered: camera/a (INPUT_MISSING)']);
});
