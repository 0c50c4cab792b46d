import { evaluate } from './support';

const call = (expression: string): unknown =>
  evaluate(`import * as screen from './demo/screen.mjs'; console.log(JSON.stringify(${expression}));`);

const SECOND = {
  t: 3599.7,
  action_hz: 70.02,
  replan_hz: 12.34,
  tokens_per_s: 1234.5,
  batch: 4,
  drops: 1234,
  reached: 899,
  instructions: 899,
  distance_m: 0.4181,
  instruction: 'point at the green block',
};

test('a row fits 100 columns and stands under its header', () => {
  const [header, row] = call(`[screen.header(), screen.row(${JSON.stringify(SECOND)})]`) as [string, string];
  expect(row.length).toBeLessThanOrEqual(100);
  expect(row).toBe(
    '3600 s  70.0 Hz  12.3 Hz  1235/s      4   1234  899/899  41.8 cm  point at the green block',
  );
  expect(header.indexOf('instruction')).toBe(row.indexOf('point at'));
});

test('before the first chunk there is no time and no distance', () => {
  const row = call(`screen.row(${JSON.stringify({ ...SECOND, t: null, distance_m: null })})`) as string;
  expect(row).toMatch(/^ *start .* - {2}point at the green block$/);
});

test('a text row has the answer, and the growing text only where there is room', () => {
  const text = {
    seed: 'Question: where is the green block? Answer:',
    answer: 'near left',
    running: 'red near left, green far',
  };
  const rows = call(`[100, 60, 20].map(width => screen.textRow(${JSON.stringify(text)}, width))`) as string[];
  expect(rows[0]).toMatch(/^ {2}where is the green block\? near left +… ar left, green far$/);
  expect(rows[1]).toBe('  where is the green block? near left');
  expect(rows.map(row => row.length <= 100)).toEqual([true, true, true]);
  expect(rows[2]!.length).toBeLessThan(20);
});

test('on a terminal the block is drawn again in place; else every line stays', () => {
  const draw = (isTTY: boolean): string =>
    call(`(() => {
      let out = '';
      const view = screen.openScreen({ isTTY: ${isTTY}, columns: 100, write: text => (out += text) });
      const texts = [{ seed: 'Scene:', answer: 'red far left', running: '' }];
      view.texts(texts);
      view.texts(texts);
      view.second(${JSON.stringify(SECOND)});
      return out;
    })()`) as string;
  expect(draw(true).split('\x1b[1A\x1b[0J').length).toBe(3);
  expect(draw(false)).not.toContain('\x1b');
  expect(draw(false).match(/red far left/g)).toHaveLength(1);
});
