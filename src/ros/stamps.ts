/** Which times can serve as stamps. Pure. */

/** A stamp that is this much older than the newest means that its source began anew (a bag in a loop). */
export const RESTART_NS = 1_000_000_000n;
/** Clocks of one robot differ by less; what lies farther ahead would be paired with nothing. */
const FUTURE_NS = 1_000_000_000n;

/** Why a stamp of a header cannot be used, whatever came before it. `nowNs`: ROS time; 0: there is none. */
export function headerFault(stampNs: bigint, nowNs: bigint): string | null {
  if (stampNs <= 0n)
    return 'the stamp is zero; it must be set by the driver (or set sync.stamps to arrival in the robot file)';
  if (nowNs <= 0n || stampNs <= nowNs + FUTURE_NS) return null;
  const seconds = (Number(stampNs - nowNs) / 1e9).toFixed(3);
  return `the stamp lies ${seconds} s in the future; synchronise the clocks`;
}

/** Why the time of an arrival cannot be used. */
export const arrivalFault = (nowNs: bigint): string | null =>
  nowNs > 0n ? null : 'ROS time does not run yet, and sync.stamps is arrival; is /clock published?';

/** Simulated time may stand still between two messages: the order of arrival stays. `before` is the stamp before. */
export const arrivalStamp = (nowNs: bigint, before: bigint | null): bigint =>
  before !== null && nowNs <= before && before - nowNs <= RESTART_NS ? before + 1n : nowNs;
