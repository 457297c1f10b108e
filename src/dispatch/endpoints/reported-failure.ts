import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import { parseJson } from "../../canon/json/parse-json.ts";
import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";

/** The kind of failure of an error that a provider reports inside an answer, by codes of the dialects' closed lists. */
const KINDS: Readonly<Record<string, FailureKind>> = {
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

/** Failures that another caller's request would not have met where the code or the member shows that the request was at fault. */
const MAY_BE_THE_CALLERS: ReadonlySet<FailureKind> = new Set([
  "auth",
  "not_found",
  "overloaded",
  "server_error",
  "timeout_first_byte",
]);

/** What a failed call has sent, and for whom. */
export interface SentRequest {
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
  if (!MAY_BE_THE_CALLERS.has(kind) || status === 401) return bare;
  const saysCode = code !== null && Object.hasOwn(KINDS, code) && KINDS[code] === "rejected";
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
  if (kind !== "error_frame" || code === null || !Object.hasOwn(KINDS, code)) return failure;
  return { ...failure, kind: KINDS[code] ?? kind };
}
