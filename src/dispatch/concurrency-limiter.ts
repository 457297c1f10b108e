import type { EndpointRow, QueueSettings } from "../canon/table.ts";

/** Gives a slot back. The first call counts; later ones do nothing. */
export type Release = () => void;

/** Ends a wait, with a slot or without one. */
type Settle = (release: Release | null) => void;

/**
 * A limit on calls under way, with a bounded queue before it. First come, first served: a later
 * call is not let in before those that wait, so no call waits for ever behind a stream of others.
 */
export class ConcurrencyLimiter {
  #limit: number;
  #queue: QueueSettings;
  #inFlight = 0;
  readonly #waiting = new InFlightList<Settle>();

  /** @param limit calls at once, at least 1. */
  constructor(limit: number, queue: QueueSettings) {
    this.#limit = limit;
    this.#queue = queue;
  }

  /** Calls that have entered and not ended. Above the limit only after it was lowered. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Calls in the queue. Above its size only after that was lowered. */
  get waiting(): number {
    return this.#waiting.size;
  }

  get queue(): QueueSettings {
    return this.#queue;
  }

  /** A slot where one is free; `null` otherwise, and always while a call waits in the queue. */
  tryEnter(): Release | null {
    // A call that waits has been given what was free (`#admit`): a free slot means that none waits.
    return this.#inFlight >= this.#limit ? null : this.#take();
  }

  /**
   * A free slot at once, or the next one that is this caller's turn. `null` where the queue is
   * full, at the end of the queue's longest wait or at the deadline, and after an abort: an aborted
   * signal takes its waiter out of the queue in the same turn.
   *
   * A free slot is given after the deadline too: the call then fails by the deadline, not by a
   * limit that was not reached. A signal that is aborted after a slot was given changes nothing:
   * the slot is the caller's to give back.
   *
   * @param deadline on the clock of `performance.now()`.
   */
  enter(deadline: number, signal?: AbortSignal): Promise<Release | null> {
    if (signal?.aborted === true) return Promise.resolve(null);
    const release = this.tryEnter();
    if (release !== null || this.#waiting.size >= this.#queue.size) return Promise.resolve(release);
    const wait = Math.min(this.#queue.wait, deadline - performance.now());
    return wait > 0 ? this.#wait(wait, signal) : Promise.resolve(null);
  }

  /**
   * For a reload: applies to calls from now on. Those that have entered or wait stay, with the
   * longest wait that they came with; a raised limit lets the first of them in at once.
   */
  setLimits(limit: number, queue: QueueSettings): void {
    this.#limit = limit;
    this.#queue = queue;
    this.#admit();
  }

  #wait(milliseconds: number, signal: AbortSignal | undefined): Promise<Release | null> {
    return new Promise((resolve) => {
      const settle: Settle = (release) => {
        leave();
        clearTimeout(timer);
        // The signal may outlive many waits: what stays on it stays in memory.
        signal?.removeEventListener("abort", giveUp);
        resolve(release);
      };
      const giveUp = (): void => settle(null);
      const timer = setTimeout(giveUp, milliseconds);
      signal?.addEventListener("abort", giveUp);
      const leave = this.#waiting.enter(settle);
    });
  }

  #take(): Release {
    this.#inFlight += 1;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#inFlight -= 1;
      this.#admit();
    };
  }

  /** In the same turn in which a slot became free, so that no other call can take it. */
  #admit(): void {
    while (this.#inFlight < this.#limit) {
      const settle = this.#waiting.first;
      if (settle === null) return;
      settle(this.#take());
    }
  }
}

/** Admits calls to one endpoint; a `ConcurrencyLimiter` is one. */
export interface EndpointLimiter {
  /** A slot where one is free; `null` otherwise, and always while a call waits in the queue. */
  tryEnter(): Release | null;
  /**
   * Waits for a slot as `ConcurrencyLimiter.enter` does.
   *
   * @param deadline on the clock of `performance.now()`.
   */
  enter(deadline: number, signal?: AbortSignal): Promise<Release | null>;
}

/**
 * Admits calls to each endpoint of a provider.
 *
 * @param own limits of the endpoints that have one of their own, by endpoint id.
 * @returns a look-up; it throws for a row that is none of these, which is a bug of the caller.
 */
export function limiterOf(
  provider: ConcurrencyLimiter,
  own: ReadonlyMap<string, ConcurrencyLimiter>,
  endpoints: readonly EndpointRow[],
): (endpoint: EndpointRow) => EndpointLimiter {
  const limiters = new Map(
    endpoints.map(({ id }): [string, EndpointLimiter] => [
      id,
      endpointLimiter(provider, own.get(id) ?? null),
    ]),
  );
  return ({ id }) => {
    const found = limiters.get(id);
    // Let through as one without a limit, it would go unnoticed.
    if (found === undefined)
      throw new Error("connections: an endpoint of another table or provider");
    return found;
  };
}

/**
 * The way through both limits, or through the provider's alone where the endpoint has none of its
 * own.
 */
export function endpointLimiter(
  provider: ConcurrencyLimiter,
  endpoint: ConcurrencyLimiter | null,
): EndpointLimiter {
  return endpoint === null ? provider : new TwoLimiters(endpoint, provider);
}

/**
 * The endpoint first: a call that waits for its slot has none of the provider's, which its other
 * endpoints can use. All calls enter in this order, so no two can wait for each other.
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

interface Node<Value> {
  value: Value | null;
  before: Node<Value> | null;
  after: Node<Value> | null;
}

/**
 * The values in flight, where thousands come and go each second, or wait: a linked list, in the
 * order of arrival.
 *
 * Not a Set or a Map: the tables that one of those outgrows keep what stood in them until the
 * engine collects its old space, and with it everything that a request holds.
 */
export class InFlightList<Value> {
  readonly #ends: Node<Value> = { value: null, before: null, after: null };
  #last = this.#ends;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The one that came before all others; `null` where there is none. */
  get first(): Value | null {
    return this.#ends.after?.value ?? null;
  }

  /** @returns takes it out again; safe to call twice. */
  enter(value: Value): () => void {
    const node: Node<Value> = { value, before: this.#last, after: null };
    this.#last.after = node;
    this.#last = node;
    this.#size += 1;
    return () => this.#remove(node);
  }

  /**
   * Calls with each value, in the order in which they came; not with those that are removed or
   * added meanwhile.
   */
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
    // A removed node must not reference others: it may stay in old space long after.
    node.value = null;
    node.before = null;
    node.after = null;
    this.#size -= 1;
  }
}
