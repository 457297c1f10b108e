import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  concurrencyLimiter,
  type ConcurrencyLimiter,
  endpointLimiter,
} from "../../../src/dispatch/concurrency-limiter.ts";
import { NEVER, admitted, queue, turn } from "./support.ts";

const counts = (...gates: readonly ConcurrencyLimiter[]): readonly (readonly [number, number])[] =>
  gates.map(({ inFlight, waiting }) => [inFlight, waiting]);

describe("the limiter of a slot", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("is the provider's where the endpoint has no limit", () => {
    const provider = concurrencyLimiter(1, queue());
    const slot = endpointLimiter(provider, null);
    const release = admitted(slot.tryEnter());
    expect([provider.inFlight, slot.tryEnter()]).toEqual([1, null]);
    release();
    expect(provider.inFlight).toBe(0);
  });

  it("enters both and releases both, once", async () => {
    const [provider, endpoint] = [concurrencyLimiter(5, queue()), concurrencyLimiter(5, queue())];
    const slot = endpointLimiter(provider, endpoint);
    const releases = [admitted(slot.tryEnter()), admitted(await slot.enter(NEVER))];
    expect(counts(provider, endpoint)).toEqual([
      [2, 0],
      [2, 0],
    ]);
    for (const release of [...releases, ...releases]) release();
    expect(counts(provider, endpoint)).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it.each([
    ["the endpoint's", 5, 1],
    ["the provider's", 1, 5],
  ])(
    "is closed where %s limit is reached, and holds no slot of the other",
    async (_, providerLimit, endpointLimit) => {
      const none = queue({ size: 0 });
      const [provider, endpoint] = [
        concurrencyLimiter(providerLimit, none),
        concurrencyLimiter(endpointLimit, none),
      ];
      const slot = endpointLimiter(provider, endpoint);
      const release = admitted(slot.tryEnter());
      expect(slot.tryEnter()).toBeNull();
      expect(await slot.enter(NEVER)).toBeNull();
      expect(counts(provider, endpoint)).toEqual([
        [1, 0],
        [1, 0],
      ]);
      release();
      admitted(slot.tryEnter());
    },
  );

  it("keeps no slot of the provider while it waits for the endpoint's", () => {
    const [provider, endpoint] = [concurrencyLimiter(2, queue()), concurrencyLimiter(1, queue())];
    admitted(endpointLimiter(provider, endpoint).tryEnter());
    void endpointLimiter(provider, endpoint).enter(NEVER);
    expect(counts(provider, endpoint)).toEqual([
      [1, 0],
      [1, 1],
    ]);
    admitted(endpointLimiter(provider, null).tryEnter());
  });

  it("grants the endpoint's slot to the next request where the provider has none", async () => {
    const provider = concurrencyLimiter(1, queue({ size: 1 }));
    const endpoint = concurrencyLimiter(1, queue());
    const releaseProvider = admitted(provider.tryEnter());
    const controller = new AbortController();
    const first = endpointLimiter(provider, endpoint).enter(NEVER, controller.signal);
    const second = endpointLimiter(provider, endpoint).enter(NEVER);
    await turn();
    expect(counts(provider, endpoint)).toEqual([
      [1, 1],
      [1, 1],
    ]);
    controller.abort();
    expect(await first).toBeNull();
    releaseProvider();
    admitted(await second)();
    expect(counts(provider, endpoint)).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it("waits in both queues together no longer than in one", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const [provider, endpoint] = [
      concurrencyLimiter(1, queue({ wait: 100 })),
      concurrencyLimiter(1, queue({ wait: 100 })),
    ];
    admitted(provider.tryEnter());
    const releaseEndpoint = admitted(endpoint.tryEnter());
    let end: number | null = null;
    void endpointLimiter(provider, endpoint)
      .enter(NEVER)
      .then((release) => {
        expect(release).toBeNull();
        end = performance.now();
      });
    const start = performance.now();
    await vi.advanceTimersByTimeAsync(60);
    releaseEndpoint();
    await vi.advanceTimersByTimeAsync(200);
    expect((end ?? Number.NaN) - start).toBeCloseTo(100, 0);
    expect(counts(provider, endpoint)).toEqual([
      [1, 0],
      [0, 0],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("never admits more than either limit, and never loses a slot, under any schedule", () =>
    fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 0, max: 4 }),
        fc.array(fc.record({ endpoint: fc.nat({ max: 2 }), isGivenUp: fc.boolean() }), {
          minLength: 1,
          maxLength: 20,
        }),
        async (scheduler, limit, endpointLimits, size, calls) => {
          const provider = concurrencyLimiter(limit, queue({ size }));
          const endpoints = endpointLimits.map((own) => concurrencyLimiter(own, queue({ size })));
          const running = endpointLimits.map(() => 0);
          const call = async (at: number, isGivenUp: boolean): Promise<void> => {
            const endpoint = endpoints[at];
            if (endpoint === undefined) throw new Error("no such endpoint");
            await scheduler.schedule(Promise.resolve(), "comes");
            const controller = new AbortController();
            if (isGivenUp)
              void scheduler.schedule(Promise.resolve(), "gives up").then(() => controller.abort());
            const release = await endpointLimiter(provider, endpoint).enter(
              NEVER,
              controller.signal,
            );
            if (release === null) return;
            running[at] = (running[at] ?? 0) + 1;
            expect(running[at]).toBeLessThanOrEqual(endpointLimits[at] ?? 0);
            expect(running.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(limit);
            await scheduler.schedule(Promise.resolve(), "ends");
            running[at] = (running[at] ?? 0) - 1;
            release();
          };
          const all = calls.map(({ endpoint, isGivenUp }) =>
            call(endpoint % endpoints.length, isGivenUp),
          );
          await scheduler.waitFor(Promise.all(all));
          expect(counts(provider, ...endpoints)).toEqual([[0, 0], ...endpoints.map(() => [0, 0])]);
        },
      ),
      { numRuns: 300 },
    ));
});
