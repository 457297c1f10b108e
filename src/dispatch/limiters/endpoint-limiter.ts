import type { ConcurrencyLimiter, Release } from "./concurrency-limiter.ts";

/** What admits calls to one endpoint; a `Gate` is one. */
export interface EndpointLimiter {
  /** A slot where one is free; `null` otherwise, and that is as long as anybody waits. */
  tryEnter(): Release | null;
  /**
   * Waits for a slot as `ConcurrencyLimiter.enter` does.
   *
   * @param deadline on the clock of `performance.now()`.
   */
  enter(deadline: number, signal?: AbortSignal): Promise<Release | null>;
}

/** The way through both limits, or through the provider's alone where the endpoint has none of its own. */
export function endpointLimiter(provider: ConcurrencyLimiter, endpoint: ConcurrencyLimiter | null): EndpointLimiter {
  return endpoint === null ? provider : new TwoLimiters(endpoint, provider);
}

/**
 * The endpoint first: whoever waits for its slot has none of the provider's, which its other endpoints can use. Everybody enters in this order, so no two
 * calls can wait for each other.
 */
class TwoLimiters implements EndpointLimiter {
  readonly #endpoint: ConcurrencyLimiter;
  readonly #provider: ConcurrencyLimiter;

  constructor(endpoint: ConcurrencyLimiter, provider: ConcurrencyLimiter) {
    this.#endpoint = endpoint;
    this.#provider = provider;
  }

  tryEnter(): Release | null {
    const release = this.#endpoint.tryEnter();
    return release === null ? null : withBoth(release, this.#provider.tryEnter());
  }

  async enter(deadline: number, signal?: AbortSignal): Promise<Release | null> {
    // The longest wait is for both queues together: an operator who allows a second means one.
    const end = Math.min(deadline, performance.now() + this.#provider.queue.wait);
    const release = await this.#endpoint.enter(end, signal);
    return release === null ? null : withBoth(release, await this.#provider.enter(end, signal));
  }
}

/** The endpoint's slot is given back where there is none at the provider. */
function withBoth(releaseEndpoint: Release, releaseProvider: Release | null): Release | null {
  if (releaseProvider === null) {
    releaseEndpoint();
    return null;
  }
  return () => {
    releaseProvider();
    releaseEndpoint();
  };
}
