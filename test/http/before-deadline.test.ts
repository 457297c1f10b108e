import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { beforeDeadline } from "../../src/http/heads.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function waitFor(written: Promise<void>, deadline: number | null): boolean[] {
  const ends: boolean[] = [];
  beforeDeadline(written, deadline, (value) => ends.push(value !== null));
  return ends;
}

const NEVER = new Promise<void>(() => {});

describe("the wait for a record", () => {
  it.each([5, 9_999, 10_000, 10_001, 25_000, 600_000])(
    "ends at a deadline in %i ms, not before",
    async (time) => {
      const ends = waitFor(NEVER, performance.now() + time);
      await vi.advanceTimersByTimeAsync(time - 1);
      expect(ends).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect(ends).toEqual([false]);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it("ends when the record is on disk, and leaves no timer", async () => {
    const ends = waitFor(Promise.resolve(), performance.now() + 25_000);
    await vi.advanceTimersByTimeAsync(0);
    expect(ends).toEqual([true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends with a record that is on disk, although the deadline has passed", async () => {
    const ends = waitFor(Promise.resolve(), performance.now() - 1);
    await vi.advanceTimersByTimeAsync(1);
    expect(ends).toEqual([true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends at once where the deadline has passed and nothing is written", async () => {
    const ends = waitFor(NEVER, performance.now() - 1);
    await vi.advanceTimersByTimeAsync(1);
    expect(ends).toEqual([false]);
  });

  it("ends once where the store fails after the deadline", async () => {
    const late = Promise.withResolvers<void>();
    const ends = waitFor(late.promise, performance.now() + 5);
    await vi.advanceTimersByTimeAsync(5);
    late.reject(new Error("late"));
    await vi.advanceTimersByTimeAsync(0);
    expect(ends).toEqual([false]);
  });

  it("has no end but the store's without a deadline", async () => {
    const ends = waitFor(NEVER, null);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(ends).toEqual([]);
  });
});
