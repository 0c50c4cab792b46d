/** What was measured where, and how to measure it again. */
import type { BenchResult } from '../result';
import { inWords } from './arrivals-words';
import { mono, section, table } from './blocks';
import { h, type Markup } from './markup';
import { grouped } from './numbers';

export function settingsSection(r: BenchResult): Markup {
  const { engine, machine, settings: s } = r;
  return section(
    'settings',
    'Settings',
    'The same command on another machine gives figures that can be compared with these.',
    h('pre', {}, mono(command(r))),
    table(
      ['', ''],
      [
        ['engine', `${engine.name}, ${engine.precision}, ${grouped(engine.parameters)} parameters`],
        ['processor', `${machine.cpu}, ${grouped(machine.cores)} cores`],
        ['node', machine.node],
        ['ONNX Runtime', machine.onnxruntime],
        ['threads', grouped(r.threads)],
        ['N, tokens per request', grouped(s.tokens)],
        ['k, tokens per request and frame', String(s.tokens_per_frame)],
        ['S, denoise steps', grouped(s.denoise_steps)],
        ['actions per chunk', grouped(s.horizon)],
        ['prefix', `${grouped(s.prefix)} positions`],
        ['requests', `${s.arrivals} (${inWords(s.arrivals)})`],
        [
          'counted frames',
          `${grouped(s.frames)} per mode in ${grouped(s.repeats)} repeats, after ${grouped(s.warm_up)} each to warm up`,
        ],
        ['seed', String(s.seed)],
      ],
      'Settings',
    ),
    r.notes.length === 0
      ? null
      : [
          h('h3', {}, 'Notes'),
          h(
            'ul',
            {},
            r.notes.map(note => h('li', {}, note)),
          ),
        ],
  );
}

/** How the run was started; `DIR` stands for the engine's folder. */
const command = ({ settings: s, threads, modes, sweep }: BenchResult): string => {
  const measured = Object.keys(modes);
  return [
    'oxygen bench --engine DIR',
    `--mode ${measured.length === 1 ? measured[0] : 'all'}`,
    `--tokens ${s.tokens} --tokens-per-frame ${s.tokens_per_frame} --frames ${s.frames}`,
    `--threads ${threads} --arrivals ${s.arrivals}`,
    sweep.length > 0 ? '--sweep full' : '--sweep none',
    '--html report.html --json result.json',
  ].join(' ');
};
