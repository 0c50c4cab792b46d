/** The result as lines for a terminal. */
import { columns } from '../core/columns';
import { counted } from '../core/words';
import { parseArrivals } from './arrivals';
import { measuredModes, type BenchResult, type ModeFigures } from './result';

const fixed = (digits: number) => (v: number | null) => (v === null ? '-' : v.toFixed(digits));
const [whole, tenth, hundredth] = [fixed(0), fixed(1), fixed(2)];
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const signed = (share: number) => `${share < 0 ? '' : '+'}${percent(share)}`;

type Column = readonly [title: string, cell: (m: ModeFigures, isolated: ModeFigures | undefined) => string];

const COLUMNS: readonly Column[] = [
  ['frame ms', m => tenth(m.frame_ms_median)],
  ['(low-high)', m => `${whole(m.frame_ms_spread.low)}-${whole(m.frame_ms_spread.high)}`],
  ['speed-up', (m, i) => (i ? `${hundredth(i.frame_ms_median / m.frame_ms_median)} x` : '-')],
  ['action Hz', m => tenth(m.action_hz)],
  ['replan Hz', m => hundredth(m.replan_hz)],
  ['tokens/s', m => tenth(m.tokens_per_s)],
  ['batch', m => tenth(m.batch_mean)],
  ['chunk ms', m => tenth(m.first_action_ms_median)],
  ['first token ms', m => whole(m.first_token_ms_median)],
  ['last token ms', m => whole(m.request_latency_ms_median)],
  ['manager', m => `${tenth(m.manager_ms_median)} ms ${percent(m.manager_share)}`],
  ['peak MB', m => whole(m.peak_pss_mb)],
  ['CPU s/req', m => hundredth(m.cpu_s_per_request)],
  ['J/req', m => tenth(m.energy_j_per_request)],
];

export function printed(r: BenchResult): string[] {
  const s = r.settings;
  return [
    `${r.engine.name} (${r.engine.precision}, ${whole(r.engine.parameters / 1e6)} M parameters), ${counted(r.threads, 'thread')} on ` +
      `${r.machine.cores} x ${r.machine.cpu}`,
    `N ${s.tokens}, k ${s.tokens_per_frame}, S ${s.denoise_steps}, ${s.arrivals}: ${s.frames} frames in ${counted(s.repeats, 'repeat')}`,
    '',
    ...table(r),
    '',
    ...isolatedLine(r),
    ...memoryLines(r),
    partsLine(r),
    rooflineLine(r),
    ...equalityLines(r),
    ...r.notes.map(note => `note: ${note}`),
  ];
}

const table = (r: BenchResult): string[] =>
  columns([
    ['mode', ...COLUMNS.map(([title]) => title)],
    ...measuredModes(r).map(({ mode, figures: m }) => [
      mode,
      ...COLUMNS.map(([, cell]) => cell(m, r.modes.isolated)),
    ]),
  ]);

/** How far `isolated` is from what single runs add up to; null unless every frame brings exactly one request of N. */
function isolatedDeviation(r: BenchResult): number | null {
  const arrivals = parseArrivals(r.settings.arrivals);
  if (!r.modes.isolated || arrivals.kind !== 'uniform' || arrivals.rate !== 1) return null;
  return r.modes.isolated.frame_ms_median / r.parts_ms.isolated_expected - 1;
}

function isolatedLine(r: BenchResult): string[] {
  const deviation = isolatedDeviation(r);
  if (deviation === null) return [];
  const p = r.parts_ms;
  return [
    `isolated against 2 x ${tenth(p.vision + p.prefill)} (vision, prefill) + ${tenth(p.denoise)} (denoise) + ` +
      `${r.settings.tokens} x ${hundredth(p.decode['1'] ?? null)} (decode) = ${tenth(p.isolated_expected)} ms, ` +
      `measured apart: ${signed(deviation)}`,
  ];
}

function memoryLines(r: BenchResult): string[] {
  const alone = r.modes.isolated?.peak_pss_mb ?? null;
  return measuredModes(r).flatMap(({ mode, figures: { peak_pss_mb: peak, memory: m } }) => {
    if (!m || peak === null) return [];
    const against =
      alone === null || mode === 'isolated' ? '' : `, ${signed(peak / alone - 1)} against isolated`;
    const apart =
      mode === 'parallel'
        ? `; ${whole(peak + m.weights_private_mb - m.weights_mb)} without shared weights`
        : '';
    return [
      `memory of ${mode}: ${whole(peak)} MB = program ${whole(m.base_mb)} + weights ${whole(m.weights_mb)} + ` +
        `KV ${whole(m.kv_mb)} + rest ${whole(m.activations_mb)}${against}${apart}`,
    ];
  });
}

function partsLine({ parts_ms: p }: BenchResult): string {
  const decode = Object.entries(p.decode).map(([rows, ms]) => `${rows}: ${tenth(ms)}`);
  const [one, eight] = [p.decode['1'] ?? NaN, p.decode['8'] ?? NaN];
  return (
    `single runs in ms: vision ${tenth(p.vision)}, prefill ${tenth(p.prefill)}, denoise ${tenth(p.denoise)}, ` +
    `seed ${tenth(p.seed)}, decode by rows ${decode.join(', ')} (8 rows give ${hundredth((8 * one) / eight)} x the ` +
    `tokens/s of one); frame to chunk without language ${tenth(p.frame_without_language)}`
  );
}

function rooflineLine({ roofline: f }: BenchResult): string {
  const products =
    f.prefill.gemm_share === null ? '' : ` (its matrix products ${percent(f.prefill.gemm_share)})`;
  return (
    `roofline: prefill ${whole(f.prefill.gflops)} of ${whole(f.gemm_gflops)} GFLOP/s, ${percent(f.prefill.share)}${products}; ` +
    `decode ${tenth(f.decode.gb_s)} of ${tenth(f.bandwidth_gb_s)} GB/s, ${percent(f.decode.share)}`
  );
}

function equalityLines(r: BenchResult): string[] {
  const all = measuredModes(r);
  const requests = all[0]?.figures.requests ?? 0;
  if (all.length < 2) return [`texts: ${requests} requests, hash ${all[0]?.figures.text_hash ?? '-'}`];
  const parting = all.filter(({ figures: m }) => m.near_ties + m.differing > 0);
  const same = parting.length === 0;
  const chunks = Math.max(...all.map(({ figures: m }) => m.chunk_max_difference));
  const bits = new Set(all.map(({ figures: m }) => m.chunk_hash)).size === 1;
  return [
    `texts: ${requests} requests, ${same ? `equal in all modes (${all[0]?.figures.text_hash})` : 'not equal in all modes'}; ` +
      `chunks: ${bits ? 'bit-equal in all modes' : `up to ${chunks.toExponential(1)} apart`}`,
    ...parting.map(
      ({ mode, figures: m }) =>
        `texts of ${mode}: ${m.near_ties} part at a near tie, ${m.differing} elsewhere`,
    ),
  ];
}
