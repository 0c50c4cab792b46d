/** The worst of each kind of number: what a comparison says in a few lines. */
import { sum } from '../core/statistics';
import { COMPARED_KINDS, type ComparedKind } from './golden';
import type { Line } from './verify';

export interface Quality {
  readonly kind: ComparedKind;
  readonly tensors: number;
  /** Largest absolute difference of any tensor. */
  readonly max: number;
  /** Root mean square difference of all tensors together, a share of their standard deviation. */
  readonly rms: number;
  /** The same of the worst tensor. */
  readonly worst: number;
  /** Smallest cosine of any tensor. */
  readonly cosine: number;
}

/** Kinds that have distances, in a fixed order; tokens have none. */
export function qualityByKind(lines: readonly Line[]): Quality[] {
  return COMPARED_KINDS.flatMap(kind => {
    const distances = lines.flatMap(l => (l.kind === kind && l.distance ? [l.distance] : []));
    if (distances.length === 0 || kind.endsWith('.tokens')) return [];
    return {
      kind,
      tensors: distances.length,
      max: Math.max(...distances.map(d => d.max)),
      rms: Math.sqrt(sum(distances.map(d => d.error)) / sum(distances.map(d => d.spread))),
      worst: Math.max(...distances.map(d => d.rms)),
      cosine: Math.min(...distances.map(d => d.cosine)),
    };
  });
}
