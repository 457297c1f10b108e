import type { EndpointRow, QueueSettings } from "../canon/table.ts";

/** Releases a slot. Only the first call counts. */
export type Release = () => void;

/** Ends a wait, with a slot or without one. */
type Settle = (release: Release | null) => void;

export type ConcurrencyLimiter = ReturnType<typeof concurrencyLimiter>;

/**
 * A limit on concurrent calls with a bounded queue, first come, first served: a later call is not
 * admitted before waiting ones, so none waits for ever behind a stream of others.
 *
 * @param most concurrent calls, at least 1.
 */
export function concurrencyLimiter(most: number, settings: QueueSettings) {
  let running = 0;
  const line = new InFlightList<Settle>();

  /** A free slot; `null` without one, and always while a call waits in the queue. */
  function tryEnter(): Release | null {
    // Free slots are given to waiting calls at once (`#admit`): a free slot means that none waits.
    return running >= most ? null : takeSlot();
  }

  function waitInLine(
    milliseconds: number,
    signal: AbortSignal | undefined,
  ): Promise<Release | null> {
    return new Promise((resolve) => {
      const settle: Settle = (release) => {
        leave();
        clearTimeout(timer);
        // The signal may outlive many waits; its listeners would stay in memory.
        signal?.removeEventListener("abort", giveUp);
        resolve(release);
      };
      const giveUp = (): void => settle(null);
      const timer = setTimeout(giveUp, milliseconds);
      signal?.addEventListener("abort", giveUp);
      const leave = line.enter(settle);
    });
  }

  function takeSlot(): Release {
    running += 1;
    let holdsSlot = true;
    return () => {
      if (!holdsSlot) return;
      holdsSlot = false;
      running -= 1;
      admit();
    };
  }

  /** In the same turn in which a slot became free, so that no other call can take it. */
  function admit(): void {
    while (running < most) {
      const settle = line.first;
      if (settle === null) return;
      settle(takeSlot());
    }
  }

  return {
    /** Calls in flight. Above the limit only after it was lowered. */
    get inFlight(): number {
      return running;
    },
    /** Calls in the queue. Above its size only after that was lowered. */
    get waiting(): number {
      return line.size;
    },
    get queue(): QueueSettings {
      return settings;
    },
    tryEnter,
    /**
     * A free slot at once, or the next one in this caller's turn. `null` where the queue is full,
     * at the end of the queue's longest wait or at the deadline, and after an abort, which removes
     * the waiter in the same turn.
     *
     * A free slot is given after the deadline too: the call then fails by the deadline, not by a
     * limit that was not reached. An abort after a slot was given changes nothing: the caller has
     * to release it.
     *
     * @param deadline on the clock of `performance.now()`.
     */
    enter(deadline: number, signal?: AbortSignal): Promise<Release | null> {
      if (signal?.aborted === true) return Promise.resolve(null);
      const release = tryEnter();
      if (release !== null || line.size >= settings.size) return Promise.resolve(release);
      const wait = Math.min(settings.wait, deadline - performance.now());
      return wait > 0 ? waitInLine(wait, signal) : Promise.resolve(null);
    },
    /**
     * For a reload: applies to later calls. Waiting ones keep their longest wait; a raised limit
     * admits the first of them at once.
     */
    setLimits(limit: number, queue: QueueSettings): void {
      most = limit;
      settings = queue;
      admit();
    },
  };
}

/** Admits calls to one endpoint. */
export type EndpointLimiter = Pick<ConcurrencyLimiter, "tryEnter" | "enter">;

/**
 * Admits calls to each endpoint of a provider.
 *
 * @param own limits of those endpoints that have one, by endpoint id. @returns a lookup; it throws
 * for a row that is none of these, which is a bug of the caller.
 */
export function limiterOf(
  provider: ConcurrencyLimiter,
  endpointLimiters: ReadonlyMap<string, ConcurrencyLimiter>,
  endpoints: readonly EndpointRow[],
): (endpoint: EndpointRow) => EndpointLimiter {
  const limiters = new Map(
    endpoints.map(({ id }): [string, EndpointLimiter] => [
      id,
      endpointLimiter(provider, endpointLimiters.get(id) ?? null),
    ]),
  );
  return ({ id }) => {
    const found = limiters.get(id);
    // Silently unlimited calls would go unnoticed.
    if (found === undefined)
      throw new Error("connections: an endpoint of another table or provider");
    return found;
  };
}

/**
 * Both limits, or the provider's alone where the endpoint has none. The endpoint first: a call that
 * waits for its slot holds none of the provider's, which other endpoints can use. All calls enter
 * in this order, so there is no deadlock.
 */
export function endpointLimiter(
  provider: ConcurrencyLimiter,
  endpoint: ConcurrencyLimiter | null,
): EndpointLimiter {
  if (endpoint === null) return provider;
  return {
    tryEnter() {
      const release = endpoint.tryEnter();
      return release === null ? null : withBoth(release, provider.tryEnter());
    },
    async enter(deadline, signal) {
      // The longest wait covers both queues: an operator who sets a second means one second.
      const end = Math.min(deadline, performance.now() + provider.queue.wait);
      const release = await endpoint.enter(end, signal);
      return release === null ? null : withBoth(release, await provider.enter(end, signal));
    },
  };
}

/** Releases the endpoint's slot where the provider has none. */
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

interface Node<Value> {
  value: Value | null;
  before: Node<Value> | null;
  after: Node<Value> | null;
}

/**
 * A linked list of values in flight, oldest first, for thousands of arrivals a second.
 *
 * Not a Set or a Map: the tables they outgrow keep their entries until the engine collects its old
 * space, and with them everything that a request holds.
 */
export class InFlightList<Value> {
  readonly #ends: Node<Value> = { value: null, before: null, after: null };
  #last = this.#ends;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The oldest; `null` for an empty list. */
  get first(): Value | null {
    return this.#ends.after?.value ?? null;
  }

  /** @returns removes it; safe to call twice. */
  enter(value: Value): () => void {
    const node: Node<Value> = { value, before: this.#last, after: null };
    this.#last.after = node;
    this.#last = node;
    this.#size += 1;
    return () => this.#remove(node);
  }

  /** Calls with each value, oldest first; not with those added or removed meanwhile. */
  each(call: (value: Value) => void): void {
    const nodes: Node<Value>[] = [];
    for (let node = this.#ends.after; node !== null; node = node.after) nodes.push(node);
    for (const { value } of nodes) if (value !== null) call(value);
  }

  #remove(node: Node<Value>): void {
    const { before, after } = node;
    if (before === null) return;
    before.after = after;
    if (after === null) this.#last = before;
    else after.before = before;
    // A removed node must not reference others: it may stay in old space for long.
    node.value = null;
    node.before = null;
    node.after = null;
    this.#size -= 1;
  }
}
