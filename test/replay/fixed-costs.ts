/** Stage times of tests, ms: about those of a quiet machine. An engine may have been built on a busy one. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const COSTS = {
  vision: 1.4,
  prefill: 2.1,
  denoiseStep: 0.6,
  seed: 1.6,
  decode: { 1: 0.8, 4: 1, 8: 1.2 } as Record<string, number>,
};

/** A file for `--cost`. */
export function costFile(
  folder: string,
  over: Partial<typeof COSTS> & { readonly ask?: number } = {},
): string {
  const path = join(folder, `cost-${Object.keys(over).join('-') || 'plain'}.json`);
  writeFileSync(path, JSON.stringify({ ...COSTS, ...over }));
  return path;
}
