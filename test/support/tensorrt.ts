/** The graphs for TensorRT of a golden model, alone in a folder, and sessions of them on the CPU. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomCheckpoint } from '../../src/builder/checkpoint';
import type { ProductElem } from '../../src/builder/tensorrt/layers';
import { writeTensorRtGraph } from '../../src/builder/tensorrt/write-graphs';
import { HostTensors } from '../../src/engine/host-tensors';
import { TensorRtSessions } from '../../src/engine/tensorrt-sessions';
import { readManifest } from '../../src/model/manifest';
import { TENSORRT_GRAPHS } from '../../src/model/tensorrt-engine';
import { engineDir, goldenDir, ROOT } from './engines';

export const GOLDENS = { tiny: 1006, odd: 2002 } as const;
export type Golden = keyof typeof GOLDENS;

const written: string[] = [];

/** A folder with prefill and denoise. */
export async function tensorRtGraphs(name: Golden, elem: ProductElem): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), `oxygen-trt-${name}-`));
  written.push(dir);
  const checkpoint = randomCheckpoint(join(goldenDir(name), 'config.json'), GOLDENS[name]);
  for (const graph of TENSORRT_GRAPHS)
    await writeTensorRtGraph(dir, graph, checkpoint.config, checkpoint, elem);
  return dir;
}

export function removeGraphs(): void {
  for (const dir of written.splice(0)) rmSync(dir, { recursive: true });
}

/** The dimensions and the weights of modulations are those of the model's engine for the CPU. */
export function tensorRtSessions(graphs: string, name: Golden): Promise<TensorRtSessions> {
  const engine = engineDir(name);
  const manifest = readManifest(engine);
  const pool = { threads: 1, spinUs: 0 };
  return TensorRtSessions.open(graphs, manifest, new HostTensors(engine, manifest), pool, 'cpu');
}

/** Runs a program of the project's Python; returns what it prints. */
export function python(script: string, ...args: string[]): string {
  const program = process.env['OXYGEN_PYTHON'] ?? join(ROOT, '.venv/bin/python');
  return execFileSync(program, ['-c', script, ...args], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
}
