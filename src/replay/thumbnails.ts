/** Small pictures of what the model saw, evenly spread over the played time. */
import sharp from 'sharp';
import type { Observation } from '../core/types';
import type { Thumbnail } from './result';

/** Pictures, all cameras together: what a page shows at a glance. */
const BUDGET = 16;
/** What most models see. */
const WIDTH = 224;
const QUALITY = 74;
const S = 1e9;

export interface ThumbnailOptions {
  /** Second 0 of the report. */
  readonly originNs: bigint;
  /** Played: from and to. */
  readonly fromNs: bigint;
  readonly toNs: bigint;
  /** Of every picture of an observation, in pixels. */
  readonly imageHeight: number;
  readonly imageWidth: number;
}

interface Kept extends Pick<Thumbnail, 't' | 'camera' | 'instruction' | 'caption'> {
  /** [H, W, 3] u8 RGB, a copy. */
  readonly pixels: Uint8Array;
}

/** Keeps at most 16 pictures (H·W·3 bytes each), whatever is offered. */
export class Thumbnails {
  readonly #options: ThumbnailOptions;
  readonly #kept: Kept[] = [];
  /** Wanted stamps; known with the first observation, because its cameras share the budget. */
  #moments: readonly bigint[] | null = null;
  #next = 0;

  constructor(options: ThumbnailOptions) {
    this.#options = options;
  }

  /** Keeps `observation` if it is the first at or after a wanted moment; `caption` is what the robot said then. */
  offer(observation: Observation, caption: string): void {
    const { stampNs, cameras, images, instruction } = observation;
    this.#moments ??= moments(this.#options, Math.floor(BUDGET / Math.max(1, cameras.length)));
    const due = this.#moments[this.#next];
    if (due === undefined || stampNs < due) return;
    while ((this.#moments[this.#next] ?? stampNs + 1n) <= stampNs) this.#next += 1;
    const { originNs, imageHeight, imageWidth } = this.#options;
    const bytes = imageHeight * imageWidth * 3;
    for (const [i, camera] of cameras.slice(0, BUDGET - this.#kept.length).entries()) {
      this.#kept.push({
        t: Number(stampNs - originNs) / S,
        camera,
        instruction,
        caption,
        pixels: images.slice(i * bytes, (i + 1) * bytes),
      });
    }
  }

  /** In the order of time; equal pictures give equal bytes. */
  async done(): Promise<Thumbnail[]> {
    const { imageHeight: height, imageWidth: width } = this.#options;
    return Promise.all(
      this.#kept.map(async ({ pixels, ...kept }) => {
        const { data, info } = await sharp(pixels, { raw: { width, height, channels: 3 } })
          .resize({ width: WIDTH, withoutEnlargement: true })
          .jpeg({ quality: QUALITY })
          .toBuffer({ resolveWithObject: true });
        const url = `data:image/jpeg;base64,${data.toString('base64')}`;
        return { ...kept, width: info.width, height: info.height, url };
      }),
    );
  }
}

/** `count` stamps from `fromNs` on, at equal distances; at least one. */
function moments({ fromNs, toNs }: ThumbnailOptions, count: number): bigint[] {
  const n = Math.max(1, count);
  return Array.from({ length: n }, (_, i) => fromNs + ((toNs - fromNs) * BigInt(i)) / BigInt(n));
}
