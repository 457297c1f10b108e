import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HealthSettings } from "../../../src/canon/table.ts";
import { arrange, arrangeCall, circumstancesOf } from "../../../src/dispatch/arrange.ts";
import { EndpointTracker } from "../../../src/dispatch/endpoint-tracker.ts";
import { UNSUPPORTED_TIME } from "../../../src/dispatch/health.ts";
import { failure, idsOf, ILL, PROBED, seeded, SETTINGS, tier, WELL } from "./fixture.ts";
import { fewOrMany } from "../../support/long.ts";

const PLAN = tier(["a", "b", "c"]);

const WISHES = {
  maxEjectedShare: 0.5,
  isOrdered: false,
  preferences: null,
  stickyKey: null,
  isStream: true,
};

function arranged(tracker: EndpointTracker, now: number, share = 0.5): ReturnType<typeof arrange> {
  return arrangeCall(tracker, PLAN, { ...WISHES, maxEjectedShare: share }, now, seeded(1));
}

function orderOf(tracker: EndpointTracker, now: number): string {
  return idsOf(arranged(tracker, now).order).join("");
}

function call(tracker: EndpointTracker, id: string, outcome: typeof ILL, now: number): void {
  tracker.begin(id, now);
  tracker.endCall(id, outcome, now);
}

/** Endpoints whose `a` was ejected at 0. */
function withoutA(settings: HealthSettings = SETTINGS): EndpointTracker {
  const tracker = new EndpointTracker(() => settings);
  for (let time = 0; time < 3; time += 1) call(tracker, "a", ILL, 0);
  return tracker;
}

describe("an endpoint that fails", () => {
  it("is ejected, tried by exactly one request, and then readmitted", () => {
    const tracker = withoutA();
    expect(orderOf(tracker, 0)).toBe("bca");
    expect(orderOf(tracker, 9_999)).toBe("bca");
    const orders = Array.from({ length: 50 }, () => orderOf(tracker, 10_000));
    expect(orders.filter((order) => order === "abc")).toHaveLength(1);
    expect(orders[0]).toBe("abc");
    tracker.begin("a", 10_000);
    expect(orderOf(tracker, 60_000)).toBe("bca");
    tracker.endCall("a", WELL, 61_000);
    expect(orderOf(tracker, 61_000)).toBe("abc");
    expect(orderOf(tracker, 61_000)).toBe("abc");
  });

  it("stays out for longer when the trial fails", () => {
    const tracker = withoutA();
    expect(orderOf(tracker, 10_000)).toBe("abc");
    call(tracker, "a", ILL, 10_500);
    expect(orderOf(tracker, 30_499)).toBe("bca");
    expect(orderOf(tracker, 30_500)).toBe("abc");
  });

  it("admits exactly one trial at a time, in every sequence of events", () => {
    const step = fc.record({
      pause: fc.nat({ max: 4_000 }),
      what: fc.constantFrom("arrange", "arrange", "well", "ill", "nothing"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const tracker = withoutA();
        let now = 0;
        let onTrial = false;
        for (const { pause, what } of steps) {
          now += pause;
          if (what === "arrange") {
            const { trial } = arranged(tracker, now);
            if (trial === null) continue;
            expect(trial.endpoint.id).toBe("a");
            expect(onTrial).toBe(false);
            tracker.begin("a", 10_000);
            onTrial = true;
          } else if (onTrial) {
            const outcome = {
              well: WELL,
              ill: ILL,
              nothing: { ...WELL, failure: failure("client_closed") },
            }[what];
            tracker.endCall("a", outcome, now);
            onTrial = false;
            expect(tracker.status("a", now).state).toBe(
              { well: "healthy", ill: "ejected", nothing: "half_open" }[what],
            );
          }
        }
      }),
      { numRuns: fewOrMany(60, 300) },
    );
  });

  it("is readmitted by the first output of its trial", () => {
    const tracker = withoutA();
    orderOf(tracker, 10_000);
    tracker.begin("a", 10_000);
    tracker.answering("a", 11_000);
    expect(orderOf(tracker, 11_000)).toBe("abc");
    tracker.endCall("a", WELL, 99_000);
    expect(tracker.status("a", 99_000)).toMatchObject({ state: "healthy", in_flight: 0 });
  });

  it("waits for the active probe where one is configured", () => {
    const tracker = withoutA(PROBED);
    expect(tracker.takeProbes(9_999)).toEqual([]);
    expect(orderOf(tracker, 10_000)).toBe("bca");
    expect(tracker.takeProbes(10_000)).toEqual(["a"]);
    expect(tracker.takeProbes(10_001)).toEqual([]);
    tracker.probed("a", true, 10_100);
    expect(orderOf(tracker, 10_100)).toBe("abc");
  });

  it("is called without a trial where a plan has no other endpoint", () => {
    const tracker = withoutA();
    const only = arrangeCall(tracker, tier(["a"]), { ...WISHES, maxEjectedShare: 1 }, 0, seeded(1));
    expect(idsOf(only.order)).toEqual(["a"]);
    expect(only.out).toEqual([]);
  });

  it("never ejects the whole route, and no more than the route's share", () => {
    const tracker = new EndpointTracker(() => SETTINGS);
    for (const id of ["a", "b", "c"])
      for (let time = 0; time < 3; time += 1) call(tracker, id, ILL, 0);
    expect(arranged(tracker, 1, 1).out).toHaveLength(2);
    expect(arranged(tracker, 1, 0.5).out).toHaveLength(1);
    expect(arranged(tracker, 1, 0).out).toHaveLength(0);
  });
});

describe("a predicted plan of a request that is not sent", () => {
  it("claims no trial, which the next request still makes", () => {
    const tracker = withoutA();
    const foreseen = (): string =>
      idsOf(arrange(PLAN, circumstancesOf(tracker, WISHES, 10_000, seeded(1))).order).join("");
    expect(foreseen()).toBe("abc");
    expect(foreseen()).toBe("abc");
    expect(orderOf(tracker, 10_000)).toBe("abc");
    expect(foreseen()).toBe("bca");
  });
});

describe("the status of an endpoint", () => {
  const unknown = {
    state: "healthy",
    until: null,
    failure: null,
    consecutive_failures: 0,
    latency: { p50: null, p90: null, recent: null, age: null },
    throughput: { p50: null, age: null },
    in_flight: 0,
  };

  it("is reported before the first call too", () => {
    expect(new EndpointTracker(() => SETTINGS).status("a", 0)).toEqual(unknown);
  });

  it("contains its measurements", () => {
    const tracker = new EndpointTracker(() => SETTINGS);
    for (const ms of [100, 200, 300])
      call(tracker, "a", { failure: null, firstToken: ms, tokensPerSecond: ms / 10 }, 0);
    call(tracker, "a", ILL, 0);
    tracker.begin("a", 10_000);
    expect(tracker.status("a", 0)).toEqual({
      ...unknown,
      consecutive_failures: 1,
      latency: { p50: 200, p90: 300, recent: 300, age: 0 },
      throughput: { p50: 20, age: 0 },
      in_flight: 1,
    });
  });

  it("is ejected, on trial or healthy", () => {
    const tracker = withoutA();
    expect(tracker.status("a", 1)).toMatchObject({
      state: "ejected",
      until: 10_000,
      failure: "server_error",
      consecutive_failures: 3,
    });
    expect(tracker.status("a", 10_000)).toMatchObject({
      state: "half_open",
      until: null,
      failure: "server_error",
    });
    call(tracker, "b", { ...WELL, failure: failure("rate_limited", 700) }, 0);
    expect(tracker.status("b", 1)).toMatchObject({
      state: "rate_limited",
      until: 700,
      failure: "rate_limited",
    });
    expect(tracker.status("b", 700)).toMatchObject({
      state: "healthy",
      until: null,
      failure: null,
    });
  });

  it("can be read without changing it: the trial is still there", () => {
    const tracker = withoutA();
    for (let time = 0; time < 5; time += 1) tracker.status("a", 10_000);
    expect(orderOf(tracker, 10_000)).toBe("abc");
  });
});

describe("the health of one kind of calls", () => {
  it("does not depend on failures of another kind", () => {
    const tracker = new EndpointTracker(() => SETTINGS);
    const counts = tracker.of("count_tokens");
    for (let time = 0; time < 6; time += 1) call(counts, "a", ILL, 0);
    expect(counts.status("a", 1).state).toBe("ejected");
    expect(tracker.status("a", 1).state).toBe("healthy");
    expect(orderOf(tracker, 1)).toBe("abc");
    expect(tracker.kindsOf("a")).toEqual(["count_tokens"]);
  });

  it("remembers that a server answers 404 to token counts, beside other endpoints that are out too", () => {
    const counts = new EndpointTracker(() => SETTINGS).of("count_tokens");
    for (const id of ["a", "b"]) call(counts, id, { ...ILL, failure: failure("not_found") }, 0);
    expect(counts.status("a", 1)).toMatchObject({ state: "unsupported", until: UNSUPPORTED_TIME });
    expect(orderOf(counts, 1)).toBe("cab");
    expect(orderOf(counts, UNSUPPORTED_TIME)).toBe("abc");
  });

  it("ejects an endpoint for a model that is not found, for generation only", () => {
    const tracker = new EndpointTracker(() => SETTINGS);
    for (let time = 0; time < 3; time += 1)
      call(tracker, "a", { ...ILL, failure: failure("not_found") }, 0);
    expect(tracker.status("a", 1).state).toBe("ejected");
  });

  it("is decided for every kind on trial by one probe, and forgotten with the endpoint", () => {
    const tracker = new EndpointTracker(() => PROBED);
    for (let time = 0; time < 3; time += 1) call(tracker.of("embed"), "a", ILL, 0);
    expect(tracker.takeProbes(10_000)).toEqual(["a"]);
    tracker.probed("a", true, 10_001);
    expect(tracker.of("embed").status("a", 10_001).state).toBe("healthy");
    tracker.retain([]);
    expect(tracker.kindsOf("a")).toEqual([]);
  });
});

describe("a reload", () => {
  it("keeps the state of remaining endpoints, and drops that of removed ones", () => {
    const tracker = withoutA();
    for (let time = 0; time < 3; time += 1) call(tracker, "b", ILL, 0);
    tracker.retain(["a"]);
    expect(tracker.status("a", 1).state).toBe("ejected");
    expect(tracker.status("b", 1).state).toBe("healthy");
  });

  it("keeps calls under way apart from those of a later namesake", () => {
    const tracker = new EndpointTracker(() => SETTINGS);
    tracker.begin("a", 10_000);
    tracker.retain([]);
    expect(tracker.status("a", 0).in_flight).toBe(1);
    tracker.begin("a", 10_000);
    tracker.endCall("a", ILL, 0);
    expect(tracker.status("a", 0)).toMatchObject({ in_flight: 1, consecutive_failures: 1 });
    tracker.endCall("a", ILL, 0);
    expect(tracker.status("a", 0)).toMatchObject({ in_flight: 0, consecutive_failures: 0 });
    tracker.endCall("a", ILL, 0);
    expect(tracker.status("a", 0)).toMatchObject({ in_flight: 0, consecutive_failures: 0 });
  });

  it("that brings an endpoint back while its calls are under way keeps it", () => {
    const tracker = new EndpointTracker(() => SETTINGS);
    tracker.begin("a", 10_000);
    tracker.retain([]);
    tracker.retain(["a"]);
    tracker.endCall("a", ILL, 0);
    expect(tracker.status("a", 0).consecutive_failures).toBe(1);
  });

  it("with other settings applies them from the next call on", () => {
    let settings: HealthSettings | null = SETTINGS;
    const tracker = new EndpointTracker(() => settings);
    call(tracker, "a", ILL, 0);
    settings = { ...SETTINGS, consecutiveFailures: 2, window: 1_000 };
    call(tracker, "a", ILL, 0);
    expect(tracker.status("a", 1).state).toBe("ejected");
    settings = null;
    expect(tracker.status("a", 1).state).toBe("healthy");
    expect(tracker.takeProbes(1)).toEqual([]);
    call(tracker, "a", ILL, 1);
  });
});

describe("memory", () => {
  function heapAfterCollection(): number {
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  }

  it("does not grow with the number of outcomes", () => {
    const tracker = new EndpointTracker(() => SETTINGS);
    const random = seeded(23);
    const run = (calls: number, from: number): void => {
      for (let one = 0; one < calls; one += 1) {
        const now = from + one * 3;
        const [first = ""] = idsOf(arranged(tracker, now).order);
        tracker.begin(first, now);
        const kind = random() < 0.3 ? "reset" : null;
        const outcome = {
          failure: kind === null ? null : failure(kind),
          firstToken: 500 * random(),
          tokensPerSecond: 90,
        };
        tracker.endCall(first, outcome, now);
      }
    };
    run(20_000, 0);
    const before = heapAfterCollection();
    const calls = fewOrMany(250_000, 1_000_000);
    run(calls, 60_000);
    expect(heapAfterCollection() - before).toBeLessThan(512 * 1024);
    expect(tracker.status("a", 60_000 + calls * 3).in_flight).toBe(0);
  });
});
