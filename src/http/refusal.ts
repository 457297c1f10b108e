import { codedError } from "../canon/error-codes.ts";
import { invalidRequest, type ServiceError } from "../canon/error.ts";
import type { Identity } from "../canon/identity.ts";

/**
 * Thrown while one of the router's own endpoints is answered: the request gets this error instead.
 * Inference uses values, because its refusals are part of its load.
 */
export class RefusalError extends Error {
  override readonly name = "RefusalError";
  /** `null`: the client has left, so nothing is sent. */
  readonly answer: ServiceError | null;
  /** Whose request it was, for its record; `null`: unknown, or known from before. */
  readonly caller: Identity | null;

  constructor(answer: ServiceError | null, caller: Identity | null = null) {
    super(answer?.code ?? "aborted");
    this.answer = answer;
    this.caller = caller;
  }
}

/** To throw; parameters as of `codedError`. */
export function refusal(...error: Parameters<typeof codedError>): RefusalError {
  return new RefusalError(codedError(...error));
}

/** A 400 to throw; parameters as of `invalidRequest`. */
export function badRequest(...error: Parameters<typeof invalidRequest>): RefusalError {
  return new RefusalError(invalidRequest(...error));
}

/** The value, unless it is an error. @throws {RefusalError} */
export function orRefuse<Value>(value: Value | ServiceError): Value {
  if (isServiceError(value)) throw new RefusalError(value);
  return value;
}

export function isServiceError(value: unknown): value is ServiceError {
  return typeof value === "object" && value !== null && "retryable" in value;
}
