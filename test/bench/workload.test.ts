import { readModelConfig } from '../../src/model/config';
import { parseArrivals } from '../../src/bench/arrivals';
import { Frames, requestsOf, rowsOf, type Block } from '../../src/bench/workload';
import { goldenDir } from '../support/engines';

const BLOCK: Block = {
  mode: 'oxygen',
  tokens: 20,
  tokensPerFrame: { kind: 'fixed', steps: 5 },
  denoiseSteps: 10,
  arrivals: parseArrivals('uniform:1'),
  seed: 3,
  first: 1_000_000,
  warmUp: 2,
  frames: 4,
  executeMs: 333,
  paced: false,
};

it('counted frames bring the same requests in every mode', () => {
  for (let index = 0; index < BLOCK.frames; index++) {
    const expected = [{ id: `${1_000_000 + index}.0`, tokens: 20 }];
    expect(requestsOf(BLOCK, index)).toEqual(expected);
    for (const mode of ['isolated', 'shared'] as const)
      expect(requestsOf({ ...BLOCK, mode }, index)).toEqual(expected);
  }
});

it('only the first frame of oxygen with fixed k brings what earlier ones would have left', () => {
  expect(requestsOf(BLOCK, -2).map(r => r.tokens)).toEqual([15, 10, 5, 20]);
  expect(new Set(requestsOf(BLOCK, -2).map(r => r.id)).size).toBe(4);
  expect(requestsOf(BLOCK, -1)).toHaveLength(1);
  expect(requestsOf({ ...BLOCK, mode: 'shared' }, -2)).toHaveLength(1);
  expect(requestsOf({ ...BLOCK, tokensPerFrame: { kind: 'auto', minSteps: 1 } }, -2)).toHaveLength(1);
});

it('rows: what is active at a time; one where requests follow each other', () => {
  expect(rowsOf(BLOCK)).toBe(4);
  expect(rowsOf({ ...BLOCK, mode: 'isolated' })).toBe(1);
  expect(rowsOf({ ...BLOCK, arrivals: { kind: 'none' } })).toBe(1);
  expect(rowsOf({ ...BLOCK, tokens: 500, tokensPerFrame: { kind: 'auto', minSteps: 1 } })).toBe(32);
});

it('frames are the same by number and seed, and differ in prompt and stamp', () => {
  const real = readModelConfig(`${goldenDir('tiny')}/config.json`);
  const model = { ...real, vision: { ...real.vision, imageHeight: 14, imageWidth: 14 } };
  const [a, b, other] = [new Frames(model, 1), new Frames(model, 1), new Frames(model, 2)];
  expect(a.at(7)).toEqual(b.at(7));
  for (const key of ['promptIds', 'images', 'stampNs', 'id'] as const)
    expect(a.at(8)[key]).not.toEqual(a.at(7)[key]);
  expect(other.at(7).images).not.toEqual(a.at(7).images);
  expect(a.at(7).promptIds).toHaveLength(model.maxPromptTokens);
  expect(Math.max(...a.at(7).promptIds)).toBeLessThan(model.language.vocab);
});
