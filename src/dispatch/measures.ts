/**
 * Milliseconds in which a peak falls to a third (1/e). Answers of models take seconds and come by the minute: what fades faster is forgotten before the
 * next request can use it, and what does not fade keeps an endpoint from ever being tried again.
 */
export const FADE = 60_000;

/** Percentiles that callers may set bounds for, as shares. */
export const PERCENTILES = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 } as const;

/** What has been measured at one endpoint. A value that was not measured is `null`, never a number that could be taken for one. */
export class Measures {
  readonly #firstToken = new RecentSamples("lower");
  readonly #throughput = new RecentSamples("higher");
  #peak: number | null = null;
  #peakAt = 0;
  #inFlight = 0;

  /** Calls under way. */
  get inFlight(): number {
    return this.#inFlight;
  }

  begin(): void {
    this.#inFlight += 1;
  }

  /** @param firstToken milliseconds. @param tokensPerSecond both `null` where the call had none to measure. */
  end(firstToken: number | null, tokensPerSecond: number | null, now: number): void {
    this.#inFlight = Math.max(this.#inFlight - 1, 0);
    if (isSample(firstToken)) {
      this.#firstToken.add(firstToken, now);
      this.#raise(firstToken, now);
    }
    if (isSample(tokensPerSecond)) this.#throughput.add(tokensPerSecond, now);
  }

  /**
   * Time to the first token, milliseconds: an average over time that a higher sample raises at once and that fades while none comes, so that an endpoint
   * that was slow is called again some day.
   */
  peakFirstToken(now: number): number | null {
    return this.#peak === null ? null : this.#peak * this.#remaining(now);
  }

  /** Milliseconds that this share of the latest calls has not exceeded. */
  firstToken(share: number, now: number): number | null {
    return this.#firstToken.percentile(share, now);
  }

  /** Tokens a second that this share of the latest calls has reached. */
  throughput(share: number, now: number): number | null {
    return this.#throughput.percentile(share, now);
  }

  /** Milliseconds since the latest time to a first token was measured; `null`: none ever was. */
  firstTokenAge(now: number): number | null {
    return this.#firstToken.age(now);
  }

  /** Milliseconds since the latest throughput was measured; `null`: none ever was. */
  throughputAge(now: number): number | null {
    return this.#throughput.age(now);
  }

  #raise(sample: number, now: number): void {
    const remaining = this.#remaining(now);
    const faded = (this.#peak ?? 0) * remaining;
    this.#peak = sample >= faded ? sample : faded + sample * (1 - remaining);
    this.#peakAt = now;
  }

  #remaining(now: number): number {
    return Math.exp(-Math.max(now - this.#peakAt, 0) / FADE);
  }
}

/** A call that took no time at all has no rate, and one bad number would stand in every average after it. */
function isSample(value: number | null): value is number {
  return value !== null && Number.isFinite(value) && value >= 0;
}

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
