/** `oxygen build`: an engine folder from a checkpoint. */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { buildEngine } from '../builder/build';
import { openCheckpoint, randomCheckpoint } from '../builder/checkpoint';
import { OxygenError } from '../core/errors';
import { measureCosts } from '../engine/measure';
import { packModel } from '../engine/pack';
import { PRECISIONS } from '../model/manifest';
import { choice, integer, parseOptions, required } from './args';
import { Progress } from './progress';

const OPTIONS = {
  checkpoint: { type: 'string', value: 'DIR', help: 'folder with config.json and model.safetensors' },
  'random-init': { type: 'string', value: 'CONFIG.json', help: 'formula weights instead of a checkpoint' },
  seed: { type: 'string', value: 'N', help: 'seed of the formula weights (default 0)' },
  out: { type: 'string', value: 'DIR', help: 'the engine folder to write' },
  precision: {
    type: 'string',
    value: 'P',
    help: 'fp32 (default, the truth) or int8 (8-bit weights and activations)',
  },
  target: { type: 'string', value: 'cpu', help: 'where the engine will run (default cpu)' },
  tokenizer: { type: 'string', value: 'FILE', help: "tokenizer.json, if not the checkpoint's" },
  'norm-stats': { type: 'string', value: 'FILE', help: "norm_stats.json, if not the checkpoint's" },
} as const;

export async function runBuild(args: string[]): Promise<number> {
  const o = parseOptions('build', OPTIONS, args);
  if (!o) return 0;
  const out = required('build', 'out', o.out);
  const precision = choice('precision', o.precision, PRECISIONS, 'fp32');
  choice('target', o.target, ['cpu'], 'cpu');
  const random = o['random-init'];
  if ((random === undefined) === (o.checkpoint === undefined)) {
    throw new OxygenError('USAGE', 'oxygen build: give either --checkpoint or --random-init');
  }
  const checkpoint =
    random === undefined
      ? openCheckpoint(required('build', 'checkpoint', o.checkpoint))
      : randomCheckpoint(random, integer('seed', o.seed, 0, 0, 0xffffffff));
  const beside = (name: string) => {
    const path = o.checkpoint === undefined ? null : join(o.checkpoint, name);
    return path !== null && existsSync(path) ? path : null;
  };
  const progress = new Progress('build');
  try {
    const manifest = await buildEngine(checkpoint, {
      out,
      precision,
      pack: packModel,
      tokenizer: o.tokenizer ?? beside('tokenizer.json'),
      tokenizerConfig: beside('tokenizer_config.json'),
      normStats: o['norm-stats'] ?? beside('norm_stats.json'),
      progress: (done, total, what) => progress.update(done, total, what),
      measure: dir => {
        progress.update(1, 1, 'measuring stage costs');
        return measureCosts(dir, availableParallelism());
      },
    });
    const megabytes = Object.values(manifest.files).reduce((sum, f) => sum + f.bytes, 0) / 1e6;
    progress.end(`${out}: ${manifest.model.name}, ${manifest.precision}, ${megabytes.toFixed(1)} MB`);
    if (manifest.normalization.state === 'missing') {
      console.error('build: no norm_stats.json: actions and state will be raw model units');
    }
    return 0;
  } finally {
    progress.end();
    checkpoint.close();
  }
}
