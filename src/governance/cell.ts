import type { FailureKind } from "../canon/failure.ts";
import type { SecondChoiceReason, Terminal } from "../evidence/record.ts";

/**
 * Writes whole numbers, texts and bytes one after the other, each with what is needed to read it
 * back.
 */
class ByteWriter {
  #bytes = Buffer.allocUnsafe(512);
  #length = 0;

  /** @param value a whole number from 0 to 2^53 - 1; seven bits a byte, the lowest first. */
  number(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  bytes(value: Uint8Array): void {
    this.number(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  text(value: string): void {
    const length = Buffer.byteLength(value, "utf8");
    this.number(length);
    this.#reserve(length);
    this.#length += this.#bytes.write(value, this.#length, "utf8");
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.#bytes.subarray(0, this.#length));
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + more));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

/** Bytes that {@link ByteWriter.number} takes. */
function numberLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length += 1;
  return length;
}

/**
 * Reads what {@link ByteWriter} wrote. Bytes that it did not write make it throw a `RangeError`, or
 * read wrong numbers, never past the end.
 */
class ByteReader {
  readonly #bytes: Uint8Array;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#position >= this.#bytes.length;
  }

  number(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.#bytes[this.#position++];
      if (byte === undefined) throw new RangeError("the bytes end in the middle of a number");
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }

  /** A view, not a copy. */
  bytes(): Uint8Array {
    const length = this.number();
    const end = this.#position + length;
    if (end > this.#bytes.length) throw new RangeError("the bytes end before their length");
    const value = this.#bytes.subarray(this.#position, end);
    this.#position = end;
    return value;
  }

  text(): string {
    const bytes = this.bytes();
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  }
}

/** How far a quantile may be from the exact one, as a share of it. */
export const RELATIVE_ERROR = 0.01;

/** Smaller values count as 0; larger ones as this. */
const SMALLEST = 0.001;
const LARGEST = 1e9;

const LOG_GAMMA = Math.log((1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR));
const FIRST = Math.floor(Math.log(SMALLEST) / LOG_GAMMA);

/** Bucket 0 holds zero, bucket `n` the values in (γ^(n-1+FIRST-1), γ^(n+FIRST-1)]. */
function bucketOf(value: number): number {
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

/**
 * The numbers under which counts are stored. Never changed and never used again: stored cells have
 * them. A terminal or a failure without a number here does not compile.
 */
export const COUNTER_NUMBERS = {
  requests: 1,
  allowed: 2,
  answered: 3,
  denied: 4,
  refused: 5,
  judged: 6,
  would_deny: 7,
  newly_denied: 8,
  would_narrow: 9,
  indeterminate: 10,
  ended: 11,
  fell_back: 12,
  attempts: 13,
  input_tokens: 14,
  output_tokens: 15,
  cache_read_tokens: 16,
  reasoning_tokens: 17,
  metered: 18,
  "terminal.completed": 20,
  "terminal.incomplete": 21,
  "terminal.failed": 22,
  "terminal.denied": 23,
  "terminal.refused": 24,
  "terminal.client_closed": 25,
  "terminal.unknown": 26,
  "failure.connect": 30,
  "failure.tls": 31,
  "failure.reset": 32,
  "failure.timeout_connect": 33,
  "failure.timeout_first_byte": 34,
  "failure.timeout_first_token": 35,
  "failure.timeout_idle": 36,
  "failure.timeout_attempt": 37,
  "failure.timeout_total": 38,
  "failure.rate_limited": 39,
  "failure.overloaded": 40,
  "failure.server_error": 41,
  "failure.auth": 42,
  "failure.not_found": 43,
  "failure.rejected": 44,
  "failure.redirect": 45,
  "failure.malformed": 46,
  "failure.truncated": 47,
  "failure.error_frame": 48,
  "failure.too_large": 49,
  "failure.credentials_missing": 50,
  "failure.saturated": 51,
  "failure.client_closed": 52,
  "failure.abandoned": 53,
  "failure.address_refused": 54,
  "failure.server_stopping": 55,
  "failure.key_revoked": 56,
  cost_nano_usd: 57,
  priced: 58,
  priced_unmetered: 59,
  unpriced_unmetered: 60,
  "failure.proxy": 61,
  "failure.proxy_auth": 62,
  "second_choice.failed": 63,
  "second_choice.slow": 64,
  "second_choice.queue_full": 65,
  "second_choice.ejected": 66,
  "second_choice.rate_limited": 67,
  "second_choice.unsupported": 68,
  "second_choice.policy": 69,
  "second_choice.preference": 70,
} as const satisfies Readonly<
  Record<
    `terminal.${Terminal}` | `failure.${FailureKind}` | `second_choice.${SecondChoiceReason}`,
    number
  >
> &
  Readonly<Record<string, number>>;

/**
 * Counters. Money is for spend alone: the governance summary is no bill. `metered` requests
 * have token counts, `priced` ones a known cost; of the two kinds the rest is counted in
 * `priced_unmetered` and `unpriced_unmetered`, so cells that were counted before there were costs
 * are unpriced.
 */
export type Counter = keyof typeof COUNTER_NUMBERS;

/** Larger than every number of a counter, with space for counters of a later version. */
const COUNTER_LIMIT = 96;

/** Latencies of requests that were let through, milliseconds; stored in this order. */
const LATENCIES = ["total", "first_byte", "router"] as const;
type Latency = (typeof LATENCIES)[number];

const VERSION = 1;
const NOTHING: readonly number[] = Array.from({ length: COUNTER_LIMIT }, () => 0);

/** An increment of several cells: counters and buckets are looked up once for all of them. */
export class Addition {
  readonly numbers: number[] = [];
  readonly amounts: number[] = [];
  /** Index of the latency and its bucket by turns. */
  readonly measured: number[] = [];

  /**
   * @param amount fractions and what is below 0 are left out, because a provider's numbers are not
   * ours.
   */
  count(counter: Counter, amount = 1): void {
    const whole = Math.trunc(amount);
    if (whole <= 0) return;
    this.numbers.push(COUNTER_NUMBERS[counter]);
    this.amounts.push(Math.min(whole, Number.MAX_SAFE_INTEGER));
  }

  /** @param milliseconds 0 or more. */
  measure(latency: Latency, milliseconds: number): void {
    this.measured.push(LATENCIES.indexOf(latency), bucketOf(milliseconds));
  }
}

/**
 * Statistics of one set of requests: counts and latencies. Numbers only. Cells add up, in any
 * order and grouping.
 */
export class Cell {
  /**
   * A copy of a plain array: cells are made by the thousand, and typed arrays of this size are
   * outside the heap.
   */
  readonly #counts = NOTHING.slice();
  readonly #sketches: (QuantileSketch | null)[] = [null, null, null];

  get(counter: Counter): number {
    return this.#counts[COUNTER_NUMBERS[counter]] ?? 0;
  }

  add({ numbers, amounts, measured }: Addition): void {
    for (let index = 0; index < numbers.length; index++) {
      const number = numbers[index] ?? 0;
      this.#counts[number] = (this.#counts[number] ?? 0) + (amounts[index] ?? 0);
    }
    for (let index = 0; index < measured.length; index += 2) {
      this.#sketch(measured[index] ?? 0).addBucket(measured[index + 1] ?? 0);
    }
  }

  /** All that was measured. */
  latencies(latency: Latency): QuantileSketch {
    return this.#sketch(LATENCIES.indexOf(latency));
  }

  /**
   * Adds a cell from the bytes it was written as. @throws {RangeError} for bytes of another version
   */
  addEncoded(bytes: Uint8Array): void {
    const reader = readerOf(bytes);
    for (let left = reader.number(); left > 0; left--) {
      const number = reader.number();
      if (number >= COUNTER_LIMIT)
        throw new RangeError(
          "the roll-up has a counter that this version does not support; read it with the newer version",
        );
      this.#counts[number] = (this.#counts[number] ?? 0) + reader.number();
    }
    // Added at once: a view that is kept keeps the whole page of cells that it was read from.
    for (const index of LATENCIES.keys()) {
      const sketch = reader.bytes();
      if (sketch.length > 0) this.#sketch(index).addEncoded(sketch);
    }
  }

  encode(): Uint8Array {
    const writer = new ByteWriter();
    writer.number(VERSION);
    writer.number(this.#counts.reduce((held, count) => (count > 0 ? held + 1 : held), 0));
    for (let number = 0; number < COUNTER_LIMIT; number++) {
      const count = this.#counts[number] ?? 0;
      if (count === 0) continue;
      writer.number(number);
      writer.number(Math.min(count, Number.MAX_SAFE_INTEGER));
    }
    for (const index of LATENCIES.keys()) {
      if (this.#sketches[index] === null) writer.number(0);
      else this.#sketch(index).write(writer);
    }
    return writer.finish();
  }

  #sketch(index: number): QuantileSketch {
    return (this.#sketches[index] ??= new QuantileSketch());
  }
}

/**
 * Adds a cell, from the bytes it was written as, to the one that is known by the same key. @throws
 * {RangeError}
 */
export function addTo(cells: Map<string, Cell>, key: string, bytes: Uint8Array): void {
  const sum = cells.get(key) ?? new Cell();
  sum.addEncoded(bytes);
  cells.set(key, sum);
}

/**
 * One count of a cell, from the bytes it was written as, without its latencies. @throws
 * {RangeError} for bytes of another version
 */
export function encodedCount(bytes: Uint8Array, counter: Counter): number {
  const reader = readerOf(bytes);
  const wanted = COUNTER_NUMBERS[counter];
  for (let left = reader.number(); left > 0; left--) {
    const number = reader.number();
    const count = reader.number();
    if (number === wanted) return count;
  }
  return 0;
}

function readerOf(bytes: Uint8Array): ByteReader {
  const reader = new ByteReader(bytes);
  if (reader.number() === VERSION) return reader;
  throw new RangeError("the roll-up was written by another version; read it with that version");
}
