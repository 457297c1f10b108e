import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { effectOf, FAILURE_KINDS } from "../../../src/canon/failure.ts";
import type { HealthSettings } from "../../../src/canon/table.ts";
import {
  DEFAULT_RATE_LIMIT,
  failureWindow,
  endpointHealth,
  type Health,
  TRIAL_CLAIM,
} from "../../../src/dispatch/health.ts";
import { failure, PROBED, SETTINGS } from "./fixture.ts";

const bad = failure("server_error");

function fail(
  health: Health,
  times: number,
  now: number,
  settings: HealthSettings = SETTINGS,
): void {
  for (let time = 0; time < times; time += 1) health.endCall(bad, settings, now);
}

/** An endpoint that was ejected at 0, for the first time. */
function ejected(settings: HealthSettings = SETTINGS): Health {
  const health = endpointHealth();
  fail(health, settings.consecutiveFailures, 0, settings);
  return health;
}

/** How long it is out from now on. */
function ejection(health: Health, now: number): number | null {
  const state = health.healthState(SETTINGS, now);
  return state.state === "ejected" ? state.until - now : null;
}

describe("the effect of a failure on its endpoint", () => {
  it("is defined for every kind", () => {
    const of = (effect: string) => FAILURE_KINDS.filter((kind) => effectOf(kind) === effect);
    expect(of("nothing")).toEqual([
      "timeout_total",
      "rejected",
      "too_large",
      "credentials_missing",
      "saturated",
      "client_closed",
      "abandoned",
      "server_stopping",
      "key_revoked",
    ]);
    expect(of("rate_limited")).toEqual(["rate_limited"]);
  });

  it.each(FAILURE_KINDS.map((kind) => [kind, effectOf(kind)] as const))(
    "of the kind %s is `%s`",
    (kind, effect) => {
      const health = endpointHealth();
      for (let call = 0; call < 100; call += 1) health.endCall(failure(kind), SETTINGS, 0);
      const state = { ill: "ejected", rate_limited: "rate_limited", nothing: "healthy" }[effect];
      expect(health.healthState(SETTINGS, 1).state).toBe(state);
    },
  );
});

describe("an ejection", () => {
  it("follows failures in a row, and a success ends the row", () => {
    const health = endpointHealth();
    fail(health, 2, 0);
    health.endCall(null, SETTINGS, 0);
    fail(health, 2, 0);
    expect(health.failuresInARow).toBe(2);
    expect(health.healthState(SETTINGS, 0).state).toBe("healthy");
    fail(health, 1, 0);
    expect(health.healthState(SETTINGS, 0)).toEqual({ state: "ejected", until: 10_000 });
  });

  it("is neither ended nor renewed by failures that are not the endpoint's", () => {
    const health = endpointHealth();
    fail(health, 2, 0);
    health.endCall(failure("rejected"), SETTINGS, 0);
    fail(health, 1, 0);
    expect(health.healthState(SETTINGS, 0).state).toBe("ejected");
  });

  it.each<[string, Partial<HealthSettings>, string, boolean]>([
    ["half of ten", {}, "+-+-+-+-+-", true],
    ["half of eight is too few calls", {}, "+-+-+-+-", false],
    ["four of ten", {}, "+-+-++--++", false],
    ["the share is reached by a failure, not by a success", {}, "--+--+--++", false],
    [
      "all of ten, with a ratio of 1",
      { failureRatio: 1, consecutiveFailures: 0 },
      "----------",
      true,
    ],
    [
      "nine of ten, with a ratio of 1",
      { failureRatio: 1, consecutiveFailures: 0 },
      "+---------",
      false,
    ],
    ["never for the ratio", { failureRatio: 0, consecutiveFailures: 0 }, "----------", false],
    ["never for the row", { failureRatio: 1, consecutiveFailures: 0 }, "---------", false],
  ])("%s: with %j, the calls %s eject the endpoint: %s", (_, more, calls, isUnhealthy) => {
    const settings = { ...SETTINGS, ...more };
    const health = endpointHealth();
    for (const call of calls) health.endCall(call === "-" ? bad : null, settings, 0);
    expect(health.healthState(settings, 0).state).toBe(isUnhealthy ? "ejected" : "healthy");
  });

  it("counts the failures of the window only", () => {
    const settings = { ...SETTINGS, consecutiveFailures: 0 };
    const early = endpointHealth();
    const late = endpointHealth();
    for (const health of [early, late]) fail(health, 9, 0, settings);
    early.endCall(bad, settings, 26_999);
    late.endCall(bad, settings, 30_000);
    expect(early.healthState(settings, 26_999).state).toBe("ejected");
    expect(late.healthState(settings, 30_000).state).toBe("healthy");
  });

  it("is counted once for any number of failures, and not shortened by later results", () => {
    const health = ejected();
    fail(health, 500, 5_000);
    health.endCall(null, SETTINGS, 6_000);
    health.answering(6_000);
    expect(health.healthState(SETTINGS, 9_999)).toEqual({ state: "ejected", until: 10_000 });
    fail(health, 1, 10_000);
    expect(ejection(health, 10_000)).toBe(20_000);
  });

  it("doubles while trials fail, up to the longest", () => {
    const health = ejected();
    const times: (number | null)[] = [];
    for (let now = 0; times.length < 40;) {
      const time = ejection(health, now);
      times.push(time);
      now += time ?? 0;
      fail(health, 1, now);
    }
    expect(times.slice(0, 5)).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(new Set(times.slice(4))).toEqual(new Set([60_000]));
  });

  it("is longer after a soon relapse, and the first length again after a long healthy time", () => {
    const [soon, later, never] = [ejected(), ejected(), ejected()];
    for (const health of [soon, later, never]) {
      fail(health, 1, 10_000);
      health.endCall(null, SETTINGS, 30_000);
      expect(health.healthState(SETTINGS, 30_000).state).toBe("healthy");
      expect(health.failuresInARow).toBe(0);
    }
    fail(soon, 3, 31_000);
    expect(ejection(soon, 31_000)).toBe(40_000);
    fail(later, 3, 30_000 + 60_000);
    expect(ejection(later, 90_000)).toBe(20_000);
    fail(never, 3, 30_000 + 10 * 60_000);
    expect(ejection(never, 630_000)).toBe(10_000);
  });

  it("accepts settings of zero", () => {
    const settings = { ...SETTINGS, ejection: 0, longestEjection: 0, window: 0, minimumCalls: 1 };
    const health = endpointHealth();
    for (let now = 0; now < 100; now += 1) {
      fail(health, 3, now, settings);
      expect(health.healthState(settings, now)).toEqual({
        state: "half_open",
        until: now,
        isTrialRunning: false,
      });
      health.endCall(null, settings, now);
    }
  });
});

describe("a trial", () => {
  it("is one request's, from the claim to the end of the call, and its success readmits at once", () => {
    const health = ejected();
    expect(health.healthState(SETTINGS, 10_000)).toEqual({
      state: "half_open",
      until: 10_000,
      isTrialRunning: false,
    });
    health.claimTrial(10_000);
    expect(health.healthState(SETTINGS, 10_000)).toEqual({
      state: "half_open",
      until: 10_000,
      isTrialRunning: true,
    });
    health.begin(10_000);
    expect(health.healthState(SETTINGS, 9_999_999)).toMatchObject({ isTrialRunning: true });
    health.endCall(null, SETTINGS, 9_999_999);
    expect(health.healthState(SETTINGS, 9_999_999)).toEqual({ state: "healthy" });
    // What failed before the ejection does not count against it.
    fail(health, 2, 9_999_999);
    expect(health.healthState(SETTINGS, 9_999_999)).toEqual({ state: "healthy" });
  });

  it("that succeeds clears the window", () => {
    const settings = { ...SETTINGS, consecutiveFailures: 0 };
    const health = endpointHealth();
    fail(health, 10, 0, settings);
    expect(health.healthState(settings, 9_999).state).toBe("ejected");
    health.endCall(null, settings, 10_000);
    fail(health, 1, 10_001, settings);
    expect(health.healthState(settings, 10_001)).toEqual({ state: "healthy" });
  });

  it("is released where the request never begins it", () => {
    const health = ejected();
    health.claimTrial(10_000);
    expect(health.healthState(SETTINGS, 10_000 + TRIAL_CLAIM - 1)).toMatchObject({
      isTrialRunning: true,
    });
    expect(health.healthState(SETTINGS, 10_000 + TRIAL_CLAIM)).toMatchObject({
      isTrialRunning: false,
    });
  });

  it.each(FAILURE_KINDS.filter((kind) => effectOf(kind) === "nothing"))(
    "is released after %s",
    (kind) => {
      const health = ejected();
      health.claimTrial(10_000);
      health.begin(10_000);
      health.endCall(failure(kind), SETTINGS, 11_000);
      expect(health.healthState(SETTINGS, 11_000)).toEqual({
        state: "half_open",
        until: 10_000,
        isTrialRunning: false,
      });
    },
  );

  it("is released after the end of a rate limit", () => {
    const health = ejected();
    health.claimTrial(10_000);
    health.begin(10_000);
    health.endCall(failure("rate_limited", 3_000), SETTINGS, 11_000);
    expect(health.healthState(SETTINGS, 11_000)).toEqual({ state: "rate_limited", until: 14_000 });
    expect(health.healthState(SETTINGS, 14_000)).toEqual({
      state: "half_open",
      until: 10_000,
      isTrialRunning: false,
    });
  });

  it("is won by the first output: others need not wait for the end of a long answer", () => {
    const health = ejected();
    health.claimTrial(10_000);
    health.begin(10_000);
    health.answering(11_000);
    expect(health.healthState(SETTINGS, 11_000)).toEqual({ state: "healthy" });
  });

  it("is free again after a longer ejection", () => {
    const health = ejected();
    health.claimTrial(10_000);
    health.begin(10_000);
    fail(health, 1, 11_000);
    expect(health.healthState(SETTINGS, 30_999).state).toBe("ejected");
    expect(health.healthState(SETTINGS, 31_000)).toEqual({
      state: "half_open",
      until: 31_000,
      isTrialRunning: false,
    });
  });

  it("is the active probe's where there is one, no more often than its interval", () => {
    const health = ejected(PROBED);
    expect(health.takeProbe(PROBED, 9_999)).toBe(false);
    expect(health.healthState(PROBED, 10_000)).toMatchObject({
      state: "half_open",
      isTrialRunning: true,
    });
    expect(health.takeProbe(PROBED, 10_000)).toBe(true);
    expect(health.takeProbe(PROBED, 99_000)).toBe(false);
    health.probed(false, PROBED, 99_000);
    expect(health.healthState(PROBED, 99_000)).toEqual({ state: "ejected", until: 119_000 });
    expect(health.takeProbe(PROBED, 119_000)).toBe(true);
    health.probed(true, PROBED, 119_500);
    expect(health.healthState(PROBED, 119_500)).toEqual({ state: "healthy" });
    expect(health.takeProbe(PROBED, 200_000)).toBe(false);

    const short = { ...PROBED, ejection: 1_000, longestEjection: 1_000 };
    const often = ejected(short);
    expect(often.takeProbe(short, 1_000)).toBe(true);
    often.probed(false, short, 1_100);
    expect(often.takeProbe(short, 2_200)).toBe(false);
    expect(often.takeProbe(short, 6_000)).toBe(true);
  });

  it("is not probed without settings for it", () => {
    expect(ejected().takeProbe(SETTINGS, 10_000)).toBe(false);
  });
});

describe("a rate limit", () => {
  it.each<[string, number | null, number]>([
    ["as long as the provider says", 2_000, 2_000],
    ["a while where it says nothing", null, DEFAULT_RATE_LIMIT],
    ["no longer than the longest ejection", 3_600_000, 60_000],
  ])("ejects the endpoint %s, and then it is healthy", (_, retryAfter, time) => {
    const health = endpointHealth();
    health.endCall(failure("rate_limited", retryAfter), SETTINGS, 100);
    expect(health.healthState(SETTINGS, 100)).toEqual({ state: "rate_limited", until: 100 + time });
    expect(health.healthState(SETTINGS, 100 + time)).toEqual({ state: "healthy" });
    expect(health.failuresInARow).toBe(0);
  });

  it("is not shortened by a later, shorter one, nor by a success", () => {
    const health = endpointHealth();
    health.endCall(failure("rate_limited", 9_000), SETTINGS, 0);
    health.endCall(failure("rate_limited", 1_000), SETTINGS, 10);
    health.endCall(null, SETTINGS, 20);
    expect(health.healthState(SETTINGS, 20)).toEqual({ state: "rate_limited", until: 9_000 });
  });
});

describe("the window", () => {
  it("counts results inside it, to a tenth of its length", () => {
    const call = fc.record({ pause: fc.nat({ max: 700 }), isFailure: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(call, { maxLength: 200 }),
        fc.integer({ min: 1, max: 2_000 }),
        (calls, span) => {
          const window = failureWindow(span);
          const all: { readonly at: number; readonly isFailure: boolean }[] = [];
          let now = 0;
          for (const { pause, isFailure } of calls) {
            now += pause;
            window.add(isFailure, now);
            all.push({ at: now, isFailure });
            const { calls: counted, failures } = window.totals(now);
            const surely = all.filter(({ at }) => at > now - 0.9 * span);
            const possibly = all.filter(({ at }) => at > now - span);
            expect(counted).toBeGreaterThanOrEqual(surely.length);
            expect(counted).toBeLessThanOrEqual(possibly.length);
            expect(failures).toBeGreaterThanOrEqual(surely.filter((one) => one.isFailure).length);
            expect(failures).toBeLessThanOrEqual(possibly.filter((one) => one.isFailure).length);
          }
        },
      ),
    );
  });

  it("forgets all after a long silence, at once", () => {
    const window = failureWindow(1_000);
    window.add(true, 0);
    expect(window.totals(1e12)).toEqual({ calls: 0, failures: 0 });
    window.add(true, 1e12);
    expect(window.totals(1e12)).toEqual({ calls: 1, failures: 1 });
  });
});
