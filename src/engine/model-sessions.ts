/** The three graphs of an engine as ONNX Runtime sessions, with their tensors. Nothing here knows of frames or requests. */
import * as ort from 'onnxruntime-node';
import { OxygenError } from '../core/errors';
import type { Candidates, KvView, NewKv } from '../core/ports';
import { MASKED } from '../model/config';
import { CPU_FOLDER, readManifest, TARGET_GRAPHS, type Manifest } from '../model/manifest';
import { pastFeeds, type Feeds } from './feeds';
import { HostTensors } from './host-tensors';
import { modulations } from './modulations';
import { CANDIDATE_NAMES, candidates, kvNames, newKv } from './outputs';
import { sessionOptions } from './session-options';
import { floats, int64, openSessions, runSession } from './session-run';

export interface LanguageFeeds {
  readonly batch: number;
  /** T: tokens per row. */
  readonly tokens: number;
  /** [B·T·width] */
  readonly x: Float32Array;
  /** [B·T] */
  readonly positions: readonly number[];
  /** Valid positions per row of the past; the rest is masked. */
  readonly pastLengths: readonly number[];
  readonly past: KvView | null;
  /** From this new token on each sees only what is before it; null: all new tokens see all. Earlier ones never see later causal ones. */
  readonly causalFrom: number | null;
  /** One index in 0..T-1 per row: where logits are wanted. */
  readonly want: readonly number[];
  readonly fullLogits?: boolean;
  /** Further outputs of the graph to fetch, for checks. */
  readonly also?: readonly string[];
}

export interface LanguageResult {
  readonly kv: NewKv;
  readonly next: readonly Candidates[];
  /** [B, vocab], when asked for. */
  readonly logits: Float32Array | null;
  /** By name, what `also` asked for. */
  readonly also: Readonly<Record<string, Float32Array>>;
}

type CpuSessions = Readonly<Record<(typeof TARGET_GRAPHS)['cpu'][number], ort.InferenceSession>>;

export class ModelSessions {
  readonly target = 'cpu';
  readonly manifest: Manifest;
  readonly host: HostTensors;
  readonly #vision: ort.InferenceSession;
  readonly #language: ort.InferenceSession;
  readonly #expert: ort.InferenceSession;
  readonly #modulations = new Map<number, readonly Float32Array[]>();

  private constructor(manifest: Manifest, host: HostTensors, sessions: CpuSessions) {
    this.manifest = manifest;
    this.host = host;
    this.#vision = sessions.vision;
    this.#language = sessions.language;
    this.#expert = sessions.expert;
  }

  /** `threads` and `spinUs` as in Pool; `manifest`: where it was read already. Throws ENGINE_* or RUNTIME_VERSION. */
  static async load(
    dir: string,
    threads: number,
    spinUs = 0,
    manifest = readManifest(dir),
  ): Promise<ModelSessions> {
    if (manifest.target !== 'cpu') {
      const message = `${dir} is an engine for ${manifest.target}; the one for the CPU is in its folder ${CPU_FOLDER}, if it has one`;
      throw new OxygenError('ENGINE_INVALID', message);
    }
    const sessions = await openSessions(dir, TARGET_GRAPHS.cpu, sessionOptions({ threads, spinUs }));
    return new ModelSessions(manifest, new HostTensors(dir, manifest), sessions);
  }

  async release(): Promise<void> {
    this.host.close();
    for (const session of [this.#vision, this.#language, this.#expert]) await session.release();
  }

  /** images [n,H,W,3] u8 → image tokens [n·tokens·width]. */
  async vision(images: Uint8Array, cameras: number): Promise<Float32Array> {
    const { imageHeight, imageWidth } = this.manifest.model.vision;
    const tensor = new ort.Tensor('uint8', images, [cameras, imageHeight, imageWidth, 3]);
    const { image_tokens: tokens } = await runSession('vision', this.#vision, { images: tensor }, [
      'image_tokens',
    ]);
    return floats(tokens);
  }

  async language(f: LanguageFeeds): Promise<LanguageResult> {
    const { layers, width } = this.manifest.model.language;
    const { batch, tokens } = f;
    const none = new Array<Float32Array>(layers).fill(EMPTY);
    const past = f.past ?? { batch, positions: 0, k: none, v: none };
    const feeds: Feeds = {
      x: new ort.Tensor('float32', f.x, [batch, tokens, width]),
      positions: int64(f.positions, [batch, tokens]),
      mask: this.#mask(f, past.positions),
      want: int64(f.want, [batch, 1]),
      ...pastFeeds(this.manifest, past),
    };
    const fetches = [...CANDIDATE_NAMES, ...kvNames(layers)];
    if (f.fullLogits) fetches.push('logits');
    fetches.push(...(f.also ?? []));
    const out = await runSession('language', this.#language, feeds, fetches);
    return {
      kv: newKv(out, layers),
      next: candidates(out, batch, this.manifest.topK),
      logits: f.fullLogits ? floats(out['logits']) : null,
      also: Object.fromEntries((f.also ?? []).map(name => [name, floats(out[name])])),
    };
  }

  /** Euler steps over one prefix: `step` of `steps` at x_t [H·A] → v_t [H·A]. The prefix is fed as it is, at every step. */
  expert(prefix: KvView, steps: number): (x: Float32Array, step: number) => Promise<Float32Array> {
    const { model } = this.manifest;
    const { layers } = model.language;
    const tables = this.modulations(steps);
    const positions = Array.from({ length: model.horizon }, (_, h) => prefix.positions + h);
    const feeds: Feeds = {
      positions: int64(positions, [1, model.horizon]),
      ...pastFeeds(this.manifest, prefix),
    };
    return async (x, step) => {
      const table = tables[step];
      if (!table) throw new OxygenError('INTERNAL', `denoise step ${step} of ${steps} does not exist`);
      feeds['x_t'] = new ort.Tensor('float32', x, [1, model.horizon, model.actionDim]);
      feeds['modulations'] = new ort.Tensor('float32', table, [2 * layers + 1, 3 * model.expert.width]);
      const { v_t: v } = await runSession('denoise', this.#expert, feeds, ['v_t']);
      return floats(v);
    };
  }

  /** Computed at first use of a step count. */
  modulations(steps: number): readonly Float32Array[] {
    let tables = this.#modulations.get(steps);
    if (!tables) {
      tables = modulations(this.manifest.model, name => this.host.read(name), steps);
      this.#modulations.set(steps, tables);
    }
    return tables;
  }

  /**
   * [B, M, S+T] over past and new keys. Past ones are hidden beyond each row's length. With `causalFrom` there is a row
   * for each token and head: the causal tail is hidden from the head, and in itself each sees only earlier ones.
   */
  #mask({ batch, tokens, pastLengths, causalFrom }: LanguageFeeds, past: number): ort.Tensor {
    const { heads } = this.manifest.model.language;
    const rows = causalFrom === null ? 1 : tokens * heads;
    const columns = past + tokens;
    const mask = new Float32Array(batch * rows * columns);
    for (let i = 0; i < batch * rows; i++) {
      const start = i * columns;
      mask.fill(MASKED, start + (pastLengths[Math.floor(i / rows)] ?? 0), start + past);
      if (causalFrom === null) continue;
      const visible = Math.max(causalFrom, Math.floor((i % rows) / heads) + 1);
      mask.fill(MASKED, start + past + visible, start + columns);
    }
    return new ort.Tensor('float32', mask, [batch, rows, columns]);
  }
}

const EMPTY = new Float32Array(0);
