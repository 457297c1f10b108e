import { syncBuiltinESMExports } from "node:module";
import promises from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  answerJson,
  hello,
  post,
  startRouter,
  startUpstream,
  tableOver,
} from "../support/router.ts";

const wait = promises.setTimeout;
/** Milliseconds of the pauses that have begun. */
let pauses: (number | undefined)[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  // Fake time does not reach the module that pauses of requests use.
  pauses = [];
  promises.setTimeout = (time) =>
    new Promise((resolve) => {
      pauses.push(time);
      setTimeout(() => resolve(undefined as never), time);
    });
  syncBuiltinESMExports();
});
afterEach(() => {
  vi.useRealTimers();
  promises.setTimeout = wait;
  syncBuiltinESMExports();
});

/** Turns of the event loop, whose sockets are real, until something is so. */
async function turns(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100_000 && !holds(); turn += 1) await new Promise(setImmediate);
  expect(holds()).toBe(true);
}

describe("the beginning of an attempt", () => {
  it("is recorded in milliseconds from the arrival, after the pause of a retry-after", async () => {
    const upstream = await startUpstream((response) => {
      if (upstream.calls.length > 1) return answerJson(response);
      response.writeHead(429, { "content-type": "application/json", "retry-after": "20" });
      response.end("{}");
    });
    const base = tableOver([upstream]);
    const row = base.routes.r;
    if (row === undefined) throw new Error("no route r");
    const router = await startRouter({
      table: { ...base, routes: { r: { ...row, maxAttempts: 2 } } },
      runtime: {
        limits: {
          bodyBytes: 1_000,
          answerBytes: 10_000,
          requestTime: 60_000,
          bodyTime: 500,
          writeTime: 2_000,
        },
      },
    });
    const answer = post(router, hello);
    await turns(() => pauses.includes(20_000));
    await vi.advanceTimersByTimeAsync(19_900);
    expect(upstream.calls).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(200);
    await turns(() => upstream.calls.length === 2);
    expect((await answer).status).toBe(200);
    await turns(() => router.outcomes.length === 1);
    const [first, second] = router.outcomes[0]?.attempts ?? [];
    expect(first).toMatchObject({ endpoint: "a", failure: "rate_limited", start: 0 });
    expect(second).toMatchObject({ endpoint: "a", failure: null });
    expect(second?.start).toBeGreaterThanOrEqual(20_000);
    expect(second?.start).toBeLessThanOrEqual(20_100);
    expect(Number.isInteger(second?.start)).toBe(true);
  });
});
