/** One engine against another of the same model: how good is int8 where there are no golden numbers. */
import { OxygenError } from '../core/errors';
import { frameNoise } from '../core/noise';
import { prefixCache } from '../engine/deployment';
import type { ModelSessions } from '../engine/model-sessions';
import { denoise, runPrefill } from '../engine/onnx-executor';
import { generate, join, SPARE_POSITIONS } from './cases';
import type { ComparedKind } from './golden';
import { distance, furthestBehind, roundedLimit, tokenDistance } from './limits';
import type { Line } from './verify';

const TEXT_TOKENS = 8;
const PROMPT_TOKENS = 24;

/** Same made-up frames through both: noise pictures, random prompt tokens after the begin token. */
export async function verifyAgainst(
  sessions: ModelSessions,
  reference: ModelSessions,
  frames: number,
): Promise<readonly Line[]> {
  const shape = ({ manifest: { model } }: ModelSessions) => JSON.stringify({ ...model, name: '' });
  if (shape(sessions) !== shape(reference)) {
    throw new OxygenError('USAGE', 'the reference engine is of another model: the dimensions differ');
  }
  const wanted: Outputs[] = [];
  const got: Outputs[] = [];
  for (let f = 0; f < frames; f++) {
    const truth = await outputs(reference, f, []);
    wanted.push(truth);
    got.push(await outputs(sessions, f, truth.tokens));
  }
  const line = (kind: ComparedKind, part: (x: Outputs) => Float32Array): Line[] =>
    wanted.map((want, f) => {
      const limit = roundedLimit(kind);
      const d = distance(part(want), part(got[f] as Outputs));
      const status = d.rms <= limit.value ? 'ok' : 'fail';
      return { name: `frame ${f} ${kind}`, file: MADE_UP, kind, status, limit, distance: d, note: '' };
    });
  return [
    ...line('image_emb', x => x.images),
    ...line('prefix_k', x => x.keys),
    ...line('prefix_v', x => x.values),
    ...line('lang.logits', x => x.logits),
    tokensLine(wanted, got),
    ...line('actions', x => x.actions),
  ];
}

const MADE_UP = 'made-up frames';

interface Outputs {
  readonly images: Float32Array;
  readonly keys: Float32Array;
  readonly values: Float32Array;
  readonly tokens: readonly number[];
  readonly logits: Float32Array;
  readonly actions: Float32Array;
}

async function outputs(sessions: ModelSessions, frame: number, fed: readonly number[]): Promise<Outputs> {
  const { model, special } = sessions.manifest;
  const random = randomNumbers(frame);
  const pixels = model.cameraSlots.length * model.vision.imageHeight * model.vision.imageWidth * 3;
  const length = Math.min(PROMPT_TOKENS, model.maxPromptTokens);
  const input = {
    cameras: model.cameraSlots,
    images: Uint8Array.from({ length: pixels }, () => random() * 256),
    promptIds: Array.from({ length }, (_, i) =>
      i === 0 ? special.begin : Math.floor(random() * model.language.vocab),
    ),
  };
  const images = await sessions.vision(input.images, input.cameras.length);
  const prefix = await runPrefill(sessions, input, false, true);
  const cache = prefixCache(sessions, prefix, 1, SPARE_POSITIONS);
  const noise = frameNoise(0n, BigInt(frame), model.horizon * model.actionDim);
  const actions = await denoise(sessions, noise, model.denoiseSteps, cache.prefixView());
  const { tokens, logits } = await generate(sessions, cache, prefix, [], TEXT_TOKENS, fed);
  return { images, keys: join(prefix.kv.k), values: join(prefix.kv.v), tokens, logits, actions };
}

function tokensLine(wanted: readonly Outputs[], got: readonly Outputs[]): Line {
  const limit = roundedLimit('lang.tokens');
  const pairs = wanted.map((want, f) => ({ ...want, got: got[f]?.tokens ?? [] }));
  const behind = pairs.map(p =>
    furthestBehind(p.logits, p.logits.length / (p.tokens.length + 1), p.tokens, p.got),
  );
  const max = Math.max(...behind);
  const equal = pairs.flatMap(p => p.tokens.filter((token, step) => token === p.got[step])).length;
  const all = pairs.flatMap(p => p.tokens).length;
  return {
    name: 'lang.tokens',
    file: MADE_UP,
    kind: 'lang.tokens',
    limit,
    distance: tokenDistance(max),
    status: max <= limit.value ? 'ok' : 'fail',
    note: `${equal} of ${all} tokens equal`,
  };
}

/** Park-Miller: any stream that is the same on both sides will do. */
function randomNumbers(seed: number): () => number {
  let state = 1 + seed * 7919;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}
