import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HealthSettings } from "../../../src/canon/table.ts";
import type { Arrangement } from "../../../src/dispatch/arrange.ts";
import { EndpointTracker } from "../../../src/dispatch/endpoint-tracker.ts";
import { failure, idsOf, ILL, PROBED, seeded, SETTINGS, tier, WELL } from "./fixture.ts";
import { fewOrMany } from "../../support/long.ts";

const PLAN = tier(["a", "b", "c"]);

function arranged(places: EndpointTracker, now: number, share = 0.5): Arrangement {
  return places.arrange(PLAN, { maxEjectedShare: share, isOrdered: false }, null, null, now, seeded(1));
}

function orderOf(places: EndpointTracker, now: number): string {
  return idsOf(arranged(places, now).order).join("");
}

function call(places: EndpointTracker, id: string, outcome: typeof ILL, now: number): void {
  places.begin(id, now);
  places.end(id, outcome, now);
}

/** Places whose `a` was ejected at 0. */
function withoutA(settings: HealthSettings = SETTINGS): EndpointTracker {
  const places = new EndpointTracker(() => settings);
  for (let time = 0; time < 3; time += 1) call(places, "a", ILL, 0);
  return places;
}

describe("an endpoint that fails", () => {
  it("is left out, then tried by exactly one request, then back", () => {
    const places = withoutA();
    expect(orderOf(places, 0)).toBe("bca");
    expect(orderOf(places, 9_999)).toBe("bca");
    const orders = Array.from({ length: 50 }, () => orderOf(places, 10_000));
    expect(orders.filter((order) => order === "abc")).toHaveLength(1);
    expect(orders[0]).toBe("abc");
    places.begin("a", 10_000);
    expect(orderOf(places, 60_000)).toBe("bca");
    places.end("a", WELL, 61_000);
    expect(orderOf(places, 61_000)).toBe("abc");
    expect(orderOf(places, 61_000)).toBe("abc");
  });

  it("stays out for longer when the trial fails", () => {
    const places = withoutA();
    expect(orderOf(places, 10_000)).toBe("abc");
    call(places, "a", ILL, 10_500);
    expect(orderOf(places, 30_499)).toBe("bca");
    expect(orderOf(places, 30_500)).toBe("abc");
  });

  it("lets exactly one through at a time, whatever happens when", () => {
    const step = fc.record({
      pause: fc.nat({ max: 4_000 }),
      what: fc.constantFrom("arrange", "arrange", "well", "ill", "nothing"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const places = withoutA();
        let now = 0;
        let onTrial = false;
        for (const { pause, what } of steps) {
          now += pause;
          if (what === "arrange") {
            const { trial } = arranged(places, now);
            if (trial === null) continue;
            expect(trial.endpoint.id).toBe("a");
            expect(onTrial).toBe(false);
            places.begin("a", 10_000);
            onTrial = true;
          } else if (onTrial) {
            const outcome = { well: WELL, ill: ILL, nothing: { ...WELL, failure: failure("client_closed") } }[what];
            places.end("a", outcome, now);
            onTrial = false;
            expect(places.status("a", now).state).toBe({ well: "healthy", ill: "ejected", nothing: "half_open" }[what]);
          }
        }
      }),
      { numRuns: fewOrMany(60, 300) },
    );
  });

  it("is readmitted by the first output of its trial", () => {
    const places = withoutA();
    orderOf(places, 10_000);
    places.begin("a", 10_000);
    places.answering("a", 11_000);
    expect(orderOf(places, 11_000)).toBe("abc");
    places.end("a", WELL, 99_000);
    expect(places.status("a", 99_000)).toMatchObject({ state: "healthy", in_flight: 0 });
  });

  it("waits for the active probe where one is configured", () => {
    const places = withoutA(PROBED);
    expect(places.takeProbes(9_999)).toEqual([]);
    expect(orderOf(places, 10_000)).toBe("bca");
    expect(places.takeProbes(10_000)).toEqual(["a"]);
    expect(places.takeProbes(10_001)).toEqual([]);
    places.probed("a", true, 10_100);
    expect(orderOf(places, 10_100)).toBe("abc");
  });

  it("has no trial for a plan that is only it, and is asked all the same", () => {
    const places = withoutA();
    const only = places.arrange(tier(["a"]), { maxEjectedShare: 1, isOrdered: false }, null, null, 0, seeded(1));
    expect(idsOf(only.order)).toEqual(["a"]);
    expect(only.out).toEqual([]);
  });

  it("never takes the whole route out, and no more than the route's share", () => {
    const places = new EndpointTracker(() => SETTINGS);
    for (const id of ["a", "b", "c"]) for (let time = 0; time < 3; time += 1) call(places, id, ILL, 0);
    expect(arranged(places, 1, 1).out).toHaveLength(2);
    expect(arranged(places, 1, 0.5).out).toHaveLength(1);
    expect(arranged(places, 1, 0).out).toHaveLength(0);
  });
});

describe("a plan that is foreseen for a request that is not made", () => {
  it("claims no trial: the next request still has it", () => {
    const places = withoutA();
    const foreseen = (): string =>
      idsOf(places.foresee(PLAN, { maxEjectedShare: 0.5, isOrdered: false }, null, null, 10_000, seeded(1)).order).join(
        "",
      );
    expect(foreseen()).toBe("abc");
    expect(foreseen()).toBe("abc");
    expect(orderOf(places, 10_000)).toBe("abc");
    expect(foreseen()).toBe("bca");
  });
});

describe("how an endpoint stands", () => {
  const unknown = {
    state: "healthy",
    until: null,
    failure: null,
    consecutive_failures: 0,
    latency: { p50: null, p90: null, recent: null, age: null },
    throughput: { p50: null, age: null },
    in_flight: 0,
  };

  it("is said of one that nobody has asked yet", () => {
    expect(new EndpointTracker(() => SETTINGS).status("a", 0)).toEqual(unknown);
  });

  it("is said with what has been measured", () => {
    const places = new EndpointTracker(() => SETTINGS);
    for (const ms of [100, 200, 300]) call(places, "a", { failure: null, firstToken: ms, tokensPerSecond: ms / 10 }, 0);
    call(places, "a", ILL, 0);
    places.begin("a", 10_000);
    expect(places.status("a", 0)).toEqual({
      ...unknown,
      consecutive_failures: 1,
      latency: { p50: 200, p90: 300, recent: 300, age: 0 },
      throughput: { p50: 20, age: 0 },
      in_flight: 1,
    });
  });

  it("is said in each state", () => {
    const places = withoutA();
    expect(places.status("a", 1)).toMatchObject({
      state: "ejected",
      until: 10_000,
      failure: "server_error",
      consecutive_failures: 3,
    });
    expect(places.status("a", 10_000)).toMatchObject({ state: "half_open", until: null, failure: "server_error" });
    call(places, "b", { ...WELL, failure: failure("rate_limited", 700) }, 0);
    expect(places.status("b", 1)).toMatchObject({ state: "rate_limited", until: 700, failure: "rate_limited" });
    expect(places.status("b", 700)).toMatchObject({ state: "healthy", until: null, failure: null });
  });

  it("can be asked without changing it: the trial is still there", () => {
    const places = withoutA();
    for (let time = 0; time < 5; time += 1) places.status("a", 10_000);
    expect(orderOf(places, 10_000)).toBe("abc");
  });
});

describe("a reload", () => {
  it("keeps what stays and forgets what goes", () => {
    const places = withoutA();
    for (let time = 0; time < 3; time += 1) call(places, "b", ILL, 0);
    places.retain(["a"]);
    expect(places.status("a", 1).state).toBe("ejected");
    expect(places.status("b", 1).state).toBe("healthy");
  });

  it("keeps calls under way apart from those of a later namesake", () => {
    const places = new EndpointTracker(() => SETTINGS);
    places.begin("a", 10_000);
    places.retain([]);
    expect(places.status("a", 0).in_flight).toBe(1);
    places.begin("a", 10_000);
    places.end("a", ILL, 0);
    expect(places.status("a", 0)).toMatchObject({ in_flight: 1, consecutive_failures: 1 });
    places.end("a", ILL, 0);
    expect(places.status("a", 0)).toMatchObject({ in_flight: 0, consecutive_failures: 0 });
    places.end("a", ILL, 0);
    expect(places.status("a", 0)).toMatchObject({ in_flight: 0, consecutive_failures: 0 });
  });

  it("that brings an endpoint back while its calls are under way keeps it", () => {
    const places = new EndpointTracker(() => SETTINGS);
    places.begin("a", 10_000);
    places.retain([]);
    places.retain(["a"]);
    places.end("a", ILL, 0);
    expect(places.status("a", 0).consecutive_failures).toBe(1);
  });

  it("with other settings applies them from the next call on", () => {
    let settings: HealthSettings | null = SETTINGS;
    const places = new EndpointTracker(() => settings);
    call(places, "a", ILL, 0);
    settings = { ...SETTINGS, consecutiveFailures: 2, window: 1_000 };
    call(places, "a", ILL, 0);
    expect(places.status("a", 1).state).toBe("ejected");
    settings = null;
    expect(places.status("a", 1).state).toBe("healthy");
    expect(places.takeProbes(1)).toEqual([]);
    call(places, "a", ILL, 1);
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
    const places = new EndpointTracker(() => SETTINGS);
    const random = seeded(23);
    const run = (calls: number, from: number): void => {
      for (let one = 0; one < calls; one += 1) {
        const now = from + one * 3;
        const [first = ""] = idsOf(arranged(places, now).order);
        places.begin(first, now);
        const kind = random() < 0.3 ? "reset" : null;
        const outcome = {
          failure: kind === null ? null : failure(kind),
          firstToken: 500 * random(),
          tokensPerSecond: 90,
        };
        places.end(first, outcome, now);
      }
    };
    run(20_000, 0);
    const before = heapAfterCollection();
    const calls = fewOrMany(250_000, 1_000_000);
    run(calls, 60_000);
    expect(heapAfterCollection() - before).toBeLessThan(512 * 1024);
    expect(places.status("a", 60_000 + calls * 3).in_flight).toBe(0);
  });
});
