import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startHeartbeat } from "../../src/server/workers/start-workers.ts";

describe("a heartbeat", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function watch(answers: (question: number) => boolean) {
    const seen = { questions: 0, lost: [] as number[] };
    const heartbeat = startHeartbeat({
      ping: () => {
        seen.questions += 1;
        if (answers(seen.questions)) setTimeout(() => heartbeat.answered(), 1);
      },
      hung: (silence) => seen.lost.push(silence),
    });
    return { heartbeat, seen };
  }

  it("continues while it is answered", () => {
    const { seen } = watch(() => true);
    vi.advanceTimersByTime(100_000);
    expect(seen).toEqual({ questions: 40, lost: [] });
  });

  it("reports the loss once after fifteen seconds without an answer, and ends", () => {
    const { seen } = watch((question) => question < 3);
    vi.advanceTimersByTime(7_500 + 14_999);
    expect(seen.lost).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(seen).toEqual({ questions: 3, lost: [15_000] });
    vi.advanceTimersByTime(100_000);
    expect(seen).toEqual({ questions: 3, lost: [15_000] });
  });

  it("accepts a late answer, and restarts its count", () => {
    const { heartbeat, seen } = watch(() => false);
    for (let round = 0; round < 5; round += 1) {
      vi.advanceTimersByTime(15_000);
      heartbeat.answered();
    }
    expect(seen.lost).toEqual([]);
    expect(seen.questions).toBe(5);
  });

  it("counts one miss only after a pause of this process itself", () => {
    const { seen } = watch(() => false);
    vi.advanceTimersByTime(2_500);
    // Timers that were due many times while a process stood still fire once.
    vi.setSystemTime(Date.now() + 3_600_000);
    vi.advanceTimersByTime(2_500);
    expect(seen.lost).toEqual([]);
  });

  it("sends no more after it was stopped", () => {
    const { heartbeat, seen } = watch(() => false);
    vi.advanceTimersByTime(2_500);
    heartbeat.stop();
    vi.advanceTimersByTime(100_000);
    expect(seen).toEqual({ questions: 1, lost: [] });
  });
});
