import type { IncomingHttpHeaders } from "node:http";
import { invalidRequest, type ServiceError } from "../canon/error.ts";

/** The bounds that a caller sets (docs/dispatch.md#deadlines). */
export interface Bounds {
  /** When the request must have ended, on the clock of `performance.now()`. */
  readonly deadline: number;
  /** Attempts at providers, 1 to 10. */
  readonly maxAttempts: number;
  /** Most inputs in one call of a batch, at least 1; `null` where the caller does not say. */
  readonly maxBatchSize: number | null;
}

const MAXIMUM_ATTEMPTS = 10;

/**
 * Reads `x-request-timeout-ms` (milliseconds) or `x-stainless-timeout` (seconds, sent by official clients), `x-max-attempts`, and `x-max-batch-size`. The
 * operator's ceiling holds whatever they say.
 */
export function readBounds(headers: IncomingHttpHeaders, ceiling: number): Bounds | ServiceError {
  const exact = readNumber(headers["x-request-timeout-ms"]);
  if (exact === "invalid" || (exact !== null && exact < 1)) {
    return invalidRequest("invalid_timeout", "x-request-timeout-ms must be a number of milliseconds, at least 1");
  }
  // A client library's own header is taken as a hint: an odd value is no reason to refuse.
  const seconds = readNumber(headers["x-stainless-timeout"]);
  const hinted = seconds === "invalid" || seconds === null || seconds <= 0 ? ceiling : seconds * 1000;
  const attempts = readNumber(headers["x-max-attempts"]);
  if (attempts === "invalid" || (attempts !== null && (!Number.isInteger(attempts) || attempts < 1))) {
    return invalidRequest("invalid_max_attempts", "x-max-attempts must be a whole number, at least 1");
  }
  const batch = readNumber(headers["x-max-batch-size"]);
  if (batch === "invalid" || (batch !== null && (!Number.isInteger(batch) || batch < 1))) {
    return invalidRequest("invalid_max_batch_size", "x-max-batch-size must be a whole number, at least 1");
  }
  return {
    deadline: performance.now() + Math.min(exact ?? hinted, ceiling),
    maxAttempts: Math.min(attempts ?? MAXIMUM_ATTEMPTS, MAXIMUM_ATTEMPTS),
    maxBatchSize: batch,
  };
}

function readNumber(value: string | readonly string[] | undefined): number | "invalid" | null {
  if (value === undefined) return null;
  return typeof value === "string" && /^\d{1,12}(\.\d{1,6})?$/.test(value) ? Number(value) : "invalid";
}

/** What `work` resolves with, or rejects with; rejects at `deadline` when that is first. */
export function beforeDeadline(work: Promise<void>, deadline: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error("the request's deadline has passed")),
      Math.max(0, deadline - performance.now()),
    );
    work.then(
      () => {
        clearTimeout(timer);
        resolve();
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error instanceof Error ? error : new Error("the work failed"));
      },
    );
  });
}
