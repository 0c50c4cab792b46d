/** What the node says about its engine and the engine's chunks. */
import type { ErrorCode } from '../core/errors';
import type { EngineInfo } from '../engine/protocol';
import type { ChunkRefusal } from './control';

/** Tells the hard memory bound of the KV cache: one row per request and one for the newest frame. */
export const readyLine = ({ name, precision, provider, kvBytes, maxRequests }: EngineInfo): string =>
  `engine ${name} is ready: ${precision} on ${provider}, KV cache ${(kvBytes / 1e6).toFixed(1)} MB for ${maxRequests} requests`;

/** Why a chunk was not played. `ageNs`: of its observation. */
export function chunkRefusal(reason: ChunkRefusal, ageNs: bigint): readonly [ErrorCode, string] {
  const age = (Number(ageNs) / 1e9).toFixed(2);
  switch (reason) {
    case 'epoch':
      return ['CHUNK_SUPERSEDED', 'a chunk of the instruction before was not started'];
    case 'late':
      return ['CHUNK_STALE', `a chunk came when all its steps were past: its observation is ${age} s old`];
    case 'non-finite':
      return ['NON_FINITE', 'a chunk held NaN or infinity and was not played'];
    case 'disabled':
      return ['CHUNK_DISABLED', 'a chunk was not played: disabled by ~/enable'];
    case 'fault':
      return ['CHUNK_DISABLED', 'a chunk was not played: the safety gate is in fault until ~/reset'];
    case 'no-pose':
      return ['CHUNK_DISABLED', 'a chunk was not played: the pose to start from is not measured yet'];
  }
}
