/**
 * A line of JSON for each frame that comes into the engine, to compare what the model got on the robot with what it
 * gets from a bag: stamp (ns, as text), instruction, cameras, state in robot units, and the SHA-256 of the pictures
 * [cameras, H, W, 3].
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { OxygenError } from '../core/errors';
import type { Observation } from '../core/types';

/** How each line, and so the file, begins. */
export const FRAME_LOG = Buffer.from('{"stamp":');

export class FrameLog {
  readonly #path: string;
  readonly #fd: number;

  /** Appends, because an engine that is started again goes on with the same file. Throws CONFIG_INVALID. */
  constructor(path: string) {
    this.#path = path;
    try {
      this.#fd = openSync(path, 'a');
    } catch (cause) {
      const why = (cause as Error).message;
      throw new OxygenError('CONFIG_INVALID', `frame_log: ${path} cannot be written (${why})`, { cause });
    }
  }

  /** Throws RESULT_NOT_WRITTEN. */
  write({ stampNs, instruction, cameras, state, images }: Observation): void {
    const line = {
      stamp: String(stampNs),
      instruction,
      cameras,
      state: [...state],
      images: createHash('sha256').update(images).digest('hex'),
    };
    try {
      // All of it: the system may take a part of a line as the disk fills up.
      writeFileSync(this.#fd, `${JSON.stringify(line)}\n`);
    } catch (cause) {
      const why = (cause as Error).message;
      throw new OxygenError('RESULT_NOT_WRITTEN', `frame_log: ${this.#path}: a frame is missing (${why})`, {
        cause,
      });
    }
  }

  close(): void {
    closeSync(this.#fd);
  }
}
