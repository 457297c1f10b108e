import { describe, expect, test } from "vitest";
import { mockForTest, parts, raw } from "./start.ts";

const stream = { stream: true };

describe("waiting", () => {
  test("before the headers, before the body, between events", async () => {
    const server = await mockForTest();
    const { arrivals } = await raw(
      server,
      "m+chunks=1",
      stream,
      "x-mock: delay=60ms; first-byte=60ms; chunk-delay=60ms\r\n",
      400,
    );
    // Headers, four events and the end of the body. Timers may fire a millisecond early, never
    // much.
    expect(arrivals.length).toBeGreaterThanOrEqual(5);
    for (const [index, arrival] of arrivals.slice(0, 5).entries())
      expect(arrival).toBeGreaterThanOrEqual((index + 1) * 60 - 5);
  });

  test("ends when the client goes", async () => {
    const server = await mockForTest();
    await raw(server, "m+chunks=3", stream, "x-mock: chunk-delay=60s\r\n", 60);
    await expect.poll(() => server.requests[0]).toMatchObject({ closedEarly: true });
  });
});

test("only as many times as requested, for each model by itself", async () => {
  const server = await mockForTest();
  const statuses = async (model: string): Promise<number> => parts(await raw(server, model)).status;
  expect([
    await statuses("a+503+times=2"),
    await statuses("a+503+times=2"),
    await statuses("a+503+times=2"),
  ]).toEqual([503, 503, 200]);
  expect(await statuses("b+503+times=2")).toBe(503);
});
