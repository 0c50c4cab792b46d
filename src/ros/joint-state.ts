/** A JointState message → positions by joint name. Velocities and efforts are not looked at. */
import type { JointStateMessage } from './messages';

export type JointPositions =
  | { readonly kind: 'positions'; readonly byName: ReadonlyMap<string, number> }
  /** What is wrong with the message, for people. */
  | { readonly kind: 'refused'; readonly why: string };

/** `joints` must be there and finite; others do not matter. */
export function jointPositions(
  { name, position }: JointStateMessage,
  joints: readonly string[],
): JointPositions {
  if (position.length !== name.length) {
    const only = position.length < name.length ? 'only ' : '';
    return refused(`has ${name.length} names but ${only}${position.length} positions`);
  }
  const byName = new Map(name.map((joint, i) => [joint, position[i]!]));
  if (byName.size !== name.length) {
    const twice = [...new Set(name.filter((joint, i) => name.indexOf(joint) !== i))];
    return refused(`lists ${twice.join(', ')} twice`);
  }
  const missing = joints.filter(joint => !byName.has(joint));
  if (missing.length > 0)
    return refused(`lacks ${missing.join(', ')}; it has ${name.join(', ') || 'no joint'}`);
  const bad = joints.filter(joint => !Number.isFinite(byName.get(joint)));
  if (bad.length > 0) return refused(`is not a finite number for ${bad.join(', ')}`);
  return { kind: 'positions', byName };
}

const refused = (what: string): JointPositions => ({ kind: 'refused', why: `the joint state ${what}` });
