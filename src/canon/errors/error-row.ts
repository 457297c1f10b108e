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
 * Which endpoints answer with an error: a class of endpoints
 * (`src/http/contract/document/error-rows.ts` has the classes), or the id of one. Ids are lower
 * camel case, classes have underscores or one word.
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
  readonly mayPass: boolean;
  /**
   * Milliseconds for `retry-after` where the error does not bring its own, at most 60,000; `null`:
   * no header.
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

/** An error that a later try meets again. */
export function final<Status extends number>(
  status: Status,
  kind: ErrorKind,
): ErrorAnswer & { readonly status: Status } {
  return { status, kind, mayPass: false, retryAfter: null };
}

/** @param retryAfter milliseconds. */
export function passing<Status extends number>(
  status: Status,
  kind: ErrorKind,
  retryAfter: number | null = null,
): ErrorAnswer & { readonly status: Status } {
  return { status, kind, mayPass: true, retryAfter };
}
