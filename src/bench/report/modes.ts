/** How each mode looks and what it is called. */
import type { Marker } from '../../report/svg';
import type { BenchMode } from '../result';

interface Look {
  /** Class that sets the colour. */
  readonly name: string;
  readonly marker: Marker;
  readonly says: string;
}

export const LOOKS: Readonly<Record<BenchMode, Look>> = {
  isolated: {
    name: 'm-isolated',
    marker: 'square',
    says: 'each task reads the picture for itself, one after the other',
  },
  parallel: {
    name: 'm-parallel',
    marker: 'triangle',
    says: 'two processes side by side, each with its own model',
  },
  shared: {
    name: 'm-shared',
    marker: 'diamond',
    says: 'the picture is read once; the text is finished inside the frame',
  },
  oxygen: {
    name: 'm-oxygen',
    marker: 'circle',
    says: 'the picture is read once; texts of several frames grow together, a few tokens per frame',
  },
};
