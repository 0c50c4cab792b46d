/**
 * A line of JSON for each frame that comes into the engine, to compare what the model got on the robot with what it
 * gets from a bag: stamp (ns, as text), instruction, cameras, state in robot units, and the SHA-256 of the pictures
 * [cameras, H, W, 3].
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { OxygenError } from '../core/errors';
import type { Observation } from '../core/types';

export class FrameLog {
  readonly #fd: number;

  /** Appends, because an engine that is started again goes on with the same file. Throws CONFIG_INVALID. */
  constructor(path: string) {
    try {
      this.#fd = openSync(path, 'a');
    } catch (cause) {
      const why = (cause as Error).message;
      throw new OxygenError('CONFIG_INVALID', `frame_log: ${path} cannot be written (${why})`, { cause });
    }
  }

  write({ stampNs, instruction, cameras, state, images }: Observation): void {
    const line = {
      stamp: String(stampNs),
      instruction,
      cameras,
      state: [...state],
      images: createHash('sha256').update(images).digest('hex'),
    };
    writeSync(this.#fd, `${JSON.stringify(line)}\n`);
  }

  close(): void {
    closeSync(this.#fd);
  }
}
