/** `oxygen replay`: what a checkpoint, a mode or a k would have done on a recording. */
import { basename, resolve } from 'node:path';
import { openBag } from '../bag/open';
import type { Bag } from '../bag/types';
import { bagInfo } from '../replay/info';
import { ReplayOutputs } from '../replay/outputs';
import { printedReplay } from '../replay/print';
import { isPartial, replay, resultTopics } from '../replay/replay';
import type { ReplayResult } from '../replay/result';
import { planTopics } from '../replay/topic-plan';
import { readRobotFile } from '../ros/robot-file';
import { checkOutputs, parseOperands } from './args';
import { Progress } from './progress';
import { namesOf, OPTIONS, optionsOf, outputPaths, pacingOf, preparedOf, spanOf } from './replay-options';
import type { ReplayOptions } from './replay-options';
import { Speed } from './replay-speed';

/** Of a bag with damage. */
const PARTIAL = 3;
/** By a signal: no result. */
const INTERRUPTED = 130;
/** Warnings of the node that are shown. */
const MOST_WARNINGS = 20;

/** Exit code 0: complete; 3: of a bag with damage; what cannot be played at all is thrown. */
export async function runReplay(args: string[]): Promise<number> {
  const parsed = parseOperands('replay', OPTIONS, args, ['BAG']);
  if (!parsed) return 0;
  const { options: o, operands } = parsed;
  const bag = await openBag(operands[0]!);
  try {
    return o.info === true ? printInfo(bag, o) : await run(bag, o);
  } finally {
    await bag.close();
  }
}

function printInfo(bag: Bag, o: ReplayOptions): number {
  const plan = o.robot === undefined ? null : planTopics(bag, readRobotFile(o.robot), namesOf(o));
  console.log(bagInfo(bag, plan).join('\n'));
  return isPartial(bag) ? PARTIAL : 0;
}

async function run(bag: Bag, o: ReplayOptions): Promise<number> {
  const warnings: string[] = [];
  const log = { info: () => undefined, warn: (line: string) => warnings.push(line), error: console.error };
  const prepared = preparedOf(o, log);
  const names = namesOf(o);
  const plan = planTopics(bag, prepared.robot, names);
  const span = spanOf(bag, o);
  const pacing = pacingOf(o, prepared);
  const paths = outputPaths(o, prepared);
  checkOutputs(bag, { out: paths.bag, report: paths.report, 'frame-log': paths.frameLog });

  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());
  const outputs = await ReplayOutputs.open(paths, resultTopics(prepared, names));
  const progress = new Progress('replay');
  const speed = new Speed();
  try {
    const result = await replay({
      bag,
      name: basename(resolve(bag.path)),
      plan,
      names,
      span,
      prepared: { ...prepared, engine: { ...prepared.engine, frameLog: outputs.frameLog } },
      pacing,
      instruction: o.instruction ?? null,
      options: optionsOf(o, prepared.engine.threads),
      out: outputs.bag,
      signal: interrupt.signal,
      log,
      progress: (doneS, totalS) =>
        progress.update(doneS, totalS, `${doneS.toFixed(1)} of ${totalS.toFixed(1)} s`),
      turnOf: owner => speed.turnOf(owner),
      begun: () => speed.begun(),
    })
      .catch((error: unknown) => {
        if (!interrupt.signal.aborted) throw error;
        return null;
      })
      .finally(() => progress.end());
    if (result === null) return INTERRUPTED;
    print(result, warnings, o.json === true);
    if (pacing.pace === 'fast') console.error(speed.line(result.summary.frames));
    // After the summary, which is not lost with a file that cannot be written.
    await outputs.keep(result);
    return result.summary.partial ? PARTIAL : 0;
  } finally {
    await outputs.discard();
  }
}

function print({ summary }: ReplayResult, warnings: readonly string[], json: boolean): void {
  for (const line of [...summary.notes, ...warnings.slice(0, MOST_WARNINGS)]) console.error(`note: ${line}`);
  if (warnings.length > MOST_WARNINGS) console.error(`note: and ${warnings.length - MOST_WARNINGS} more`);
  console.log(json ? JSON.stringify(summary) : printedReplay(summary).join('\n'));
}
