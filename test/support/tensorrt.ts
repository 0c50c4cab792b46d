/** The graphs for TensorRT of a golden model, alone in a folder, and sessions of them on the CPU. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomCheckpoint } from '../../src/builder/checkpoint';
import type { Graph } from '../../src/builder/graph';
import { HalfWeights } from '../../src/builder/cuda/half-weights';
import { transposed, width, type WeightSource } from '../../src/builder/linear-weights';
import type { ProductElem, WeightStore } from '../../src/builder/tensorrt/layers';
import { writeTensorRtGraphs } from '../../src/builder/tensorrt/write-graphs';
import { WeightsFile } from '../../src/builder/weights-file';
import { HostTensors } from '../../src/engine/host-tensors';
import { TensorRtSessions } from '../../src/engine/tensorrt-sessions';
import { readManifest } from '../../src/model/manifest';
import { HALF_WEIGHTS } from '../../src/model/tensorrt-engine';
import { engineDir, goldenDir, ROOT } from './engines';

export const GOLDENS = { tiny: 1006, odd: 2002 } as const;
export type Golden = keyof typeof GOLDENS;

const written: string[] = [];

/** A folder with prefill and denoise. */
export function tensorRtGraphs(name: Golden, elem: ProductElem): string {
  const dir = mkdtempSync(join(tmpdir(), `oxygen-trt-${name}-`));
  written.push(dir);
  const { config, ...source } = randomCheckpoint(join(goldenDir(name), 'config.json'), GOLDENS[name]);
  const file = new WeightsFile(join(dir, HALF_WEIGHTS));
  const store = elem === 'float' ? exactWeights(source) : new HalfWeights(source, file);
  writeTensorRtGraphs(dir, config, file, store, elem);
  file.close();
  return dir;
}

/** All weights in float32, once for each graph. */
function exactWeights(source: WeightSource): WeightStore {
  const once = (g: Graph, name: string, dims: readonly number[], values: () => Float32Array) =>
    g.has(name) ? name : g.weight(name, dims, values());
  return {
    matrix: (g, label, stack) => once(g, label, [stack.into, width(stack)], () => transposed(source, stack)),
    table: (g, name, rows, columns) => once(g, name, [rows, columns], () => source.read(name)),
    exact: (g, name, dims, values) => once(g, name, dims, () => values(tensor => source.read(tensor))),
  };
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
