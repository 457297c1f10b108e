import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { canonicalJson, type JsonObject } from "../../canon/json.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";

/** What a caller's idempotency key stands for while its request runs: whose it is, and what is asked. */
export interface IdempotentCall {
  /** Key id and idempotency key. */
  readonly key: string;
  /** Everything that makes two requests the same one. */
  readonly fingerprint: string;
}

/** Reads `Idempotency-Key`; `null` where the request has none. */
export function readIdempotencyKey(headers: IncomingHttpHeaders): string | ServiceError | null {
  const value = headers["idempotency-key"];
  if (value === undefined) return null;
  if (typeof value === "string" && /^[\x21-\x7e]{1,255}$/.test(value)) return value;
  return invalidRequest("invalid_idempotency_key", "Idempotency-Key must be 1 to 255 visible ASCII characters");
}

/** @param scope operation, route, table and plan: what the body does not say. */
export function idempotentCall(
  keyId: string,
  idempotencyKey: string,
  scope: readonly string[],
  body: JsonObject,
): IdempotentCall {
  const fingerprint = createHash("sha256")
    .update(canonicalJson([scope, body]))
    .digest("hex");
  return { key: `${keyId} ${idempotencyKey}`, fingerprint };
}

/** Work that several requests may wait for. */
export interface Work<Result> {
  readonly result: Promise<Result>;
  /** Nobody waits any more. */
  readonly cancel: () => void;
}

/** One request's share in a piece of work. */
export interface Share<Result> {
  readonly result: Promise<Result>;
  /** The request that began the work; `null` where it is this one. */
  readonly joined: string | null;
  /** This request waits no more; true where it was the last, so that the work ends. Later calls do nothing. */
  readonly leave: () => boolean;
}

interface Running<Result> {
  readonly fingerprint: string;
  readonly leader: string;
  readonly work: Work<Result>;
  waiting: number;
}

/**
 * Requests under way by their idempotency keys, for as long as they run: a duplicate waits for the answer of the first instead of asking a
 * provider again. Nothing is kept of an answer once it has been given; a repetition after that is a new request.
 */
export class RunningRequests<Result> {
  readonly #running = new Map<string, Running<Result>>();

  /** How many kinds of work are under way. */
  get size(): number {
    return this.#running.size;
  }

  /** @param requestId names the request that begins the work to those that join it. */
  join(call: IdempotentCall | null, requestId: string, begin: () => Work<Result>): Share<Result> | ServiceError {
    const known = call === null ? undefined : this.#running.get(call.key);
    if (known !== undefined && call !== null && known.fingerprint !== call.fingerprint) {
      return invalidRequest(
        "idempotency_key_in_use",
        "Another request with this Idempotency-Key is under way and asks for something else; use a key of its own for each request.",
      );
    }
    if (known !== undefined) return this.#share(call, known, known.leader);
    const running: Running<Result> = {
      fingerprint: call?.fingerprint ?? "",
      leader: requestId,
      work: begin(),
      waiting: 0,
    };
    if (call !== null) {
      this.#running.set(call.key, running);
      const forget = (): void => this.#forget(call, running);
      running.work.result.then(forget, forget);
    }
    return this.#share(call, running, null);
  }

  #share(call: IdempotentCall | null, running: Running<Result>, joined: string | null): Share<Result> {
    running.waiting += 1;
    let isIn = true;
    const leave = (): boolean => {
      if (!isIn) return false;
      isIn = false;
      running.waiting -= 1;
      if (running.waiting > 0) return false;
      // Before it is cancelled: whoever comes now must not join work that is being given up.
      if (call !== null) this.#forget(call, running);
      running.work.cancel();
      return true;
    };
    return { result: running.work.result, joined, leave };
  }

  #forget({ key }: IdempotentCall, running: Running<Result>): void {
    if (this.#running.get(key) === running) this.#running.delete(key);
  }
}
