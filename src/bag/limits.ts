/** How much one piece of a bag may claim, so that a damaged or hostile length never decides how much is allocated. */

const MIB = 1024 * 1024;

/** A message, a record or a chunk, as stored and decompressed. A picture of 8000x6000 takes 137 MiB. */
export const MAX_PIECE_BYTES = 256 * MIB;
/** A schema or channel, and the summary section: 10,000 chunks take 2 MiB. */
export const MAX_DESCRIPTION_BYTES = 4 * MIB;
export const MAX_SUMMARY_BYTES = 64 * MIB;

export const mib = (bytes: number): string => `${Math.round(bytes / MIB)} MiB`;
