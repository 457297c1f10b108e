/** How an upstream call can go wrong. A value: `throw` means a bug of ours (architecture.md). */
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
] as const;

export type FailureKind = (typeof FAILURE_KINDS)[number];

export interface UpstreamFailure {
  readonly kind: FailureKind;
  /** The upstream's status; `null` where none arrived. */
  readonly status: number | null;
  /** Milliseconds from now, as the upstream asked; `null` where it did not. */
  readonly retryAfter: number | null;
  /** A machine code from a closed list, such as `context_length_exceeded`; never the upstream's own text. */
  readonly code: string | null;
}

/** A failure of which nothing is known but its kind. */
export function failureOf(kind: FailureKind): UpstreamFailure {
  return { kind, status: null, retryAfter: null, code: null };
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
