/** How the end of a text looks and what it means. */
import type { EndReason } from '../../core/types';
import type { Marker } from '../../report/svg';

export interface Ending {
  /** Class that sets the colour. */
  readonly name: string;
  readonly marker: Marker;
  readonly says: string;
}

export const ENDINGS: Readonly<Record<EndReason, Ending>> = {
  end: { name: 'r-end', marker: 'circle', says: 'the model ended it' },
  length: { name: 'r-length', marker: 'square', says: 'its limit of tokens was reached' },
  deadline: { name: 'r-deadline', marker: 'triangle', says: 'its time was over' },
  cancelled: { name: 'r-cancelled', marker: 'cross', says: 'somebody took the request back' },
  superseded: { name: 'r-superseded', marker: 'diamond', says: 'the instruction changed' },
  out_of_memory: { name: 'r-fault', marker: 'down', says: 'a decode step found no memory' },
  failed: { name: 'r-fault', marker: 'plus', says: 'a run of the model failed' },
  rejected: { name: 'r-fault', marker: 'cross', says: 'the request could never be served' },
  dropped: { name: 'r-fault', marker: 'post', says: 'the queue was full' },
};

/** Of a text that had not ended when the bag did; it has no mark. */
export const OPEN = { name: 'r-open', says: 'still open when the bag ended' } as const;
