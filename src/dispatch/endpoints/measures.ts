import { RecentSamples } from "./recent-samples.ts";

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
