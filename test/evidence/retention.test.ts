import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseServeOptions, readRetention } from "../../src/cli/serve/options.ts";
import { startRetention } from "../../src/server/evidence.ts";
import type { Pruned } from "../../src/evidence/evidence-store.ts";

const DAY = 86_400_000;
const HOUR = 3_600_000;

describe("the retention of evidence", () => {
  it.each([
    [undefined, null],
    ["", null],
    ["1", DAY],
    ["90", 90 * DAY],
    ["36500", 36_500 * DAY],
  ])("the flag %j is read as %s ms", (text, keep) => {
    expect(readRetention(text, "--evidence-retention")).toBe(keep);
  });

  it.each(["0", "-1", "1.5", "90d", "36501", "999999", "for ever"])("%j is refused", (text) => {
    expect(() => readRetention(text, "--evidence-retention")).toThrow(
      "--evidence-retention: must be a whole number from 1 to 36500 days",
    );
  });

  it("is set by the flag, else by the environment, else for ever", () => {
    const options = (
      argv: readonly string[],
      environment: Record<string, string>,
    ): number | null | undefined =>
      parseServeOptions(argv, { stdout: () => {}, stderr: () => {}, environment, cwd: "/nowhere" })
        .evidenceRetention;
    const environment = { SIGNALBOX_EVIDENCE_RETENTION_DAYS: "7" };
    expect(options(["--evidence-retention", "30"], environment)).toBe(30 * DAY);
    expect(options([], environment)).toBe(7 * DAY);
    expect(options([], {})).toBeNull();
    expect(() => options([], { SIGNALBOX_EVIDENCE_RETENTION_DAYS: "some" })).toThrow(
      "SIGNALBOX_EVIDENCE_RETENTION_DAYS: ",
    );
  });
});

describe("the sweeps", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const none: Pruned = { anchor: null, rows: 0 };

  it("delete older rows hourly, one sweep at a time, and report a failed one", async () => {
    const sweeps: { before: number; now: number; end: PromiseWithResolvers<Pruned> }[] = [];
    const prune = (before: number, now: number): Promise<Pruned> => {
      const end = Promise.withResolvers<Pruned>();
      sweeps.push({ before, now, end });
      return end.promise;
    };
    const retention = startRetention({ prune }, 30 * DAY, () => 100 * DAY);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sweeps.map(({ before, now }) => [before, now])).toEqual([[70 * DAY, 100 * DAY]]);
    await vi.advanceTimersByTimeAsync(10 * HOUR);
    expect(sweeps).toHaveLength(1);
    sweeps[0]?.end.reject(new Error("locked"));
    await vi.advanceTimersByTimeAsync(HOUR - 1);
    expect([sweeps.length, retention.failed()]).toEqual([1, true]);
    await vi.advanceTimersByTimeAsync(1);
    sweeps[1]?.end.resolve(none);
    await vi.advanceTimersByTimeAsync(0);
    expect([sweeps.length, retention.failed()]).toEqual([2, false]);
    await vi.advanceTimersByTimeAsync(HOUR);
    expect(sweeps).toHaveLength(3);
    retention.stop();
    sweeps[2]?.end.resolve(none);
    await vi.advanceTimersByTimeAsync(10 * HOUR);
    expect(sweeps).toHaveLength(3);
  });

  it("do not run where evidence is kept for ever", async () => {
    const prune = vi.fn<() => Promise<Pruned>>();
    startRetention({ prune }, null, Date.now);
    await vi.advanceTimersByTimeAsync(10 * HOUR);
    expect(prune).not.toHaveBeenCalled();
  });
});
