/** Language requests as they arrive, made into what the scheduler takes: limits checked, seed texts tokenised. */
import { OxygenError, toOxygenError } from '../core/errors';
import type { LanguageRequest, StandingRequest } from '../core/types';
import type { PolicyIo } from './policy-io';
import type { EngineOptions, LanguageRequestInput, StandingInput } from './protocol';

type Limits = Pick<EngineOptions, 'maxTokens' | 'maxSeedTokens'>;
type SeedReader = Pick<PolicyIo, 'seedIds'>;

/** `nowMs`: of the engine's clock. Throws REQUEST_INVALID. */
export function languageRequest(
  { text, deadlineInMs, ...rest }: LanguageRequestInput,
  io: SeedReader,
  limits: Limits,
  nowMs: number,
): LanguageRequest {
  checkMaxTokens(rest.maxTokens, limits);
  const seedIds = io.seedIds(text, limits.maxSeedTokens);
  return { ...rest, seedIds, deadlineMs: deadlineInMs === null ? null : nowMs + deadlineInMs };
}

/** Those that can be asked; `drop` hears why the others cannot. */
export function standingRequests(
  inputs: readonly StandingInput[],
  io: SeedReader,
  limits: Limits,
  drop: (error: OxygenError) => void,
): StandingRequest[] {
  return inputs.flatMap(({ text, ...rest }) => {
    try {
      checkMaxTokens(rest.maxTokens, limits);
      return [{ ...rest, seedIds: io.seedIds(text, limits.maxSeedTokens) }];
    } catch (error) {
      const { code, message } = toOxygenError(error, 'REQUEST_INVALID');
      drop(new OxygenError(code, `standing request ${rest.name} is not asked: ${message}`));
      return [];
    }
  });
}

function checkMaxTokens(maxTokens: number, limits: Limits): void {
  if (maxTokens >= 1 && maxTokens <= limits.maxTokens) return;
  throw new OxygenError(
    'REQUEST_INVALID',
    `max_tokens is ${maxTokens}; allowed are 1 to ${limits.maxTokens}`,
  );
}
