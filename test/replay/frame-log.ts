/** What enters the engine, as frame_log and --frame-log write it, against the bag as another library reads it. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { CAMERA } from './player';
import type { BagTopic } from './player';

export interface Frame {
  readonly stamp: string;
  readonly instruction: string;
  readonly cameras: readonly string[];
  readonly state: readonly number[];
  readonly images: string;
}

export const framesOf = (file: string): readonly Frame[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Frame);

/**
 * A picture and a pose as another library reads them from the bag (no resizing is needed, the joints are in order), the
 * newer one giving the stamp, and the instruction of that time.
 */
export const isOfBag = (
  { stamp, images, state, instruction }: Frame,
  bag: Readonly<Record<string, BagTopic>>,
): boolean => {
  const partners = (topic: string) =>
    bag[topic]!.messages.filter(part => {
      const olderNs = Number(stamp) - Number(part.stamp);
      return olderNs >= 0 && olderNs <= 50e6;
    });
  const pictures = partners(CAMERA).filter(({ picture }) => picture === images);
  const poses = partners('/joint_states').filter(({ values }) => isDeepStrictEqual(values, state));
  const around = bag['/instruction']!.messages.filter(
    ({ log }, i, all) =>
      Number(log) < Number(stamp) + 0.2e9 && Number(all[i + 1]?.log ?? Infinity) > Number(stamp) - 0.2e9,
  );
  return (
    pictures.length > 0 &&
    poses.length > 0 &&
    [...pictures, ...poses].some(part => part.stamp === stamp) &&
    around.some(({ text }) => text === instruction)
  );
};
