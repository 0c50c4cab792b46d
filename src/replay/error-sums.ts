/** Mean absolute, root mean square and largest error of a stream of errors, in constant memory. */
export class ErrorSums {
  #count = 0;
  #mean = 0;
  /** Largest absolute error, and the sum of squares in units of its square: the square of a large one overflows. */
  #max = 0;
  #squares = 0;

  get count(): number {
    return this.#count;
  }

  /** Null before the first. */
  get mae(): number | null {
    return this.#count === 0 ? null : this.#mean;
  }

  get rmse(): number | null {
    return this.#count === 0 ? null : this.#max * Math.min(1, Math.sqrt(this.#squares / this.#count));
  }

  get max(): number | null {
    return this.#count === 0 ? null : this.#max;
  }

  /** False: NaN, which is no error but something unknown, and does not count. */
  add(error: number): boolean {
    if (Number.isNaN(error)) return false;
    const size = Math.min(Math.abs(error), Number.MAX_VALUE);
    this.#count += 1;
    this.#mean += (size - this.#mean) / this.#count;
    if (size > this.#max) {
      this.#squares = 1 + this.#squares * (this.#max / size) ** 2;
      this.#max = size;
    } else if (size > 0) {
      this.#squares += (size / this.#max) ** 2;
    }
    return true;
  }
}
