/** One engine against another of the same model: how good is int8 where there are no golden numbers. */
import { OxygenError } from '../core/errors';
import { frameNoise } from '../core/noise';
import type { ComparedKind } from './golden';
import { join } from './join';
import { furthestBehind, limitOf, roundingOf, tokenDistance, type Rounding } from './limits';
import { distanceOf, TopLogits, type Chunk, type Numbers, type Subject } from './subject';
import type { Line } from './verify';

const TEXT_TOKENS = 8;
const PROMPT_TOKENS = 24;

/** `reference` gives all numbers. The same made-up frames through both: noise pictures, random prompt tokens after the begin token. */
export async function verifyAgainst(
  subject: Subject,
  reference: Subject,
  frames: number,
): Promise<readonly Line[]> {
  const shape = ({ manifest: { model } }: Subject) => JSON.stringify({ ...model, name: '' });
  if (shape(subject) !== shape(reference)) {
    throw new OxygenError('USAGE', 'the reference engine is of another model: the dimensions differ');
  }
  const wanted: Outputs[] = [];
  const got: Outputs[] = [];
  for (let f = 0; f < frames; f++) {
    const truth = await outputs(reference, f, []);
    wanted.push(truth);
    got.push(await outputs(subject, f, truth.tokens));
  }
  const rounding = roundingOf(subject.manifest);
  const line = (kind: ComparedKind, part: (x: Outputs) => Numbers | null): Line[] =>
    wanted.map((want, f) => {
      const [a, b] = [part(want), part(got[f] as Outputs)];
      const name = `frame ${f} ${kind}`;
      const note = subject.notGiven.get(kind) ?? reference.notGiven.get(kind) ?? '';
      if (!a || !b || a instanceof TopLogits)
        return { name, file: MADE_UP, kind, status: 'skip', limit: null, distance: null, note };
      const limit = limitOf(kind, rounding);
      const d = distanceOf(a, b);
      return { name, file: MADE_UP, kind, status: d.rms <= limit.value ? 'ok' : 'fail', limit, distance: d, note: '' };
    }); // prettier-ignore
  return [
    ...line('image_emb', x => x.images),
    ...line('prefix_k', x => x.keys),
    ...line('prefix_v', x => x.values),
    ...line('lang.logits', x => x.logits),
    tokensLine(wanted, got, rounding),
    ...line('actions', x => x.actions),
  ];
}

const MADE_UP = 'made-up frames';

interface Outputs {
  readonly images: Float32Array | null;
  readonly keys: Float32Array;
  readonly values: Float32Array;
  readonly tokens: readonly number[];
  readonly logits: Numbers;
  readonly actions: Float32Array;
}

async function outputs(subject: Subject, frame: number, fed: readonly number[]): Promise<Outputs> {
  const { model, special } = subject.manifest;
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
  const images = await subject.imageTokens(input.images);
  const prefix = await subject.prefix(input, false);
  const noise = frameNoise(0n, BigInt(frame), model.horizon * model.actionDim);
  const { actions } = (await prefix.actions(noise, model.denoiseSteps)) as Chunk;
  const { tokens, logits } = await prefix.text([], TEXT_TOKENS, fed);
  return { images, keys: join(prefix.kv.k), values: join(prefix.kv.v), tokens, logits, actions };
}

function tokensLine(wanted: readonly Outputs[], got: readonly Outputs[], rounding: Rounding): Line {
  const limit = limitOf('lang.tokens', rounding);
  const pairs = wanted.map((want, f) => ({ ...want, got: got[f]?.tokens ?? [] }));
  const behind = pairs.map(p =>
    furthestBehind(p.logits as Float32Array, p.logits.length / (p.tokens.length + 1), p.tokens, p.got),
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
