import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CAPABILITY_NAMES } from "../../src/canon/capability.ts";
import { isJsonObject, type JsonObject } from "../../src/canon/json.ts";
import type { RoutingTable } from "../../src/canon/table.ts";
import { EndpointTracker } from "../../src/dispatch/endpoint-tracker.ts";
import { errorOf, post, startRouter, tableOver, type Upstream } from "../support/router.ts";
import { endpoint, fakePolicies, model, route, workspace } from "../support/table.ts";
import { explained, simulate, twoUpstreams } from "./simulation.ts";

const modelRow = model("m");

/** Rows of two endpoints, with everything that may differ from table to table. */
const rows = fc.record({
  capabilities: fc.tuple(fc.subarray([...CAPABILITY_NAMES]), fc.subarray([...CAPABILITY_NAMES])),
  approved: fc.subarray([...CAPABILITY_NAMES]),
  providers: fc.subarray(["p-a", "p-b"]),
  regions: fc.subarray(["eu-west", "us-east"]),
  region: fc.constantFrom("eu-west", "us-east"),
  onGap: fc.constantFrom("deny", "narrow"),
  routes: fc.subarray(["r"], { minLength: 0 }),
  price: fc.integer({ min: 0, max: 3 }),
  gate: fc.constantFrom("pass", "fail", "indeterminate"),
  filtered: fc.subarray(["a", "b"]),
});

const requests = fc.record({
  needs: fc.subarray(["tools", "json_schema", "image_input", "logprobs"]),
  provider: fc.constantFrom(
    null,
    { only: ["p-a"] },
    { order: ["p-b"] },
    { sort: "price" },
    { allow_fallbacks: false },
    { region: "us-east" },
    { only: ["typo"] },
  ),
  stream: fc.boolean(),
});

/** A body with the given needs. */
function chatBody(
  needs: readonly string[],
  provider: JsonObject | null,
  stream: boolean,
): JsonObject {
  const content = needs.includes("image_input")
    ? [{ type: "image_url", image_url: { url: "data:," } }]
    : "hello";
  return {
    model: "r",
    messages: [{ role: "user", content }],
    stream,
    ...(needs.includes("tools") ? { tools: [{ type: "function", function: { name: "f" } }] } : {}),
    ...(needs.includes("json_schema")
      ? { response_format: { type: "json_schema", json_schema: { name: "s" } } }
      : {}),
    ...(needs.includes("logprobs") ? { logprobs: true } : {}),
    ...(provider === null ? {} : { provider }),
  };
}

describe("simulation", () => {
  it("predicts a call: same endpoint first, or same status, code and message", async () => {
    const upstreams = await twoUpstreams();
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.array(requests, { minLength: 1, maxLength: 3 }),
        async (drawn, requested) => {
          const router = await startRouter({
            table: drawnTable(drawn, upstreams),
            policies: drawnPolicies(drawn),
          });
          for (const { needs, provider, stream } of requested) {
            const body = chatBody(needs, provider, stream);
            const said = await explained(router, { model: "r", request: body });
            for (const upstream of upstreams) upstream.calls.length = 0;
            const response = await post(router, body);
            const plan = Array.isArray(said["plan"]) ? said["plan"] : [];
            if (said["outcome"] === "route") {
              const first = isJsonObject(plan[0]) ? plan[0]["endpoint"] : null;
              const called = upstreams.map(({ calls }) => calls.length);
              expect(called[first === "a" ? 0 : 1]).toBe(1);
            } else {
              const error = await errorOf(response);
              expect(upstreams.map(({ calls }) => calls.length)).toEqual([0, 0]);
              expect(said["error"]).toMatchObject({ status: response.status, code: error.code });
              const message = isJsonObject(said["error"]) ? said["error"]["message"] : null;
              expect(error.message.replace(/ \(request id \S+\)$/, "")).toBe(message);
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it("for sort: latency names the endpoint that calls go to, and the age of the measurements", async () => {
    const upstreams = await twoUpstreams();
    const tracker = new EndpointTracker(() => null);
    const router = await startRouter({
      table: tableOver(upstreams),
      runtime: { endpoints: tracker },
    });
    const now = performance.now();
    for (const [id, firstToken, wholeAnswer] of [
      ["a", 100, 900],
      ["b", 200, 300],
    ] as const) {
      tracker.begin(id, now - 61_000);
      tracker.endCall(
        id,
        { failure: null, firstToken, wholeAnswer, tokensPerSecond: null },
        now - 60_000,
      );
    }
    const body = { ...chatBody([], { sort: "latency" }, false) };
    const said = await explained(router, { model: "r", request: body });
    expect(said["arrangement"]).toEqual({ decided: ["a", "b"], by_chance: false });
    const [first] = Array.isArray(said["plan"]) ? said["plan"] : [];
    const measured = isJsonObject(first) && isJsonObject(first["status"]) ? first["status"] : {};
    expect(first).toMatchObject({ endpoint: "b" });
    expect(measured["latency_ms"]).toMatchObject({ p50: 300, recent: expect.any(Number) });
    const { age_ms: age } = isJsonObject(measured["latency_ms"]) ? measured["latency_ms"] : {};
    expect(age).toBeGreaterThanOrEqual(60_000);
    expect((await post(router, body)).headers.get("x-signalbox-route")).toContain("endpoint=b");
  });

  it("of a weighted tier reports that the order is by chance", async () => {
    const upstreams = await twoUpstreams();
    const base = tableOver(upstreams);
    const tiers = [{ endpoints: ["a", "b"], balance: "weighted" as const, weights: [1, 1] }];
    const row = base.routes["r"];
    if (row === undefined) throw new Error("no route");
    const router = await startRouter({ table: { ...base, routes: { r: { ...row, tiers } } } });
    expect((await explained(router, { model: "r" }))["arrangement"]).toMatchObject({
      by_chance: true,
    });
    const fixed = [{ endpoints: ["a", "b"], balance: "weighted" as const, weights: [0, 1] }];
    const other = await startRouter({
      table: { ...base, routes: { r: { ...row, tiers: fixed } } },
    });
    const said = await explained(other, { model: "r" });
    expect(said["arrangement"]).toEqual({ decided: ["a", "b"], by_chance: false });
    expect(said["plan"]).toMatchObject([{ endpoint: "b" }, { endpoint: "a" }]);
  });

  it("by its shape has exactly the same explanation as by the request itself", async () => {
    const upstreams = await twoUpstreams();
    const router = await startRouter({ table: tableOver(upstreams) });
    for (const needs of [[], ["tools"], ["image_input"]]) {
      const byRequest = await explained(router, {
        model: "r",
        request: chatBody(needs, null, false),
      });
      const { dimensions: _none, ...shape } = isJsonObject(byRequest["shape"])
        ? byRequest["shape"]
        : {};
      expect(shape).toMatchObject({ context: "to_1k", needs });
      const byShape = await explained(router, { model: "r", ...shape });
      // Only a whole request has a member to point at.
      expect(withoutParameters(byShape)).toEqual(withoutParameters(byRequest));
    }
  });

  it("calls no provider, and lists every constraint's verdict for every candidate", async () => {
    const upstreams = await twoUpstreams();
    const policies = fakePolicies(() => [
      { id: "residency", constraint: "region", effect: "filter", verdict: "fail", failing: ["b"] },
      { id: "watched", slot: "candidate", constraint: "gate", effect: "gate", verdict: "fail" },
    ]);
    const router = await startRouter({ table: tableOver(upstreams), policies });
    const said = await explained(router, { model: "r", needs: ["tools"] });
    expect(upstreams.map(({ calls }) => calls.length)).toEqual([0, 0]);
    expect(said["plan"]).toMatchObject([
      { endpoint: "a", rank: "primary", provider: "p-a", region: "eu-west" },
    ]);
    const [a, b] = Array.isArray(said["candidates"]) ? said["candidates"] : [];
    const constraints = [
      "capability_supported:tools",
      "capability_approved:tools",
      "provider_approved",
      "region_approved",
      "region",
      "gate",
    ];
    for (const candidate of [a, b]) {
      expect(candidate).toMatchObject({
        constraints: constraints.map((constraint) => ({ constraint })),
      });
    }
    expect(a).toMatchObject({ in_plan: true });
    expect(b).toMatchObject({ in_plan: false });
    expect(b).toHaveProperty("constraints.4.verdict", "fail");
    expect(a).toHaveProperty("constraints.4.verdict", "pass");
    expect(router.decisions).toMatchObject([
      { operation: "simulate", outcome: "answer", route: null },
    ]);
    expect(said["if_promoted"]).toMatchObject({
      outcome: "deny",
      denial: { policy: { id: "watched" } },
    });
  });

  it("reports endpoints without a secret, and the error where none is left", async () => {
    const upstreams = await twoUpstreams();
    const some = await startRouter({ table: tableOver(upstreams), disabled: ["p-a"] });
    const partly = await explained(some, { model: "r" });
    expect(partly["plan"]).toMatchObject([{ available: false }, { available: true }]);
    expect(partly["error"]).toBeNull();
    const none = await startRouter({ table: tableOver(upstreams), disabled: ["p-a", "p-b"] });
    const response = await post(none, chatBody([], null, false));
    expect(await explained(none, { model: "r" })).toMatchObject({
      outcome: "route",
      error: { status: response.status, code: (await errorOf(response)).code },
    });
  });
});

type Drawn = typeof rows extends fc.Arbitrary<infer Value> ? Value : never;

function drawnTable(drawn: Drawn, upstreams: readonly Upstream[]): RoutingTable {
  const base = tableOver(upstreams);
  const price = { input: drawn.price, output: 1, request: 0 };
  return {
    ...base,
    endpoints: {
      a: endpoint("a", { provider: "p-a", capabilities: drawn.capabilities[0] }),
      b: endpoint("b", {
        provider: "p-b",
        region: drawn.region,
        price,
        capabilities: drawn.capabilities[1],
      }),
    },
    routes: { r: route("r", "a", ["b"], { onGap: drawn.onGap === "deny" ? "deny" : "narrow" }) },
    workspaces: {
      w: workspace("w", {
        routes: drawn.routes,
        providers: drawn.providers,
        regions: drawn.regions,
        capabilities: drawn.approved,
      }),
    },
  };
}

function drawnPolicies(drawn: Drawn) {
  const gate = drawn.gate === "pass" || drawn.gate === "fail" ? drawn.gate : "indeterminate";
  return fakePolicies((input) => [
    { id: "gate", effect: "gate", verdict: input.request.stream ? gate : "pass" },
    {
      id: "filter",
      effect: "filter",
      verdict: drawn.filtered.length === 0 ? "pass" : "fail",
      failing: drawn.filtered,
    },
  ]);
}

function withoutParameters(explanation: JsonObject): JsonObject {
  const { error } = explanation;
  return { ...explanation, error: isJsonObject(error) ? { ...error, param: null } : null };
}

describe("a simulated moderation", () => {
  const moderating = (defaultModerationRoute: string | null): RoutingTable => {
    const upstream = { url: "http://127.0.0.1:1", calls: [] };
    const base = tableOver([upstream]);
    return {
      ...base,
      models: { m: { ...modelRow, operations: ["moderate"] } },
      routes: { r: route("r", "a", [], { operations: ["moderate"] }) },
      workspaces: { w: workspace("w", { providers: ["p-a"] }, { defaultModerationRoute }) },
    };
  };
  const path = "/v1/route/simulate?operation=moderations";

  it("may omit the route for the workspace's, as a real one may", async () => {
    const router = await startRouter({ table: moderating("r") });
    for (const body of [{ request: { input: "a" } }, {}]) {
      const response = await simulate(router, body, path);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ outcome: "route", route: "r" });
    }
    const other = await simulate(router, {});
    expect(other.status).toBe(400);
    expect(await errorOf(other)).toMatchObject({ code: "missing_field", param: "model" });
  });

  it("gets the answer of a real one where the workspace has no route for it", async () => {
    const router = await startRouter({ table: moderating(null) });
    const response = await simulate(router, { request: { input: "a" } }, path);
    expect(await response.json()).toMatchObject({
      outcome: "deny",
      error: { code: "moderation_route_missing" },
    });
  });
});
