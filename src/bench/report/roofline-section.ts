/** How near prefill and decode come to the machine's limits. */
import { figure, grid, section, table } from '../../report/blocks';
import type { Markup } from '../../report/markup';
import { duration, NONE, percent, unit } from '../../report/numbers';
import type { BenchResult } from '../result';
import { rooflineChart } from './roofline-chart';

/** Nothing when a peak was not measured. */
export function rooflineSection({ roofline: r, engine }: BenchResult): Markup | null {
  const operations = engine.precision === 'int8' ? 'GOP' : 'GFLOP';
  const chart = rooflineChart(r, `${operations}/s`);
  if (!chart) return null;
  const { prefill, decode } = r;
  const products = prefill.gemm_share === null ? '' : `, its matrix products alone ${percent(prefill.gemm_share)}`;
  return section(
    'roofline',
    'How near the machine’s limits',
    `A prefill reaches ${percent(prefill.share)} of the arithmetic that this machine can do${products}; ` +
      `a decode step of one row ${percent(decode.share)} of its memory bandwidth.`,
    grid(
      figure(
        'Roofline',
        chart,
        `Roof: the fastest matrix product and the fastest pass over memory, measured in the same run with ${r.threads} ${r.threads === 1 ? 'thread' : 'threads'}.`,
      ),
      table(
        ['', 'prefill', 'decode'],
        [
          ['arithmetic', unit(prefill.gflop, operations), unit(decode.gflop, operations)],
          ['bytes moved, at least', unit(prefill.mb, 'MB'), unit(decode.mb, 'MB')],
          ['time', duration(prefill.ms), duration(decode.ms)],
          ['reached', unit(prefill.gflops, `${operations}/s`), unit(decode.gb_s, 'GB/s')],
          ['share of the peak', percent(prefill.share), percent(decode.share)],
          ['products alone', duration(prefill.gemm_ms), NONE],
          ['their share of the peak', percent(prefill.gemm_share), NONE],
        ],
        'Roofline figures',
      ),
    ),
  );
} // prettier-ignore
