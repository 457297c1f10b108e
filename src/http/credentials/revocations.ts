import type { Identity } from "../../canon/identity.ts";
import { EitherStop, StopOrder, type Stop, type StopSource } from "../../dispatch/stop-order.ts";

/**
 * Ends the requests under way of a key that is revoked. Exchanged tokens carry the id of their key, so that their requests end with those of the key.
 * A key's expiry ends nothing: it was known when the request was let in.
 */
export class Revocations {
  /** One for each key that has been used and is not revoked; as many as the key ring has keys, at most. */
  readonly #orders = new Map<string, StopOrder>();
  readonly #isRevoked: (keyId: string) => boolean;
  readonly #runningOf: (workspace: string) => Stop["running"];

  /** @param runningOf what becomes of a workspace's running answers; called at a revocation, so that the setting of that moment counts. */
  constructor(isRevoked: (keyId: string) => boolean, runningOf: (workspace: string) => Stop["running"]) {
    this.#isRevoked = isRevoked;
    this.#runningOf = runningOf;
  }

  /** How a request that came with the key hears of the key's revocation. */
  orderOf(keyId: string): StopOrder {
    const known = this.#orders.get(keyId);
    if (known !== undefined) return known;
    const order = new StopOrder();
    // Between the look at the key and this call it may have been revoked: nobody would tell the request of it any more.
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

/** All that can end a request of this caller from here; `undefined` where nothing can. */
export function stopsOf(
  sources: { readonly stopOrder?: StopOrder; readonly revocations?: Pick<Revocations, "orderOf"> },
  { keyId }: Identity,
): StopSource | undefined {
  const { stopOrder, revocations } = sources;
  const ofKey = revocations?.orderOf(keyId);
  return stopOrder === undefined || ofKey === undefined ? (ofKey ?? stopOrder) : new EitherStop(stopOrder, ofKey);
}
