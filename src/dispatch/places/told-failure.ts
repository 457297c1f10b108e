import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";

/** What an error that a provider reports inside an answer says of whose fault it is; the words are those of the dialects' closed lists. */
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

/**
 * An error event for what an error status would have said. Otherwise one caller's prompt that is too long would be sent to every place, and close them
 * all to everybody.
 */
export function toldFailure(failure: UpstreamFailure): UpstreamFailure {
  const { kind, code } = failure;
  if (kind !== "error_frame" || code === null || !Object.hasOwn(KINDS, code)) return failure;
  return { ...failure, kind: KINDS[code] ?? kind };
}
