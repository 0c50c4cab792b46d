/** ONNX Runtime's sessions in this project's words: loading by path, one run, what its failures are called. */
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { OxygenError } from '../core/errors';
import { NO_MEMORY } from './gpu-errors';

/** KV feeds and the last-layer views rely on behaviour that later versions change. */
const ORT_VERSION = '1.30.0';

/**
 * The graphs of a folder as sessions, by path, so that external weights are found from any working directory; all or none.
 * Throws RUNTIME_VERSION, or ENGINE_INVALID with ONNX Runtime's own error as the cause.
 */
export async function openSessions<Name extends string>(
  dir: string,
  graphs: readonly Name[],
  options: ort.InferenceSession.SessionOptions,
): Promise<Record<Name, ort.InferenceSession>> {
  const version = ort.env.versions.node;
  if (version !== ORT_VERSION) {
    throw new OxygenError(
      'RUNTIME_VERSION',
      `onnxruntime-node is ${String(version)}, this release needs exactly ${ORT_VERSION}`,
    );
  }
  const sessions: [Name, ort.InferenceSession][] = [];
  for (const graph of graphs) {
    const path = join(dir, `${graph}.onnx`);
    try {
      sessions.push([graph, await ort.InferenceSession.create(path, options)]);
    } catch (cause) {
      for (const [, session] of sessions) await session.release();
      throw new OxygenError('ENGINE_INVALID', `${path} cannot be loaded: ${String(cause)}`, { cause });
    }
  }
  return Object.fromEntries(sessions) as Record<Name, ort.InferenceSession>;
}

export async function runSession(
  graph: string,
  session: ort.InferenceSession,
  feeds: Record<string, ort.Tensor>,
  fetches: string[],
): Promise<ort.InferenceSession.ReturnType> {
  try {
    return await session.run(feeds, fetches);
  } catch (cause) {
    throw runError(graph, cause);
  }
}

/** RUN_FAILED, or OUT_OF_MEMORY so that the scheduler can make do with less. */
export function runError(graph: string, cause: unknown): OxygenError {
  const message = cause instanceof Error ? cause.message : String(cause);
  const code = NO_MEMORY.test(message) ? 'OUT_OF_MEMORY' : 'RUN_FAILED';
  return new OxygenError(code, `the ${graph} graph failed: ${message}`, { cause });
}

export const floats = (tensor: ort.Tensor | undefined): Float32Array => tensor?.data as Float32Array;

export const float32 = (values: Float32Array, dims: readonly number[]): ort.Tensor =>
  new ort.Tensor('float32', values, dims);

export const int64 = (values: readonly number[], dims: readonly number[]): ort.Tensor =>
  new ort.Tensor('int64', BigInt64Array.from(values, BigInt), dims);
