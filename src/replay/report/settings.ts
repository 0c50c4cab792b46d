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
      ? 'The same command on the same files gives the same figures, whatever else the machine does.'
      : 'The same command gives figures of the machine on which it runs.',
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

/** `BAG`, `DIR` and `FILE` stand for paths, which differ from machine to machine. */
const command = ({ settings: { options } }: ReplaySummary): string =>
  ['oxygen replay BAG --engine DIR --robot FILE', options.map(quoted).join(' '), '--report report.html']
    .filter(part => part !== '')
    .join(' \\\n  ');

/** As a shell reads it. */
const quoted = (word: string): string =>
  /^[\w/.:=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
