import { noHealthyEndpoint, serviceError, type ServiceError } from "../canon/error.ts";
import { FAILURE_SENTENCES, type FailureKind, type UpstreamFailure } from "../canon/failure.ts";

const TIMEOUTS: ReadonlySet<FailureKind> = new Set([
  "timeout_connect",
  "timeout_first_byte",
  "timeout_first_token",
  "timeout_idle",
  "timeout_attempt",
  "timeout_total",
]);

/** An attempt as far as its place in an error message goes: ids and words, nothing that anybody said. */
export interface FailedAttempt {
  readonly endpoint: string;
  readonly failure: UpstreamFailure;
}

/** Milliseconds after which a provider whose calls are all taken may have one free again. */
const SATURATED_RETRY = 1_000;

/** Milliseconds after which a client of a server that stops tries again: by then its balancer knows. */
const STOPPING_RETRY = 1_000;

/** Kinds that say that a provider was not asked at all. Such an attempt costs nobody anything and never speaks for the others. */
const NOT_ASKED: ReadonlySet<FailureKind> = new Set(["credentials_missing", "saturated"]);

/** Whether the failure is that of a provider that was asked; only such attempts count against the caller's bound. */
export function wasAsked(failure: UpstreamFailure): boolean {
  return !NOT_ASKED.has(failure.kind);
}

/** The client's error for a plan whose attempts all failed; the last cause speaks, every attempt is named. */
export function failureError(attempts: readonly FailedAttempt[]): ServiceError {
  const last = attempts.findLast(({ failure }) => wasAsked(failure));
  if (last === undefined) {
    if (attempts.some(({ failure }) => failure.kind === "saturated")) return saturated();
    return noHealthyEndpoint();
  }
  const { failure } = last;
  if (failure.kind === "rejected") return rejected(failure);
  if (failure.kind === "server_stopping") return serverStopping();
  const retry = failure.retryAfter === null ? {} : { retryAfter: failure.retryAfter };
  const named = attempts.map((attempt) => `${attempt.endpoint} (${attempt.failure.kind})`).join(", ");
  const message = `Upstream failure: ${FAILURE_SENTENCES[failure.kind]}. Tried: ${named}.`;
  if (TIMEOUTS.has(failure.kind)) return serviceError(504, "timeout", `upstream_${failure.kind}`, message, retry);
  // What is wrong with an answer is a word of our parsers' closed lists, and says more than that something is.
  const said = failure.kind === "malformed" && failure.code !== null ? failure.code : `upstream_${failure.kind}`;
  const places = new Set(attempts.map(({ endpoint }) => endpoint)).size;
  const code = places > 1 ? "upstream_exhausted" : said;
  return serviceError(502, "upstream", code, message, retry);
}

/** A limit of ours, and a passing one: clients may try again soon. */
function saturated(): ServiceError {
  return serviceError(
    503,
    "unavailable",
    "saturated",
    "The request is allowed, but every endpoint that may serve it has as many calls under way as routes.yaml allows.",
    { retryAfter: SATURATED_RETRY },
  );
}

/** The server is being stopped and the request's time is over; another one, or this one in a moment, can answer. */
export function serverStopping(): ServiceError {
  return serviceError(
    503,
    "unavailable",
    "server_stopping",
    "The server is being stopped, and the request did not end in the time that was left. Send it again.",
    { retryAfter: STOPPING_RETRY },
  );
}

/** The caller's own mistake, as far as it can be told without the provider's words. */
function rejected(failure: UpstreamFailure): ServiceError {
  const code = failure.code ?? "upstream_rejected";
  const status = failure.status ?? 400;
  const sentence = `The provider refused the request as invalid (status ${status}${failure.code === null ? "" : `, code ${failure.code}`}).`;
  if (status === 413) return serviceError(413, "too_large", code, sentence);
  return serviceError(400, "invalid_request", code, sentence);
}
