/** `oxygen verify`: is the engine equal to the golden numbers, or near enough to a more exact engine? */
import { availableParallelism } from 'node:os';
import { writeSafetensors } from '../builder/safetensors-writer';
import { OxygenError } from '../core/errors';
import { PROVIDERS } from '../engine/providers';
import { TARGETS } from '../model/manifest';
import { verifyAgainst } from '../verify/against';
import { GoldenFolder } from '../verify/golden';
import { ROUNDED_ACTIONS } from '../verify/limits';
import { openSubject, type OpenSubject, type SubjectChoice } from '../verify/open-subject';
import { qualityByKind } from '../verify/quality';
import { TopLogits, type Subject } from '../verify/subject';
import { verify, type Line } from '../verify/verify';
import { choice, integer, parseOptions, required } from './args';

const OPTIONS = {
  engine: { type: 'string', value: 'DIR', help: 'the engine folder' },
  golden: { type: 'string', value: 'DIR', help: 'folder of golden numbers' },
  reference: { type: 'string', value: 'DIR', help: 'instead: a more exact engine of the same model' },
  frames: { type: 'string', value: 'N', help: 'with --reference: made-up frames (default 4)' },
  'action-error': { type: 'string', value: 'PERCENT', help: 'largest rms error of all actions together, of their spread (default 5)' },
  target: { type: 'string', value: 'T', help: 'whose graphs are compared: cpu, cuda or tensorrt (default: what the engine was built for)' },
  provider: { type: 'string', value: 'P', help: 'where they run: cpu (default; slow, for checks), cuda or tensorrt' },
  threads: { type: 'string', value: 'N', help: 'intra-op threads (default: all cores)' },
  json: { type: 'boolean', help: 'print one JSON object instead of lines' },
  dump: { type: 'string', value: 'FILE', help: 'with --golden: write the computed numbers as safetensors' },
} as const; // prettier-ignore

export async function runVerify(args: string[]): Promise<number> {
  const o = parseOptions('verify', OPTIONS, args);
  if (!o) return 0;
  const engine = required('verify', 'engine', o.engine);
  if ((o.golden === undefined) === (o.reference === undefined))
    throw new OxygenError('USAGE', 'oxygen verify: give either --golden or --reference');
  const frames = integer('frames', o.frames, 4, 1, 1000);
  const actionError = integer('action-error', o['action-error'], 100 * ROUNDED_ACTIONS, 1, 100) / 100;
  const threads = integer('threads', o.threads, availableParallelism(), 1, 1024);
  const target = o.target === undefined ? null : choice('target', o.target, TARGETS, 'cpu');
  const provider = choice('provider', o.provider, PROVIDERS, 'cpu');
  const opened = await openSubject(engine, { target, provider, threads });
  try {
    const lines =
      o.golden === undefined
        ? await againstReference(
            opened.subject,
            required('verify', 'reference', o.reference),
            threads,
            frames,
          )
        : await againstGolden(opened.subject, engine, o.golden, o.dump);
    return report(lines, actionError, { target: opened.target, provider }, o.json ?? false);
  } finally {
    await opened.release();
  }
}

async function againstReference(
  subject: Subject,
  dir: string,
  threads: number,
  frames: number,
): Promise<readonly Line[]> {
  const reference = await openSubject(dir, { target: 'cpu', provider: 'cpu', threads });
  try {
    return await verifyAgainst(subject, reference.subject, frames);
  } finally {
    await reference.release();
  }
}

async function againstGolden(
  subject: Subject,
  engine: string,
  dir: string,
  dump: string | undefined,
): Promise<readonly Line[]> {
  const golden = new GoldenFolder(dir, subject.manifest.sourceDtype);
  try {
    const { lines, computed } = await verify(subject, engine, golden);
    if (dump !== undefined) {
      const names = golden.tensors.flatMap(t => {
        const values = t.meaning.kind === 'skip' ? undefined : computed.get(t.meaning.key);
        return values && !(values instanceof TopLogits)
          ? [[t.name, { shape: [values.length], values }] as const]
          : [];
      });
      writeSafetensors(dump, new Map(names));
    }
    return lines;
  } finally {
    golden.close();
  }
}

/** Prints everything; returns the exit code. */
function report(lines: readonly Line[], actionError: number, where: Where, json: boolean): number {
  const count = (status: Line['status']) => lines.filter(l => l.status === status).length;
  const quality = qualityByKind(lines);
  const actions = quality.find(q => q.kind === 'actions')?.rms ?? 0;
  const passed = count('fail') === 0 && count('ok') > 0 && actions <= actionError;
  if (json) {
    const counts = { ok: count('ok'), failed: count('fail'), skipped: count('skip') };
    console.log(JSON.stringify({ passed, ...where, ...counts, quality, lines }));
    return passed ? 0 : 1;
  }
  for (const line of lines) console.log(format(line));
  if (where.target !== 'cpu' || where.provider !== 'cpu') console.log(`\n${ranOn(where)}`);
  console.log('\nkind                  tensors   max |d|   rms error     worst    cosine');
  for (const q of quality) {
    const [max, cosine] = [q.max.toExponential(1), q.cosine.toFixed(6)];
    console.log(`${q.kind.padEnd(20)} ${String(q.tensors).padStart(8)} ${max.padStart(9)} ${percent(q.rms).padStart(11)} ${percent(q.worst).padStart(9)}  ${cosine}`);
  } // prettier-ignore
  console.log(
    `\n${passed ? 'PASS' : 'FAIL'}: ${count('ok')} equal or near enough, ${count('fail')} differ, ${count('skip')} are not compared`,
  );
  return passed ? 0 : 1;
}

/** Whose graphs ran, and where. */
type Where = Pick<OpenSubject, 'target'> & Pick<SubjectChoice, 'provider'>;

const ranOn = ({ target, provider }: Where): string =>
  provider === 'cpu'
    ? `The graphs for ${target} ran on the CPU: no GPU was used, and float16 can overflow on one where it did not here`
    : `The graphs for ${target} ran on ${provider}`;

const percent = (share: number): string => `${(100 * share).toPrecision(2)} %`;

function format({ name, file, status, limit, distance: d, note }: Line): string {
  const numbers = !limit || !d ? '' : limit.metric === 'max'
    ? `max |d| ${d.max.toExponential(1)} of ${limit.value.toExponential(0)}`
    : `rms ${percent(d.rms)} of ${percent(limit.value)}`; // prettier-ignore
  return `${status.padEnd(4)} ${name.padEnd(44)} ${file.padEnd(34)} ${numbers}${numbers && note ? '; ' : ''}${note}`.trimEnd();
}
