/** Single model runs, timed apart from the modes: what a frame of each mode has to be made of. */
import { median } from '../core/statistics';
import { sampleRuns, type RunSamples } from '../engine/measure';
import type { ModelSessions } from '../engine/model-sessions';
import { runBlock } from './block';
import type { Parts } from './result';
import type { Block, Frames } from './workload';

const PREFILLS = 4;
const STEPS = 6;
const WITHOUT_LANGUAGE = 'frame_without_language';

/** The sizes of decode steps that are measured. */
export const decodeBatches = (b: Block): number[] => {
  const k = b.tokensPerFrame.kind === 'fixed' ? b.tokensPerFrame.steps : b.tokensPerFrame.minSteps;
  return [...new Set([1, 4, 8, Math.ceil(b.tokens / k)])].sort((x, y) => x - y);
};

/** A round of measurements with the sizes of `block`; one process measures a few in every round. */
export async function measureParts(
  sessions: ModelSessions,
  frames: Frames,
  block: Block,
): Promise<RunSamples> {
  const samples = await sampleRuns(sessions, {
    frame: frames.at(block.first),
    attention: sessions.manifest.attention,
    denoiseSteps: block.denoiseSteps,
    batches: decodeBatches(block),
    spare: block.tokens,
    prefills: PREFILLS,
    steps: STEPS,
  });
  return { ...samples, [WITHOUT_LANGUAGE]: await framesWithoutLanguage(sessions, frames, block) };
}

async function framesWithoutLanguage(
  sessions: ModelSessions,
  frames: Frames,
  block: Block,
): Promise<number[]> {
  const quiet: Block = {
    ...block,
    mode: 'oxygen',
    arrivals: { kind: 'none' },
    warmUp: 1,
    frames: 2,
    paced: false,
  };
  const result = await runBlock(sessions, frames, quiet, { frame: ready => ready() });
  return result.frames.map(f => f.firstActionMs);
}

/** Medians over all rounds. `tokens`: N of the isolated formula. */
export function partsOf(rounds: readonly RunSamples[], denoiseSteps: number, tokens: number): Parts {
  const names = [...new Set(rounds.flatMap(r => Object.keys(r)))];
  const of = (name: string) => median(rounds.flatMap(r => r[name] ?? []));
  const decode = Object.fromEntries(
    names.filter(name => name.startsWith('decode ')).map(name => [name.slice('decode '.length), of(name)]),
  );
  const [vision, prefill, denoise] = [of('vision'), of('prefill'), of('denoise')];
  return {
    vision,
    prefill,
    denoise,
    denoise_step: denoise / denoiseSteps,
    seed: of('seed'),
    decode,
    frame_without_language: of(WITHOUT_LANGUAGE),
    isolated_expected: 2 * (vision + prefill) + denoise + tokens * (decode['1'] as number),
  };
}
