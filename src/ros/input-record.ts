/** What is measured of one input: arrivals, refusals, pictures that stay the same. Memory is bounded. */

/** `repeated`: the stamp of the message before came again; `stamp`: another fault of the stamp; `unusable`: the rest. */
export type RefusalKind = 'repeated' | 'stamp' | 'unusable';

export interface Refusal {
  readonly kind: RefusalKind;
  /** For people, without the topic. */
  readonly message: string;
  readonly atMs: number;
  /** What the header said; null when the stamp does not matter. */
  readonly stampNs: bigint | null;
}

const RATE_WINDOW_MS = 2000;
const RATE_ARRIVALS = 256;
const SAMPLES = 1024;

export class InputRecord {
  received = 0;
  refused = 0;
  /** The last message that was accepted. */
  arrivedMs: number | null = null;
  /** The last message that was refused since then. */
  refusal: Refusal | null = null;
  /** Pictures in a row that could not be decoded, and why. */
  undecodable = 0;
  decodeProblem = '';
  /** Newest arrivals, ascending, those of the window among them; at most RATE_ARRIVALS. */
  #arrivals: number[] = [];
  #flowsSinceMs = 0;
  #sample: number | null = null;
  #sameSinceMs = 0;

  /** `picture`: the bytes of a camera message, null for a state. */
  accept(nowMs: number, picture: Uint8Array | null): void {
    if (this.arrivedMs === null || nowMs - this.arrivedMs > RATE_WINDOW_MS) this.#flowsSinceMs = nowMs;
    this.arrivedMs = nowMs;
    this.refusal = null;
    this.#arrivals.push(nowMs);
    if (this.#arrivals.length > RATE_ARRIVALS || this.#arrivals[0]! < nowMs - RATE_WINDOW_MS)
      this.#arrivals.shift();
    const sample = picture && sampleOf(picture);
    if (sample !== this.#sample || sample === null) this.#sameSinceMs = nowMs;
    this.#sample = sample;
  }

  refuse(refusal: Refusal): void {
    this.refused += 1;
    this.refusal = refusal;
  }

  /** Accepted messages per second over the last two seconds; 0 with fewer than two. */
  rateHz(nowMs: number): number {
    const arrivals = this.#arrivals.filter(atMs => nowMs - atMs <= RATE_WINDOW_MS);
    const [first, last] = [arrivals[0], arrivals.at(-1)];
    if (first === undefined || last === undefined || last === first) return 0;
    // Between the messages, and no more than the time since the last one allows.
    return 1000 * Math.min((arrivals.length - 1) / (last - first), arrivals.length / (nowMs - first));
  }

  /** Whether messages have come for long enough to judge their rate. */
  rateIsKnown(nowMs: number): boolean {
    return this.arrivedMs !== null && nowMs - this.#flowsSinceMs >= RATE_WINDOW_MS;
  }

  /** For how long all pictures have been the same. */
  sameMs(): number {
    return this.arrivedMs === null ? 0 : this.arrivedMs - this.#sameSinceMs;
  }
}

/**
 * FNV-1a of up to 1,024 bytes at equal distances over the whole picture: 20 µs, whatever its size. A picture that
 * differs in none of them counts as the same; a real camera's noise touches all of them.
 */
function sampleOf(picture: Uint8Array): number {
  const count = Math.min(SAMPLES, picture.length);
  let hash = 0x811c9dc5 ^ picture.length;
  for (let i = 0; i < count; i++) {
    const byte = picture[Math.floor((i * picture.length) / count)]!;
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return hash >>> 0;
}
