import { ByteWriter, numberLength } from "./byte-stream.ts";

/** How far a quantile may be from the exact one, as a share of it. */
export const RELATIVE_ERROR = 0.01;

/** Smaller values count as 0; larger ones as this. */
const SMALLEST = 0.001;
const LARGEST = 1e9;

const LOG_GAMMA = Math.log((1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR));
const FIRST = Math.floor(Math.log(SMALLEST) / LOG_GAMMA);

/** Bucket 0 holds zero, bucket `n` the values in (γ^(n-1+FIRST-1), γ^(n+FIRST-1)]. */
export function bucketOf(value: number): number {
  if (!(value >= SMALLEST)) return 0;
  return Math.ceil(Math.log(Math.min(value, LARGEST)) / LOG_GAMMA) - FIRST + 1;
}

const BUCKETS = bucketOf(LARGEST) + 1;

/** A value within {@link RELATIVE_ERROR} of every value of the bucket. */
function valueOf(bucket: number): number {
  return bucket === 0 ? 0 : Math.exp((bucket + FIRST - 1) * LOG_GAMMA) * (1 - RELATIVE_ERROR);
}

/** Values that are kept one by one, before they are counted by bucket. */
const MOST_ADDED = 256;

/**
 * Counts of values in buckets whose bounds grow by a constant factor, so that every quantile is
 * known to within {@link RELATIVE_ERROR} whatever the distribution (Masson, Rim, Lee: "DDSketch",
 * PVLDB 12(12), 2019). Two sketches added are the sketch of both sets of values, in any order and
 * grouping. Its size is bounded: 1,384 buckets, of which only those with values take room when
 * written.
 */
export class QuantileSketch {
  /**
   * Buckets of values that are not in `#counts` yet: most sketches see a few values and are
   * written.
   */
  #added: number[] = [];
  /** Counts of the buckets from `#first` on. */
  #counts = new Float64Array(0);
  #first = 0;
  #count = 0;

  /** How many values it has seen. */
  get count(): number {
    return this.#count;
  }

  /**
   * @param value finite, 0 or more; in units of the caller's choice of which a thousandth does not
   * matter.
   */
  add(value: number): void {
    this.addBucket(bucketOf(value));
  }

  /** @param bucket of {@link bucketOf} */
  addBucket(bucket: number): void {
    this.#added.push(bucket);
    this.#count += 1;
    if (this.#added.length >= MOST_ADDED) this.#settle();
  }

  /**
   * Adds what another sketch has seen, from the bytes it was written as. @throws {RangeError} for
   * other bytes
   */
  addEncoded(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    // Sketches are added by the ten thousand: calls and checks for each bucket would be most of the
    // time.
    let counts = this.#counts;
    let first = this.#first;
    let bucket = 0;
    for (let position = 0; position < bytes.length;) {
      let step = bytes[position++] ?? 0;
      if (step >= 0x80) {
        step -= 0x80;
        for (let factor = 0x80, byte = 0x80; byte >= 0x80; factor *= 0x80) {
          byte = byteAt(bytes, position++);
          step += (byte & 0x7f) * factor;
        }
      }
      let count = byteAt(bytes, position++);
      if (count >= 0x80) {
        count -= 0x80;
        for (let factor = 0x80, byte = 0x80; byte >= 0x80; factor *= 0x80) {
          byte = byteAt(bytes, position++);
          count += (byte & 0x7f) * factor;
        }
      }
      bucket += step;
      if (bucket < first || bucket - first >= counts.length) {
        if (bucket >= BUCKETS) throw new RangeError("a sketch has no such bucket");
        this.#cover(bucket);
        counts = this.#counts;
        first = this.#first;
      }
      counts[bucket - first] = (counts[bucket - first] ?? 0) + count;
      this.#count += count;
    }
  }

  /**
   * The smallest value that at least `share` of all values do not exceed, within
   * {@link RELATIVE_ERROR}; `null` for an empty sketch.
   *
   * @param share from 0 to 1.
   */
  quantile(share: number): number | null {
    if (this.#count === 0) return null;
    this.#settle();
    let rank = Math.max(1, Math.ceil(share * this.#count));
    for (let index = 0; index < this.#counts.length; index++) {
      rank -= this.#counts[index] ?? 0;
      if (rank <= 0) return valueOf(this.#first + index);
    }
    return valueOf(this.#first + this.#counts.length - 1);
  }

  /**
   * One form for one multiset of values: distance to the bucket before, and count, for each bucket
   * that has values.
   */
  encode(): Uint8Array {
    const writer = new ByteWriter();
    for (const number of this.#numbers()) writer.number(number);
    return writer.finish();
  }

  /** The same, after its length in bytes. */
  write(writer: ByteWriter): void {
    const numbers = this.#numbers();
    writer.number(numbers.reduce((length, number) => length + numberLength(number), 0));
    for (const number of numbers) writer.number(number);
  }

  #numbers(): readonly number[] {
    const numbers: number[] = [];
    let last = 0;
    const put = (bucket: number, count: number): void => {
      numbers.push(bucket - last, count);
      last = bucket;
    };
    if (this.#counts.length > 0) {
      this.#settle();
      for (let index = 0; index < this.#counts.length; index++) {
        const count = this.#counts[index] ?? 0;
        if (count > 0) put(this.#first + index, count);
      }
      return numbers;
    }
    const sorted = this.#added.toSorted((left, right) => left - right);
    for (let from = 0; from < sorted.length;) {
      let until = from + 1;
      while (sorted[until] === sorted[from]) until += 1;
      put(sorted[from] ?? 0, until - from);
      from = until;
    }
    return numbers;
  }

  #settle(): void {
    for (const bucket of this.#added) {
      this.#cover(bucket);
      const index = bucket - this.#first;
      this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    }
    this.#added = [];
  }

  #cover(bucket: number): void {
    const end = this.#first + this.#counts.length;
    if (bucket >= this.#first && bucket < end) return;
    // Values cluster; free space on both sides saves most later copies.
    const first = Math.max(
      0,
      Math.min(this.#counts.length === 0 ? bucket : this.#first, bucket) - 8,
    );
    const counts = new Float64Array(Math.min(BUCKETS, Math.max(end, bucket + 64)) - first);
    counts.set(this.#counts, this.#counts.length === 0 ? 0 : this.#first - first);
    this.#first = first;
    this.#counts = counts;
  }
}

function byteAt(bytes: Uint8Array, position: number): number {
  const byte = bytes[position];
  if (byte === undefined) throw new RangeError("the bytes end in the middle of a number");
  return byte;
}
