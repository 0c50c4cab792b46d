/** What was measured where, and how to measure it again. */
import { mono, section, table } from '../../report/blocks';
import { h, type Markup } from '../../report/markup';
import { grouped } from '../../report/numbers';
import type { BenchResult } from '../result';
import { inWords } from './arrivals-words';

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
        ['threads wait awake', `${grouped(s.spin_us)} µs`],
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
function command({ settings: s, threads, modes, sweep }: BenchResult): string {
  const [only, ...others] = Object.keys(modes);
  const size = sweep.length === 0 ? 'none' : sweep.some(p => p.denoise_steps !== s.denoise_steps) ? 'full' : 'quick';
  return [
    'oxygen bench --engine DIR',
    `--mode ${only !== undefined && others.length === 0 ? only : 'all'}`,
    `--tokens ${s.tokens} --tokens-per-frame ${s.tokens_per_frame} --denoise-steps ${s.denoise_steps}`,
    `--frames ${s.frames} --repeats ${s.repeats} --arrivals ${s.arrivals} --seed ${s.seed} --spin-us ${s.spin_us}`,
    `--threads ${threads} --sweep ${size} --json result.json --html report.html`,
  ].join(' \\\n  ');
} // prettier-ignore
