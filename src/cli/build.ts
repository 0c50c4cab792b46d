/** `oxygen build`: an engine folder from a checkpoint. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { buildEngine } from '../builder/build';
import { openCheckpoint, randomCheckpoint, type Checkpoint } from '../builder/checkpoint';
import { TOKENIZER_SOURCES, tokenizerOf } from '../builder/checkpoint-files';
import { findNormStats, type NormStatsSource } from '../builder/norm-stats-source';
import { OxygenError } from '../core/errors';
import { measureCosts } from '../engine/measure';
import { packModel } from '../engine/pack';
import {
  CPU_FOLDER,
  PROMPT_PROFILES,
  RESIZE_PROFILES,
  TARGET_PRECISIONS,
  TARGETS,
  type Manifest,
  type Precision,
} from '../model/manifest';
import { TENSORRT_SCRIPT } from '../model/tensorrt-engine';
import { choice, integer, parseOptions, required } from './args';
import { Progress } from './progress';
import { makeTensorRtEngines } from './tensorrt';

const OPTIONS = {
  checkpoint: { type: 'string', value: 'DIR', help: 'folder of a converted openpi or a lerobot pi05 checkpoint' },
  'random-init': { type: 'string', value: 'CONFIG.json', help: 'formula weights instead of a checkpoint' },
  seed: { type: 'string', value: 'N', help: 'seed of the formula weights (default 0)' },
  out: { type: 'string', value: 'DIR', help: 'the engine folder to write; an engine that is there is replaced' },
  precision: { type: 'string', value: 'P', help: 'cpu: fp32 (default, the truth) or int8 (8-bit weights and activations); cuda, tensorrt: fp16' },
  target: { type: 'string', value: 'T', help: 'where the engine will run: cpu (default), cuda or tensorrt' },
  cpu: { type: 'string', value: 'P', help: 'cuda, tensorrt: precision of the engine inside for machines without a GPU: int8 (default), fp32 or none' },
  tokenizer: { type: 'string', value: 'FILE', help: "tokenizer.json or sentencepiece .model, if not the checkpoint's" },
  'norm-stats': { type: 'string', value: 'FILE', help: "statistics, if not the checkpoint's" },
  'asset-id': { type: 'string', value: 'ID', help: 'which of several statistics in assets/' },
  'prompt-profile': { type: 'string', value: 'P', help: 'pi05_state, pi05_no_state or oxygen_subtask (default: by config.json)' },
  resize: { type: 'string', value: 'P', help: 'pillow or torch (default: as the project of the checkpoint)' },
} as const; // prettier-ignore

/** Loading a larger engine to measure it would need the memory that building it avoids; the node measures as it runs. */
const MEASURED_BYTES = 2 ** 30;

export async function runBuild(args: string[]): Promise<number> {
  const o = parseOptions('build', OPTIONS, args);
  if (!o) return 0;
  const out = required('build', 'out', o.out);
  const target = choice('target', o.target, TARGETS, 'cpu');
  const precisions: readonly [Precision, ...Precision[]] = TARGET_PRECISIONS[target];
  const precision = choice('precision', o.precision, precisions, precisions[0]);
  const inside = choice('cpu', o.cpu, ['none', ...TARGET_PRECISIONS.cpu], 'int8');
  if (target === 'cpu' && o.cpu !== undefined)
    throw new OxygenError('USAGE', '--cpu is about engines for cuda and tensorrt; this one is for the CPU');
  const random = o['random-init'];
  if ((random === undefined) === (o.checkpoint === undefined)) {
    throw new OxygenError('USAGE', 'oxygen build: give either --checkpoint or --random-init');
  }
  const dir = random === undefined ? required('build', 'checkpoint', o.checkpoint) : null;
  const checkpoint =
    dir === null
      ? randomCheckpoint(required('build', 'random-init', random), integer('seed', o.seed, 0, 0, 0xffffffff))
      : openCheckpoint(dir);
  const progress = new Progress('build');
  const notes: string[] = [];
  try {
    const stats = findNormStats({
      dir,
      family: checkpoint.family,
      file: o['norm-stats'] ?? null,
      assetId: o['asset-id'] ?? null,
    });
    const tokenizer = o.tokenizer ?? (dir === null ? null : tokenizerOf(dir));
    const manifest = await buildEngine(checkpoint, {
      out,
      target,
      precision,
      cpuPrecision: inside === 'none' ? undefined : inside,
      pack: packModel,
      tokenizer,
      stats,
      promptProfile: optional('prompt-profile', o['prompt-profile'], PROMPT_PROFILES),
      resize: optional('resize', o.resize, RESIZE_PROFILES),
      progress: (done, total, what) => progress.update(done, total, what),
      note: line => notes.push(line),
      measure: (folder, built) => {
        // an engine for the GPU cannot be measured where there is none; the node measures as it runs
        if (built.target !== 'cpu' || bytesOf(built) > MEASURED_BYTES) return Promise.resolve(null);
        progress.update(1, 1, 'measuring stage costs');
        return measureCosts(folder, availableParallelism());
      },
    });
    const megabytes = bytesOf(manifest) / 1e6;
    progress.end(
      `${out}: ${manifest.model.name}, ${manifest.precision} for ${manifest.target}, ${megabytes.toFixed(1)} MB`,
    );
    report(manifest, checkpoint, stats, tokenizer);
    for (const note of notes) console.error(`build: ${note}`);
    if (target !== 'cpu' && inside !== 'none')
      console.error(`build: ${join(out, CPU_FOLDER)} has the ${inside} engine for machines without a GPU`);
    if (target === 'tensorrt' && !(await makeTensorRtEngines(out))) {
      console.error(
        `build: no trtexec here, so no TensorRT engines yet: run ${out}/${TENSORRT_SCRIPT} on the robot`,
      );
    }
    return 0;
  } finally {
    progress.end();
    checkpoint.close();
  }
}

const bytesOf = ({ files }: Manifest): number => Object.values(files).reduce((sum, f) => sum + f.bytes, 0);

function optional<T extends string>(name: string, value: string | undefined, allowed: readonly T[]) {
  return value === undefined ? undefined : choice(name, value, allowed, allowed[0] as T);
}

/** What was taken from where, and what the node will refuse or a person should know. */
function report(
  manifest: Manifest,
  checkpoint: Checkpoint,
  stats: NormStatsSource,
  tokenizer: string | null,
): void {
  const { promptProfile, attention, resize, normalization: n, sourceDtype } = manifest;
  const say = (line: string) => console.error(`build: ${line}`);
  say(
    `${checkpoint.source} of ${checkpoint.family} (${sourceDtype}), cameras ${manifest.model.cameraSlots.join(', ')}`,
  );
  say(`prompt ${promptProfile}, attention ${attention}, resize ${resize}`);
  if ('missing' in stats) {
    const looked = stats.missing.length > 0 ? `; looked for ${stats.missing.join(', ')}` : '';
    say(
      `NO normalisation statistics${looked}. The node refuses this engine; build it with --norm-stats FILE.`,
    );
  } else {
    say(
      `statistics ${stats.source}: state ${n.state} [${manifest.stateDim}], actions ${n.actions} [${manifest.actionDims}], formula of ${n.convention}`,
    );
    stats.notes.forEach(say);
  }
  if (tokenizer === null)
    say(`NO tokenizer: the node refuses this engine; build it with --tokenizer FILE (${TOKENIZER_SOURCES}).`);
  checkpoint.notes.forEach(say);
}
