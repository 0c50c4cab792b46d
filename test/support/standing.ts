import type { StandingInput } from '../../src/engine/protocol';

/** A standing request as the node sends it, asked again whenever it has ended. */
export const standingInput = (name: string, more: Partial<StandingInput> = {}): StandingInput => ({
  name,
  text: 'Scene: ',
  every: { kind: 'ended' },
  maxTokens: 8,
  temperature: 0,
  topK: 0,
  topP: 1,
  samplingSeed: 0,
  priority: 0,
  deadlineInMs: null,
  keepOnInstruction: false,
  ...more,
});
