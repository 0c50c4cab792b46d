/**
 * The unified KV cache. Per layer one K and one V array [rows, capacity, headDim], allocated once.
 * Rows 0..B-1 are the active requests, always dense, so a decode batch is a view. The newest frame's prefix is kept
 * as well: in a free row (B or above) while nobody has adopted it, else inside the row of a request that began with it.
 * A run reserves nothing that could be lost: its result is written by a commit that first checks every value. So only
 * finite values ever enter, and what lies beyond a row's length is masked: rows need no clearing.
 */
import { OxygenError } from './errors';
import type { Candidates, KvView, NewKv } from './ports';

export interface KvCacheShape {
  readonly layers: number;
  readonly headDim: number;
  /** Language requests at a time; the cache has one row more for the prefix. */
  readonly maxRequests: number;
  /** Positions per row: longest prefix + longest seed + most tokens. */
  readonly capacity: number;
}

export interface Prefix {
  readonly frameId: number;
  readonly stampNs: bigint;
  readonly epoch: number;
  readonly length: number;
  /** Of its last token, so an empty seed needs no run and late requests can still attach. */
  readonly next: Candidates;
}

export interface RowSnapshot {
  readonly id: string;
  /** The frame whose prefix it began with. */
  readonly frameId: number;
  readonly prefixLength: number;
  readonly length: number;
  readonly cap: number;
}

export interface CacheSnapshot {
  readonly rows: readonly RowSnapshot[];
  /** `row` is where it lies; rows.length or above when nobody adopted it. */
  readonly prefix: (Prefix & { readonly row: number }) | null;
  readonly shape: KvCacheShape;
}

interface Row {
  readonly id: string;
  /** What it began with. */
  readonly prefix: Prefix;
  readonly cap: number;
  length: number;
}

export class KvCache {
  readonly shape: KvCacheShape;
  readonly #k: readonly Float32Array[];
  readonly #v: readonly Float32Array[];
  readonly #rows: Row[] = [];
  #prefix: Prefix | null = null;
  #prefixRow = 0;

  constructor(shape: KvCacheShape) {
    const layer = () => new Float32Array((shape.maxRequests + 1) * shape.capacity * shape.headDim);
    this.shape = shape;
    this.#k = Array.from({ length: shape.layers }, layer);
    this.#v = Array.from({ length: shape.layers }, layer);
  }

  /** The hard memory bound. */
  get bytes(): number {
    const { layers, headDim, maxRequests, capacity } = this.shape;
    return 2 * 4 * layers * (maxRequests + 1) * capacity * headDim;
  }

  get active(): number {
    return this.#rows.length;
  }

  get prefix(): Readonly<Prefix> | null {
    return this.#prefix;
  }

  /** Positions a request would need; at most `capacity` or it can never run. */
  static need(prefixLength: number, seedLength: number, maxTokens: number): number {
    return prefixLength + seedLength + maxTokens;
  }

  /** Writes a frame's prefix into row B; an older prefix is forgotten (a request that adopted it keeps its own copy). */
  commitPrefix(prefix: Prefix, kv: NewKv): void {
    if (prefix.length < 1 || prefix.length > this.shape.capacity) {
      throw new OxygenError(
        'CACHE_FULL',
        `a prefix of ${prefix.length} tokens exceeds ${this.shape.capacity} positions`,
      );
    }
    this.#check(kv, 0, prefix.length, `prefix of frame ${prefix.frameId}`);
    this.#prefixRow = this.#rows.length;
    this.#write(this.#prefixRow, 0, prefix.length, kv, 0);
    this.#prefix = prefix;
  }

  /** Forgets the prefix: no request may attach to it any more. */
  dropPrefix(): void {
    this.#prefix = null;
  }

  prefixView(): KvView {
    const prefix = this.#prefix;
    if (!prefix) throw new OxygenError('INTERNAL', 'no prefix in the cache');
    return this.#view(this.#prefixRow, 1, prefix.length);
  }

  /** Gives the request row B, which starts with the prefix: the prefix's own row if it lies there, else a copy. */
  attach(id: string, cap: number): void {
    const prefix = this.#prefix;
    const row = this.#rows.length;
    if (!prefix || row >= this.shape.maxRequests || cap > this.shape.capacity || cap <= prefix.length) {
      throw new OxygenError('CACHE_FULL', `request ${id} cannot get a row (active ${row}, cap ${cap})`);
    }
    if (this.#prefixRow !== row) this.#copy(this.#prefixRow, row, prefix.length);
    this.#rows.push({ id, prefix, cap, length: prefix.length });
  }

  /** The request's row alone, exactly as long as it is. */
  rowView(id: string): KvView {
    const index = this.#indexOf(id);
    return this.#view(index, 1, this.#row(index).length);
  }

  /** All active rows as one batch. Every row is fed at full capacity: shorter rows are masked by their length. */
  batchView(): KvView {
    const only = this.#rows.length === 1 ? this.#row(0).length : this.shape.capacity;
    return this.#view(0, this.#rows.length, only);
  }

  /** Ids and lengths of the batch, in row order. */
  batch(): readonly { readonly id: string; readonly length: number }[] {
    return this.#rows.map(({ id, length }) => ({ id, length }));
  }

  /** Appends `count` positions to a request's row from row `source` of a run's result. */
  append(id: string, kv: NewKv, source: number, count: number): void {
    const index = this.#indexOf(id);
    const row = this.#row(index);
    if (row.length + count > row.cap) {
      throw new OxygenError('CACHE_FULL', `request ${id} would exceed its ${row.cap} positions`);
    }
    this.#check(kv, source, count, `request ${id}`);
    this.#write(index, row.length, count, kv, source);
    row.length += count;
  }

  /**
   * Frees a request's row at once; the last row is copied into the gap, as far as it is in use. The prefix needs no
   * care: in row `last` it stays, now in a free row; in the gap it is overwritten by itself, because all rows above the
   * one that adopted it are copies of it.
   */
  release(id: string): void {
    const index = this.#indexOf(id);
    const last = this.#rows.length - 1;
    const moved = this.#row(last);
    this.#rows.pop();
    if (index === last) return;
    this.#copy(last, index, moved.length);
    this.#rows[index] = moved;
  }

  snapshot(): CacheSnapshot {
    return {
      rows: this.#rows.map(({ id, prefix, length, cap }) => ({
        id,
        frameId: prefix.frameId,
        prefixLength: prefix.length,
        length,
        cap,
      })),
      prefix: this.#prefix && { ...this.#prefix, row: this.#prefixRow },
      shape: this.shape,
    };
  }

  #copy(from: number, to: number, positions: number): void {
    const [start, into] = [this.#start(from), this.#start(to)];
    const end = start + positions * this.shape.headDim;
    for (const layer of this.#k) layer.copyWithin(into, start, end);
    for (const layer of this.#v) layer.copyWithin(into, start, end);
  }

  #write(row: number, at: number, count: number, kv: NewKv, source: number): void {
    const size = count * this.shape.headDim;
    const into = this.#start(row) + at * this.shape.headDim;
    const from = source * size;
    const write = (layer: Float32Array, values: Float32Array) =>
      layer.set(values.subarray(from, from + size), into);
    this.#k.forEach((layer, i) => write(layer, kv.k[i] as Float32Array));
    this.#v.forEach((layer, i) => write(layer, kv.v[i] as Float32Array));
  }

  /** One NaN in a masked slot would poison every row of the batch: 0 × NaN is NaN. */
  #check(kv: NewKv, source: number, count: number, what: string): void {
    const { layers, headDim } = this.shape;
    const size = count * headDim;
    const [from, to] = [source * size, (source + 1) * size];
    if (kv.k.length !== layers || kv.v.length !== layers) throw wrongShape();
    for (let i = 0; i < 2 * layers; i++) {
      const values = (i < layers ? kv.k[i] : kv.v[i - layers]) as Float32Array;
      if (values.length < to) throw wrongShape();
      if (!allFinite(values, from, to))
        throw new OxygenError('NON_FINITE', `keys or values of ${what} are not finite`);
    }
  }

  #view(row: number, batch: number, positions: number): KvView {
    const stride = this.shape.capacity * this.shape.headDim;
    const start = row * stride;
    // A single row may be shorter than its stride; several must keep it to stay a view.
    const count = batch === 1 ? positions * this.shape.headDim : batch * stride;
    const cut = (layer: Float32Array) => layer.subarray(start, start + count);
    return { batch, positions, k: this.#k.map(cut), v: this.#v.map(cut) };
  }

  #start(row: number): number {
    return row * this.shape.capacity * this.shape.headDim;
  }

  #row(index: number): Row {
    const row = this.#rows[index];
    if (!row) throw new OxygenError('INTERNAL', `row ${index} is not active`);
    return row;
  }

  #indexOf(id: string): number {
    const index = this.#rows.findIndex(r => r.id === id);
    if (index < 0) throw new OxygenError('INTERNAL', `request ${id} has no row`);
    return index;
  }
}

/** Infinity and NaN times 0 are NaN, and a sum keeps it: one pass without a branch. */
function allFinite(values: Float32Array, from: number, to: number): boolean {
  let sum = 0;
  for (let i = from; i < to; i++) sum += (values[i] as number) * 0;
  return sum === 0;
}

const wrongShape = (): OxygenError =>
  new OxygenError('INTERNAL', 'a run returned keys and values of the wrong shape');
