/** How long the runs of the model take in virtual time: as engine.json has it, or a file of the same form. */
import { z } from 'zod';
import { OxygenError } from '../core/errors';
import { costTable } from '../engine/deployment';
import { stageCosts } from '../model/manifest';
import type { StageCosts } from '../model/manifest';
import { readSmallFile } from '../model/small-file';
import type { VirtualCosts } from './engine';

/** An engine.json with many tensors has some 100 kB. */
const MAX_BYTES = 16 << 20;

/** Milliseconds each; `ask`: from asking for a frame to having it. */
const costFile = stageCosts
  .omit({ threads: true })
  .extend({ ask: z.number().nonnegative().optional(), threads: z.number().optional() });

/** The builder's, for that many Euler steps. @throws OxygenError CONFIG_INVALID when it measured none. */
export function engineCosts(costs: StageCosts | null, denoiseSteps: number, engine: string): VirtualCosts {
  const table = costTable(costs, denoiseSteps);
  if (table !== null) return { table, askMs: 0 };
  throw new OxygenError(
    'CONFIG_INVALID',
    `${engine} has no stage times, which --pace fast needs; build it again, or give --cost FILE`,
  );
}

/** `path`: JSON with `costs` as engine.json has them, or that part alone. @throws OxygenError CONFIG_INVALID */
export function readCosts(path: string, denoiseSteps: number): VirtualCosts {
  const found = costFile.safeParse(partOf(path));
  if (!found.success) {
    const faults = found.error.issues.map(
      ({ path: at, message }) => `${at.join('.') || 'the file'}: ${message}`,
    );
    throw invalid(path, `${faults.join('; ')}; wanted are the costs of an engine.json in ms`);
  }
  const { ask = 0, ...costs } = found.data;
  const { vision, prefill, denoiseStep, seed, decode, upload = {} } = costs;
  const times = [vision, prefill, denoiseStep, seed, ...Object.values(decode), ...Object.values(upload)];
  if (Object.keys(decode).length === 0 || times.some(ms => !(ms > 0))) {
    throw invalid(path, 'every time must be above 0, and decode must have one at least');
  }
  return { table: costTable({ threads: 1, ...costs } as StageCosts, denoiseSteps)!, askMs: ask };
}

function partOf(path: string): unknown {
  let whole: unknown;
  try {
    whole = JSON.parse(readSmallFile(path, MAX_BYTES).toString());
  } catch (cause) {
    throw invalid(path, (cause as Error).message);
  }
  return (whole as { readonly costs?: unknown } | null)?.costs ?? whole;
}

const invalid = (path: string, why: string): OxygenError =>
  new OxygenError('CONFIG_INVALID', `--cost ${path}: ${why}`);
