import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { RouteDecision } from "../../canon/decision.ts";
import { canonicalJson, type JsonObject } from "../../canon/json.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { StopCause, StopReason, StopSource } from "../../dispatch/stop-order.ts";
import type { Settlement } from "../../limits/cost.ts";
import type { Bounds } from "../heads.ts";
import type { UnaryAnswer } from "../../dialects/unary/surface.ts";
import type { Gathered } from "../../dispatch/gather.ts";
import type { NodeAnswer } from "../node-answer.ts";

/** What a caller's idempotency key stands for while its request runs: the caller, the request's digest, and the decision. */
export interface IdempotentCall {
  /** Key id and idempotency key. */
  readonly key: string;
  /** Of the operation and the body. */
  readonly requested: string;
  /** Of everything that governs the answer: route, table, plan and edits. Another decision is another answer. */
  readonly decided: string;
}

/** Reads `Idempotency-Key`; `null` where the request has none. */
export function readIdempotencyKey(headers: IncomingHttpHeaders): string | ServiceError | null {
  const value = headers["idempotency-key"];
  if (value === undefined) return null;
  if (typeof value === "string" && /^[\x21-\x7e]{1,255}$/.test(value)) return value;
  return invalidRequest("invalid_idempotency_key", "Idempotency-Key must be 1 to 255 visible ASCII characters");
}

export function idempotentCall(
  caller: string,
  idempotencyKey: string,
  operation: string,
  body: JsonObject,
  { route, tableRevision, plan, edits }: RouteDecision,
): IdempotentCall {
  const decided = [
    route,
    tableRevision,
    plan.map(({ endpoint }) => endpoint.id),
    edits.maxOutputTokens,
    edits.stripFields,
  ];
  return {
    key: `${caller} ${idempotencyKey}`,
    requested: digest(canonicalJson([operation, body])),
    decided: JSON.stringify(decided),
  };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** What bounds a piece of work: those of the request that began it. */
type WorkBounds = Pick<Bounds, "deadline" | "maxAttempts">;

/** Work that several requests may wait for. */
export interface Work<Result> {
  readonly result: Promise<Result>;
  /** No request waits any longer, for the last one's reason. */
  readonly cancel: (why: StopCause) => void;
}

/** One request's share in a piece of work. */
export interface Share<Result> {
  readonly result: Promise<Result>;
  /** The request that began the work; `null` where it is this one. */
  readonly joined: string | null;
  readonly bounds: WorkBounds;
  /** This request waits no more; true where it was the last, so that the work ends. Later calls do nothing. */
  readonly leave: (why?: StopCause) => boolean;
  /** True for the first caller: the cost of the work is in exactly one request's evidence. */
  readonly claim: () => boolean;
}

interface Running<Result> {
  readonly call: IdempotentCall | null;
  readonly leader: string;
  readonly bounds: WorkBounds;
  readonly work: Work<Result>;
  waiting: number;
  claimed: boolean;
}

/**
 * Requests under way by their idempotency keys, for as long as they run: a duplicate waits for the answer of the first instead of asking a
 * provider again. Nothing is kept of an answer once it has been given; a repetition after that is a new request.
 */
export class RunningRequests<Result> {
  readonly #running = new Map<string, Running<Result>>();
  readonly #coming = new Map<string, Promise<void>>();

  /** How many kinds of work are under way that could be joined. */
  get size(): number {
    return this.#running.size;
  }

  /** Whether {@link join} would begin no work for this call now. */
  hasWorkFor(call: IdempotentCall | null): boolean {
    const known = call === null ? undefined : this.#running.get(call.key);
    return known !== undefined && (known.call?.requested !== call?.requested || known.call?.decided === call?.decided);
  }

  /**
   * Says that work for this call may begin soon, so that equal requests wait for it instead of taking anything of their own; waits for another
   * request that has said so. Gives what ends it: call it when the work has begun, or when there will be none.
   *
   * @param deadline on the clock of `performance.now()`.
   */
  async announce(call: IdempotentCall | null, deadline: number): Promise<() => void> {
    if (call === null) return NOTHING;
    for (;;) {
      const other = this.#coming.get(call.key);
      if (this.hasWorkFor(call)) return NOTHING;
      if (other === undefined) break;
      if (!(await within(other, deadline))) return NOTHING;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#coming.set(call.key, promise);
    return () => {
      if (this.#coming.get(call.key) === promise) this.#coming.delete(call.key);
      resolve();
    };
  }

  /**
   * The work for a call: that of an equal call which is under way, or new work. A request with the same key that was decided otherwise, after a
   * promotion or a reload, gets work of its own.
   *
   * @param requestId names the request that begins the work to those that join it.
   */
  join(
    call: IdempotentCall | null,
    requestId: string,
    bounds: WorkBounds,
    begin: () => Work<Result>,
  ): Share<Result> | ServiceError {
    const known = call === null ? undefined : this.#running.get(call.key);
    if (known !== undefined && known.call?.requested !== call?.requested) {
      return invalidRequest(
        "idempotency_key_in_use",
        "Another request with this Idempotency-Key and another body is under way; use a new key for each request.",
      );
    }
    if (known !== undefined && known.call?.decided === call?.decided) return this.#share(known, known.leader);
    const running: Running<Result> = {
      call,
      leader: requestId,
      bounds,
      work: begin(),
      waiting: 0,
      claimed: false,
    };
    if (call !== null && known === undefined) {
      this.#running.set(call.key, running);
      const forget = (): void => this.#forget(running);
      running.work.result.then(forget, forget);
    }
    return this.#share(running, null);
  }

  #share(running: Running<Result>, joined: string | null): Share<Result> {
    running.waiting += 1;
    let isIn = true;
    const leave = (why: StopCause = "client_closed"): boolean => {
      if (!isIn) return false;
      isIn = false;
      running.waiting -= 1;
      if (running.waiting > 0) return false;
      // Before it is cancelled: a new request must not join work that is being cancelled.
      this.#forget(running);
      running.work.cancel(why);
      return true;
    };
    const claim = (): boolean => {
      const isFirst = !running.claimed;
      running.claimed = true;
      return isFirst;
    };
    return { result: running.work.result, joined, bounds: running.bounds, leave, claim };
  }

  #forget(running: Running<Result>): void {
    const { call } = running;
    if (call !== null && this.#running.get(call.key) === running) this.#running.delete(call.key);
  }
}

const NOTHING = (): void => {};

/** Whether it resolved before the deadline. */
async function within(promise: Promise<void>, deadline: number): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), Math.max(0, deadline - performance.now()));
  const isInTime = await Promise.race([promise.then(() => true), late.promise]);
  clearTimeout(timer);
  return isInTime;
}

/** What one piece of work gives to everybody who waits for it. */
export interface UnaryWork {
  readonly gathered: Gathered;
  /** `null` where there is an error. */
  readonly answer: UnaryAnswer | null;
  /** What its calls came to. */
  readonly settlement: Settlement;
}

/** Requests that may be joined, of one server. */
export type UnaryRequests = RunningRequests<UnaryWork>;

/** How the wait for a piece of work ended. */
export interface Waited<Result> {
  readonly end: "answered" | "gone" | "deadline" | "unrecorded" | StopReason;
  /** `null` where the work goes on for others. */
  readonly work: Result | null;
}

const GIVEN_UP = {
  gone: "client_closed",
  deadline: "client_closed",
  unrecorded: "abandoned",
  server_stopping: "server_stopping",
  key_revoked: "key_revoked",
} as const;

/** Milliseconds that the work gets to say by itself that its deadline has passed: it says more. */
const GRACE = 100;

/**
 * Waits for the work's end, the client's leaving, the request's deadline, that its decision cannot be recorded, or the end of the server or of the key, whichever is first. Work
 * that no other request waits for ends with the wait.
 *
 * @param recorded resolves with an error where the decision is not on disk in time.
 * @param stopOrder never given where absent.
 */
export function waitFor<Result>(
  share: Share<Result>,
  client: NodeAnswer,
  deadline: number,
  recorded: Promise<ServiceError | null>,
  stopOrder?: StopSource,
): Promise<Waited<Result>> {
  return new Promise((resolve, reject) => {
    let end: Waited<Result>["end"] = "answered";
    let forget: (() => void) | undefined;
    const giveUp = (why: Exclude<Waited<Result>["end"], "answered">): void => {
      clearTimeout(timer);
      forget?.();
      end = why;
      // Work that ends with its last client ends at once, and says what its calls came to.
      if (!share.leave(GIVEN_UP[why])) resolve({ end, work: null });
    };
    // The work of another request has another deadline: this one's is kept to the millisecond.
    const grace = share.joined === null ? GRACE : 0;
    const timer = setTimeout(() => giveUp("deadline"), Math.max(deadline - performance.now(), 0) + grace);
    client.onClose(() => giveUp("gone"));
    void recorded.then((error) => {
      if (error !== null) giveUp("unrecorded");
    });
    forget = stopOrder?.onGiven(({ reason, running }) => {
      if (running === "end") giveUp(reason);
    });
    const settled = (): void => {
      clearTimeout(timer);
      forget?.();
      share.leave();
    };
    share.result.then(
      (work) => {
        settled();
        resolve({ end, work });
      },
      (error: unknown) => {
        settled();
        reject(error);
      },
    );
  });
}
