import { invalidRequest, serviceError, type ServiceError } from "../canon/error.ts";
import { codedError, LONGEST_WAIT, noHealthyEndpoint } from "../canon/errors/coded-error.ts";
import {
  FAILURE_CODE_SENTENCES,
  FAILURES,
  hasTrait,
  isTimeout,
  type FailureKind,
  type UpstreamFailure,
} from "../canon/failure.ts";
import type { StopReason } from "./stop-order.ts";
import { isJsonObject, type JsonObject, parseJson } from "../canon/json.ts";
import { errors } from "undici";
import { ADDRESS_REFUSED } from "./provider-client.ts";

/** An attempt as an error message names it: ids and kinds of failure, no text of a provider. */
export interface FailedAttempt {
  readonly endpoint: string;
  readonly failure: UpstreamFailure;
}

/** Whether a provider was called; only such attempts count against the caller's bound. */
export function hasCalledProvider(failure: UpstreamFailure): boolean {
  return !hasTrait(failure.kind, "uncalled");
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
  return final !== true && !hasTrait(kind, "lasting") && (code === null || !SPENT_ACCOUNTS.has(code));
}

/** A wait that is too long for `retry-after` stands in the message. */
function longWait(retryAfter: number | null): string {
  if (retryAfter === null || retryAfter <= LONGEST_WAIT) return "";
  return ` The provider requests a wait of ${Math.ceil(retryAfter / 1000)} seconds.`;
}

function sentenceOf({ kind, code }: UpstreamFailure): string {
  const said = code !== null && Object.hasOwn(FAILURE_CODE_SENTENCES, code) ? FAILURE_CODE_SENTENCES[code] : undefined;
  return said ?? FAILURES[kind].sentence;
}

/** A limit of ours, and a passing one: clients may try again soon. */
function saturated(): ServiceError {
  return codedError(
    "saturated",
    "The request is allowed, but every endpoint that may serve it has as many calls under way as routes.yaml allows.",
  );
}

/** Of a request that was let in and that the router itself has ended. Another one, or the same in a moment, can be answered where the server stops. */
export function stoppedError(reason: StopReason): ServiceError {
  if (reason === "server_stopping") {
    return codedError(
      reason,
      "The server is being stopped, and the request did not end in the time that was left. Send it again.",
    );
  }
  return serviceError(
    401,
    "authentication",
    reason,
    "The service key was revoked while the request was under way; request a new one from the team that issued it.",
  );
}

/** What a provider's closed code means for the member that it names. */
const MEMBER_FAULTS: Readonly<Record<string, string>> = {
  unsupported_parameter: "the model does not support it",
  unknown_parameter: "the provider does not have it",
  unsupported_value: "the model does not support its value",
  invalid_value: "its value is not valid",
  invalid_type: "its value has the wrong type",
  missing_required_parameter: "it is missing",
  string_above_max_length: "a text in it is too long",
};

/** The vendors' own wording: agents shorten their conversation because of it, and not because of the code. */
const TOO_LONG = "the prompt is too long, this model's maximum context length is exceeded";

/** The caller's own mistake, described without the provider's text. */
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

/** The kind of failure of an error that a provider reports inside an answer, by codes of the dialects' closed lists. */
const REPORTED_KINDS: Readonly<Record<string, FailureKind>> = {
  context_length_exceeded: "rejected",
  max_tokens_exceeded: "rejected",
  invalid_value: "rejected",
  invalid_type: "rejected",
  missing_required_parameter: "rejected",
  unsupported_parameter: "rejected",
  unsupported_value: "rejected",
  unknown_parameter: "rejected",
  string_above_max_length: "rejected",
  invalid_image: "rejected",
  invalid_image_format: "rejected",
  image_too_large: "rejected",
  content_policy_violation: "rejected",
  invalid_request: "rejected",
  invalid_request_error: "rejected",
  invalid_argument: "rejected",
  out_of_range: "rejected",
  request_too_large: "rejected",
  rate_limit_exceeded: "rate_limited",
  rate_limited: "rate_limited",
  rate_limit_error: "rate_limited",
  insufficient_quota: "rate_limited",
  quota_exceeded: "rate_limited",
  overloaded: "overloaded",
  overloaded_error: "overloaded",
  unavailable: "overloaded",
};

/** What a failed call has sent, and for whom. */
interface SentRequest {
  /** The body as it was sent. */
  readonly body: string;
  /** The body as the caller sent it. */
  readonly callers: JsonObject;
}

/**
 * An error status whose cause is the request and not the endpoint: otherwise one caller's mistake would be sent to every endpoint, and eject them all for
 * all callers. A code for a faulty request shows it, or a member of the request that is named; `model` is the operator's. The member's name is kept where the caller has
 * sent it.
 */
export function refusedRequest(failure: UpstreamFailure, { body, callers }: SentRequest): UpstreamFailure {
  const { param, ...bare } = failure;
  const { kind, status, code } = bare;
  const name = param === undefined ? null : nameOf(param);
  const isCallers = name !== null && Object.hasOwn(callers, name);
  const named = isCallers && param !== undefined && name !== "model" ? { param } : {};
  if (kind === "rejected") return { ...bare, ...named };
  // A 401 is about credentials, whatever it names.
  if (!hasTrait(kind, "callers") || status === 401) return bare;
  const saysCode = code !== null && Object.hasOwn(REPORTED_KINDS, code) && REPORTED_KINDS[code] === "rejected";
  const isAbsence = kind === "not_found" || kind === "auth";
  const saysMember = isAbsence && name !== null && name !== "model" && (isCallers || isMemberOf(body, name));
  return saysCode || saysMember ? { ...bare, ...named, kind: "rejected" } : bare;
}

function nameOf(param: string): string {
  return param.replace(/\[\d+\]$/, "");
}

function isMemberOf(body: string, name: string): boolean {
  const sent = parseJson(body);
  return isJsonObject(sent) && Object.hasOwn(sent, name);
}

/**
 * An error event for what an error status would have said. Otherwise one caller's prompt that is too long would be sent to every endpoint, and eject
 * them all.
 */
export function reportedFailure(failure: UpstreamFailure): UpstreamFailure {
  const { kind, code } = failure;
  if (kind !== "error_frame" || code === null || !Object.hasOwn(REPORTED_KINDS, code)) return failure;
  return { ...failure, kind: REPORTED_KINDS[code] ?? kind };
}

const TRANSPORT_KINDS: Readonly<Record<string, FailureKind>> = {
  ECONNREFUSED: "connect",
  ENOTFOUND: "connect",
  EAI_AGAIN: "connect",
  EHOSTUNREACH: "connect",
  ENETUNREACH: "connect",
  EADDRNOTAVAIL: "connect",
  EMFILE: "connect",
  ETIMEDOUT: "timeout_connect",
  UND_ERR_CONNECT_TIMEOUT: "timeout_connect",
  EPROTO: "tls",
  [ADDRESS_REFUSED]: "address_refused",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "truncated",
  UND_ERR_HEADERS_OVERFLOW: "malformed",
  UND_ERR_RESPONSE: "malformed",
};

/**
 * Makes a failure of an error of the HTTP client. Only its code is read: messages hold host names and what the other side said.
 *
 * @param sawHeaders whether the answer had begun; a lost connection then means a cut answer.
 */
export function failureOfTransport(error: unknown, sawHeaders: boolean): UpstreamFailure {
  const code = codeOf(error);
  return { kind: kindOf(code, sawHeaders), status: null, retryAfter: null, code: null };
}

function kindOf(code: string, sawHeaders: boolean): FailureKind {
  const known = Object.hasOwn(TRANSPORT_KINDS, code) ? TRANSPORT_KINDS[code] : undefined;
  if (known !== undefined) return known;
  if (code.startsWith("HPE_")) return "malformed";
  if (/^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED)/.test(code)) return "tls";
  return sawHeaders ? "truncated" : "reset";
}

function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  // The client leaves the code out where the answer does not even begin like HTTP.
  if (error instanceof errors.HTTPParserError) return "HPE_";
  // An answer with status 101 and the headers of an upgrade; the code is that of every lost connection.
  if (error instanceof errors.SocketError && error.message === "bad upgrade") return "HPE_";
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const code = "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}
