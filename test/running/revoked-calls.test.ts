import { describe, expect, it } from "vitest";
import {
  ANSWER,
  answerJson,
  hello,
  post,
  startUpstream,
  tableOver,
  until,
  type Router,
  type Upstream,
} from "../support/router.ts";
import { endpoint, model, provider, route, table, workspace } from "../support/table.ts";
import type { RoutingTable } from "../../src/canon/table.ts";
import { expectRevoked, revocable } from "./revocable.ts";

const RUNNING = ["end", "finish"] as const;

describe("after a revocation no provider is called any more", () => {
  it.each(RUNNING)("no fallback and no retry, with on_revoke: %s", async (running) => {
    const fail = Promise.withResolvers<void>();
    const first = await startUpstream(async (response) => {
      await fail.promise;
      answerJson(response, { error: {} }, 500);
    });
    const second = await startUpstream((response) => answerJson(response));
    const { router, revoke } = await revocable({ table: tableOver([first, second]) }, running);
    const requested = post(router, hello);
    await until(() => first.calls.length === 1);
    revoke();
    fail.resolve();
    await expectRevoked(requested);
    await router.settled(1);
    expect([first.calls.length, second.calls.length]).toEqual([1, 0]);
    expect(router.outcomes[0]).toMatchObject({
      status: 401,
      terminal: "failed",
      ended: "key_revoked",
      attempts: [{ failure: running === "end" ? "key_revoked" : "server_error" }],
    });
  });

  it("not after a pause between two tries", async () => {
    let ended = false;
    const only = await startUpstream((response) => {
      response.setHeader("retry-after", "5");
      response.on("close", () => (ended = true));
      answerJson(response, { error: {} }, 503);
    });
    const twice = { ...tableOver([only]), routes: { r: route("r", "a", [], { maxAttempts: 2 }) } };
    const { router, revoke } = await revocable({ table: twice }, "finish");
    const requested = post(router, hello);
    await until(() => ended);
    revoke();
    await expectRevoked(requested);
    await router.settled(1);
    expect(only.calls).toHaveLength(1);
    expect(router.outcomes[0]).toMatchObject({
      ended: "key_revoked",
      attempts: [{ failure: "overloaded" }],
    });
  });

  // The router's own endpoints read their bodies alike: a revoked management key makes no keys any
  // more.
  it.each(["/v1/chat/completions", "/v1/route/simulate?operation=chat.completions"])(
    "not for a body that is still on its way to %s",
    async (path) => {
      const only = await startUpstream((response) => answerJson(response));
      const { router, revoke } = await revocable({ table: tableOver([only]) }, "finish");
      const begun = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => begun.resolve(controller),
      });
      const requested = fetch(`${router.url}${path}`, {
        method: "POST",
        headers: { authorization: "Bearer good", "content-type": "application/json" },
        body,
        duplex: "half",
      });
      const controller = await begun.promise;
      controller.enqueue(new TextEncoder().encode(JSON.stringify(hello).slice(0, 10)));
      await until(() => router.snapshots.users === 1);
      revoke();
      await expectRevoked(requested);
      await router.settled(1);
      expect(router.decisions[0]).toMatchObject({ outcome: "refuse", reason: "key_revoked" });
      expect(only.calls).toHaveLength(0);
    },
  );

  it("not for a request that was let in a moment before", async () => {
    const only = await startUpstream((response) => answerJson(response));
    const { router, revoke } = await revocable({ table: tableOver([only]) }, "finish");
    revoke();
    await expectRevoked(post(router, hello));
    expect(only.calls).toHaveLength(0);
  });
});

/** Embeddings in parts of two inputs each. */
function batchTable(upstreams: readonly Upstream[], hedgeAfter: number | null): RoutingTable {
  const ids = upstreams.map((_, index) => `p${index}`);
  const [first = "e-p0", ...rest] = ids.map((id) => `e-${id}`);
  return table({
    providers: ids.map((id, index) =>
      provider(id, { baseUrl: `${upstreams[index]?.url ?? ""}/v1` }),
    ),
    models: [
      model("m", {
        operations: ["embed"],
        dimensions: [3],
        contextWindow: 8_000,
        capabilities: [],
      }),
    ],
    endpoints: ids.map((id) =>
      endpoint(`e-${id}`, { provider: id, batch: { inputs: 2, tokens: null } }),
    ),
    routes: [route("r", first, rest, { operations: ["embed"], hedgeAfter })],
    workspaces: [workspace("w", { providers: ids, dimensions: [3], contextWindow: 8_000 })],
  });
}

function embed(router: Router, inputs: number, more: object = {}): Promise<Response> {
  return fetch(`${router.url}/v1/embeddings`, {
    method: "POST",
    headers: { authorization: "Bearer good", "content-type": "application/json" },
    body: JSON.stringify({
      model: "r",
      input: Array.from({ length: inputs }, (_, index) => `text ${index}`),
      ...more,
    }),
  });
}

describe("a batch of a key that is revoked", () => {
  it("ends after its running calls; no further part is begun", async () => {
    const silent = await startUpstream(() => {});
    const { router, revoke } = await revocable({ table: batchTable([silent], null) }, "end");
    const requested = embed(router, 20);
    await until(() => silent.calls.length === 4);
    revoke();
    await expectRevoked(requested);
    await until(() => silent.calls.every(({ lostAt }) => lostAt !== null));
    await router.settled(1);
    expect(silent.calls).toHaveLength(4);
    expect(router.outcomes[0]).toMatchObject({
      status: 401,
      ended: "key_revoked",
      attempts: [{ failure: "key_revoked", calls: 4 }],
    });
  });

  it("with on_revoke: finish completes running parts, begins no further part, and names the inputs without a result", async () => {
    const finish = Promise.withResolvers<void>();
    const upstream = await startUpstream(async (response) => {
      await finish.promise;
      const data = [0, 1].map((index) => ({ object: "embedding", index, embedding: [1, 0, 0] }));
      answerJson(response, {
        object: "list",
        model: "m",
        data,
        usage: { prompt_tokens: 2, total_tokens: 2 },
      });
    });
    const { router, revoke } = await revocable({ table: batchTable([upstream], null) }, "finish");
    const requested = embed(router, 20, { on_partial: "report" });
    await until(() => upstream.calls.length === 4);
    revoke();
    finish.resolve();
    const response = await requested;
    expect(response.status).toBe(200);
    const answer: { data: unknown[]; errors: { code: string }[] } = JSON.parse(
      await response.text(),
    );
    expect(answer.data).toHaveLength(8);
    expect(new Set(answer.errors.map(({ code }) => code))).toEqual(new Set(["key_revoked"]));
    await router.settled(1);
    expect(upstream.calls).toHaveLength(4);
    expect(router.outcomes[0]).toMatchObject({ terminal: "incomplete", ended: "key_revoked" });
  });

  it.each(RUNNING)("is not hedged any more, with on_revoke: %s", async (running) => {
    const hedgeAfter = 100;
    const over = Promise.withResolvers<void>();
    const first = await startUpstream(async (response) => {
      revokable.revoke();
      // Begun after the hedge's own timer and as long: Node lets that one go first.
      setTimeout(over.resolve, hedgeAfter);
      await over.promise;
      answerJson(response, {}, 500);
    });
    const hedge = await startUpstream((response) => answerJson(response, ANSWER));
    const revokable = await revocable({ table: batchTable([first, hedge], hedgeAfter) }, running);
    await expectRevoked(embed(revokable.router, 1));
    await over.promise;
    // The hedge's call, where there is one, is on its way: a call after it comes after it.
    await fetch(hedge.url);
    expect(hedge.calls.map(({ path }) => path)).toEqual(["/"]);
  });
});
