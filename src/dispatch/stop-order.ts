import type { Identity } from "../canon/identity.ts";
import { InFlightList } from "./concurrency-limiter.ts";

/** Why the router ends an admitted request. */
export type StopReason = "server_stopping" | "key_revoked";

/**
 * Why no further provider is called for a request: the router ended it, another part of it failed,
 * it cannot be recorded, or its client disconnected.
 */
export type StopCause = StopReason | "abandoned" | "client_closed";

/** The end of running requests. No new call begins; `running` decides about calls in flight. */
export interface Stop {
  readonly reason: StopReason;
  readonly running: "end" | "finish";
}

/** Ends requests. */
export interface StopSource {
  readonly isRequested: boolean;
  /**
   * Subscribes to orders; calls back at once where one was given. A request with several sources
   * gets each of their orders.
   *
   * @returns unsubscribes; call it when the request has ended.
   */
  onGiven(listener: (stop: Stop) => void): () => void;
}

const SERVER_STOPPING: Stop = Object.freeze({ reason: "server_stopping", running: "end" });

/**
 * Ends the requests of a server, or of a key. Those that still run when the order is given had
 * their time, and end at once.
 */
export class StopOrder implements StopSource {
  readonly #listeners = new InFlightList<(stop: Stop) => void>();
  #stop: Stop | null = null;

  get isRequested(): boolean {
    return this.#stop !== null;
  }

  /** Safe to call twice; the first call counts. */
  give(stop: Stop = SERVER_STOPPING): void {
    if (this.#stop !== null) return;
    this.#stop = stop;
    this.#listeners.each((listener) => listener(stop));
  }

  onGiven(listener: (stop: Stop) => void): () => void {
    if (this.#stop !== null) {
      listener(this.#stop);
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

  get isRequested(): boolean {
    return this.#one.isRequested || this.#other.isRequested;
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

export type Revocations = ReturnType<typeof keyRevocations>;

/**
 * Ends the running requests of a revoked key. Exchanged tokens carry the id of their key, so their
 * requests end with it. The expiry of a key ends nothing: it was known when the request was
 * admitted.
 *
 * @param runningOf the workspace's setting for running answers; read at the revocation.
 */
export function keyRevocations(
  isRevoked: (keyId: string) => boolean,
  runningOf: (workspace: string) => Stop["running"],
) {
  /** One per used key that is not revoked; at most as many as the key ring has keys. */
  const orders = new Map<string, StopOrder>();

  return {
    /** The order that reports the key's revocation to its requests. */
    orderOf(keyId: string): StopOrder {
      const existing = orders.get(keyId);
      if (existing !== undefined) return existing;
      const order = new StopOrder();
      // The key may have been revoked after its check: this request would not be notified.
      if (isRevoked(keyId)) order.give({ reason: "key_revoked", running: "end" });
      else orders.set(keyId, order);
      return order;
    },
    /** The key was revoked, here or on another replica. */
    revoked(keyId: string, workspace: string): void {
      const order = orders.get(keyId);
      if (order === undefined) return;
      orders.delete(keyId);
      order.give({ reason: "key_revoked", running: runningOf(workspace) });
    },
  };
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
