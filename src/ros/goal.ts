/**
 * What the robot is to do now: the instruction, the epoch that it began, and what the engine must be told of both.
 * Messages to the engine keep their order, so a standing request that is asked after an epoch has the new texts.
 */
import type { EngineTunables, ToEngine } from '../engine/protocol';
import type { Logger } from './drops';
import { Instruction } from './instruction';
import type { MessageOrigin } from './instruction';
import type { ParameterValues } from './parameter-spec';
import { setsInstruction } from './standing';

export interface GoalDeps {
  readonly values: ParameterValues;
  /** What the engine is told of the values; `instruction`: by topic, empty before the first. */
  readonly tunables: (values: ParameterValues, instruction: string) => EngineTunables;
  readonly log: Logger;
  readonly send: (message: ToEngine) => void;
  /** The standing requests or k have changed; the engine has been told. */
  readonly onTunables: (tunables: EngineTunables) => void;
  /** A new instruction came by topic: chunks of the old one are not started any more. */
  readonly onEpoch: (epoch: number) => void;
}

export class Goal {
  readonly #deps: GoalDeps;
  readonly #instruction = new Instruction();
  #values: ParameterValues;
  #epoch = 0;
  /** Stamp of the first frame of this epoch. */
  #sinceNs: bigint | null = null;

  constructor(deps: GoalDeps) {
    this.#deps = deps;
    this.#values = deps.values;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** The instruction in force; null before the first. */
  get instruction(): string | null {
    return this.#instruction.text;
  }

  /** After a live change. */
  parameters(values: ParameterValues): void {
    this.#values = values;
    this.#tellTunables();
  }

  /** An instruction by topic; true when it is a new one. @throws OxygenError INSTRUCTION_INVALID */
  command(text: string, origin: MessageOrigin): boolean {
    const { log, onEpoch } = this.#deps;
    const first = this.#instruction.commanded === null;
    if (!this.#instruction.command(text, origin)) return false;
    log.info(`instruction: ${this.#instruction.text}`);
    if (!first) {
      this.#nextEpoch();
      onEpoch(this.#epoch);
      this.#deps.send({ type: 'epoch', epoch: this.#epoch, endAll: false });
    }
    this.#tellTunables();
    return true;
  }

  /** What a standing request said at its good end; true when that is the new instruction. */
  answer(name: string, text: string, frameStampNs: bigint): boolean {
    if (!setsInstruction(this.#values, name)) return false;
    // Of a frame from before the last command: an answer to another question.
    if (this.#sinceNs === null || frameStampNs < this.#sinceNs) return false;
    if (!this.#instruction.follow(text)) return false;
    this.#deps.log.info(`instruction, set by ${name}: ${this.#instruction.text}`);
    return true;
  }

  /** A frame went to the engine. */
  frame(stampNs: bigint): void {
    this.#sinceNs ??= stampNs;
  }

  /** Nothing from before counts any more; the commanded instruction stays. */
  beginAnew(): void {
    this.#nextEpoch();
    this.#instruction.unfollow();
    this.#deps.send({ type: 'epoch', epoch: this.#epoch, endAll: true });
  }

  #nextEpoch(): void {
    this.#epoch += 1;
    this.#sinceNs = null;
  }

  #tellTunables(): void {
    const tunables = this.#deps.tunables(this.#values, this.#instruction.commanded ?? '');
    this.#deps.send({ type: 'tunables', tunables });
    this.#deps.onTunables(tunables);
  }
}
