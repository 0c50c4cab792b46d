import { readFileSync } from 'node:fs';
import { formulaScale, formulaTensor } from '../../src/builder/formula';

interface Vector {
  name: string;
  shape: number[];
  offset: number;
  scale: number;
  first8: number[];
  last: number;
  sum_f64: number;
}
type Vectors = Record<string, { seed: number; tensors: Vector[] }>;

const file = JSON.parse(readFileSync('test/data/generator_vectors.json', 'utf8')) as Vectors;
const configs = Object.entries(file).filter(([name]) => name !== 'formula');

describe.each(configs)('formula weights of %s', (_, { seed, tensors }) => {
  it.each(tensors)('$name', t => {
    const rule = formulaScale(t.name, t.shape);
    expect(rule.offset).toBeCloseTo(t.offset, 12);
    expect(rule.scale).toBeCloseTo(t.scale, 12);
    const values = formulaTensor(t.name, t.shape, seed);
    expect(Array.from(values.subarray(0, 8))).toEqual(t.first8.slice(0, values.length));
    expect(values[values.length - 1]).toBe(Math.fround(t.last));
    expect(values.reduce((s, x) => s + x, 0)).toBeCloseTo(t.sum_f64, 6);
  });
});
