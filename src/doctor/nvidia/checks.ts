/** The road to an NVIDIA GPU, step by step: driver, provider libraries, what these want. */
import type { Target } from '../../model/manifest';
import { fault, ok, warning, type Check, type Outcome } from '../check';
import { driverOutcomes, driverVersion } from './driver';
import { jetsonRelease } from './jetson';
import { dependencyOutcomes, providerFileOutcomes, type NvidiaProvider } from './libraries';
import { finder } from '../../machine/linker';
import type { Machine } from '../../machine/machine';

/**
 * Who wants a GPU: a person who asks for a provider must get it, an engine for one also runs on its CPU graphs, and
 * nobody means one quiet line.
 */
export type Wish =
  | { readonly from: 'option'; readonly provider: NvidiaProvider }
  | { readonly from: 'engine'; readonly provider: NvidiaProvider }
  | { readonly from: 'nobody' };

export const wishOf = (option: NvidiaProvider | null, target: Target): Wish => {
  if (option !== null) return { from: 'option', provider: option };
  return target === 'cpu' ? { from: 'nobody' } : { from: 'engine', provider: target };
};

export function nvidiaChecks(machine: Machine, wish: Wish): readonly Check[] {
  const cure = 'see docs/nvidia.md';
  if (wish.from === 'nobody') return [{ name: 'nvidia', cure, run: () => quiet(machine) }];
  const bad = wish.from === 'option' ? fault : warning;
  const { provider } = wish;
  const check = (name: string, run: Check['run']): Check => ({ name: `${provider} ${name}`, cure, run });
  if (machine.platform !== 'linux' || !['x64', 'arm64'].includes(machine.arch)) {
    const what = `there is no ${provider} provider for ${machine.platform} ${machine.arch}`;
    return [check('platform', () => [bad(what, 'use Linux on x64 or arm64')])];
  }
  return [
    check('driver', () => driverOutcomes(machine, bad)),
    check('provider', () => providerFileOutcomes(machine, provider, bad)),
    check('libraries', () => dependencyOutcomes(machine, provider, finder(machine), bad)),
  ];
}

/** Only files are looked at, so that a machine without a GPU loses no time. */
function quiet(machine: Machine): Outcome {
  const [jetson, driver] = [jetsonRelease(machine), driverVersion(machine)];
  const there =
    jetson !== null ? `Jetson Linux ${jetson}` : driver !== null ? `NVIDIA driver ${driver}` : null;
  const what = 'not asked for; `oxygen doctor --provider cuda` looks at everything it needs';
  return ok(there === null ? `no NVIDIA driver, and ${what}` : `${there} is here, but ${what}`);
}
