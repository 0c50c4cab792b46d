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
