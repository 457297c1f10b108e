import type { FailureKind } from "../canon/failure.ts";
import type { Terminal } from "../evidence/record.ts";
import { ByteReader, ByteWriter } from "./byte-stream.ts";
import { QuantileSketch, bucketOf } from "./quantile-sketch.ts";

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
} as const satisfies Readonly<Record<`terminal.${Terminal}` | `failure.${FailureKind}`, number>> &
  Readonly<Record<string, number>>;

/**
 * What is counted. Money is for spend alone: the governance summary is no bill. `metered` requests
 * have token counts, `priced` ones a known cost; of the two kinds the rest is counted in
 * `priced_unmetered` and `unpriced_unmetered`, so cells that were counted before there were costs
 * are unpriced.
 */
export type Counter = keyof typeof COUNTER_NUMBERS;

/** Larger than every number of a counter, with space for counters of a later version. */
const COUNTER_LIMIT = 96;

/** What is measured of requests that were let through, in milliseconds; stored in this order. */
const LATENCIES = ["total", "first_byte", "router"] as const;
type Latency = (typeof LATENCIES)[number];

const VERSION = 1;
const NOTHING: readonly number[] = Array.from({ length: COUNTER_LIMIT }, () => 0);

/** What is added to several cells: counters and buckets are looked up once for all of them. */
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
 * What is known of one set of requests: counts and latencies. Numbers only. Cells add up, in any
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
