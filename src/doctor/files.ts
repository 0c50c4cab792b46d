/** Checks of the files that people write or copy, by the functions that the node and the builder read them with. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readModelDescription } from '../model/config';
import type { Manifest } from '../model/manifest';
import { promptProfileOf } from '../model/prompt';
import { tokenizerJson } from '../model/sentencepiece-json';
import { checkTokenizer, loadTokenizer, type Tokenizer } from '../model/tokenizer';
import { loadNormStats, statsWidth } from '../policies/norm-stats';
import { checkRobot, readRobotFile } from '../ros/robot-file';
import { fault, faultsOf, ok, warning, type Check } from './check';

const ROBOT_CURE = 'config/robots/demo.yaml shows every key';
const TOKENIZER_CURE =
  'take the tokenizer that the checkpoint was trained with: oxygen build --tokenizer FILE';
const STATISTICS_CURE = 'take the statistics of the training run: oxygen build --norm-stats FILE';

export const robotCheck = (path: string): Check => ({
  name: 'robot',
  cure: ROBOT_CURE,
  run: () => {
    const { name, platform, cameras, state, actions, rates } = readRobotFile(path);
    const kinds = [...new Set(actions.map(action => action.kind))].join(' ');
    return ok(
      `${name}: platform ${platform}, cameras ${cameras.map(camera => camera.slot).join(' ')}, ` +
        `${state.joints.length} joints, ${actions.length} actions (${kinds}), trained at ${rates.trainHz} Hz`,
    );
  },
});

const FIT_CURE = 'take the robot file of this engine, or the engine of this robot';

/** Says nothing about a robot file that cannot be read: `robotCheck` does. */
export const robotFitCheck = (path: string, manifest: Manifest): Check => ({
  name: 'robot and engine',
  cure: FIT_CURE,
  run: () => {
    const robot = readable(() => readRobotFile(path));
    if (!robot) return [];
    const { model, ...rest } = manifest;
    const notes = checkRobot(robot, { ...rest, ...model, name: manifest.name }, path);
    const fits = ok(`${robot.name} fits ${manifest.name}: camera slots, state and action widths`);
    return [...notes.map(note => warning(note, 'nothing to do if that is meant')), fits];
  },
});

function readable<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** What a model asks of its tokenizer. */
export interface TokenizerNeeds {
  /** Rows of the embedding table. */
  readonly vocab: number;
  /** Ids that engine.json gives to special tokens; null before there is an engine. */
  readonly special: Manifest['special'] | null;
}

export const tokenizerNeeds = ({ model, special }: Manifest): TokenizerNeeds => ({
  vocab: model.language.vocab,
  special,
});

export const tokenizerCheck = (path: string, needs: TokenizerNeeds | null): Check => ({
  name: 'tokenizer',
  cure: TOKENIZER_CURE,
  run: () => {
    const tokenizer = openTokenizer(path);
    const { vocabSize, bosId, eosId, padId } = tokenizer;
    const what = `${vocabSize} tokens, begin ${bosId}, end ${eosId}, pad ${padId}`;
    if (!needs) return ok(what);
    const ids = [
      ['begin', bosId],
      ['end', eosId],
      ['pad', padId],
    ] as const;
    const faults = ids.flatMap(([name, id]) =>
      needs.special === null || id === needs.special[name]
        ? []
        : [`the ${name} token of ${path} is ${id}, engine.json says ${needs.special[name]}`],
    );
    try {
      checkTokenizer(tokenizer, needs.vocab);
    } catch (error) {
      faults.push(...faultsOf(error));
    }
    if (faults.length > 0) return faults.map(text => fault(text, TOKENIZER_CURE));
    return ok(`${what}; inside the model's vocabulary of ${needs.vocab}`);
  },
});

/** A sentencepiece model takes the way of the builder: converted to a file, which is then read. */
function openTokenizer(path: string): Tokenizer {
  if (!path.endsWith('.model')) return loadTokenizer(path);
  const json = tokenizerJson(path);
  const dir = mkdtempSync(join(tmpdir(), 'oxygen-'));
  try {
    const converted = join(dir, 'tokenizer.json');
    writeFileSync(converted, json);
    return loadTokenizer(converted);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

export const normStatsCheck = (path: string, manifest: Manifest | null): Check => ({
  name: 'norm_stats',
  cure: STATISTICS_CURE,
  run: () => {
    const stats = loadNormStats(path, manifest?.normalization);
    const [state, actions] = [statsWidth(stats.state), statsWidth(stats.actions)];
    if (manifest && (state !== manifest.stateDim || actions !== manifest.actionDims)) {
      return fault(
        `${path}: state ${state}, actions ${actions} wide; the engine has ${manifest.stateDim} and ${manifest.actionDims}`,
        STATISTICS_CURE,
      );
    }
    return ok(`state ${state}, actions ${actions} wide`);
  },
});

export const modelConfigCheck = (path: string): Check => ({
  name: 'model config',
  cure: 'take the config.json that came with the checkpoint',
  run: () => {
    const { config: c, family, notes } = readModelDescription(path);
    return [
      ...notes.map(note => warning(note, 'write it into config.json if it is otherwise')),
      ok(
        `${c.name} of ${family}: vision ${c.vision.width} x ${c.vision.layers}, language ${c.language.width} x ` +
          `${c.language.layers}, vocabulary ${c.language.vocab}, actions ${c.actionDim} x ${c.horizon}, ` +
          `cameras ${c.cameraSlots.join(' ')}, prompt ${promptProfileOf(c)}`,
      ),
    ];
  },
});
