import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EvidenceUnavailableError } from "../../src/evidence/evidence-store.ts";
import { RequestRecording } from "../../src/http/recorder.ts";
import { decisionRecord } from "../store/records.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A recording, what ended it, and the store's side of it. */
function begin(deadline: number) {
  const ends: (string | null)[] = [];
  const store = { needed: 0, settled: (_error: Error | null): void => {} };
  const evidence = {
    begin(_record: unknown, settled: (error: Error | null) => void) {
      store.settled = settled;
      return { needed: () => void (store.needed += 1) };
    },
    settle: () => {},
  };
  const refused: string[] = [];
  const recording = new RequestRecording(evidence, decisionRecord("a"), deadline, ({ code }) =>
    refused.push(code),
  );
  void recording.result.then((error) => ends.push(error?.code ?? null));
  return { recording, ends, store, refused };
}

describe("the wait of an answer for its record", () => {
  it.each([5, 9_999, 10_000, 10_001, 25_000, 600_000])(
    "ends 0.1 s after a deadline in %i ms",
    async (time) => {
      const { recording, ends, refused } = begin(performance.now() + time);
      recording.needed();
      await vi.advanceTimersByTimeAsync(time + 99);
      expect(ends).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect([ends, refused]).toEqual([["upstream_timeout_total"], ["upstream_timeout_total"]]);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it("does not begin before the answer needs the record: a provider's own time is not the store's", async () => {
    const { recording, ends, store } = begin(performance.now() + 1_000);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([ends, store.needed, vi.getTimerCount()]).toEqual([[], 0, 0]);
    recording.needed();
    recording.needed();
    expect(store.needed).toBe(1);
  });

  it("does not begin either with a near deadline, before which the record is written without a delay", async () => {
    const { ends, store } = begin(performance.now() + 999);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([ends, store.needed, vi.getTimerCount()]).toEqual([[], 1, 0]);
  });

  it("ends when the record is on disk, and leaves no timer", async () => {
    const { recording, ends, store } = begin(performance.now() + 25_000);
    recording.needed();
    store.settled(null);
    await vi.advanceTimersByTimeAsync(0);
    expect([ends, vi.getTimerCount()]).toEqual([[null], 0]);
  });

  it("has its record where the deadline passes while it is written", async () => {
    const { recording, ends, store } = begin(performance.now() - 1);
    recording.needed();
    await vi.advanceTimersByTimeAsync(98);
    store.settled(null);
    await vi.advanceTimersByTimeAsync(10);
    expect([ends, vi.getTimerCount()]).toEqual([[null], 0]);
  });

  it("ends once where the store fails after the deadline", async () => {
    const { recording, ends, store, refused } = begin(performance.now() + 5);
    recording.needed();
    await vi.advanceTimersByTimeAsync(105);
    store.settled(new Error("late"));
    await vi.advanceTimersByTimeAsync(0);
    expect([ends, refused.length]).toEqual([["upstream_timeout_total"], 1]);
  });

  it("has no end but the store's without a deadline", async () => {
    const { recording, ends } = begin(Number.POSITIVE_INFINITY);
    recording.needed();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(ends).toEqual([]);
  });

  it("names in its error for how long the store has been late, and no other error of the store", async () => {
    const late = begin(Number.POSITIVE_INFINITY);
    late.store.settled(new EvidenceUnavailableError("late", 2_340));
    const other = begin(Number.POSITIVE_INFINITY);
    other.store.settled(new Error("secret"));
    const [first, second] = await Promise.all([late.recording.result, other.recording.result]);
    expect(first?.message).toContain("has not confirmed a write for 2.3 s");
    expect(second?.message).not.toContain("secret");
  });
});
