import type { ErrorKind, ServiceError } from "../error.ts";
import { FAILURE_KINDS, isTimeout, type FailureKind } from "../failure.ts";

/** How an error is answered. */
export interface ErrorAnswer {
  readonly status: 402 | 408 | 409 | 429 | 500 | 502 | 503 | 504;
  readonly kind: ErrorKind;
  /** The same request may succeed when it is sent again. Where not, the answer has `x-should-retry: false` and no `retry-after`. */
  readonly mayPass: boolean;
  /** Milliseconds for `retry-after` where the error does not bring its own; `null`: no header. */
  readonly retryAfter: number | null;
}

/** Errors that somebody else must fix, or that a request has by itself: trying again changes nothing. */
function final(status: ErrorAnswer["status"], kind: ErrorKind): ErrorAnswer {
  return { status, kind, mayPass: false, retryAfter: null };
}

function passing(status: ErrorAnswer["status"], kind: ErrorKind, retryAfter: number | null = null): ErrorAnswer {
  return { status, kind, mayPass: true, retryAfter };
}

/**
 * Failures of providers that no later try can change, because an operator has to act first, or because the answer would be the same. All others may
 * pass: official clients survive two of them at the provider itself, and must not die of them here.
 */
const FINAL_FAILURES: ReadonlySet<FailureKind> = new Set([
  "tls",
  "address_refused",
  "auth",
  "not_found",
  "rejected",
  "redirect",
  "too_large",
  "credentials_missing",
  "key_revoked",
]);

/** Whether a provider's failure of this kind may be gone at a later try. */
export function mayFailurePass(kind: FailureKind): boolean {
  return !FINAL_FAILURES.has(kind);
}

function failureAnswer(kind: FailureKind): ErrorAnswer {
  const [status, word] = isTimeout(kind) ? ([504, "timeout"] as const) : ([502, "upstream"] as const);
  return mayFailurePass(kind) ? passing(status, word) : final(status, word);
}

type FailureCode = `upstream_${FailureKind}`;

const FAILURE_ANSWERS: ReadonlyMap<string, ErrorAnswer> = new Map(
  FAILURE_KINDS.map((kind): [FailureCode, ErrorAnswer] => [`upstream_${kind}`, failureAnswer(kind)]),
);

const OWN_ANSWERS = {
  // A spent budget is no rate limit: coding agents wait in silence for the end of a long `retry-after`.
  budget_exhausted: final(402, "quota"),
  exceeds_limit: final(402, "quota"),

  body_timeout: passing(408, "timeout"),
  header_timeout: passing(408, "timeout"),

  approvals_required: final(409, "precondition"),
  assertions_invalid: final(409, "precondition"),
  assertions_not_passed: final(409, "precondition"),
  busy: passing(409, "precondition", 1_000),
  content_not_kept: final(409, "precondition"),
  decisions_required: final(409, "precondition"),
  held: final(409, "precondition"),
  indeterminate_seen: final(409, "precondition"),
  key_already_rotated: final(409, "precondition"),
  no_candidate: final(409, "precondition"),
  not_approved: final(409, "precondition"),
  not_held: final(409, "precondition"),
  nothing_to_roll_back_to: final(409, "precondition"),
  nothing_to_simulate: final(409, "precondition"),
  report_required: final(409, "precondition"),
  simulation_too_large: final(409, "precondition"),
  soak_not_met: final(409, "precondition"),

  // These bring their own wait, which is at most a minute.
  budget_reserved: passing(429, "rate_limit", 1_000),
  concurrency: passing(429, "rate_limit", 1_000),
  fair_share_exceeded: passing(429, "rate_limit", 1_000),
  requests_per_minute: passing(429, "rate_limit", 60_000),
  summaries_waiting: passing(429, "rate_limit", 1_000),
  tokens_per_minute: passing(429, "rate_limit", 60_000),

  internal_error: passing(500, "internal"),

  // Whether it may pass follows from the failures that it stands for.
  upstream_exhausted: passing(502, "upstream"),

  evidence_unavailable: passing(503, "unavailable", 1_000),
  limits_unavailable: passing(503, "unavailable", 1_000),
  no_healthy_endpoint: passing(503, "unavailable", 5_000),
  not_ready: passing(503, "unavailable"),
  // The change stands: a second one would be another.
  policies_not_applied: final(503, "unavailable"),
  saturated: passing(503, "unavailable", 1_000),
  server_overloaded: passing(503, "unavailable", 1_000),
  server_stopping: passing(503, "unavailable", 1_000),
  simulation_busy: passing(503, "unavailable", 5_000),
  store_unavailable: passing(503, "unavailable", 1_000),
  summary_unavailable: passing(503, "unavailable", 1_000),
} as const satisfies Readonly<Record<string, ErrorAnswer>>;

export type AnswerCode = keyof typeof OWN_ANSWERS | FailureCode;

/**
 * Every code whose status official clients try again by themselves (408, 409, 429, 5xx), and the 402: status, whether it may pass, and when. All such
 * answers are made from it. An error of another status (400, 403, 404 …) never passes.
 */
export const ERROR_ANSWERS: ReadonlyMap<string, ErrorAnswer> = new Map<string, ErrorAnswer>([
  ...Object.entries(OWN_ANSWERS),
  ...FAILURE_ANSWERS,
]);

/** Longest `retry-after` that is sent, milliseconds: agents wait through longer ones in silence. */
export const LONGEST_WAIT = 60_000;

/**
 * Makes the error that {@link ERROR_ANSWERS} has for a code.
 *
 * @param more `code` where a finer word of a closed list is known; `retryAfter` in milliseconds: one beyond {@link LONGEST_WAIT} is not sent, and
 * forbids retries instead. The message has to say the time then.
 */
export function codedError(
  code: AnswerCode,
  message: string,
  more: Partial<Pick<ServiceError, "code" | "mayPass" | "retryAfter" | "facts">> = {},
): ServiceError {
  const row = ERROR_ANSWERS.get(code);
  if (row === undefined) throw new Error(`no answer for the code ${code}`);
  const retryAfter = more.retryAfter ?? row.retryAfter;
  const mayPass = (more.mayPass ?? row.mayPass) && (retryAfter === null || retryAfter <= LONGEST_WAIT);
  return {
    status: row.status,
    kind: row.kind,
    code: more.code ?? code,
    message,
    param: null,
    denial: null,
    mayPass,
    retryAfter: mayPass ? retryAfter : null,
    ...(more.facts !== undefined && { facts: more.facts }),
  };
}
