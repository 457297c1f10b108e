import type { Denial } from "./decision.ts";
import type { ErrorKind } from "./errors/error-row.ts";
import type { JsonObject } from "./json.ts";

/**
 * A refusal or failure on its way to the client. A value, made by us: `message` is a sentence of
 * ours about fields, ids and limits, and never holds text of a body, of a credential or of an
 * upstream's answer.
 */
export interface ServiceError {
  /** HTTP status, 400 to 599. */
  readonly status: number;
  readonly kind: ErrorKind;
  /** Machine code; lower case for protocol errors, UPPER_SNAKE for the reason of a denial. */
  readonly code: string;
  readonly message: string;
  /** Path of the request member concerned, such as `messages[2].content`. */
  readonly param: string | null;
  readonly denial: Denial | null;
  /**
   * The same request may succeed when it is sent again; where not, clients get
   * `x-should-retry: false`.
   */
  readonly mayPass: boolean;
  /** Milliseconds after which a retry makes sense; `null` where none does or it is unknown. */
  readonly retryAfter: number | null;
  /**
   * More members of the error object, for errors of the router's own endpoints; names that it does
   * not have otherwise. None where absent.
   */
  readonly facts?: JsonObject;
}

/**
 * Statuses of errors that the same request has again and again. The others are made by `codedError`
 * of `errors/coded-error.ts`.
 */
export type FinalStatus = 400 | 401 | 403 | 404 | 412 | 413 | 414 | 415 | 417 | 428 | 431;

/** Makes a {@link ServiceError} that never passes, without the members that are `null` for most. */
export function serviceError(
  status: FinalStatus,
  kind: ErrorKind,
  code: string,
  message: string,
  more: {
    readonly param?: string;
    readonly denial?: Denial;
    readonly facts?: JsonObject;
  } = {},
): ServiceError {
  return {
    status,
    kind,
    code,
    message,
    param: more.param ?? null,
    denial: more.denial ?? null,
    mayPass: false,
    retryAfter: null,
    ...(more.facts !== undefined && { facts: more.facts }),
  };
}

/** Shorthand for the 400 that names a member of the request. */
export function invalidRequest(code: string, message: string, param?: string): ServiceError {
  return serviceError(400, "invalid_request", code, message, param === undefined ? {} : { param });
}
