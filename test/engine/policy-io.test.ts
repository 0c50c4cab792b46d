/** The way from a robot's observation to the prompt and from the model's actions back, on a real engine folder. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RobotTransforms } from '../../src/core/robot';
import type { Observation } from '../../src/core/types';
import { PolicyIo } from '../../src/engine/policy-io';
import { readManifest, type Manifest } from '../../src/model/manifest';
import { normStatsJson, NO_STATS, type FeatureStats } from '../../src/policies/norm-stats';
import { checkStatistics } from '../../src/policies/raw-units';
import { engineDir, ROOT } from '../support/engines';

const manifest = readManifest(engineDir('tiny'));
const { horizon, actionDim } = manifest.model;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(ROOT, 'test/.tmp/policy-io-'));
  cpSync(join(engineDir('tiny'), 'tokenizer.json'), join(dir, 'tokenizer.json'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const range = (dims: number, low: number, high: number): FeatureStats => ({
  ...NO_STATS,
  q01: new Float64Array(dims).fill(low),
  q99: new Float64Array(dims).fill(high),
});
function open(
  state: FeatureStats,
  actions: FeatureStats,
  robot: RobotTransforms | null,
  warn?: (message: string) => void,
  over: Partial<Manifest> = {},
): PolicyIo {
  writeFileSync(join(dir, 'norm_stats.json'), normStatsJson({ state, actions }));
  return new PolicyIo(dir, { ...manifest, ...over }, robot, warn);
}
const robot = (
  state: number,
  relativeTo: readonly (number | null)[],
  platform: RobotTransforms['platform'] = 'none',
) => ({
  platform,
  stateNames: Array.from({ length: state }, (_, i) => `joint_${i}`),
  relativeTo,
});
const absolute = (dims: number): null[] => new Array<null>(dims).fill(null);
const observation = (state: readonly number[]): Observation => ({
  stampNs: 1n,
  epoch: 0,
  instruction: 'go',
  state: Float64Array.from(state),
  cameras: ['base_0_rgb'],
  images: new Uint8Array(),
});
const stateText = (io: PolicyIo, ids: readonly number[]): string =>
  /State: ([-\d ]*);/.exec(io.tokenizer.decode([...ids]))?.[1] ?? '';

describe('O-11 widths', () => {
  test('(a) the prompt holds the bins of the state; 7 actions of 32 leave, with the 9 of dimension 20 never', () => {
    const io = open(range(8, -1, 1), range(7, -2, 2), robot(8, absolute(7)));
    const frame = io.frame(observation([-1, -0.5, 0, 0.25, 0.5, 0.75, 0.99, 1]), null);
    expect(stateText(io, frame.promptIds).split(' ')).toHaveLength(8);
    const model = new Float32Array(horizon * actionDim);
    for (let step = 0; step < horizon; step++) model[step * actionDim + 20] = 9;
    const chunk = io.chunk(frame, model);
    expect([chunk.dims, chunk.values.length]).toEqual([7, 7 * horizon]);
    expect(chunk.values.every(value => Math.abs(value) < 1e-6)).toBe(true);
  });

  test('(b) statistics of 32 dimensions, a state of 8, actions of 3', () => {
    const io = open(range(32, -1, 1), range(32, -2, 2), robot(8, absolute(3)));
    const frame = io.frame(observation(new Array<number>(8).fill(0)), null);
    expect(stateText(io, frame.promptIds)).toBe(new Array(8).fill('127').join(' '));
    expect(io.chunk(frame, new Float32Array(horizon * actionDim).fill(1)).values).toHaveLength(3 * horizon);
  });
});

describe('O-10 unusual states', () => {
  test('one warning per dimension beyond size 10, with its name; bins at the ends, no crash', () => {
    const warnings: string[] = [];
    const io = open({ ...NO_STATS, q01: Float64Array.of(1.569, -1, 5), q99: Float64Array.of(1.569, 1, 5) }, range(7, -1, 1), robot(3, absolute(7)), w => warnings.push(w)); // prettier-ignore
    const frames = [[0, 0, 5.001], [0, 20, 5]].map(state => io.frame(observation(state), null)); // prettier-ignore
    expect(frames.map(frame => stateText(io, frame.promptIds))).toEqual(['-1 127 255', '-1 255 0']);
    expect(warnings).toHaveLength(3);
    expect(warnings[0]).toMatch(/state 0 \(joint_0\) is 0, -3\.138e\+6 when normalised.*limit 10/);
    expect(warnings.map(w => w.split(' ')[1])).toEqual(['0', '2', '1']);
  });
});

describe('relative actions and platforms', () => {
  const mid = new Float32Array(horizon * actionDim); // the middle of the statistics

  test('the state of the same observation is added, whatever came after it', () => {
    const io = open(range(2, -1, 1), range(2, -1, 3), robot(2, [1, null]));
    const first = io.frame(observation([0.1, 0.5]), null);
    io.frame(observation([0.9, 0.9]), null);
    expect([...io.chunk(first, mid).values.slice(0, 4)]).toEqual(
      [1.5, 1, 1.5, 1].map(v => expect.closeTo(v, 5)),
    );
  });

  test('ALOHA: the state in its own units goes into the prompt and under the actions', () => {
    const relative = Array.from({ length: 14 }, (_, i) => (i % 7 === 6 ? null : i));
    const io = open(range(14, -2, 2), range(14, -1, 1), robot(14, relative, 'aloha'));
    const state = Array.from({ length: 14 }, (_, i) => (i % 7 === 6 ? 0.5 : 0.1 * (1 + (i % 7))));
    const frame = io.frame(observation(state), null);
    // The model's deltas are 0: joints come back where they were, signs flipped twice; a gripper's 0 is its closed angle.
    const out = io.chunk(frame, mid).values.slice(0, 14);
    state.forEach((value, i) => expect(out[i]).toBeCloseTo(i % 7 === 6 ? 1.1689 / 2.1123 : value, 5));
    expect(frame.state![1]).toBeCloseTo(-0.2);
    const bins = stateText(io, frame.promptIds).split(' ').map(Number);
    expect(bins[1]).toBeLessThan(128);
    expect(bins[0]).toBeGreaterThan(127);
  });

  test('DROID: out come velocities within -1..1 and an open or closed gripper', () => {
    const io = open(range(8, -1, 1), range(8, -3, 3), robot(8, absolute(8), 'droid'));
    const frame = io.frame(observation(new Array<number>(8).fill(0)), null);
    const model = Float32Array.from(mid, (_, i) => Math.sin(i));
    const { values } = io.chunk(frame, model);
    expect(new Set(values.filter((_, i) => i % 8 === 7))).toEqual(new Set([0, 1]));
    expect(Math.max(...values.map(Math.abs))).toBe(1);
  });
});

describe('whose formula', () => {
  test('engine.json decides: lerobot’s float32, identity, and no statistics', () => {
    const narrow = range(1, 0, 1e-6); // openpi adds 1e-6 to the range, lerobot nothing
    const bins = (convention: 'openpi' | 'lerobot') => {
      const normalization = { convention, state: 'quantile', actions: 'identity' } as const;
      const io = open(narrow, NO_STATS, robot(1, absolute(2)), undefined, { normalization });
      return { io, text: stateText(io, io.frame(observation([1e-6]), null).promptIds) };
    };
    expect(bins('openpi').text).toBe('128');
    const { io, text } = bins('lerobot');
    expect(text).toBe('255');
    const frame = io.frame(observation([0]), null);
    const model = new Float32Array(horizon * actionDim).fill(0.25);
    expect([...io.chunk(frame, model).values.slice(0, 2)]).toEqual([0.25, 0.25]);

    rmSync(join(dir, 'norm_stats.json'));
    const missing = { convention: 'openpi', state: 'missing', actions: 'missing' } as const;
    const raw = new PolicyIo(dir, { ...manifest, normalization: missing }, robot(2, absolute(2)));
    expect(stateText(raw, raw.frame(observation([0.5, -0.5]), null).promptIds)).toBe('192 64');
    expect(raw.chunk(frame, model).values[0]).toBe(0.25);
  });

  test('a folder whose statistics were taken away is refused', () => {
    expect(() => new PolicyIo(dir, manifest)).toThrow(
      expect.objectContaining({ code: 'NORM_STATS_INVALID' }),
    );
  });
});

describe('O-09 (a) an engine without statistics', () => {
  const missing = { convention: 'openpi', state: 'quantile', actions: 'missing' } as const;
  test('drives nothing unless raw_units says so, and then it is told', () => {
    expect(checkStatistics('/e', manifest.normalization, false)).toBeNull();
    expect(() => checkStatistics('/engines/e', missing, false)).toThrow(
      expect.objectContaining({
        code: 'NORM_STATS_INVALID',
        message: expect.stringMatching(/\/engines\/e .*\(actions\).*--norm-stats.*raw_units/),
      }),
    );
    expect(checkStatistics('/e', missing, true)).toMatch(/raw_units: .*own numbers are used/);
  });
});
