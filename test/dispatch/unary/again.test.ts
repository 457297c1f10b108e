import { describe, expect, it } from "vitest";
import { FAILURE_KINDS, type UpstreamFailure } from "../../../src/canon/failure.ts";
import { isPassing, pauseBeforeRound } from "../../../src/dispatch/unary/again.ts";

function failure(kind: UpstreamFailure["kind"], retryAfter: number | null = null): UpstreamFailure {
  return { kind, status: null, retryAfter, code: null };
}

describe("a second round", () => {
  it("is for failures that may pass, and for no other", () => {
    expect(FAILURE_KINDS.filter((kind) => !isPassing(kind))).toEqual([
      "tls",
      "timeout_total",
      "auth",
      "not_found",
      "rejected",
      "redirect",
      "too_large",
      "credentials_missing",
      "client_closed",
      "abandoned",
    ]);
  });

  it.each([
    ["full jitter: nothing", failure("reset"), 1, 10_000, 0, 0],
    ["full jitter: half", failure("reset"), 1, 10_000, 0.5, 125],
    ["what the provider asked for", failure("rate_limited", 700), 1, 10_000, 0.1, 700],
    ["not beyond the deadline", failure("rate_limited", 700), 1, 700, 0.1, null],
    ["not a third", failure("reset"), 2, 10_000, 0, null],
    ["not for what will not pass", failure("auth"), 1, 10_000, 0, null],
  ])("%s", (_name, said, round, remaining, random, expected) => {
    expect(pauseBeforeRound(said, round, remaining, random)).toBe(expected);
  });
});
