import type { FailureKind } from "../canon/failure.ts";
import type { SecondChoiceReason, Terminal } from "../evidence/record.ts";
import { remember } from "../canon/remember.ts";

/** Writes whole numbers and bytes one after the other, with their lengths. */
class ByteWriter {
  readonly #bytes: number[] = [];

  /** @param value a whole number from 0 to 2^53 - 1; seven bits a byte, the lowest first. */
  number(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes.push((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes.push(rest);
  }

  bytes(value: Uint8Array): void {
    this.number(value.length);
    for (const byte of value) this.#bytes.push(byte);
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }
}

/**
 * Reads the bytes of a {@link ByteWriter}. Other bytes make it throw a `RangeError`, or read wrong
 * numbers, never past the end.
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
const ZEROS: readonly number[] = Array.from({ length: BUCKETS }, () => 0);

/** A value within {@link RELATIVE_ERROR} of every value of the bucket. */
function valueOf(bucket: number) {
  return bucket === 0 ? 0 : Math.exp((bucket + FIRST - 1) * LOG_GAMMA) * (1 - RELATIVE_ERROR);
}

/**
 * Counts of values in buckets whose bounds grow by a constant factor, so that every quantile is
 * known to within {@link RELATIVE_ERROR} whatever the distribution (Masson, Rim, Lee: "DDSketch",
 * PVLDB 12(12), 2019). Two sketches added are the sketch of both sets of values, in any order and
 * grouping. Its size is bounded: 1,384 buckets, of which only those with values take room when
 * written.
 */
export class QuantileSketch {
  /** Counts of the buckets from `#first` on. */
  #counts: number[] = [];
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
  addBucket(bucket: number, count = 1): void {
    this.#cover(bucket);
    const index = bucket - this.#first;
    this.#counts[index] = (this.#counts[index] ?? 0) + count;
    this.#count += count;
  }

  /** Adds another sketch from its encoded bytes. @throws {RangeError} for other bytes */
  addEncoded(bytes: Uint8Array): void {
    const reader = new ByteReader(bytes);
    let bucket = 0;
    while (!reader.done) {
      bucket += reader.number();
      if (bucket >= BUCKETS) throw new RangeError("a sketch has no such bucket");
      this.addBucket(bucket, reader.number());
    }
  }

  /**
   * The smallest value that at least `share` of all values do not exceed, within
   * {@link RELATIVE_ERROR}; `null` for an empty sketch.
   *
   * @param share from 0 to 1.
   */
  quantile(share: number): number | null {
    let rank = Math.max(1, Math.ceil(share * this.#count));
    const index = this.#counts.findIndex((count) => (rank -= count) <= 0);
    return index === -1 ? null : valueOf(this.#first + index);
  }

  /**
   * One form for one multiset of values: distance to the bucket before, and count, for each bucket
   * that has values.
   */
  encode(): Uint8Array {
    const writer = new ByteWriter();
    let last = 0;
    for (const [index, count] of this.#counts.entries()) {
      if (count === 0) continue;
      writer.number(this.#first + index - last);
      writer.number(count);
      last = this.#first + index;
    }
    return writer.finish();
  }

  #cover(bucket: number) {
    // Values cluster; free space on both sides saves most later copies.
    if (this.#counts.length === 0) this.#first = Math.max(0, bucket - 8);
    const end = this.#first + this.#counts.length;
    if (bucket >= this.#first && bucket < end) return;
    const first = Math.max(0, Math.min(this.#first, bucket - 8));
    const before = ZEROS.slice(0, this.#first - first);
    const after = ZEROS.slice(0, Math.min(BUCKETS, Math.max(end, bucket + 64)) - end);
    this.#counts = before.concat(this.#counts, after);
    this.#first = first;
  }
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
const NO_BYTES = new Uint8Array(0);
const NOTHING: readonly number[] = Array.from({ length: COUNTER_LIMIT }, () => 0);

/** An increment of several cells: counters and buckets are looked up once for all of them. */
export class Addition {
  readonly numbers: number[] = [];
  readonly amounts: number[] = [];
  /** Index of the latency and its bucket by turns. */
  readonly measured: number[] = [];

  /**
   * @param amount fractions and negative amounts are dropped: a provider's numbers cannot be
   * trusted.
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
    writer.number(this.#counts.reduce((nonZero, count) => (count > 0 ? nonZero + 1 : nonZero), 0));
    for (let number = 0; number < COUNTER_LIMIT; number++) {
      const count = this.#counts[number] ?? 0;
      if (count === 0) continue;
      writer.number(number);
      writer.number(Math.min(count, Number.MAX_SAFE_INTEGER));
    }
    for (const index of LATENCIES.keys()) {
      writer.bytes(this.#sketches[index]?.encode() ?? NO_BYTES);
    }
    return writer.finish();
  }

  #sketch(index: number) {
    return (this.#sketches[index] ??= new QuantileSketch());
  }
}

/**
 * Adds a cell, from the bytes it was written as, to the one that is known by the same key. @throws
 * {RangeError}
 */
export function addTo(cells: Map<string, Cell>, key: string, bytes: Uint8Array): void {
  remember(cells, key, () => new Cell()).addEncoded(bytes);
}

/**
 * One count of a cell, from the bytes it was written as, without its latencies. @throws
 * {RangeError} for bytes of another version
 */
export function encodedCount(bytes: Uint8Array, counter: Counter): number {
  const reader = readerOf(bytes);
  const target = COUNTER_NUMBERS[counter];
  for (let left = reader.number(); left > 0; left--) {
    const number = reader.number();
    const count = reader.number();
    if (number === target) return count;
  }
  return 0;
}

function readerOf(bytes: Uint8Array): ByteReader {
  const reader = new ByteReader(bytes);
  if (reader.number() === VERSION) return reader;
  throw new RangeError("the roll-up was written by another version; read it with that version");
}
