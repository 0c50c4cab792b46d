/** Peak memory of each mode, by what it is for. */
import { figure, grid, key, section, table } from '../../report/blocks';
import type { Markup } from '../../report/markup';
import { change, count, digits, growth, NONE, percent, unit } from '../../report/numbers';
import { measuredModes, type BenchMode, type BenchResult, type MemoryFigures } from '../result';
import { LOOKS } from './modes';
import { rowChart, type Row } from './row-chart';

const PARTS = [
  ['base_mb', 's-base', 'program'],
  ['weights_mb', 's-weights', 'weights'],
  ['kv_mb', 's-kv', 'KV cache'],
  ['activations_mb', 's-activations', 'activations and the rest'],
] as const;

interface Case {
  readonly mode: BenchMode;
  readonly label: string;
  readonly memory: MemoryFigures;
}

const totalOf = (memory: MemoryFigures): number => PARTS.reduce((sum, [field]) => sum + memory[field], 0);

/** Nothing when the machine does not tell. */
export function memorySection(r: BenchResult): Markup | null {
  const cases = casesOf(r);
  if (cases.length === 0) return null;
  const rows = cases.map(rowOf);
  const base = cases.find(c => c.mode === 'isolated');
  const rest = base ? cases.filter(c => c !== base) : [];
  return section(
    'memory',
    'Memory',
    lead(r),
    grid(
      figure('Peak memory', [
        key(PARTS.map(([, name, what]) => [name, what])),
        rowChart({
          about: `Peak memory: ${rows.map(row => `${row.label} ${row.figure}`).join('; ')}`,
          xTitle: 'MB, proportional set size',
          rows,
        }),
      ]),
      base && rest.length > 0
        ? table(
            ['', 'KV cache', 'peak', 'to isolated'],
            [base, ...rest].map(({ label, memory }) => [
              label,
              unit(memory.kv_mb, 'MB'),
              unit(totalOf(memory), 'MB'),
              memory === base.memory ? NONE : change(growth(totalOf(memory), totalOf(base.memory))),
            ]),
            'Memory against isolated',
          )
        : null,
    ),
  );
}

/** Two for a mode whose processes share weights: as measured, and if they did not. */
const casesOf = (r: BenchResult): Case[] =>
  measuredModes(r).flatMap(({ mode, figures: { memory } }): Case[] => {
    if (!memory) return [];
    if (memory.weights_private_mb <= memory.weights_mb) return [{ mode, label: mode, memory }];
    return [
      { mode, label: `${mode}, weights shared`, memory },
      {
        mode,
        label: `${mode}, weights not shared`,
        memory: { ...memory, weights_mb: memory.weights_private_mb },
      },
    ];
  });

const rowOf = ({ mode, label, memory }: Case): Row => ({
  label,
  name: LOOKS[mode].name,
  figure: unit(totalOf(memory), 'MB'),
  parts: PARTS.map(([field, name, what]) => ({
    name,
    value: memory[field],
    text: digits(memory[field]),
    title: `${label}, ${what}: ${unit(memory[field], 'MB')}`,
  })),
});

function lead({ modes: { oxygen, isolated } }: BenchResult): string {
  const more = growth(oxygen?.peak_pss_mb ?? null, isolated?.peak_pss_mb ?? null);
  if (more === null || !oxygen) return 'Peak memory of each mode.';
  return (
    `At its peak oxygen takes ${percent(Math.abs(more))} ${more < 0 ? 'less' : 'more'} memory than isolated, ` +
    `with up to ${count(oxygen.batch_max)} texts at once.`
  );
}
