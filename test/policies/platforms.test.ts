import { join } from 'node:path';
import { PLATFORM_NAMES } from '../../src/core/robot';
import { loadNormStats } from '../../src/policies/norm-stats';
import { PLATFORMS } from '../../src/policies/platforms';
import { gripperToModel, gripperToRobot } from '../../src/policies/platforms/aloha';
import { addState, scaler, unnormalizeChunk } from '../../src/policies/transforms';
import { readSafetensors } from '../support/safetensors';

const data = join(__dirname, '../data/transforms');
const golden = readSafetensors(join(data, 'transforms.safetensors'));
const numbers = (key: string): Float64Array => Float64Array.from(golden.get(key)!.data as Float64Array);
const { none, libero, droid, aloha, arx } = PLATFORMS;

/** The model's actions, cut to `dims`: what a platform gets. */
function modelActions(dims: number): Float64Array {
  const { shape } = golden.get('norm.actions_in')!;
  const all = numbers('norm.actions_in');
  return Float64Array.from(
    { length: shape[0]! * dims },
    (_, i) => all[Math.floor(i / dims) * 32 + (i % dims)]!,
  );
}
const played = (platform: (typeof PLATFORMS)[keyof typeof PLATFORMS], dims: number): number[] => {
  const values = modelActions(dims);
  platform.actions(values, dims);
  return [...values];
};
const expectClose = (actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void => {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < actual.length; i++) expect(Math.abs(actual[i]! - expected[i]!)).toBeLessThan(tolerance);
};

test('every name of a robot file has its platform', () => {
  expect(Object.keys(PLATFORMS).sort()).toEqual([...PLATFORM_NAMES].sort());
  for (const name of PLATFORM_NAMES) expect(PLATFORMS[name].name).toBe(name);
});

describe('golden numbers of openpi', () => {
  test('LIBERO: nothing is changed', () => {
    expect(libero.state(numbers('libero.in.observation__state'))).toEqual(numbers('libero.out.state'));
    expect(played(libero, 7)).toEqual([...numbers('libero.actions_out')]);
  });

  test('DROID: state is joints and gripper; out as its client does: clipped, gripper from 0.5', () => {
    const state = Float64Array.of(
      ...numbers('droid.in.observation__joint_position'),
      ...numbers('droid.in.observation__gripper_position'),
    );
    expect(droid.state(state)).toEqual(numbers('droid.out.state'));
    const model = numbers('droid.actions_out');
    const expected = [...model].map((v, i) =>
      i % 8 === 7 ? (v > 0.5 ? 1 : 0) : Math.min(1, Math.max(-1, v)),
    );
    expect(played(droid, 8)).toEqual(expected);
    expect(new Set(expected).size).toBeGreaterThan(20);
    expect(expected.filter(v => v === 1).length).toBeGreaterThan(3);
  });

  test('ARX: nothing is changed', () => {
    expect([...arx.state(numbers('arx.in.state'))]).toEqual([...numbers('arx.out.state').slice(0, 14)]);
    expect(played(arx, 14)).toEqual([...numbers('arx.actions_out')]);
  });

  test('ALOHA: joint signs and grippers', () => {
    expectClose(
      aloha.state(numbers('aloha_adapt.all.in.state')),
      numbers('aloha_adapt.all.out.state'),
      1e-14,
    );
    expectClose(played(aloha, 14), numbers('aloha_adapt.actions_out'), 1e-6); // the reference adds in float32
  });

  test('ALOHA grippers, alone', () => {
    const share = numbers('aloha.gripper_in');
    expectClose(share.map(gripperToModel), numbers('aloha.gripper_to_angular'), 1e-14);
    expectClose(share.map(gripperToRobot), numbers('aloha.gripper_from_angular'), 1e-14);
    expectClose(numbers('aloha.gripper_from_angular_inv').map(gripperToRobot), share, 1e-14);
    expect(Number.isFinite(gripperToModel(-0.4) + gripperToModel(3))).toBe(true); // outside the linkage's range
  });

  test('ALOHA without adapt_to_pi is no platform at all', () => {
    expect(none.state(numbers('aloha_raw.all.in.state'))).toEqual(numbers('aloha_raw.all.out.state'));
    expect(played(none, 14)).toEqual([...numbers('aloha_raw.actions_out')]);
  });

  test('ALOHA, the whole way out: un-normalise, add the state, platform', () => {
    const stats = loadNormStats(join(data, 'norm_stats_aloha.json'));
    const [state, actions] = [stats.state, stats.actions].map(s => scaler(s, 'quantile', 'openpi'));
    const inModelUnits = numbers('chain.aloha.state_norm_in').slice(0, 14).map(state!.toRobot);
    const model = golden.get('norm.actions_in')!.data as Float32Array;
    const values = unnormalizeChunk(model, 10, 32, 14, actions!);
    addState(
      values,
      aloha.relative.map((yes, i) => (yes ? i : null)),
      inModelUnits,
    );
    aloha.actions(values, 14);
    expectClose(values, numbers('chain.aloha.actions_out'), 1e-6);
  });
});

test('only ALOHA is relative to the state: six joints of each arm, not the grippers', () => {
  expect(aloha.relative).toEqual([...'1111110', ...'1111110'].map(bit => bit === '1'));
  for (const platform of [none, libero, droid, arx]) expect(platform.relative).toEqual([]);
});

test('a state is never changed in place', () => {
  for (const platform of Object.values(PLATFORMS)) {
    const state = new Float64Array(platform.stateDims ?? 3).fill(0.5);
    expect(platform.state(state)).not.toBe(state);
    expect(new Set(state)).toEqual(new Set([0.5]));
  }
});

test('a NaN stays one: the timeline refuses the chunk', () => {
  for (const platform of Object.values(PLATFORMS)) {
    const dims = platform.actionDims ?? 3;
    const values = new Float64Array(dims).fill(NaN);
    platform.actions(values, dims);
    expect(values.every(Number.isNaN)).toBe(true);
  }
});
