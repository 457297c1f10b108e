import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FAILURE_KINDS, type FailureKind, type UpstreamFailure } from "../../src/canon/failure.ts";
import { hasCalledProvider } from "../../src/dispatch/failures.ts";
import { Itinerary, retryActionFor, type Step } from "../../src/dispatch/plan-walk.ts";

function failure(kind: FailureKind, more: Partial<UpstreamFailure> = {}): UpstreamFailure {
  return { kind, status: null, retryAfter: null, code: null, ...more };
}

const FAR = 1_000_000;

/** The candidates that follow, for failures in this order. */
function way(
  candidates: number,
  maxAttempts: number,
  failures: readonly UpstreamFailure[],
): readonly (number | null)[] {
  const itinerary = new Itinerary(candidates, maxAttempts, FAR);
  return failures.map((one) => itinerary.next(one, 0, 0)?.destination ?? null);
}

const again = failure("server_error");
const elsewhere = failure("auth");

describe("the retry action", () => {
  it("is defined for every failure", () => {
    const of = (action: string) =>
      FAILURE_KINDS.filter((kind) => retryActionFor(failure(kind)) === action);
    expect(of("stop")).toEqual([
      "timeout_total",
      "rejected",
      "client_closed",
      "abandoned",
      "server_stopping",
      "key_revoked",
    ]);
    expect(of("elsewhere")).toEqual([
      "tls",
      "address_refused",
      "proxy",
      "proxy_auth",
      "reset",
      "timeout_first_byte",
      "timeout_first_token",
      "timeout_idle",
      "timeout_attempt",
      "auth",
      "not_found",
      "redirect",
      "too_large",
      "credentials_missing",
      "saturated",
    ]);
    expect(retryActionFor(failure("reset"), true)).toBe("again");
    expect(of("again")).toEqual([
      "connect",
      "timeout_connect",
      "rate_limited",
      "overloaded",
      "server_error",
      "malformed",
      "truncated",
      "error_frame",
    ]);
    // 408: the provider was quick to say that something was too slow.
    expect(retryActionFor(failure("timeout_first_byte", { status: 408 }))).toBe("again");
  });
});

describe("the way through a plan", () => {
  it.each<[string, number, number, readonly UpstreamFailure[], readonly (number | null)[]]>([
    ["every endpoint once, then once more", 2, 10, [again, again, again, again], [1, 0, 1, null]],
    ["one endpoint twice", 1, 10, [again, again], [0, null]],
    ["no second time where it would not help", 1, 10, [elsewhere], [null]],
    ["not back to an endpoint that would not help", 2, 10, [elsewhere, again, again], [1, 1, null]],
    ["no further than the attempts allowed", 3, 2, [again, again], [1, null]],
    ["one attempt is one", 3, 1, [again], [null]],
    ["nowhere after the caller's own mistake", 3, 10, [failure("rejected")], [null]],
    [
      "endpoints that were not called cost no attempt",
      3,
      1,
      [failure("saturated"), failure("credentials_missing")],
      [1, 2],
    ],
    ["nowhere after the deadline", 3, 10, [failure("timeout_total")], [null]],
  ])("%s", (_name, candidates, maxAttempts, failures, expected) => {
    expect(way(candidates, maxAttempts, failures)).toEqual(expected);
  });

  it("waits before a candidate that has failed, and never before a new one", () => {
    const itinerary = new Itinerary(2, 10, FAR);
    expect(itinerary.next(again, 1_000, 0.5)).toEqual({ destination: 1, pause: 0 });
    // Half of 250 ms after the first failure, of which none has passed.
    expect(itinerary.next(again, 1_000, 1)).toEqual({ destination: 0, pause: 125 });
  });

  it("doubles the pause with every attempt, up to five seconds", () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7].map((attempts) => {
      const itinerary = new Itinerary(8, 100, FAR);
      let step: Step | null = null;
      for (let attempt = 0; attempt < attempts - 1; attempt += 1) itinerary.next(elsewhere, 0, 1);
      for (let left = attempts - 1; left < 7; left += 1)
        step = itinerary.next(left === attempts - 1 ? again : elsewhere, 0, 1);
      return itinerary.next(elsewhere, 0, 1)?.pause ?? step?.pause;
    });
    expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]);
  });

  it("waits as the provider requested, within the deadline and half a minute", () => {
    const requested = (retryAfter: number, deadline = FAR): Step | null =>
      new Itinerary(1, 10, deadline).next(failure("rate_limited", { retryAfter }), 0, 0.5);
    expect(requested(700)).toEqual({ destination: 0, pause: 700 });
    expect(requested(700, 700)).toBeNull();
    expect(requested(700, 701)).toEqual({ destination: 0, pause: 700 });
    expect(requested(30_000)).toEqual({ destination: 0, pause: 30_000 });
    expect(requested(30_001)).toBeNull();
  });

  it("begins with the candidate that is ready first", () => {
    const itinerary = new Itinerary(2, 10, FAR);
    itinerary.next(failure("rate_limited", { retryAfter: 5_000 }), 0, 0);
    expect(itinerary.next(failure("overloaded", { retryAfter: 1_000 }), 0, 0)).toEqual({
      destination: 1,
      pause: 1_000,
    });
  });

  it("is bounded under any failures: no candidate more than twice, no closed one, no pause beyond the deadline", () => {
    const anything = fc
      .tuple(fc.constantFrom(...FAILURE_KINDS), fc.option(fc.integer({ min: 0, max: 60_000 })))
      .map(([kind, retryAfter]) => failure(kind, { retryAfter }));
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 8 }),
        fc.array(anything, { minLength: 40, maxLength: 40 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (candidates, maxAttempts, failures, random) => {
          const deadline = 20_000;
          const itinerary = new Itinerary(candidates, maxAttempts, deadline);
          const visits: { readonly candidate: number; readonly failure: UpstreamFailure }[] = [];
          let now = 0;
          let step: Step | null = { destination: 0, pause: 0 };
          for (const one of failures) {
            if (step === null) break;
            now += step.pause;
            expect(now).toBeLessThan(deadline);
            visits.push({ candidate: step.destination, failure: one });
            step = itinerary.next(one, now, random);
          }
          expect(step).toBeNull();
          expect(
            visits.filter((visit) => hasCalledProvider(visit.failure)).length,
          ).toBeLessThanOrEqual(maxAttempts);
          for (let candidate = 0; candidate < candidates; candidate += 1) {
            const own = visits.filter((visit) => visit.candidate === candidate);
            expect(own.length).toBeLessThanOrEqual(2);
            if (own.length === 2)
              expect(retryActionFor(own[0]?.failure ?? elsewhere)).toBe("again");
          }
          const stopped = visits.findIndex((visit) => retryActionFor(visit.failure) === "stop");
          if (stopped !== -1) expect(stopped).toBe(visits.length - 1);
        },
      ),
    );
  });
});
