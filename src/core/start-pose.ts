/** The pose from which the action stream starts: where the robot is measured to be. */
import { binaryOf } from './robot';
import type { ActionDim } from './robot';

export type StartPose =
  { readonly known: true; readonly pose: Float64Array } | { readonly known: false; readonly reason: string };

/**
 * Positions start as measured, as they are: one that lies outside its limits by at most `maxStartJump` is led back
 * by the gate, one that lies further out is for a person to mend. Motion starts from the last command (a velocity
 * goes on braking) or zero. A binary stays; at the start it is the measured one, or `min`.
 *
 * `measured`: [dims] of now, NaN where unknown. `last`: last command [dims], null at the start.
 */
export function startPose(
  dims: readonly ActionDim[],
  measured: Float64Array | null,
  last: Float64Array | null,
  maxStartJump: number,
): StartPose {
  for (const [d, dim] of dims.entries()) {
    const reason = dim.kind === 'position' ? unusable(dim, measured?.[d] ?? NaN, maxStartJump) : null;
    if (reason !== null) return { known: false, reason };
  }
  const pose = Float64Array.from(dims, (dim, d) => {
    if (dim.kind === 'position') return measured![d]!;
    if (dim.kind !== 'binary') return last?.[d] ?? 0;
    return last?.[d] ?? binaryOf(dim, measured?.[d] ?? NaN);
  });
  return { known: true, pose };
}

function unusable({ name, joint, min, max }: ActionDim, value: number, maxStartJump: number): string | null {
  const whose = joint === name ? joint : `${joint} (action ${name})`;
  if (!Number.isFinite(value)) return `no measured position of ${whose}: is the joint state published?`;
  if (value >= min - maxStartJump && value <= max + maxStartJump) return null;
  return (
    `${whose} is at ${round(value)}, more than max_start_jump (${maxStartJump}) outside its limits ` +
    `${round(min)}..${round(max)}: move it inside`
  );
}

const round = (value: number): number => Number(value.toPrecision(4));
