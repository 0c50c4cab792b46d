/**
 * Where the model runs. ONNX Runtime lists providers that are not installed and falls back to none by itself, so they
 * are tried in turn.
 */
import { OxygenError } from '../core/errors';

export const PROVIDERS = ['tensorrt', 'cuda', 'cpu'] as const;
export type Provider = (typeof PROVIDERS)[number];

export interface ProviderChoice {
  readonly provider: Provider;
  /** One line for each provider that was wanted more: why it is not used. */
  readonly notes: readonly string[];
}

/**
 * The first of `wanted` for which `attempt` does not reject.
 * @throws OxygenError PROVIDER_MISSING with every reason when there is none.
 */
export async function chooseProvider(
  wanted: readonly Provider[],
  attempt: (provider: Provider) => Promise<void>,
): Promise<ProviderChoice> {
  const notes: string[] = [];
  for (const provider of wanted) {
    try {
      await attempt(provider);
      return { provider, notes };
    } catch (error) {
      notes.push(`${provider} is not available: ${reason(error)}`);
    }
  }
  throw new OxygenError(
    'PROVIDER_MISSING',
    `none of execution_providers [${wanted.join(', ')}] can be used: ${notes.join('; ')}. ` +
      'Install its libraries, or add cpu to the list',
  );
}

/** First line of what ONNX Runtime says, without its source position. */
const reason = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error))
    .split('\n')[0]!
    .replace(/^.*?onnxruntime::\S+\s*/, '');
