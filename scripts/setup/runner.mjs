// Runs the steps that are not done yet, in order, and shows each.
import fs from 'node:fs';
import path from 'node:path';
import { stopCommands } from './command.mjs';
import { withLock } from './lock.mjs';
import { STATE } from './paths.mjs';
import { showStep } from './progress.mjs';
import { hashOf, hasStamp, removeStamp, writeStamp } from './stamp.mjs';

/*
 * A step is {
 *   name,
 *   inputs(context): [files, values] that its result depends on,
 *   outputs?: paths that exist once it is done,
 *   isDone?(context): replaces the stamp where the result itself tells,
 *   isSound?(context): a further, quick check of the result,
 *   run(context): does the work; context = {env, onLine}
 * }
 */

const stampName = step => step.name.replace(/\W+/g, '-').toLowerCase();

const isDone = async (step, context) => {
  if (step.isDone) return step.isDone(context);
  if (!(step.outputs ?? []).every(file => fs.existsSync(file))) return false;
  if (!hasStamp(stampName(step), hashOf(...step.inputs(context)))) return false;
  return step.isSound ? step.isSound(context) : true;
};

const runStep = async (step, env) => {
  const shown = showStep(step.name);
  const context = { env, onLine: shown.note };
  try {
    removeStamp(stampName(step));
    // Taken before the work: an input that changes meanwhile must lead to another run.
    const inputs = step.inputs && hashOf(...step.inputs(context));
    await step.run(context);
    if (inputs) writeStamp(stampName(step), inputs);
    shown.end('done in');
  } catch (error) {
    shown.end('failed after');
    throw error;
  }
};

/** Does the steps that are missing; throws the first failure. Calling it again goes on from there. */
export const runSteps = (steps, env = process.env) =>
  withLock(async () => {
    let ran = 0;
    for (const step of steps) {
      if (await isDone(step, { env, onLine: () => {} })) continue;
      if (ran++ === 0) console.error('Setting up what is missing (only once):');
      await runStep(step, env);
    }
    return ran;
  });

/** Message, then the end of the output of the command that failed; the whole text also in .setup/failure.log. */
const report = error => {
  const text = `\n${error.output ? `${error.output}\n\n` : ''}Set-up failed: ${error.message}\n`;
  console.error(text);
  fs.mkdirSync(STATE, { recursive: true });
  fs.writeFileSync(path.join(STATE, 'failure.log'), `${error.stack ?? ''}\n${text}`);
  console.error('Mend it and run the same command again: what is done stays done.');
};

/** Runs the steps as part of a command; on failure says why and resolves with false. */
export const setUp = async (steps, env = process.env) => {
  let stopping;
  const stop = signal => {
    // The next set-up may begin at once: it must not meet what this one has started.
    stopping ??= stopCommands().then(() => process.exit(signal === 'SIGINT' ? 130 : 143));
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  try {
    await runSteps(steps, env);
    return true;
  } catch (error) {
    await stopping;
    report(error);
    return false;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
};
