/**
 * Which of the TensorRT engines in an engine folder may be used. An engine holds for the weights, the GPU model and the
 * TensorRT version that it was made with; build.sh writes these three into key.json beside it.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { OxygenError } from '../core/errors';
import { finder, type Finder } from '../machine/linker';
import { thisMachine, type Machine } from '../machine/machine';
import type { Manifest } from '../model/manifest';
import { readSmallFile } from '../model/small-file';
import { TENSORRT_FOLDER, TENSORRT_GRAPHS, TENSORRT_SCRIPT, tensorRtWeights } from '../model/tensorrt-engine';

/** What engines must fit; null: not known here, then TensorRT itself judges when it loads them. */
export interface TensorRtMachine {
  /** As nvidia-smi names the first GPU, or the board of a Jetson. */
  readonly gpu: string | null;
  /** Of the library, e.g. `10.13.3`. */
  readonly tensorrt: string | null;
}

const keySchema = z.object({ weights: z.string(), gpu: z.string(), tensorrt: z.string() });
export type TensorRtKey = z.infer<typeof keySchema>;

const MAX_KEY_BYTES = 64 * 1024;

/**
 * The folder with the engines for this machine.
 * @throws OxygenError ENGINE_INVALID saying what does not fit, and the cure.
 */
export function tensorRtEngines(
  dir: string,
  manifest: Pick<Manifest, 'files'>,
  machine: TensorRtMachine,
): string {
  const weights = tensorRtWeights(file => manifest.files[file]?.sha256 ?? '');
  const wrong: string[] = [];
  for (const [folder, key] of keys(dir)) {
    const misfits = key === null ? ['it is not finished'] : misfit(key, { weights, ...machine });
    const missing = TENSORRT_GRAPHS.flatMap(g => [`${g}.onnx`, `${g}.engine`]).find(
      file => !existsSync(join(folder, file)),
    );
    if (missing !== undefined) misfits.push(`${missing} is missing`);
    if (misfits.length === 0) return folder;
    wrong.push(`${basename(folder)}: ${misfits.join(', ')}`);
  }
  const what = wrong.length === 0 ? 'there are none' : `those there are stale (${wrong.join('; ')})`;
  throw new OxygenError(
    'ENGINE_INVALID',
    `${dir} has no TensorRT engines for this machine: ${what}; run ${join(dir, TENSORRT_SCRIPT)} on it, which takes minutes`,
  );
}

function misfit(key: TensorRtKey, here: TensorRtMachine & { readonly weights: string }): string[] {
  const found: string[] = [];
  if (key.weights !== here.weights) found.push('made of other weights');
  if (here.gpu !== null && key.gpu !== here.gpu) found.push(`for ${key.gpu}, this is ${here.gpu}`);
  if (here.tensorrt !== null && key.tensorrt !== here.tensorrt)
    found.push(`by TensorRT ${key.tensorrt}, this is ${here.tensorrt}`);
  return found;
}

/** Folder → its key, null where it has none that can be read. */
function keys(dir: string): [string, TensorRtKey | null][] {
  const all = join(dir, TENSORRT_FOLDER);
  if (!existsSync(all)) return [];
  const names = readdirSync(all).filter(name => !name.startsWith('.'));
  return names.sort().map(name => [join(all, name), readKey(join(all, name, 'key.json'))]);
}

function readKey(path: string): TensorRtKey | null {
  try {
    return keySchema.parse(JSON.parse(readSmallFile(path, MAX_KEY_BYTES).toString('utf8')));
  } catch {
    return null;
  }
}

/** The same facts as build.sh reads. */
export function tensorRtMachine(machine: Machine = thisMachine()): TensorRtMachine {
  return {
    gpu: gpuName(machine),
    tensorrt: libraryVersion(machine, finder(machine)) ?? trtexecVersion(machine),
  };
}

function gpuName({ run, text }: Machine): string | null {
  const answer = run('nvidia-smi', ['--id=0', '--query-gpu=name', '--format=csv,noheader']);
  const name = 'output' in answer ? (answer.output.split('\n')[0] as string) : '';
  // the board's name ends with a zero byte
  return name || text('/proc/device-tree/model')?.replaceAll('\0', '') || null;
}

/** Of the library that ONNX Runtime's provider loads: in the name of the file that the linker's name leads to. */
export function libraryVersion(machine: Machine, find: Finder): string | null {
  const path = find('libnvinfer.so.10');
  if (path === null) return null;
  return /\.so\.(\d+\.\d+\.\d+)$/.exec(basename(machine.real(path)))?.[1] ?? null;
}

/** In its first line, e.g. `[TensorRT v101303]`. */
function trtexecVersion({ run }: Machine): string | null {
  const answer = run('trtexec', ['--help']);
  const number = Number('output' in answer ? /\[TensorRT v(\d+)\]/.exec(answer.output)?.[1] : NaN);
  if (!Number.isInteger(number)) return null;
  return [Math.floor(number / 10000), Math.floor(number / 100) % 100, number % 100].join('.');
}
