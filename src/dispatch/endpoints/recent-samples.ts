/** Samples that are kept. */
export const CAPACITY = 256;

/**
 * Milliseconds after which a sample no longer counts. Without an end, an endpoint that was slow once and therefore is not called would be slow for ever.
 */
export const OLDEST = 600_000;

/** The latest samples of one measure, in memory that does not grow. */
export class RecentSamples {
  readonly #better: "lower" | "higher";
  readonly #values = new Float64Array(CAPACITY);
  readonly #times = new Float64Array(CAPACITY);
  #added = 0;
  /** From the best to the worst; `null` where a sample has come since. */
  #sorted: Float64Array | null = null;
  /** When the oldest sample among the sorted ones stops counting. */
  #sortedUntil = 0;

  /** @param better which of two samples is the better one. */
  constructor(better: "lower" | "higher") {
    this.#better = better;
  }

  add(value: number, now: number): void {
    const slot = this.#added % CAPACITY;
    this.#values[slot] = value;
    this.#times[slot] = now;
    this.#added += 1;
    this.#sorted = null;
  }

  /**
   * The value that this share of the samples is at least as good as (nearest rank): the 0.9 of a latency is a high one, the 0.9 of a throughput a
   * low one, so that a higher percentile is the stricter promise either way. `null`: nothing has been measured lately.
   *
   * @param share above 0, up to 1.
   */
  percentile(share: number, now: number): number | null {
    if (this.#sorted === null || now >= this.#sortedUntil) this.#sort(now);
    const sorted = this.#sorted;
    if (sorted === null || sorted.length === 0) return null;
    return sorted[Math.max(Math.ceil(share * sorted.length), 1) - 1] ?? null;
  }

  /** Milliseconds since the latest sample, however old; `null`: there never was one. */
  age(now: number): number | null {
    return this.#added === 0 ? null : Math.max(now - this.#timeOf(this.#added - 1), 0);
  }

  #sort(now: number): void {
    const end = this.#added;
    let start = Math.max(end - CAPACITY, 0);
    while (start < end && this.#timeOf(start) + OLDEST <= now) start += 1;
    const values = new Float64Array(end - start);
    for (let index = start; index < end; index += 1) values[index - start] = this.#values[index % CAPACITY] ?? 0;
    values.sort();
    this.#sorted = this.#better === "lower" ? values : values.toReversed();
    this.#sortedUntil = start < end ? this.#timeOf(start) + OLDEST : Infinity;
  }

  #timeOf(index: number): number {
    return this.#times[index % CAPACITY] ?? 0;
  }
}
