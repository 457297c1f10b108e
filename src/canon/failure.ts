/** The ways in which a call of a provider can fail. Failures are values; an exception means a bug of ours. */
export const FAILURE_KINDS = [
  "connect",
  "tls",
  "address_refused",
  "reset",
  "timeout_connect",
  "timeout_first_byte",
  "timeout_first_token",
  "timeout_idle",
  "timeout_attempt",
  "timeout_total",
  "rate_limited",
  "overloaded",
  "server_error",
  "auth",
  "not_found",
  "rejected",
  "redirect",
  "malformed",
  "truncated",
  "error_frame",
  "too_large",
  "credentials_missing",
  "saturated",
  "client_closed",
  "abandoned",
  "server_stopping",
  "key_revoked",
] as const;

export type FailureKind = (typeof FAILURE_KINDS)[number];

/** The client's error for a failure that no retry or fallback repaired. Codes are stable; sentences are ours alone. */
export const FAILURE_SENTENCES: Readonly<Record<FailureKind, string>> = {
  connect: "no connection to the provider could be made",
  tls: "the provider's certificate or TLS handshake was not acceptable",
  address_refused:
    "the provider's host resolves to an address that routes.yaml does not allow; the operator has to fix this, not the caller",
  reset: "the provider closed the connection before it answered",
  timeout_connect: "connecting to the provider took too long",
  timeout_first_byte: "the provider did not begin to answer in time",
  timeout_first_token: "the provider sent no output in time",
  timeout_idle: "the provider stopped sending in the middle of its answer",
  timeout_attempt: "the provider took longer than routes.yaml allows for one attempt",
  timeout_total: "the request's deadline passed",
  rate_limited: "the provider's rate limit is exhausted",
  overloaded: "the provider is overloaded",
  server_error: "the provider failed",
  auth: "the provider refused the router's credentials, or none could be had; the operator has to fix this, not the caller",
  not_found: "the provider does not have the model or path that routes.yaml names",
  rejected: "the provider refused the request as invalid",
  redirect: "the provider answered with a redirect, which is never followed",
  malformed: "the provider's answer does not conform to its protocol",
  truncated: "the provider's answer ended before it was whole",
  error_frame: "the provider reported an error in its answer",
  too_large: "the provider's answer is larger than the router accepts",
  credentials_missing: "the provider has no credentials on this server",
  saturated: "as many calls to the provider are under way as routes.yaml allows",
  client_closed: "the client went away",
  abandoned: "the router cancelled the call, because another part of the request had failed",
  server_stopping: "the router is being stopped",
  key_revoked: "the service key has been revoked",
};

export interface UpstreamFailure {
  readonly kind: FailureKind;
  /** The upstream's status; `null` where none arrived. */
  readonly status: number | null;
  /** Milliseconds from now, as the upstream requested; `null` where it did not. */
  readonly retryAfter: number | null;
  /** A machine code from a closed list, such as `context_length_exceeded`; never the upstream's own text. */
  readonly code: string | null;
  /**
   * The member of its request that the upstream names, such as `max_tokens` or `input[2]`. Untrusted until it is found in the request that was sent:
   * only `reportedFailure` lets it pass. None where absent.
   */
  readonly param?: string;
  /** The failure is the provider's whole answer: it is passed on, and no other endpoint is tried. */
  readonly final?: true;
}

/** The client's error where a code is more exact than the kind; the other codes have the kind's sentence. */
export const FAILURE_CODE_SENTENCES: Readonly<Record<string, string>> = {
  unexpected_output_item:
    "the provider answered with output that the request did not ask for, or that the answer cannot represent",
  missing_finish_reason: "the provider closed its answer without a finish reason, so it may not be whole",
};

/** A failure of which nothing is known but its kind. */
export function failureOf(kind: FailureKind): UpstreamFailure {
  return { kind, status: null, retryAfter: null, code: null };
}

/** Whether a deadline passed. */
export function isTimeout(kind: FailureKind): boolean {
  return kind.startsWith("timeout_");
}

const NOT_REACHED: ReadonlySet<FailureKind> = new Set([
  "connect",
  "tls",
  "address_refused",
  "timeout_connect",
  "credentials_missing",
  "saturated",
]);

/** Whether something of the request may have reached the provider: then it may be charged for. */
export function hasReachedProvider(kind: FailureKind): boolean {
  return !NOT_REACHED.has(kind);
}
