import { describe, expect, it } from "vitest";
import { SimulationRate } from "../../src/http/control/simulate.ts";
import { startTestServer } from "../support/server.ts";
import { refusedOr } from "../support/refusals.ts";

describe("simulations of a minute", () => {
  it("are counted by workspace and minute", () => {
    const rate = new SimulationRate();
    const now = Date.UTC(2026, 0, 1, 12, 0, 50);
    const take = (workspace: string, at: number): number | null =>
      refusedOr(() => rate.take(workspace, 2, at))?.retryAfter ?? null;
    expect([take("a", now), take("a", now), take("a", now)]).toEqual([null, null, 10_000]);
    expect(take("b", now)).toBeNull();
    expect(take("a", now + 10_000)).toBeNull();
  });

  it("answer 429 with retry-after beyond the limit of the workspace, which calls do not use up", async () => {
    const test = await startTestServer((routes) =>
      routes.replaceAll("requests_per_minute:", "simulations_per_minute: 3, requests_per_minute:"),
    );
    const key = await test.key("acme-dev", ["route:simulate"]);
    const simulate = async (): Promise<Response> =>
      await fetch(`${test.server.url}/v1/route/simulate?operation=chat.completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "chat-small" }),
      });
    // Four at once may meet the end of a minute; eight cannot meet two.
    const answers = [];
    for (let time = 0; time < 8; time += 1) answers.push(await simulate());
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(3);
    expect(refused.length).toBeGreaterThanOrEqual(2);
    const [first] = refused;
    expect(Number(first?.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(await first?.json()).toMatchObject({
      error: { type: "rate_limit_error", code: "requests_per_minute" },
    });
  });
});
