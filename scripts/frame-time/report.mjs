// The estimates as Markdown tables, as docs/nvidia.md has them. Pure.
import { MODELS, PAPER_PREFIX } from './models.mjs';
import { burstMs, copiesMs, frameMs, stageMs, tensorRtFrameMs } from './time.mjs';
import {
  decodeWork,
  denoiseWork,
  deviceBytes,
  prefillWork,
  prefixLength,
  transfers,
  visionWork,
} from './work.mjs';

const BATCHES = [1, 4, 8];
const BURST = 5;

const ms = value => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));
const counted = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;
const MB = bytes => `${ms(bytes / 1e6)} MB`;
const work = ({ flops, weightBytes }) => `${ms(flops / 1e9)} GFLOP, ${MB(weightBytes)}`;

const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n');

/** Milliseconds of every stage, one column per GPU. */
export function stagesTable(model, gpus) {
  const row = (name, what, of) => [name, what, ...gpus.map(gpu => ms(of(gpu)))];
  const bold = cells => cells.map(cell => (cell === '' ? cell : `**${cell}**`));
  const { frameIn, frameOut, row: kv } = transfers(model);
  const frame = part => gpu => frameMs(model, gpu)[part];
  const tensorRt = part => gpu => tensorRtFrameMs(model, gpu)[part];
  const burst = (batch, part) => gpu => burstMs(model, gpu, batch, BURST)[part];
  const withText = batch => gpu => frameMs(model, gpu).total + burst(batch, 'total')(gpu);
  const first = gpus.map(withText(BATCHES[0]));
  return table(
    ['ms', 'work', ...gpus.map(({ name }) => name)],
    [
      row('pictures, noise, modulations up', MB(frameIn), frame('upload')),
      row('vision', work(visionWork(model)), frame('vision')),
      row(`prefill of ${prefixLength(model)}`, work(prefillWork(model)), frame('prefill')),
      row(`denoise, ${model.denoiseSteps} steps`, `each ${work(denoiseWork(model))}`, frame('denoise')),
      row('keys, values, actions down', MB(frameOut), frame('fetch')),
      bold(row('chunk out after', '', frame('total'))),
      row('TensorRT: vision and prefill', '', tensorRt('prefill')),
      row('TensorRT: keys and values down and up', MB(2 * kv), tensorRt('handOver')),
      row(`TensorRT: denoise, ${model.denoiseSteps} steps`, '', tensorRt('denoise')),
      bold(row('TensorRT: chunk out after', '', tensorRt('total'))),
      ...BATCHES.flatMap(batch => [
        row(`burst of ${BURST}, ${counted(batch, 'row')}: upload`, MB(batch * kv), burst(batch, 'upload')),
        row('its steps', `each ${work(decodeWork(model, batch))}`, burst(batch, 'compute')),
      ]),
      ...BATCHES.map(batch =>
        bold(row(`frame with ${counted(batch, 'text')}, k = ${BURST}`, '', withText(batch))),
      ),
      [
        'chunks/s, actions/s (1 text)',
        '',
        ...first.map(t => `${ms(1000 / t)}, ${ms((1000 * model.horizon) / t)}`),
      ],
    ],
  );
}

/** The copies of each design, per decode step and per frame. */
export function copiesTable(model, gpus) {
  const row = (name, of) => [name, ...gpus.map(gpu => ms(of(gpu)))];
  const per = (batch, part) => gpu => copiesMs(model, gpu, batch, BURST)[part];
  return table(
    ['ms of copies', ...gpus.map(({ name }) => name)],
    [
      ...[1, 8].flatMap(batch => [
        row(`naive, per step of ${batch}: whole cache up and down`, per(batch, 'naive')),
        row(`here, per step of ${batch}: up once per burst of ${BURST}`, per(batch, 'ours')),
      ]),
      row('naive, per frame: prefix up for every Euler step', per(1, 'denoiseNaive')),
      row('here, per frame: prefix stays inside the frame graph', per(1, 'denoiseOurs')),
    ],
  );
}

/** What this model of a GPU says about the paper's own runs, and what our design would need for the same workload. */
export function paperTable(gpu) {
  const theirs = { ...MODELS.libero, ...PAPER_PREFIX };
  const ours = MODELS.libero;
  const prefix = model => stageMs(visionWork(model), gpu) + stageMs(prefillWork(model), gpu);
  const denoise = model => model.denoiseSteps * stageMs(denoiseWork(model), gpu);
  const step = model => stageMs(decodeWork(model, 1), gpu);
  const frame = (batch, steps) => frameMs(ours, gpu).total + burstMs(ours, gpu, batch, steps).total;
  const row = (name, paper, same, mine) => [name, paper, same === null ? '' : ms(same), ms(mine)];
  return table(
    [
      `ms on ${gpu.name}, LIBERO`,
      'paper, measured',
      'estimate for its 868 slots',
      `estimate here, ${prefixLength(ours)} positions`,
    ],
    [
      row('prefix (vision and prefill)', '45.1', prefix(theirs), prefix(ours)),
      row('denoise, 10 steps', '20.4', denoise(theirs), denoise(ours)),
      row('a token of one text', '12.9', step(theirs), step(ours)),
      row('frame, N = 30, k = 1 (30 rows)', '141.8', null, frame(30, 1)),
      row('frame, N = 30, k = 5 (6 rows)', 'about 175', null, frame(6, 5)),
    ],
  );
}

export function memoryTable(models) {
  return table(
    ['weights on the GPU, float16', 'frame graph', 'decode graph', 'one row of the cache (host, float32)'],
    models.map(model => {
      const { frame, decode } = deviceBytes(model);
      return [model.title, MB(frame), MB(decode), MB(transfers(model).row)];
    }),
  );
}

export function report(models, gpus) {
  const stages = models.map(model => `**${model.title}**\n\n${stagesTable(model, gpus)}`);
  return [
    ...stages,
    `**Copies** (${models[0].title})\n\n${copiesTable(models[0], gpus)}`,
    `**Against the paper**\n\n${paperTable(gpus[0])}`,
    `**Memory**\n\n${memoryTable(models)}`,
  ].join('\n\n');
}
