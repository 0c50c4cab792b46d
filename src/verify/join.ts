import { OxygenError } from '../core/errors';

/** The parts of a result, one after the other. */
export function join(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  if (all.length === 0) throw new OxygenError('INTERNAL', 'a run returned nothing');
  return all;
}
