/** The files of a replay: nothing has their names before all is known, and what keeps one from its name costs no other. */
import { Draft } from '../draft';
import { FRAME_LOG } from '../engine/frame-log';
import { allWritten, asNotWritten, beginsWith, HTML, notWritten, TextResult } from '../result-file';
import type { RecordedTopic } from './bag-metadata';
import { renderReplayReport } from './report';
import { ResultBag } from './result-bag';
import type { ReplayResult } from './result';

/** Null: not wanted. */
export interface OutputPaths {
  readonly bag: string | null;
  readonly report: string | null;
  readonly frameLog: string | null;
}

interface Opened {
  readonly bag: ResultBag | null;
  readonly report: TextResult | null;
  readonly frameLog: Draft | null;
}

export class ReplayOutputs {
  readonly #paths: OutputPaths;
  readonly #opened: Opened;

  private constructor(paths: OutputPaths, opened: Opened) {
    this.#paths = paths;
    this.#opened = opened;
  }

  /** `topics`: of the result bag. Throws RESULT_NOT_WRITTEN; then nothing is left. */
  static async open(paths: OutputPaths, topics: readonly RecordedTopic[]): Promise<ReplayOutputs> {
    const report = paths.report === null ? null : await TextResult.check(paths.report, HTML);
    const frameLog =
      paths.frameLog === null ? null : await Draft.file(paths.frameLog, beginsWith(FRAME_LOG), notWritten);
    try {
      const bag = paths.bag === null ? null : await ResultBag.open(paths.bag, topics);
      return new ReplayOutputs(paths, { bag, report, frameLog });
    } catch (error) {
      await frameLog?.discard();
      throw error;
    }
  }

  get bag(): ResultBag | null {
    return this.#opened.bag;
  }

  /** Where the engine writes its log meanwhile. */
  get frameLog(): string | null {
    return this.#opened.frameLog?.path ?? null;
  }

  /** Throws RESULT_NOT_WRITTEN with all that have not got their names. */
  keep(result: ReplayResult): Promise<void> {
    const { drops } = result.summary;
    return allWritten([this.#opened.bag?.close(), this.#writeReport(result), this.#keepFrameLog(drops)]);
  }

  /** Leaves nothing behind but what `keep` has completed. */
  async discard(): Promise<void> {
    await this.#opened.bag?.abort();
    await this.#opened.frameLog?.discard();
  }

  async #writeReport(result: ReplayResult): Promise<void> {
    await this.#opened.report?.write(renderReplayReport(result));
  }

  /** The engine goes on when the disk is full, and counts what is missing. */
  async #keepFrameLog({ RESULT_NOT_WRITTEN: missing = 0 }: Readonly<Record<string, number>>): Promise<void> {
    const [path, draft] = [this.#paths.frameLog, this.#opened.frameLog];
    if (path === null || draft === null) return;
    if (missing > 0) throw notWritten(path, new Error(`${missing} of its frames could not be written`));
    try {
      await draft.keep();
    } catch (cause) {
      throw asNotWritten(path, cause);
    }
  }
}
