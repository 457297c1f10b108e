import type { JsonObject } from "./json.ts";

/** Details of a failed store call. */
export interface StoreFailure {
  /** `no`: it was rolled back or never began. `unknown`, the default: it may have been done. */
  readonly applied?: "no" | "unknown";
  /** The operation is impossible in any state of the store, so a retry fails too. */
  readonly permanent?: boolean;
}

/**
 * The store cannot do the operation: disk full, file locked, damaged or written by a newer version.
 */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
  readonly applied: "no" | "unknown";
  readonly permanent: boolean;
  constructor(message: string, { applied = "unknown", permanent = false }: StoreFailure = {}) {
    super(message);
    this.applied = applied;
    this.permanent = permanent;
  }
}

/**
 * The kind of an error; each family of protocols has its own `type` for each
 * (docs/protocols.md#error-bodies).
 */
export const ERROR_KINDS = [
  "invalid_request",
  "authentication",
  "insufficient_scope",
  "policy_denied",
  "not_found",
  "precondition",
  "too_large",
  "quota",
  "rate_limit",
  "upstream",
  "timeout",
  "unavailable",
  "internal",
] as const;

export type ErrorKind = (typeof ERROR_KINDS)[number];

/**
 * Endpoints that answer with an error: the id of one (lower camel case), or a class of endpoints
 * (snake case; `src/http/contract/document/error-rows.ts` has the classes).
 */
type ErrorAudience = string;

/** How an error is answered. */
export interface ErrorAnswer {
  /** HTTP status, 400 to 599. */
  readonly status: number;
  readonly kind: ErrorKind;
  /**
   * The same request may succeed when it is sent again. Where not, the answer has
   * `x-should-retry: false` and no `retry-after`.
   */
  readonly retryable: boolean;
  /**
   * Default `retry-after`, milliseconds, at most 60,000; `null`: no header.
   */
  readonly retryAfter: number | null;
}

/**
 * One error code. Answers, `/openapi.json`, `signalbox check --explain` and
 * `docs/troubleshooting.md` are made from this row.
 */
export interface ErrorRow extends ErrorAnswer {
  /** Empty: answered before an endpoint is known. */
  readonly at: readonly ErrorAudience[];
  readonly meaning: string;
  /** A request or a situation that it is answered to. */
  readonly example: string;
  readonly fix: string;
}

/**
 * A non-retryable error.
 *
 * @example final(404, "not_found").retryable // false
 */
export function final<Status extends number>(
  status: Status,
  kind: ErrorKind,
): ErrorAnswer & { readonly status: Status } {
  return { status, kind, retryable: false, retryAfter: null };
}

/**
 * @example passing(503, "unavailable", 1000).retryAfter // 1000
 *
 * @param retryAfter milliseconds.
 */
export function passing<Status extends number>(
  status: Status,
  kind: ErrorKind,
  retryAfter: number | null = null,
): ErrorAnswer & { readonly status: Status } {
  return { status, kind, retryable: true, retryAfter };
}

/**
 * Makes rows of an error table: meaning, example, fix.
 *
 * @example errorAt(NOT_FOUND, "one_key")("There is no such key.", "`GET /v1/keys/x`.", "List them.")
 *
 * @param at endpoints that answer with it.
 */
export function errorAt<Answer extends ErrorAnswer>(
  answer: Answer,
  ...at: readonly ErrorAudience[]
): (meaning: string, example: string, fix: string) => Answer & ErrorRow {
  return (meaning, example, fix) => ({ ...answer, at, meaning, example, fix });
}

/** Answers of many errors. */
export const INVALID = final(400, "invalid_request");
export const FORBIDDEN = final(403, "insufficient_scope");
export const NOT_FOUND = final(404, "not_found");
export const UNAVAILABLE = passing(503, "unavailable", 1000);

/** Why a request was denied. Every member is an identifier, never free text. */
export interface Denial {
  /** Policy id, or `approvals`. */
  readonly policy: string;
  /** The policy's revision, or the table's revision for `approvals`. */
  readonly revision: string;
  readonly mode: "enforce";
  readonly constraint: string;
  /** A reason declared by the policy, or one of `reasons.ts`. */
  readonly reason: string;
  /**
   * The capability, endpoint or dimension concerned, where there is one: always a value of the
   * table.
   */
  readonly subject: string | null;
  /** Endpoint ids that did not pass. */
  readonly failing: readonly string[];
  /** Added for the answer; absent for `approvals` and `preferences`. */
  readonly contact?: PolicyContact;
}

/** Whom to ask about a denial. */
interface PolicyContact {
  readonly title: string;
  readonly owners: readonly string[];
  /** From `policies.denial_link` of routes.yaml. */
  readonly link?: string;
}

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
   * The same request may succeed later; if not, clients get `x-should-retry: false`.
   */
  readonly retryable: boolean;
  /** Milliseconds after which a retry makes sense; `null` where none does or it is unknown. */
  readonly retryAfter: number | null;
  /**
   * More members of the error object, for errors of the router's own endpoints; with names that it
   * does not have otherwise. Default: none.
   */
  readonly facts?: JsonObject;
}

/** Statuses of non-retryable errors. `codedError` of `error-codes.ts` makes the others. */
export type FinalStatus = 400 | 401 | 403 | 404 | 412 | 413 | 414 | 415 | 417 | 428 | 431;

/**
 * Makes a {@link ServiceError} that no retry can change.
 *
 * @example serviceError(404, "not_found", "key_not_found", "There is no such key.").status // 404
 */
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
    retryable: false,
    retryAfter: null,
    ...(more.facts !== undefined && { facts: more.facts }),
  };
}

/**
 * A 400 that names a member of the request.
 *
 * @example invalidRequest("invalid_value", "n must be 1.", "n").param // "n"
 */
export function invalidRequest(code: string, message: string, param?: string): ServiceError {
  return serviceError(400, "invalid_request", code, message, param === undefined ? {} : { param });
}
