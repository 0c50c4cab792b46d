import { RunCosts } from '../../src/core/run-costs';

const table = { vision: 30, prefill: 80, denoise: 40, seed: 9, decode: { 8: 26, 1: 12, 4: 18 } };

it('begins with the table, linear between batch sizes and constant beyond them', () => {
  const costs = new RunCosts(table);
  expect((['vision', 'prefill', 'denoise', 'seed', 'decode'] as const).map(run => costs.expected(run))).toEqual([30, 80, 40, 9, 12]); // prettier-ignore
  expect([1, 2, 3, 4, 6, 8, 30].map(batch => costs.expected('decode', batch))).toEqual([12, 14, 16, 18, 22, 26, 26]); // prettier-ignore
  expect(costs.expected('ask')).toBe(0);
});

it('knows nothing without a table, and everything after one run', () => {
  const costs = new RunCosts(null);
  expect(costs.expected('decode', 3)).toBe(0);
  costs.measured('decode', 20, 3);
  expect([1, 3, 9].map(batch => costs.expected('decode', batch))).toEqual([20, 20, 20]);
});

it('follows what is measured, each batch size for itself', () => {
  const costs = new RunCosts(table);
  costs.measured('decode', 28, 4);
  expect(costs.expected('decode', 4)).toBe(20);
  expect(costs.expected('decode', 8)).toBe(26);
  costs.measured('decode', 40, 6);
  expect(costs.expected('decode', 6)).toBe(40);
  expect(costs.expected('decode', 5)).toBe(30);
  for (let i = 0; i < 60; i++) costs.measured('prefill', 100);
  expect(costs.expected('prefill')).toBeCloseTo(100, 3);
});

describe('decode runs of several steps, whose keys and values go to a device first', () => {
  const device = { ...table, upload: { 1: 3, 8: 24 } };

  it('take one upload and all steps; other runs have none', () => {
    const costs = new RunCosts(device);
    expect(costs.expectedRun('decode', { batch: 4, steps: 5 })).toBe(12 + 5 * 18);
    expect(costs.expectedRun('decode')).toBe(3 + 12);
    expect(costs.expectedRun('prefill')).toBe(80);
    // without a device a run is a step, to the bit
    for (const batch of [1, 3, 5, 9])
      expect(new RunCosts(table).expectedRun('decode', { batch })).toBe(costs.expected('decode', batch));
  });

  it('teach what a step takes, and leave the upload as it is', () => {
    const costs = new RunCosts(device);
    costs.measuredRun('decode', 3 + 5 * 22, { batch: 1, steps: 5 });
    expect(costs.expected('decode', 1)).toBeCloseTo(14);
    expect(costs.expected('upload', 1)).toBe(3);
    // faster than the upload alone was thought to be
    for (let i = 0; i < 99; i++) costs.measuredRun('decode', 1, { batch: 1, steps: 2 });
    expect(costs.expected('decode', 1)).toBeCloseTo(0);
    costs.measuredRun('seed', 19);
    expect(costs.expected('seed')).toBe(11);
  });
});
