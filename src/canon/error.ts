import type { Denial } from "./decision.ts";
import type { JsonObject } from "./json.ts";

/** What sort of refusal an error is; each surface has its own word for each (decisions.md, "Status codes and error bodies"). */
export const ERROR_KINDS = [
  "invalid_request",
  "authentication",
  "insufficient_scope",
  "policy_denied",
  "not_found",
  "precondition",
  "too_large",
  "rate_limit",
  "upstream",
  "timeout",
  "unavailable",
  "internal",
] as const;

export type ErrorKind = (typeof ERROR_KINDS)[number];

/**
 * A refusal or failure on its way to the client. A value, made by us: `message` is a sentence of ours about fields, ids and
 * limits, and never holds a word of a body, of a credential or of an upstream's answer.
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
  /** Milliseconds after which a retry makes sense; `null` where none does or nobody knows. */
  readonly retryAfter: number | null;
  /** More members of the error object, for errors of the router's own endpoints; names that it does not have otherwise. None where absent. */
  readonly facts?: JsonObject;
}

/** Makes a {@link ServiceError} without the members that are `null` for most. */
export function serviceError(
  status: number,
  kind: ErrorKind,
  code: string,
  message: string,
  more: {
    readonly param?: string;
    readonly denial?: Denial;
    readonly retryAfter?: number;
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
    retryAfter: more.retryAfter ?? null,
    ...(more.facts !== undefined && { facts: more.facts }),
  };
}

/** Shorthand for the 400 that names a member of the request. */
export function invalidRequest(code: string, message: string, param?: string): ServiceError {
  return serviceError(400, "invalid_request", code, message, param === undefined ? {} : { param });
}

/** Milliseconds after which a server without any usable endpoint may be asked again. */
const UNAVAILABLE_RETRY = 5_000;

/** The answer to a request that is allowed and has nowhere to go now (decisions.md: 503, never a denial). */
export function noHealthyEndpoint(): ServiceError {
  return serviceError(
    503,
    "unavailable",
    "no_healthy_endpoint",
    "The request is allowed, but no endpoint that may serve it is usable now.",
    { retryAfter: UNAVAILABLE_RETRY },
  );
}
