/**
 * Retries that are useful after a failure, as long as the client has received nothing. `again`:
 * another candidate, later the same one; `elsewhere`: another candidate only; `stop`: none.
 */
export type RetryAction = "again" | "elsewhere" | "stop";

/**
 * Effect on the health of the endpoint. `nothing`: the failure was the router's or the caller's, or
 * is no evidence about the endpoint.
 */
type FailureEffect = "ill" | "rate_limited" | "nothing";

/**
 * `uncalled`: no provider was called; such an attempt costs nothing and never decides the client's
 * error. `unreached`: nothing of the request can have reached one, so it charges nothing.
 * `lasting`: no later try changes it, because an operator has to act first, or because the answer
 * would be the same; official clients retry the others twice at the provider itself, and must do so
 * here. `reported`: the provider reported it itself, with any status, and generated no answer.
 * `callers`: it may be the request's fault; a code or a named member shows whether another caller's
 * request would have met it.
 */
type FailureTrait = "uncalled" | "unreached" | "lasting" | "reported" | "callers";

interface FailureRow {
  /**
   * The client's error for a failure that no retry or fallback repaired. Sentences are ours alone.
   */
  readonly sentence: string;
  readonly fix: string;
  /**
   * The cause decides what can help (docs/dispatch.md#what-a-failure-leads-to). The caller's
   * mistake is the same at every provider: a fallback would hide it and charge it twice. A fault
   * that an operator has to fix lasts longer than a second. A call that was too slow would take as
   * long again.
   */
  readonly next: RetryAction;
  /** Absent: `ill`. */
  readonly effect?: FailureEffect;
  readonly traits?: readonly FailureTrait[];
}

const failure = (
  next: RetryAction,
  sentence: string,
  fix: string,
  more: Pick<FailureRow, "effect" | "traits"> = {},
): FailureRow => ({ next, sentence, fix, ...more });

export const RETRY_FIX =
  "Try again; add a fallback to the route. `signalbox evidence` shows every attempt.";
const OPERATOR_FIX =
  "For the operator: check the provider's row and its credential. Callers cannot fix it.";
const TIMES = "Try again; operators check `timeouts` of the provider and its health.";

/**
 * Sentence, fix and effect of each failure. A new kind is a row here, and a number in
 * `governance/cell.ts`.
 */
export const FAILURES = {
  connect: failure("again", "no connection to the provider could be made", RETRY_FIX, {
    traits: ["unreached"],
  }),
  tls: failure(
    "elsewhere",
    "the provider's certificate or TLS handshake was not acceptable",
    OPERATOR_FIX,
    { traits: ["unreached", "lasting"] },
  ),
  address_refused: failure(
    "elsewhere",
    "the provider's host resolves to an address that routes.yaml does not allow; the operator has to fix this, not the caller",
    "For the operator: if the provider is your own, write `network: private` in its row; otherwise check why its name resolves to this address.",
    { traits: ["unreached", "lasting"] },
  ),
  proxy: failure(
    "elsewhere",
    "the forward proxy could not be reached, or opened no connection to the provider",
    "For the operator: check that the proxy of `--egress-proxy` runs and allows CONNECT to the provider's host and port; `NO_PROXY` exempts hosts.",
    { traits: ["unreached"] },
  ),
  proxy_auth: failure(
    "elsewhere",
    "the forward proxy requires other credentials (407); the operator has to fix this, not the caller",
    "For the operator: put the user and password into the URL in `HTTPS_PROXY` (or `HTTP_PROXY`), and restart the server.",
    { traits: ["unreached", "lasting"] },
  ),
  // Not `again`, because the provider may have read the request: the same one again could be
  // answered, and charged, twice.
  reset: failure("elsewhere", "the provider closed the connection before it answered", RETRY_FIX),
  timeout_connect: failure("again", "connecting to the provider took too long", TIMES, {
    traits: ["unreached"],
  }),
  timeout_first_byte: failure("elsewhere", "the provider did not begin to answer in time", TIMES, {
    traits: ["callers"],
  }),
  timeout_first_token: failure("elsewhere", "the provider sent no output in time", TIMES),
  timeout_idle: failure(
    "elsewhere",
    "the provider stopped sending in the middle of its answer",
    TIMES,
  ),
  timeout_attempt: failure(
    "elsewhere",
    "the provider took longer than routes.yaml allows for one attempt",
    TIMES,
  ),
  // No evidence about the endpoint: the deadline is the caller's, and earlier attempts may have
  // used most of it.
  timeout_total: failure(
    "stop",
    "the request's deadline passed",
    "Raise `x-request-timeout-ms`, or request less output.",
    { effect: "nothing" },
  ),
  rate_limited: failure(
    "again",
    "the provider's rate limit is exhausted",
    "Try again after `retry-after`; operators request a higher limit from the vendor, or add endpoints.",
    { effect: "rate_limited", traits: ["reported"] },
  ),
  overloaded: failure("again", "the provider is overloaded", RETRY_FIX, {
    traits: ["reported", "callers"],
  }),
  server_error: failure("again", "the provider failed", RETRY_FIX, {
    traits: ["reported", "callers"],
  }),
  auth: failure(
    "elsewhere",
    "the provider refused the router's credentials, or the router could not get any; the operator has to fix this, not the caller",
    OPERATOR_FIX,
    { traits: ["lasting", "reported", "callers"] },
  ),
  not_found: failure(
    "elsewhere",
    "the provider does not have the model or path that routes.yaml names",
    "For the operator: correct `upstream_model` or `base_url`.",
    { traits: ["lasting", "reported", "callers"] },
  ),
  // No evidence about the endpoint: otherwise one caller's invalid requests would eject it for all.
  rejected: failure(
    "stop",
    "the provider refused the request as invalid",
    "Check the request; the provider's own message is never passed on.",
    { effect: "nothing", traits: ["lasting", "reported"] },
  ),
  redirect: failure(
    "elsewhere",
    "the provider answered with a redirect, which is never followed",
    "For the operator: set `base_url` to the address that the redirect leads to.",
    { traits: ["lasting", "reported"] },
  ),
  malformed: failure("again", "the provider's answer does not conform to its protocol", RETRY_FIX),
  truncated: failure("again", "the provider's answer ended before it was whole", RETRY_FIX),
  error_frame: failure("again", "the provider reported an error in its answer", RETRY_FIX, {
    traits: ["reported"],
  }),
  too_large: failure(
    "elsewhere",
    "the provider's answer is larger than the router accepts",
    "Request less output, or smaller batches; operators raise `--max-answer-bytes`.",
    { effect: "nothing", traits: ["lasting"] },
  ),
  credentials_missing: failure(
    "elsewhere",
    "the provider has no credentials on this server",
    OPERATOR_FIX,
    { effect: "nothing", traits: ["uncalled", "unreached", "lasting"] },
  ),
  // The request has waited in the queue. One that skipped the queue has the code `NOT_WAITED`.
  saturated: failure(
    "elsewhere",
    "as many calls to the provider are under way as routes.yaml allows",
    "Try again; operators raise `max_concurrency`.",
    { effect: "nothing", traits: ["uncalled", "unreached"] },
  ),
  client_closed: failure(
    "stop",
    "the client closed the connection",
    "Nothing: the caller closed the connection.",
    { effect: "nothing" },
  ),
  abandoned: failure(
    "stop",
    "the router cancelled the call, because another part of the request had failed",
    "Check the other parts of the batch.",
    { effect: "nothing" },
  ),
  server_stopping: failure(
    "stop",
    "the router is being stopped",
    "Try again: another process answers, or this one after its start. Operators give it more time with `--drain`.",
    { effect: "nothing" },
  ),
  key_revoked: failure(
    "stop",
    "the service key has been revoked",
    "Request a new key. Operators let running answers finish with `on_revoke: finish`.",
    { effect: "nothing", traits: ["lasting"] },
  ),
} as const;

/**
 * The ways in which a call of a provider can fail. Failures are values; an exception means a bug of
 * ours. Codes are stable.
 */
export type FailureKind = keyof typeof FAILURES;

function isKind(name: string): name is FailureKind {
  return Object.hasOwn(FAILURES, name);
}

/** In the order of the contract. */
export const FAILURE_KINDS: readonly FailureKind[] = Object.keys(FAILURES).filter(isKind);

/** @example effectOf("rejected") // "nothing" */
export function effectOf(kind: FailureKind): FailureEffect {
  return FAILURES[kind].effect ?? "ill";
}

/** @example hasTrait("tls", "lasting") // true */
export function hasTrait(kind: FailureKind, trait: FailureTrait): boolean {
  return FAILURES[kind].traits?.includes(trait) === true;
}

export interface UpstreamFailure {
  readonly kind: FailureKind;
  /** The upstream's status; `null` where none arrived. */
  readonly status: number | null;
  /** Milliseconds from now, as the upstream requested; `null` where it did not. */
  readonly retryAfter: number | null;
  /**
   * A machine code from a closed list, such as `context_length_exceeded`; never the upstream's own
   * text.
   */
  readonly code: string | null;
  /**
   * The member of its request that the upstream names, such as `max_tokens` or `input[2]`.
   * Untrusted until it is found in the request that was sent: only `refusedRequest` may pass it on.
   */
  readonly param?: string;
  /** The flag of a provider's row that keeps the refused member out of its requests. */
  readonly flag?: string;
  /** The router itself added the refused member: other endpoints may take the request. */
  readonly added?: true;
  /**
   * The failure is the provider's whole answer: it is passed on, and no other endpoint is tried.
   */
  readonly final?: true;
}

/**
 * The client's error where a code is more exact than the kind; the other codes have the kind's
 * sentence.
 */
export const FAILURE_CODE_SENTENCES: Readonly<Record<string, string>> = {
  insufficient_quota:
    "the router's account at the provider has no credit left; the operator has to fix this",
  unexpected_output_item:
    "the provider answered with output that the request did not require, or that the answer cannot represent",
  format_not_followed:
    "the model's answer is not the JSON that the request's response format requires",
  missing_finish_reason:
    "the provider closed its answer without a finish reason, so it may not be whole",
};

/**
 * A failure without a status.
 *
 * @param code of a closed list of the router's.
 *
 * @example failureOf("timeout_idle").kind // "timeout_idle"
 */
export function failureOf(kind: FailureKind, code: string | null = null): UpstreamFailure {
  return { kind, status: null, retryAfter: null, code };
}

/**
 * Whether a deadline passed.
 *
 * @example isTimeout("timeout_idle") // true
 */
export function isTimeout(kind: FailureKind): boolean {
  return kind.startsWith("timeout_");
}

/**
 * Whether something of the request may have reached the provider: then it may be charged for.
 *
 * @example hasReachedProvider("connect") // false
 */
export function hasReachedProvider(kind: FailureKind): boolean {
  return !hasTrait(kind, "unreached");
}
