/** O-14 on a real engine folder: what the engine process does with an instruction that does not fit. */
import type { OxygenError } from '../../src/core/errors';
import type { Observation } from '../../src/core/types';
import { PolicyIo } from '../../src/engine/policy-io';
import { readManifest, type Manifest } from '../../src/model/manifest';
import type { LongPrompt } from '../../src/model/prompt-ids';
import { engineDir } from '../support/engines';

const dir = engineDir('tiny');
const manifest = readManifest(dir);
const observation = (instruction: string): Observation => ({
  stampNs: 1n,
  epoch: 0,
  instruction,
  state: new Float64Array(manifest.stateDim),
  cameras: manifest.model.cameraSlots,
  images: new Uint8Array(),
});
const long = 'put the red block on the blue block and '.repeat(20);

function open(
  longPrompt: LongPrompt,
  over: Partial<Manifest> = {},
): { io: PolicyIo; reports: OxygenError[] } {
  const reports: OxygenError[] = [];
  const io = new PolicyIo(dir, { ...manifest, ...over }, null, undefined, longPrompt, e => reports.push(e));
  return { io, reports };
}

test('O-14 shorten: frames are taken, the tail is whole, the words left out are told once', () => {
  const { io, reports } = open('shorten');
  for (let frame = 0; frame < 3; frame++) {
    const { promptIds } = io.frame(observation(long), null);
    expect(promptIds.length).toBeLessThanOrEqual(manifest.model.maxPromptTokens);
    expect(io.tokenizer.decode(promptIds)).toMatch(/^Task: put the red .*, State: [-\d ]+;\nAction: $/);
  }
  expect(reports.map(({ code }) => code)).toEqual(['PROMPT_SHORTENED']);
});

test('O-14 refuse: every frame is refused, naming both counts', () => {
  const { io, reports } = open('refuse');
  for (let frame = 0; frame < 2; frame++) {
    expect(() => io.frame(observation(long), null)).toThrow(
      expect.objectContaining({
        code: 'PROMPT_TOO_LONG',
        message: expect.stringMatching(new RegExp(`\\d{3} tokens.* ${manifest.model.maxPromptTokens}`)),
      }),
    );
  }
  expect(reports).toEqual([]);
});

test('the prompt profile of the engine decides what the model reads', () => {
  const text = (promptProfile: Manifest['promptProfile']): string => {
    const { io } = open('refuse', { promptProfile });
    return io.tokenizer.decode(io.frame(observation('Reach the red block!'), null).promptIds);
  };
  expect(text('pi05_no_state')).toBe('Reach the red block!\n');
  expect(text('oxygen_subtask')).toBe('Task: reach the red block. Subtask: ');
  expect(text('pi05_state')).toMatch(/^Task: Reach the red block!, State: [-\d ]+;\nAction: $/);
});
