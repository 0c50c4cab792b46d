/** Which Jetson Linux runs here. */
import type { Machine } from '../../machine/machine';

/** Jetson Linux as `36.4.3`, or null: this is no Jetson. */
export function jetsonRelease(machine: Machine): string | null {
  const [, major, rest] = /R(\d+)[^,]*,\s*REVISION:\s*([\d.]+)/.exec(machine.text(L4T) ?? '') ?? [];
  return major === undefined ? null : `${major}.${rest}`;
}

const L4T = '/etc/nv_tegra_release';
