import { expect, it } from "vitest";
import { StopOrder } from "../../src/dispatch/stop-order.ts";
import { errorOf, startRouter, startUpstream, until } from "../support/router.ts";
import { endpoint, model, provider, route, table, workspace } from "../support/table.ts";

it("embeddings in parts that are not there when the time is over are a 503, and their calls end", async () => {
  const upstream = await startUpstream(() => {});
  const stopOrder = new StopOrder();
  const router = await startRouter({
    table: table({
      providers: [provider("p", { baseUrl: `${upstream.url}/v1` })],
      models: [
        model("m", {
          operations: ["embed"],
          dimensions: [3],
          contextWindow: 8_000,
          capabilities: [],
        }),
      ],
      endpoints: [endpoint("e", { provider: "p", batch: { inputs: 2, tokens: null } })],
      routes: [route("r", "e", [], { operations: ["embed"] })],
      workspaces: [workspace("w", { providers: ["p"], dimensions: [3], contextWindow: 8_000 })],
    }),
    runtime: { stopOrder },
  });
  const ask = (input: readonly string[]): Promise<Response> =>
    fetch(`${router.url}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: "Bearer good", "content-type": "application/json" },
      body: JSON.stringify({ model: "r", input }),
    });
  const requested = ask(["a", "b", "c"]);
  await until(() => upstream.calls.length === 2);
  stopOrder.give();
  const response = await requested;
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("1");
  expect(await errorOf(response)).toMatchObject({ code: "server_stopping" });
  await until(() => upstream.calls.every(({ lostAt }) => lostAt !== null));
  // Requests after the order get the same answer.
  expect((await ask(["d"])).status).toBe(503);
  await router.settled(2);
  expect(router.outcomes[0]).toMatchObject({
    status: 503,
    terminal: "failed",
    attempts: [{ failure: "server_stopping", calls: 2 }],
  });
});
