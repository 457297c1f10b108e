import { invalidRequest, serviceError, type ServiceError } from "../canon/error.ts";
import { LONGEST_WAIT, codedError, noHealthyEndpoint } from "../canon/error-codes.ts";
import {
  FAILURE_CODE_SENTENCES,
  FAILURES,
  failureOf,
  hasTrait,
  isTimeout,
  type FailureKind,
  type UpstreamFailure,
} from "../canon/failure.ts";
import type { StopReason } from "./stop-order.ts";
import { isJsonObject, type JsonObject, parseJson } from "../canon/json.ts";
import { kindOfStatus } from "../dialects/answer-ends.ts";
import type { FlagFacts } from "../dialects/dialect.ts";
import { ADDED_MEMBERS, REQUEST_FAILURES, synonymsOf } from "../dialects/refusals.ts";
import { DIALECTS, isDialectName } from "../dialects/table.ts";
import { errors } from "undici";
import { PROXY_ERRORS } from "./egress-proxy.ts";
import { ADDRESS_REFUSED } from "./provider-client.ts";

/** An attempt as error messages name it: ids and kinds of failure, no provider text. */
export interface FailedAttempt {
  readonly endpoint: string;
  readonly failure: UpstreamFailure;
}

/** Whether a provider was called; only such attempts count against the caller's bound. */
export function hasCalledProvider(failure: UpstreamFailure): boolean {
  return !hasTrait(failure.kind, "uncalled");
}

/**
 * The client's error for a plan whose attempts all failed: decided by the last cause, naming every
 * attempt.
 */
export function failureError(attempts: readonly FailedAttempt[]): ServiceError {
  const last = attempts.findLast(({ failure }) => hasCalledProvider(failure));
  if (last === undefined) {
    if (attempts.some(({ failure }) => failure.kind === "saturated")) return saturated();
    return noHealthyEndpoint();
  }
  const { failure } = last;
  if (failure.kind === "rejected") return rejected(failure);
  if (failure.kind === "server_stopping" || failure.kind === "key_revoked")
    return stoppedError(failure.kind);
  const { kind, retryAfter } = failure;
  const triedText = attempts
    .map((attempt) => `${attempt.endpoint} (${attempt.failure.kind})`)
    .join(", ");
  const message = `Upstream failure: ${sentenceOf(failure)}. Tried: ${triedText}.${longWait(retryAfter)}`;
  // A later try begins with the first endpoint again, so one transient failure is enough.
  const retryable = attempts.some((attempt) => isTransient(attempt.failure));
  const more = { retryable, retryAfter };
  if (isTimeout(kind)) return codedError(`upstream_${kind}`, message, more);
  // The code is from our parsers' closed lists, and more precise than the kind.
  const parsed = kind === "malformed" && failure.code !== null ? { code: failure.code } : {};
  const endpoints = new Set(attempts.map(({ endpoint }) => endpoint)).size;
  const providerCalls = attempts.filter((attempt) => hasCalledProvider(attempt.failure));
  // After a 429 clients wait as for the provider, which helps only where every endpoint reported
  // one.
  const hasOneKind =
    endpoints === 1 || providerCalls.every((attempt) => attempt.failure.kind === kind);
  const code = hasOneKind && kind === "rate_limited" ? "upstream_rate_limited" : null;
  if (endpoints > 1 && code === null) return codedError("upstream_exhausted", message, more);
  const error = codedError(code ?? `upstream_${kind}`, message, { ...more, ...parsed });
  const stated = retryAfter !== null && retryAfter <= LONGEST_STATED ? retryAfter : null;
  return { ...error, retryAfter: error.retryAfter ?? stated };
}

/** Codes of exhausted accounts: waiting does not end their rate limit. */
const SPENT_ACCOUNTS: ReadonlySet<string> = new Set(["insufficient_quota", "billing_error"]);

function isTransient({ kind, code, final }: UpstreamFailure) {
  return (
    final !== true && !hasTrait(kind, "lasting") && (code === null || !SPENT_ACCOUNTS.has(code))
  );
}

/**
 * Longest `Retry-After` of a provider that is forwarded where a retry cannot succeed soon,
 * milliseconds.
 */
const LONGEST_STATED = 600_000;

/** Names a wait in the message that is too long for `retry-after`. */
function longWait(retryAfter: number | null): string {
  if (retryAfter === null || retryAfter <= LONGEST_WAIT) return "";
  return ` The provider requests a wait of ${Math.ceil(retryAfter / 1000)} seconds.`;
}

function sentenceOf({ kind, code }: UpstreamFailure): string {
  const ofCode =
    code !== null && Object.hasOwn(FAILURE_CODE_SENTENCES, code)
      ? FAILURE_CODE_SENTENCES[code]
      : undefined;
  return ofCode ?? FAILURES[kind].sentence;
}

/** Our own transient limit: clients may retry soon. */
function saturated() {
  return codedError(
    "saturated",
    "The request is allowed, but every endpoint that may serve it has as many calls under way as routes.yaml allows.",
  );
}

/**
 * For an admitted request that the router itself has ended. Where the server stops, a retry can be
 * answered.
 */
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

/** Message for a provider's closed code about a named member. */
const MEMBER_FAULTS: Readonly<Record<string, string>> = {
  unsupported_parameter: "the model does not support it",
  unknown_parameter: "the provider does not have it",
  unsupported_value: "the model does not support its value",
  invalid_value: "its value is not valid",
  invalid_type: "its value has the wrong type",
  missing_required_parameter: "it is missing",
  string_above_max_length: "a text in it is too long",
};

/**
 * The vendors' own wording: agents shorten their conversation because of this text, not of the
 * code.
 */
const TOO_LONG = "the prompt is too long, this model's maximum context length is exceeded";

/** The caller's own mistake, described without the provider's text. */
function rejected({
  code: reported,
  status: reportedStatus,
  param,
  flag,
  added,
}: UpstreamFailure): ServiceError {
  const code = reported ?? "upstream_rejected";
  const status = reportedStatus ?? 400;
  const fault = Object.hasOwn(MEMBER_FAULTS, code) ? MEMBER_FAULTS[code] : undefined;
  const about =
    param === undefined ? "" : `, at ${param}${fault === undefined ? "" : `: ${fault}`}`;
  const isTooLong = code === "context_length_exceeded";
  const sentence =
    `The provider refused the request as invalid (status ${status}${reported === null ? "" : `, code ${reported}`})` +
    `${about}${isTooLong ? `: ${TOO_LONG}` : ""}.${added === true ? ` ${addedBy(flag)}` : ""}`;
  if (status === 413 && !isTooLong) return serviceError(413, "too_large", code, sentence);
  return invalidRequest(code, sentence, param);
}

function addedBy(flag: string | undefined): string {
  const fix =
    flag === undefined ? "use another provider" : `set the flag ${flag} in the provider's row`;
  return `The router added this member; for the operator: ${fix}.`;
}

/** Codes for a faulty request, from the dialects' closed lists, besides {@link MEMBER_FAULTS}. */
const REQUEST_FAULTS = [
  "context_length_exceeded",
  "max_tokens_exceeded",
  "content_policy_violation",
  "invalid_request",
  "invalid_request_error",
  "invalid_argument",
  "out_of_range",
  "request_too_large",
  "image_not_supported",
  ...REQUEST_FAILURES,
];

/** The kind of failure for an error that a provider reports inside an answer. */
const REPORTED_KINDS: ReadonlyMap<string | null, FailureKind> = new Map<string, FailureKind>([
  ...[...Object.keys(MEMBER_FAULTS), ...REQUEST_FAULTS].map((code) => [code, "rejected"] as const),
  ["rate_limit_exceeded", "rate_limited"],
  ["rate_limited", "rate_limited"],
  ["rate_limit_error", "rate_limited"],
  ["insufficient_quota", "rate_limited"],
  ["quota_exceeded", "rate_limited"],
  ["overloaded", "overloaded"],
  ["overloaded_error", "overloaded"],
  ["unavailable", "overloaded"],
]);

/** A failed call's request, and its caller's. */
interface SentRequest {
  /** The body as sent. */
  readonly body: string;
  /** The body as the caller sent it. */
  readonly callers: JsonObject;
  /** The provider's dialect. */
  readonly dialect: string;
}

/**
 * Finds out whether the request, and not the endpoint, is the cause of an error status: otherwise
 * one caller's mistake would be sent to every endpoint, and eject them all for all callers.
 * Evidence is a code for a faulty request, or a named member of the request; `model` is the
 * operator's. The member's name is kept where the caller sent it, or where the router added it.
 */
export function refusedRequest(
  failure: UpstreamFailure,
  { body, callers, dialect }: SentRequest,
): UpstreamFailure {
  const { param, ...bare } = failure;
  const { kind, status, code } = bare;
  // Some providers report an exhausted account as the caller's mistake.
  if (kind === "rejected" && code !== null && SPENT_ACCOUNTS.has(code))
    return { ...bare, kind: "auth" };
  const name = param?.replace(/\[\d+\]$/, "") ?? "model";
  const callersName = Object.hasOwn(callers, name)
    ? param
    : synonymsOf(name).find((other) => Object.hasOwn(callers, other));
  const isSent = name !== "model" && (callersName !== undefined || isMemberOf(body, name));
  const flag =
    isSent && code !== null && MEMBER_CODES.has(code) ? flagThatOmits(name, dialect) : undefined;
  const isAdded =
    isSent && callersName === undefined && (flag !== undefined || ADDED_MEMBERS.includes(name));
  const reported = callersName ?? (isAdded ? name : undefined);
  const details = {
    ...(isSent && reported !== undefined && { param: reported }),
    ...(flag !== undefined && { flag }),
    ...(isAdded && { added: true as const }),
  };
  if (kind === "rejected") return { ...bare, ...details };
  // A 401 is about credentials, whatever it names.
  if (!hasTrait(kind, "callers") || status === 401) return bare;
  const isFault =
    REPORTED_KINDS.get(code) === "rejected" ||
    (isSent && (kind === "not_found" || kind === "auth"));
  return isFault ? { ...bare, ...details, kind: "rejected" } : bare;
}

/** Codes for a member that the provider does not support. */
const MEMBER_CODES: ReadonlySet<string> = new Set(["unsupported_parameter", "unknown_parameter"]);

function flagThatOmits(member: string, dialect: string): string | undefined {
  const flags: Readonly<Record<string, FlagFacts>> = isDialectName(dialect)
    ? DIALECTS[dialect].flags
    : {};
  return Object.keys(flags).find((flag) => flags[flag]?.omits?.includes(member) === true);
}

function isMemberOf(body: string, name: string): boolean {
  const json = parseJson(body);
  return isJsonObject(json) && Object.hasOwn(json, name);
}

/**
 * Reads an error event like the error status it stands for: by its code, or by the status inside
 * it. Otherwise one caller's too long prompt would be sent to every endpoint, and eject them all.
 */
export function reportedFailure(failure: UpstreamFailure): UpstreamFailure {
  const { kind, code, status } = failure;
  if (kind !== "error_frame") return failure;
  return {
    ...failure,
    kind: REPORTED_KINDS.get(code) ?? (status === null ? kind : kindOfStatus(status)),
  };
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
  [PROXY_ERRORS.auth]: "proxy_auth",
  [PROXY_ERRORS.failed]: "proxy",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "truncated",
  UND_ERR_HEADERS_OVERFLOW: "malformed",
  UND_ERR_RESPONSE: "malformed",
};

/**
 * Classifies an error of the HTTP client by its code alone: messages hold host names and text of
 * the other side.
 *
 * @param sawHeaders whether the answer had begun; a lost connection then means a cut answer.
 */
export function failureOfTransport(error: unknown, sawHeaders: boolean): UpstreamFailure {
  const code = codeOf(error);
  return failureOf(kindOf(code, sawHeaders));
}

function kindOf(code: string, sawHeaders: boolean): FailureKind {
  const kind = Object.hasOwn(TRANSPORT_KINDS, code) ? TRANSPORT_KINDS[code] : undefined;
  if (kind !== undefined) return kind;
  if (code.startsWith("HPE_")) return "malformed";
  if (/^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED)/.test(code)) return "tls";
  return sawHeaders ? "truncated" : "reset";
}

function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  // The client has no code for an answer that does not begin like HTTP.
  if (error instanceof errors.HTTPParserError) return "HPE_";
  // An answer with status 101 and upgrade headers; its code is that of every lost connection.
  if (error instanceof errors.SocketError && error.message === "bad upgrade") return "HPE_";
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const code = "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}
