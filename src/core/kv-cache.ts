/**
 * The unified KV cache. Per layer one K and one V array [rows, capacity, headDim], allocated once.
 * Rows 0..B-1 are the active requests, always dense, so a decode batch is a view. The newest frame's prefix is kept
 * as well: in row B while nobody has adopted it, else inside the row of the request that did.
 * A run reserves nothing that could be lost: its result is written by a commit that first checks every value.
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
  readonly prefixLength: number;
  readonly length: number;
  readonly cap: number;
}

export interface CacheSnapshot {
  readonly rows: readonly RowSnapshot[];
  /** `row` is where it lies; equal to rows.length when nobody adopted it. */
  readonly prefix: (Prefix & { readonly row: number }) | null;
  readonly shape: KvCacheShape;
}

interface Row {
  readonly id: string;
  readonly prefixLength: number;
  readonly cap: number;
  length: number;
}

export class KvCache {
  readonly shape: KvCacheShape;
  readonly #k: readonly Float32Array[];
  readonly #v: readonly Float32Array[];
  readonly #scratch: Float32Array;
  /** Highest position ever written per row since it was last cleared. */
  readonly #dirty: number[];
  readonly #rows: Row[] = [];
  #prefix: (Prefix & { row: number }) | null = null;

  constructor(shape: KvCacheShape) {
    const row = shape.capacity * shape.headDim;
    const layer = () => new Float32Array((shape.maxRequests + 1) * row);
    this.shape = shape;
    this.#k = Array.from({ length: shape.layers }, layer);
    this.#v = Array.from({ length: shape.layers }, layer);
    this.#scratch = new Float32Array(row);
    this.#dirty = new Array<number>(shape.maxRequests + 1).fill(0);
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
    this.#checkFinite(kv, 0, prefix.length, `prefix of frame ${prefix.frameId}`);
    const row = this.#rows.length;
    this.#clear(row);
    this.#write(row, 0, prefix.length, kv, 0);
    this.#prefix = { ...prefix, row };
  }

  /** Forgets the prefix: no request may attach to it any more. */
  dropPrefix(): void {
    this.#prefix = null;
  }

  prefixView(): KvView {
    const prefix = this.#prefix;
    if (!prefix) throw new OxygenError('INTERNAL', 'no prefix in the cache');
    return this.#view(prefix.row, 1, prefix.length);
  }

  /** Gives the request a row that starts with the prefix: the prefix's own row if nobody has it yet, else a copy. */
  attach(id: string, cap: number): void {
    const prefix = this.#prefix;
    const row = this.#rows.length;
    if (!prefix || row >= this.shape.maxRequests || cap > this.shape.capacity || cap <= prefix.length) {
      throw new OxygenError('CACHE_FULL', `request ${id} cannot get a row (active ${row}, cap ${cap})`);
    }
    if (prefix.row !== row) {
      this.#clear(row);
      this.#copy(prefix.row, row, prefix.length);
    }
    this.#rows.push({ id, prefixLength: prefix.length, cap, length: prefix.length });
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
    this.#checkFinite(kv, source, count, `request ${id}`);
    this.#write(index, row.length, count, kv, source);
    row.length += count;
  }

  /** Frees a request's row at once; the last row moves into the gap. */
  release(id: string): void {
    const index = this.#indexOf(id);
    const last = this.#rows.length - 1;
    if (index !== last) {
      this.#exchange(index, last);
      this.#rows[index] = this.#row(last);
    }
    this.#rows.pop();
    if (this.#prefix && this.#prefix.row > last) this.#movePrefixTo(last);
    else if (this.#prefix?.row !== last) this.#clear(last);
    // A prefix that the freed row had adopted stays where it is: row `last` is row B now.
  }

  snapshot(): CacheSnapshot {
    return {
      rows: this.#rows.map(({ id, prefixLength, length, cap }) => ({ id, prefixLength, length, cap })),
      prefix: this.#prefix && { ...this.#prefix },
      shape: this.shape,
    };
  }

  /** Swaps two rows, as far as they are in use; the prefix follows if one of them holds it. */
  #exchange(a: number, b: number): void {
    const positions = Math.max(this.#dirty[a] ?? 0, this.#dirty[b] ?? 0);
    const count = positions * this.shape.headDim;
    for (const layer of this.#layers()) {
      const [left, right] = [
        layer.subarray(this.#start(a), this.#start(a) + count),
        layer.subarray(this.#start(b), this.#start(b) + count),
      ];
      const scratch = this.#scratch.subarray(0, count);
      scratch.set(left);
      left.set(right);
      right.set(scratch);
    }
    [this.#dirty[a], this.#dirty[b]] = [this.#dirty[b] ?? 0, this.#dirty[a] ?? 0];
    if (this.#prefix?.row === a) this.#prefix.row = b;
    else if (this.#prefix?.row === b) this.#prefix.row = a;
  }

  #movePrefixTo(row: number): void {
    const prefix = this.#prefix;
    if (!prefix) return;
    this.#clear(row);
    this.#copy(prefix.row, row, prefix.length);
    prefix.row = row;
  }

  #copy(from: number, to: number, positions: number): void {
    const count = positions * this.shape.headDim;
    for (const layer of this.#layers())
      layer.copyWithin(this.#start(to), this.#start(from), this.#start(from) + count);
    this.#dirty[to] = Math.max(this.#dirty[to] ?? 0, positions);
  }

  #write(row: number, at: number, count: number, kv: NewKv, source: number): void {
    const { headDim } = this.shape;
    const from = this.#sourceStart(kv, source, count);
    const into = this.#start(row) + at * headDim;
    this.#k.forEach((layer, i) =>
      layer.set((kv.k[i] as Float32Array).subarray(from, from + count * headDim), into),
    );
    this.#v.forEach((layer, i) =>
      layer.set((kv.v[i] as Float32Array).subarray(from, from + count * headDim), into),
    );
    this.#dirty[row] = Math.max(this.#dirty[row] ?? 0, at + count);
  }

  /** One NaN in a masked slot would poison every row of the batch: 0 × NaN is NaN. */
  #checkFinite(kv: NewKv, source: number, count: number, what: string): void {
    const from = this.#sourceStart(kv, source, count);
    for (const values of [...kv.k, ...kv.v]) {
      for (let i = from; i < from + count * this.shape.headDim; i++) {
        if (!Number.isFinite(values[i]))
          throw new OxygenError('NON_FINITE', `keys or values of ${what} are not finite`);
      }
    }
  }

  #sourceStart(kv: NewKv, source: number, count: number): number {
    const { layers, headDim } = this.shape;
    const end = (source + 1) * count * headDim;
    if (kv.k.length !== layers || kv.v.length !== layers || [...kv.k, ...kv.v].some(t => t.length < end)) {
      throw new OxygenError('INTERNAL', `a run returned keys and values of the wrong shape`);
    }
    return source * count * headDim;
  }

  #clear(row: number): void {
    const start = this.#start(row);
    for (const layer of this.#layers())
      layer.fill(0, start, start + (this.#dirty[row] ?? 0) * this.shape.headDim);
    this.#dirty[row] = 0;
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

  #layers(): readonly Float32Array[] {
    return [...this.#k, ...this.#v];
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
