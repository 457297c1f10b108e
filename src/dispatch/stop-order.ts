import type { Identity } from "../canon/identity.ts";
import { InFlightList } from "./concurrency-limiter.ts";

/** Why the router ends a request that it has let in. */
export type StopReason = "server_stopping" | "key_revoked";

/**
 * Why no provider is called for a request any more: the router ends it, another part of it has
 * failed or it cannot be recorded, or its client has left.
 */
export type StopCause = StopReason | "abandoned" | "client_closed";

/**
 * The end of requests under way. Nothing new is begun for them; `running` says what becomes of a
 * call that has begun.
 */
export interface Stop {
  readonly reason: StopReason;
  readonly running: "end" | "finish";
}

/** Ends requests. */
export interface StopSource {
  readonly given: boolean;
  /**
   * Calls back when an order is given; at once where one has been given. A request with several
   * sources gets each of their orders.
   *
   * @returns its end; call it when the request has ended.
   */
  onGiven(listener: (stop: Stop) => void): () => void;
}

const SERVER_STOPPING: Stop = Object.freeze({ reason: "server_stopping", running: "end" });

/**
 * Ends the requests of a server, or of a key. What still runs when the order is given has had its
 * time, and ends at once.
 */
export class StopOrder implements StopSource {
  readonly #listeners = new InFlightList<(stop: Stop) => void>();
  #given: Stop | null = null;

  get given(): boolean {
    return this.#given !== null;
  }

  /** Safe to call twice; the first call counts. */
  give(stop: Stop = SERVER_STOPPING): void {
    if (this.#given !== null) return;
    this.#given = stop;
    this.#listeners.each((listener) => listener(stop));
  }

  onGiven(listener: (stop: Stop) => void): () => void {
    if (this.#given !== null) {
      listener(this.#given);
      return () => {};
    }
    return this.#listeners.enter(listener);
  }
}

/** Two sources as one. */
class EitherStop implements StopSource {
  readonly #one: StopSource;
  readonly #other: StopSource;

  constructor(one: StopSource, other: StopSource) {
    this.#one = one;
    this.#other = other;
  }

  get given(): boolean {
    return this.#one.given || this.#other.given;
  }

  onGiven(listener: (stop: Stop) => void): () => void {
    const forgetOne = this.#one.onGiven(listener);
    const forgetOther = this.#other.onGiven(listener);
    return () => {
      forgetOne();
      forgetOther();
    };
  }
}

/**
 * Ends the requests under way of a key that is revoked. Exchanged tokens carry the id of their key,
 * so that their requests end with those of the key. A key's expiry ends nothing: it was known when
 * the request was let in.
 */
export class Revocations {
  /**
   * One for each key that has been used and is not revoked; as many as the key ring has keys, at
   * most.
   */
  readonly #orders = new Map<string, StopOrder>();
  readonly #isRevoked: (keyId: string) => boolean;
  readonly #runningOf: (workspace: string) => Stop["running"];

  /**
   * @param runningOf what becomes of a workspace's running answers; called at a revocation, so that
   * the setting of that moment counts.
   */
  constructor(
    isRevoked: (keyId: string) => boolean,
    runningOf: (workspace: string) => Stop["running"],
  ) {
    this.#isRevoked = isRevoked;
    this.#runningOf = runningOf;
  }

  /** How a request that came with the key hears of the key's revocation. */
  orderOf(keyId: string): StopOrder {
    const known = this.#orders.get(keyId);
    if (known !== undefined) return known;
    const order = new StopOrder();
    // Between the look at the key and this call it may have been revoked: the request would not be
    // notified.
    if (this.#isRevoked(keyId)) order.give({ reason: "key_revoked", running: "end" });
    else this.#orders.set(keyId, order);
    return order;
  }

  /** The key has been revoked, here or on another replica. */
  revoked(keyId: string, workspace: string): void {
    const order = this.#orders.get(keyId);
    if (order === undefined) return;
    this.#orders.delete(keyId);
    order.give({ reason: "key_revoked", running: this.#runningOf(workspace) });
  }
}

/** Ends a request of this caller when the server stops or the key is revoked. */
export function stopsOf(
  sources: {
    readonly stopOrder: StopOrder;
    readonly revocations: Pick<Revocations, "orderOf">;
  },
  { keyId }: Identity,
): StopSource {
  return new EitherStop(sources.stopOrder, sources.revocations.orderOf(keyId));
}
