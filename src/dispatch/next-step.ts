import type { FailureKind, UpstreamFailure } from "../canon/failure.ts";

/** What to do after a failed attempt while nothing has been sent to the client. */
export type NextStep = "fall_back" | "stop";

/**
 * Whose fault a failure is decides what helps. The caller's own mistake is the same mistake at every provider, so it stops: a
 * fallback would hide it and bill it twice (lessons.md, C16). Everything else may go better elsewhere.
 */
const STEPS: Readonly<Record<FailureKind, NextStep>> = {
  connect: "fall_back",
  tls: "fall_back",
  reset: "fall_back",
  timeout_connect: "fall_back",
  timeout_first_byte: "fall_back",
  timeout_first_token: "fall_back",
  timeout_idle: "fall_back",
  timeout_attempt: "fall_back",
  timeout_total: "stop",
  rate_limited: "fall_back",
  overloaded: "fall_back",
  server_error: "fall_back",
  auth: "fall_back",
  not_found: "fall_back",
  rejected: "stop",
  redirect: "fall_back",
  malformed: "fall_back",
  truncated: "fall_back",
  error_frame: "fall_back",
  too_large: "fall_back",
  credentials_missing: "fall_back",
  saturated: "fall_back",
  client_closed: "stop",
  abandoned: "stop",
};

/**
 * @param attemptsLeft how many more attempts the caller and the operator allow.
 * @param candidatesLeft how many endpoints of the plan have not been tried.
 */
export function nextStep(failure: UpstreamFailure, attemptsLeft: number, candidatesLeft: number): NextStep {
  return attemptsLeft > 0 && candidatesLeft > 0 ? STEPS[failure.kind] : "stop";
}
