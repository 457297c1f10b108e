import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { concurrencyLimiter, type Release } from "../../../src/dispatch/concurrency-limiter.ts";
import { fewOrMany } from "../../support/long.ts";
import { NEVER, admitted, queue, turn } from "./support.ts";

describe("a limiter", () => {
  it("admits as many as its limit, and one more for each that is released", () => {
    const gate = concurrencyLimiter(2, queue());
    const first = admitted(gate.tryEnter());
    admitted(gate.tryEnter());
    expect(gate.tryEnter()).toBeNull();
    expect(gate.inFlight).toBe(2);
    first();
    admitted(gate.tryEnter());
    expect(gate.tryEnter()).toBeNull();
  });

  it("counts repeated releases once", () => {
    const gate = concurrencyLimiter(2, queue());
    const release = admitted(gate.tryEnter());
    admitted(gate.tryEnter());
    release();
    release();
    expect(gate.inFlight).toBe(1);
  });

  it("grants a free slot after the deadline too, and queues no request after it", async () => {
    const gate = concurrencyLimiter(1, queue());
    admitted(await gate.enter(performance.now() - 1));
    expect(await gate.enter(performance.now() - 1)).toBeNull();
    expect(gate.waiting).toBe(0);
  });

  it("queues as many as its size, and refuses the next at once", async () => {
    const gate = concurrencyLimiter(1, queue({ size: 2 }));
    const release = admitted(gate.tryEnter());
    const waiting = [gate.enter(NEVER), gate.enter(NEVER)];
    expect(await gate.enter(NEVER)).toBeNull();
    expect(gate.waiting).toBe(2);
    release();
    admitted((await waiting[0]) ?? null)();
    admitted((await waiting[1]) ?? null)();
    expect([gate.inFlight, gate.waiting]).toEqual([0, 0]);
  });

  it("queues no request where its size is 0", async () => {
    const gate = concurrencyLimiter(1, queue({ size: 0 }));
    admitted(await gate.enter(NEVER));
    expect(await gate.enter(NEVER)).toBeNull();
  });

  it("grants a free slot to the request that waits first", async () => {
    const gate = concurrencyLimiter(1, queue());
    const release = admitted(gate.tryEnter());
    const waiting = gate.enter(NEVER);
    release();
    expect(gate.tryEnter()).toBeNull();
    expect([gate.inFlight, gate.waiting]).toEqual([1, 0]);
    admitted(await waiting);
  });

  it("does not queue a request of a disconnected caller", async () => {
    const gate = concurrencyLimiter(1, queue());
    expect(await gate.enter(NEVER, AbortSignal.abort())).toBeNull();
    expect([gate.inFlight, gate.waiting]).toEqual([0, 0]);
  });

  it("frees the room of an aborted waiter in the same turn", async () => {
    const gate = concurrencyLimiter(1, queue({ size: 2 }));
    const release = admitted(gate.tryEnter());
    const controller = new AbortController();
    const gone = gate.enter(NEVER, controller.signal);
    const patient = gate.enter(NEVER);
    controller.abort();
    expect(gate.waiting).toBe(1);
    expect(await gone).toBeNull();
    const next = gate.enter(NEVER);
    expect(gate.waiting).toBe(2);
    release();
    admitted(await patient)();
    admitted(await next)();
    expect(gate.inFlight).toBe(0);
  });

  it("leaves a granted slot with its request, though the signal is aborted before the grant resolves", async () => {
    const gate = concurrencyLimiter(1, queue());
    const release = admitted(gate.tryEnter());
    const controller = new AbortController();
    const waiting = gate.enter(NEVER, controller.signal);
    release();
    controller.abort();
    admitted(await waiting)();
    expect(gate.inFlight).toBe(0);
  });
});

describe("a reload of a limiter's limits", () => {
  it("admits as many more requests as the limit rises", async () => {
    const gate = concurrencyLimiter(1, queue());
    admitted(gate.tryEnter());
    const waiting = [gate.enter(NEVER), gate.enter(NEVER), gate.enter(NEVER)];
    gate.setLimits(3, queue());
    expect([gate.inFlight, gate.waiting]).toEqual([3, 1]);
    await Promise.all(waiting.slice(0, 2));
  });

  it("admits no request before the calls under way are fewer than a lowered limit", async () => {
    const gate = concurrencyLimiter(3, queue());
    const releases = [1, 2, 3].map(() => admitted(gate.tryEnter()));
    const waiting = gate.enter(NEVER);
    gate.setLimits(1, queue());
    for (const [index, release] of releases.entries()) {
      expect(gate.tryEnter()).toBeNull();
      expect([gate.inFlight, gate.waiting]).toEqual([3 - index, 1]);
      release();
    }
    expect([gate.inFlight, gate.waiting]).toEqual([1, 0]);
    admitted(await waiting)();
    expect(gate.inFlight).toBe(0);
  });

  it("changes the queue for later requests, and rejects no waiting one", async () => {
    const gate = concurrencyLimiter(1, queue({ size: 2 }));
    const release = admitted(gate.tryEnter());
    const waiting = [gate.enter(NEVER), gate.enter(NEVER)];
    gate.setLimits(1, queue({ size: 1 }));
    expect(gate.waiting).toBe(2);
    expect(await gate.enter(NEVER)).toBeNull();
    release();
    admitted((await waiting[0]) ?? null);
    expect(await gate.enter(NEVER)).toBeNull();
    gate.setLimits(1, queue({ size: 2 }));
    void gate.enter(NEVER);
    expect(gate.waiting).toBe(2);
  });
});

describe("the time in a limiter's queue", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ["the queue's longest wait", 100, NEVER, 100],
    ["the deadline, where that is sooner", 100, 40, 40],
  ])("ends at %s", async (_, wait, deadline, end) => {
    const gate = concurrencyLimiter(1, queue({ wait }));
    admitted(gate.tryEnter());
    const settled = vi.fn<(release: Release | null) => void>();
    void gate.enter(performance.now() + deadline).then(settled);
    await vi.advanceTimersByTimeAsync(end - 1);
    expect(settled).not.toHaveBeenCalled();
    expect(gate.waiting).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(settled.mock.calls).toEqual([[null]]);
    expect([gate.waiting, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it("ends for a waiter in the middle without using a slot", async () => {
    const gate = concurrencyLimiter(1, queue());
    const release = admitted(gate.tryEnter());
    const names: string[] = [];
    const come = (name: string, deadline: number): void => {
      void gate.enter(performance.now() + deadline).then((slot) => {
        names.push(slot === null ? `${name} gave up` : name);
        slot?.();
      });
    };
    come("first", 1_000);
    come("second", 10);
    come("third", 1_000);
    await vi.advanceTimersByTimeAsync(10);
    release();
    await turn();
    expect(names).toEqual(["second gave up", "first", "third"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("leaves no timer and no listener at every end of a wait", async () => {
    const ends: Record<string, (release: Release, controller: AbortController) => void> = {
      slot: (release) => release(),
      abort: (_, controller) => controller.abort(),
      time: () => vi.advanceTimersByTime(100),
    };
    for (const [name, end] of Object.entries(ends)) {
      const gate = concurrencyLimiter(1, queue({ wait: 100 }));
      const controller = new AbortController();
      const release = admitted(gate.tryEnter());
      const waiting = gate.enter(NEVER, controller.signal);
      expect(
        [vi.getTimerCount(), getEventListeners(controller.signal, "abort").length],
        name,
      ).toEqual([1, 1]);
      end(release, controller);
      await waiting;
      expect(
        [vi.getTimerCount(), getEventListeners(controller.signal, "abort").length],
        name,
      ).toEqual([0, 0]);
    }
  });
});

/** One thing that happens to a limiter. `who` is taken modulo those there are. */
type Happening =
  | { readonly kind: "try" }
  | { readonly kind: "enter"; readonly deadline: number }
  | { readonly kind: "release" | "abort" | "release again"; readonly who: number }
  | { readonly kind: "pass"; readonly time: number }
  | {
      readonly kind: "reload";
      readonly limit: number;
      readonly size: number;
      readonly wait: number;
    };

const who = fc.nat({ max: 30 });
const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ kind: fc.constant("try" as const) }),
  {
    arbitrary: fc.record({
      kind: fc.constant("enter" as const),
      deadline: fc.integer({ min: -5, max: 90 }),
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ kind: fc.constant("release" as const), who }), weight: 3 },
  fc.record({ kind: fc.constant("release again" as const), who }),
  fc.record({ kind: fc.constant("abort" as const), who }),
  fc.record({ kind: fc.constant("pass" as const), time: fc.integer({ min: 1, max: 30 }) }),
  fc.record({
    kind: fc.constant("reload" as const),
    limit: fc.integer({ min: 1, max: 5 }),
    size: fc.nat({ max: 6 }),
    wait: fc.integer({ min: 1, max: 60 }),
  }),
);

/**
 * What a limiter is said to do, in plain lists: who is inside, who waits until when, who was sent
 * away.
 */
class Model {
  inside: number[] = [];
  waiting: { readonly id: number; readonly until: number }[] = [];
  refused: number[] = [];
  limit = 2;
  size = 3;
  wait = 50;
  now = 0;

  try(id: number): void {
    if (this.waiting.length === 0 && this.inside.length < this.limit) this.inside.push(id);
    else this.refused.push(id);
  }

  enter(id: number, deadline: number): void {
    const until = Math.min(this.now + this.wait, this.now + deadline);
    if (this.waiting.length === 0 && this.inside.length < this.limit) this.inside.push(id);
    else if (this.waiting.length >= this.size || until <= this.now) this.refused.push(id);
    else this.waiting.push({ id, until });
  }

  release(id: number): void {
    this.inside = this.inside.filter((other) => other !== id);
    this.admit();
  }

  abort(id: number): void {
    this.waiting = this.waiting.filter((waiter) => waiter.id !== id);
    this.refused.push(id);
  }

  pass(time: number): void {
    this.now += time;
    for (const { id, until } of this.waiting) if (until <= this.now) this.abort(id);
  }

  admit(): void {
    while (this.inside.length < this.limit) {
      const first = this.waiting.shift();
      if (first === undefined) return;
      this.inside.push(first.id);
    }
  }
}

describe("a limiter under any schedule", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("ends like the model of plain lists, for every order of events", async () => {
    let waited = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 60 }), async (happenings) => {
        vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
        const model = new Model();
        const gate = concurrencyLimiter(model.limit, queue({ size: model.size, wait: model.wait }));
        const inside = new Map<number, Release>();
        const left: Release[] = [];
        const refused: number[] = [];
        const controllers = new Map<number, AbortController>();
        const hear = (id: number, release: Release | null): void => {
          if (release === null) refused.push(id);
          else inside.set(id, release);
        };
        let next = 0;
        for (const one of happenings) {
          const id = next;
          next += 1;
          switch (one.kind) {
            case "try": {
              hear(id, gate.tryEnter());
              model.try(id);
              break;
            }
            case "enter": {
              const controller = new AbortController();
              controllers.set(id, controller);
              void gate
                .enter(performance.now() + one.deadline, controller.signal)
                .then((release) => hear(id, release));
              model.enter(id, one.deadline);
              break;
            }
            case "release": {
              const chosen = [...inside.keys()][one.who % Math.max(1, inside.size)];
              if (chosen === undefined) break;
              const release = admitted(inside.get(chosen) ?? null);
              inside.delete(chosen);
              left.push(release);
              release();
              model.release(chosen);
              break;
            }
            case "release again": {
              left[one.who % Math.max(1, left.length)]?.();
              break;
            }
            case "abort": {
              const chosen = model.waiting[one.who % Math.max(1, model.waiting.length)];
              if (chosen === undefined) break;
              controllers.get(chosen.id)?.abort();
              model.abort(chosen.id);
              break;
            }
            case "pass": {
              await vi.advanceTimersByTimeAsync(one.time);
              model.pass(one.time);
              break;
            }
            case "reload": {
              const { limit, size, wait } = one;
              gate.setLimits(limit, { size, wait });
              Object.assign(model, { limit, size, wait });
              model.admit();
              break;
            }
          }
          waited = Math.max(waited, model.waiting.length);
          await turn();
          expect([...inside.keys()].toSorted(ascending)).toEqual(model.inside.toSorted(ascending));
          expect(refused.toSorted(ascending)).toEqual(model.refused.toSorted(ascending));
          expect([gate.inFlight, gate.waiting]).toEqual([
            model.inside.length,
            model.waiting.length,
          ]);
          expect(vi.getTimerCount()).toBe(model.waiting.length);
        }
        // All are released: all that wait are admitted, in the order of arrival, and nothing stays
        // behind.
        while (inside.size > 0) {
          const [[first, release] = []] = inside;
          if (first === undefined || release === undefined) break;
          inside.delete(first);
          release();
          model.release(first);
          await turn();
          expect([...inside.keys()].toSorted(ascending)).toEqual(model.inside.toSorted(ascending));
        }
        expect([gate.inFlight, gate.waiting, vi.getTimerCount()]).toEqual([0, 0, 0]);
        vi.useRealTimers();
      }),
      { numRuns: fewOrMany(200, 400) },
    );
    expect(waited).toBeGreaterThan(2);
  });

  it("admits calls in order of arrival and never too many, for all durations", () =>
    fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 20 }),
        async (scheduler, limit, count) => {
          const gate = concurrencyLimiter(limit, queue());
          const came: number[] = [];
          const entered: number[] = [];
          let running = 0;
          const call = async (id: number): Promise<void> => {
            await scheduler.schedule(Promise.resolve(), `call ${id} comes`);
            came.push(id);
            const release = admitted(await gate.enter(NEVER));
            entered.push(id);
            running += 1;
            expect(running).toBeLessThanOrEqual(limit);
            await scheduler.schedule(Promise.resolve(), `call ${id} ends`);
            running -= 1;
            release();
          };
          const calls = Array.from({ length: count }, (_, id) => call(id));
          await scheduler.waitFor(Promise.all(calls));
          expect(entered).toEqual(came);
          expect([gate.inFlight, gate.waiting]).toEqual([0, 0]);
        },
      ),
      { numRuns: fewOrMany(80, 300) },
    ));
});

function ascending(left: number, right: number): number {
  return left - right;
}

describe("hundreds of thousands of calls", () => {
  it("leave no memory behind", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const gate = concurrencyLimiter(2, queue({ size: 4 }));
    const { signal } = new AbortController();
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const rounds = async (count: number): Promise<void> => {
      for (let round = 0; round < count; round += 1) {
        const first = admitted(gate.tryEnter());
        const second = await gate.enter(NEVER, signal);
        const third = gate.enter(NEVER, signal);
        const controller = new AbortController();
        const fourth = gate.enter(NEVER, controller.signal);
        if (gate.waiting !== 2) throw new Error("nothing waits");
        controller.abort();
        first();
        second?.();
        (await third)?.();
        if ((await fourth) !== null) throw new Error("an aborted call was let in");
      }
    };
    await rounds(5_000);
    collect();
    const [before, timersBefore] = [process.memoryUsage().heapUsed, timers()];
    await rounds(fewOrMany(20_000, 250_000));
    collect();
    expect([gate.inFlight, gate.waiting]).toEqual([0, 0]);
    expect(timers()).toBe(timersBefore);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    // A node or a timer for each call would be more.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(2_000_000);
  }, 30_000);
});
