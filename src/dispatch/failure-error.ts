import { invalidRequest, serviceError, type ServiceError } from "../canon/error.ts";
import { codedError, LONGEST_WAIT, mayFailurePass } from "../canon/errors/coded-error.ts";
import { noHealthyEndpoint } from "../canon/errors/coded-error.ts";
import {
  FAILURE_CODE_SENTENCES,
  FAILURE_SENTENCES,
  isTimeout,
  type FailureKind,
  type UpstreamFailure,
} from "../canon/failure.ts";
import type { StopReason } from "./limiters/stop-order.ts";

/** An attempt as an error message names it: ids and kinds of failure, no text of a provider. */
export interface FailedAttempt {
  readonly endpoint: string;
  readonly failure: UpstreamFailure;
}

/** Kinds of attempts that did not call a provider. Such an attempt costs nothing and never decides the client's error. */
const NOT_CALLED: ReadonlySet<FailureKind> = new Set(["credentials_missing", "saturated"]);

/** Whether a provider was called; only such attempts count against the caller's bound. */
export function hasCalledProvider(failure: UpstreamFailure): boolean {
  return !NOT_CALLED.has(failure.kind);
}

/** The client's error for a plan whose attempts all failed; the last cause decides it, and every attempt is named. */
export function failureError(attempts: readonly FailedAttempt[]): ServiceError {
  const last = attempts.findLast(({ failure }) => hasCalledProvider(failure));
  if (last === undefined) {
    if (attempts.some(({ failure }) => failure.kind === "saturated")) return saturated();
    return noHealthyEndpoint();
  }
  const { failure } = last;
  if (failure.kind === "rejected") return rejected(failure);
  if (failure.kind === "server_stopping" || failure.kind === "key_revoked") return stoppedError(failure.kind);
  const { kind, retryAfter } = failure;
  const named = attempts.map((attempt) => `${attempt.endpoint} (${attempt.failure.kind})`).join(", ");
  const message = `Upstream failure: ${sentenceOf(failure)}. Tried: ${named}.${longWait(retryAfter)}`;
  // A later try begins with the first endpoint again: one failure that may pass is enough.
  const mayPass = attempts.some((attempt) => mayPassLater(attempt.failure));
  const more = { mayPass, retryAfter };
  if (isTimeout(kind)) return codedError(`upstream_${kind}`, message, more);
  // The code is of our parsers' closed lists, and is more precise than the kind.
  const said = kind === "malformed" && failure.code !== null ? { code: failure.code } : {};
  const endpoints = new Set(attempts.map(({ endpoint }) => endpoint)).size;
  if (endpoints > 1) return codedError("upstream_exhausted", message, more);
  return codedError(`upstream_${kind}`, message, { ...more, ...said });
}

/** Codes of accounts at the provider that are used up: their rate limit does not pass by itself. */
const SPENT_ACCOUNTS: ReadonlySet<string> = new Set(["insufficient_quota", "billing_error"]);

function mayPassLater({ kind, code, final }: UpstreamFailure): boolean {
  return final !== true && mayFailurePass(kind) && (code === null || !SPENT_ACCOUNTS.has(code));
}

/** A wait that is too long for `retry-after` stands in the message. */
function longWait(retryAfter: number | null): string {
  if (retryAfter === null || retryAfter <= LONGEST_WAIT) return "";
  return ` The provider asks for a wait of ${Math.ceil(retryAfter / 1000)} seconds.`;
}

function sentenceOf({ kind, code }: UpstreamFailure): string {
  const said = code !== null && Object.hasOwn(FAILURE_CODE_SENTENCES, code) ? FAILURE_CODE_SENTENCES[code] : undefined;
  return said ?? FAILURE_SENTENCES[kind];
}

/** A limit of ours, and a passing one: clients may try again soon. */
function saturated(): ServiceError {
  return codedError(
    "saturated",
    "The request is allowed, but every endpoint that may serve it has as many calls under way as routes.yaml allows.",
  );
}

/** Of a request that the router itself has ended. */
export function stoppedError(reason: StopReason): ServiceError {
  return reason === "key_revoked" ? keyRevoked() : serverStopping();
}

/** The request was let in, and its key was revoked before it was answered. */
function keyRevoked(): ServiceError {
  return serviceError(
    401,
    "authentication",
    "key_revoked",
    "The service key was revoked while the request was under way; ask the team that issued it for a new one.",
  );
}

/** The server is being stopped and the request's time is over; another one, or this one in a moment, can answer. */
function serverStopping(): ServiceError {
  return codedError(
    "server_stopping",
    "The server is being stopped, and the request did not end in the time that was left. Send it again.",
  );
}

/** What a provider's closed code means for the member that it names. */
const MEMBER_FAULTS: Readonly<Record<string, string>> = {
  unsupported_parameter: "the model does not support it",
  unknown_parameter: "the provider does not know it",
  unsupported_value: "the model does not support its value",
  invalid_value: "its value is not valid",
  invalid_type: "its value has the wrong type",
  missing_required_parameter: "it is missing",
  string_above_max_length: "a text in it is too long",
};

/** The words of the vendors: agents shorten their conversation where an error has them, and not for the code alone. */
const TOO_LONG = "the prompt is too long, this model's maximum context length is exceeded";

/** The caller's own mistake, described without the provider's words. */
function rejected({ code: said, status: given, param }: UpstreamFailure): ServiceError {
  const code = said ?? "upstream_rejected";
  const status = given ?? 400;
  const fault = Object.hasOwn(MEMBER_FAULTS, code) ? MEMBER_FAULTS[code] : undefined;
  const about = param === undefined ? "" : `, at ${param}${fault === undefined ? "" : `: ${fault}`}`;
  const length = code === "context_length_exceeded" ? `: ${TOO_LONG}` : "";
  const sentence = `The provider refused the request as invalid (status ${status}${said === null ? "" : `, code ${said}`})${about}${length}.`;
  if (status === 413) return serviceError(413, "too_large", code, sentence);
  return invalidRequest(code, sentence, param);
}
