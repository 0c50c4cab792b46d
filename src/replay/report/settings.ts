/** What was replayed how, and how to do it again. */
import { mono, section, table } from '../../report/blocks';
import { h, type Markup } from '../../report/markup';
import { grouped, NONE, unit } from '../../report/numbers';
import type { ReplaySummary } from '../result';
import { clock } from './words';

export function settingsSection(summary: ReplaySummary): Markup {
  const { bag, settings: s } = summary;
  return section(
    'settings',
    'Settings',
    s.pace === 'fast'
      ? 'The same command on the same files gives the same figures, whatever else the machine does. Parameters, an instruction and other names of topics are to be given again, if they were.'
      : 'The same command gives figures of the machine on which it runs. Parameters, an instruction and other names of topics are to be given again, if they were.',
    h('pre', {}, mono(command(summary))),
    table(
      ['', ''],
      [
        ['bag', `${bag.name}, ${bag.storage}, ${grouped(bag.messages)} messages, ${unit(bag.duration_s, 's')}`],
        ['played', `${clock(bag.from_s)} to ${clock(bag.to_s)}`],
        ['engine', `${s.engine}, ${s.precision}`],
        ['execution provider', s.provider],
        ['threads', grouped(s.threads)],
        ['robot', s.robot],
        ['pace', s.pace],
        ['stage times', s.cost ?? (s.pace === 'real' ? 'measured' : NONE)],
        ['mode', s.mode],
        ['k, decode steps per frame', String(s.tokens_per_frame)],
        ['S, denoise steps', grouped(s.denoise_steps)],
        ['seed', s.seed],
      ],
      'Settings',
    ),
  );
} // prettier-ignore

/** Of the engine, which replay takes by itself. */
const OWN_COSTS = 'engine.json';

/** `BAG`, `DIR` and `FILE` stand for paths, which differ from machine to machine. */
function command({ bag, settings: s, comparison }: ReplaySummary): string {
  const parts = [
    'oxygen replay BAG --engine DIR --robot FILE',
    `--mode ${s.mode} --tokens-per-frame ${s.tokens_per_frame} --seed ${s.seed} --pace ${s.pace}`,
    `--threads ${s.threads}${s.cost === null || s.cost === OWN_COSTS ? '' : ` --cost ${quoted(s.cost)}`}`,
    ...(bag.from_s > 0 || bag.to_s < bag.duration_s
      ? [`--start ${seconds(bag.from_s)} --duration ${seconds(bag.to_s - bag.from_s)}`]
      : []),
    ...(comparison ? [`--action-topic ${quoted(comparison.topic)}`] : []),
    '--report report.html',
  ];
  return parts.join(' \\\n  ');
}

const seconds = (value: number): string => String(Number(value.toFixed(3)));

/** As a shell reads it. */
const quoted = (word: string): string =>
  /^[\w/.:=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
