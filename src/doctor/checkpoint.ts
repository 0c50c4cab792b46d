/** Checks of a checkpoint folder, without building from it. */
import { openCheckpoint, type Checkpoint } from '../builder/checkpoint';
import { TOKENIZER_FILES, TOKENIZER_SOURCES, tokenizerOf } from '../builder/checkpoint-files';
import { findNormStats } from '../builder/norm-stats-source';
import { promptProfileOf } from '../model/prompt';
import { elements, tensorShapes } from '../model/tensors';
import { statsWidth } from '../policies/norm-stats';
import { ok, warning, type Check, type Outcome } from './check';
import { tokenizerCheck } from './files';

export const checkpointCheck = (dir: string): Check => ({
  name: 'checkpoint',
  cure: 'give the folder with config.json and the weights of a pi0.5 model',
  run: () => {
    const checkpoint = openCheckpoint(dir);
    checkpoint.close();
    return [
      ...checkpoint.notes.map(note => warning(note, 'write it into config.json if it is otherwise')),
      ok(describe(checkpoint), [statisticsCheck(dir, checkpoint), checkpointTokenizer(dir, checkpoint)]),
    ];
  },
});

function describe({ config, family, dtype, source }: Checkpoint): string {
  const shapes = tensorShapes(config);
  const values = [...shapes.values()].reduce((sum, shape) => sum + elements(shape), 0);
  return (
    `${family}, ${source}: ${shapes.size} tensors, ${(values / 1e6).toFixed(1)} M parameters, ${dtype}, all with their ` +
    `shape; cameras ${config.cameraSlots.join(' ')}, prompt ${promptProfileOf(config)}`
  );
}

const statisticsCheck = (dir: string, { family }: Checkpoint): Check => ({
  name: 'norm_stats',
  cure: 'oxygen build --norm-stats FILE, or --asset-id ID where there are several',
  run: (): readonly Outcome[] => {
    const found = findNormStats({ dir, family, file: null, assetId: null });
    if ('missing' in found) {
      const what = `none found; looked for ${found.missing.join(', ')}`;
      return [warning(what, 'build with --norm-stats FILE, else the node refuses the engine')];
    }
    const { stats, normalization, source, notes } = found;
    const what = `${source}: state ${statsWidth(stats.state)} wide (${normalization.state}), actions ${statsWidth(stats.actions)} wide (${normalization.actions})`;
    return [...notes.map(note => warning(note, 'nothing to do if that is meant')), ok(what)];
  },
});

function checkpointTokenizer(dir: string, { config }: Checkpoint): Check {
  const file = tokenizerOf(dir);
  if (file !== null) return tokenizerCheck(file, { vocab: config.language.vocab, special: null });
  const none = warning(
    `none of ${TOKENIZER_FILES.join(', ')} in ${dir}`,
    `build with --tokenizer FILE, else the node refuses the engine (${TOKENIZER_SOURCES})`,
  );
  return { name: 'tokenizer', cure: '', run: () => none };
}
