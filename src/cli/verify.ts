/** `oxygen verify`: is the engine equal to the golden numbers? */
import { availableParallelism } from 'node:os';
import { writeSafetensors } from '../builder/safetensors-writer';
import { ModelSessions } from '../engine/model-sessions';
import { GoldenFolder } from '../verify/golden';
import { verify, type Line } from '../verify/verify';
import { integer, parseOptions, required } from './args';

const OPTIONS = {
  engine: { type: 'string', value: 'DIR', help: 'the engine folder' },
  golden: { type: 'string', value: 'DIR', help: 'folder of golden numbers' },
  threads: { type: 'string', value: 'N', help: 'intra-op threads (default: all cores)' },
  json: { type: 'boolean', help: 'print one JSON object instead of lines' },
  dump: { type: 'string', value: 'FILE', help: 'write the computed numbers as safetensors' },
} as const;

export async function runVerify(args: string[]): Promise<number> {
  const o = parseOptions('verify', OPTIONS, args);
  if (!o) return 0;
  const engineDir = required('verify', 'engine', o.engine);
  const golden = new GoldenFolder(required('verify', 'golden', o.golden));
  const sessions = await ModelSessions.load(
    engineDir,
    integer('threads', o.threads, availableParallelism(), 1, 1024),
  );
  try {
    const { lines, computed } = await verify(sessions, engineDir, golden);
    const count = (status: Line['status']) => lines.filter(l => l.status === status).length;
    const passed = count('fail') === 0 && count('ok') > 0;
    if (o.json) {
      console.log(
        JSON.stringify({ passed, ok: count('ok'), failed: count('fail'), skipped: count('skip'), lines }),
      );
    } else {
      for (const line of lines) console.log(format(line));
      console.log(
        `${passed ? 'PASS' : 'FAIL'}: ${count('ok')} equal, ${count('fail')} differ, ${count('skip')} are not compared`,
      );
    }
    if (o.dump !== undefined) {
      const names = golden.tensors.flatMap(t => {
        const values = t.meaning.kind === 'skip' ? undefined : computed.get(t.meaning.key);
        return values ? [[t.name, { shape: [values.length], values }] as const] : [];
      });
      writeSafetensors(o.dump, new Map(names));
    }
    return passed ? 0 : 1;
  } finally {
    golden.close();
    await sessions.release();
  }
}

function format({ name, file, status, error, tolerance, note }: Line): string {
  const numbers =
    error === null || tolerance === null
      ? ''
      : `max |d| ${error.toExponential(1)} of ${tolerance.toExponential(0)}`;
  return `${status.padEnd(4)} ${name.padEnd(44)} ${file.padEnd(34)} ${numbers}${numbers && note ? '; ' : ''}${note}`.trimEnd();
}
