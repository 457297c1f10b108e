import { describe, expect, it } from "vitest";
import type { FailureKind } from "../../src/canon/failure.ts";
import { failureError } from "../../src/dispatch/failures.ts";

const attempts = (kinds: readonly FailureKind[]) =>
  kinds.map((kind, index) => ({
    endpoint: `e${index}`,
    failure: { kind, status: null, retryAfter: null, code: null },
  }));

describe("the error for a plan that failed", () => {
  it.each<[readonly FailureKind[], number, string, number | null]>([
    [["saturated"], 503, "saturated", 1_000],
    [["saturated", "credentials_missing"], 503, "saturated", 1_000],
    [["credentials_missing"], 503, "no_healthy_endpoint", 5_000],
    [[], 503, "no_healthy_endpoint", 5_000],
    [["server_error", "saturated"], 502, "upstream_exhausted", null],
    [["timeout_attempt", "saturated"], 504, "upstream_timeout_attempt", null],
    [["server_error", "timeout_total"], 504, "upstream_timeout_total", null],
  ])("%j has the status %i, the code %s and the wait %s", (kinds, status, code, retryAfter) => {
    expect(failureError(attempts(kinds))).toMatchObject({ status, code, retryAfter });
  });
});

describe("a malformed answer", () => {
  it("is reported with the parser's code, where it has one", () => {
    const failure = {
      kind: "malformed",
      status: null,
      retryAfter: null,
      code: "unknown_finish_reason",
    } as const;
    expect(failureError([{ endpoint: "e", failure }])).toMatchObject({
      status: 502,
      code: "unknown_finish_reason",
    });
  });
});
