/** Does the plan get worse with the distance? Errors of each step of a chunk, joint by joint. */
import { table } from '../../report/blocks';
import { h, type Child, type Markup } from '../../report/markup';
import { grouped, NONE } from '../../report/numbers';
import type { HorizonError, JointError } from '../result';
import { HEATS } from './style';
import { amount } from './words';

export function horizonTables(joints: readonly JointError[], horizon: readonly HorizonError[]): Child {
  if (horizon.length === 0) return null;
  return [
    h('h3', {}, 'MAE per step of the chunk'),
    h(
      'p',
      { class: 'note-line' },
      'Each step of each chunk against what was recorded at the time at which the step plays. ' +
        'The stronger the colour, the nearer to the largest error of the joint.',
    ),
    heatTable(joints, horizon, 'mae', 'MAE per joint and step of the chunk'),
    h(
      'details',
      {},
      h('summary', {}, 'RMSE per step of the chunk'),
      heatTable(joints, horizon, 'rmse', 'RMSE per joint and step of the chunk'),
    ),
  ];
}

function heatTable(
  joints: readonly JointError[],
  horizon: readonly HorizonError[],
  what: 'mae' | 'rmse',
  about: string,
): Markup {
  const rows = joints.map((joint, d) => {
    const values = horizon.map(step => step[what][d] ?? null);
    const largest = values.reduce<number>((a, b) => Math.max(a, b ?? 0), 0);
    return [h('bdi', {}, joint.name), ...values.map(value => heat(value, largest))];
  });
  return table(
    ['step', ...horizon.map(h => grouped(h.step))],
    [...rows, ['compared', ...horizon.map(h => grouped(h.count))]],
    about,
  );
}

function heat(value: number | null, largest: number): Child {
  if (value === null) return NONE;
  const level = largest > 0 ? Math.min(HEATS - 1, Math.floor((HEATS * value) / largest)) : 0;
  return h('span', { class: `heat heat-${level}` }, amount(value));
}
