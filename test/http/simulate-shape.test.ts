import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../src/canon/json.ts";
import type { PolicySet } from "../../src/canon/policy.ts";
import { SHAPE_MEMBERS } from "../../src/http/contract/decision-schemas.ts";
import { errorOf, startRouter, tableOver } from "../support/router.ts";
import { fakePolicies, model, table } from "../support/table.ts";
import { explained, PATH, simulate, twoUpstreams } from "./simulation.ts";

/** Every member that says something of a request, with something to say. */
const SHAPE: Readonly<Record<string, JsonValue>> = {
  needs: ["tools"],
  features: ["seed"],
  stream: true,
  context: "to_4k",
  max_output: "to_1k",
  reasoning_effort: "low",
  signature_families: ["openai"],
  dimensions: 512,
};

describe("a simulation without a request", () => {
  it("presents all its attributes to policies, at its own time", async () => {
    const policies = fakePolicies(() => []);
    const models = [model("m", { dimensions: [512], signatureFamily: "openai" })];
    const router = await startRouter({
      table: table({ models }),
      policies: { ...policies, readsTime: true },
    });
    for (const time of [
      { day: "weekend", hour: "evening" },
      { day: "weekday", hour: "night" },
    ]) {
      const said = await explained(router, {
        model: "r",
        ...SHAPE,
        time,
        provider: { zdr: true, data_collection: "allow" },
      });
      expect(said).toMatchObject({ shape: SHAPE, time });
      expect(policies.requested.at(-1)).toMatchObject({
        time,
        request: {
          needs: ["tools"],
          stream: true,
          context: "to_4k",
          max_output: "to_1k",
          reasoning_effort: "low",
          dimensions: 512,
          zdr: true,
          data_collection: "allow",
        },
      });
    }
    expect(Object.keys(SHAPE)).toEqual(SHAPE_MEMBERS);
  });

  it("decides as if candidates were promoted on request, and never otherwise", async () => {
    const policies = fakePolicies(() => [
      { id: "watched", slot: "candidate", effect: "gate", verdict: "fail" },
    ]);
    const watched = { ...policies, policies: [identityOf("watched")] };
    const router = await startRouter({ table: table(), policies: watched });
    for (const promoted of [undefined, false, true, false]) {
      const said = await explained(router, {
        model: "r",
        ...(promoted === undefined ? {} : { promoted }),
      });
      expect(said.outcome).toBe(promoted === true ? "deny" : "route");
      expect(said.promoted).toBe(promoted === true);
    }
  });
});

function identityOf(id: string): PolicySet["policies"][number] {
  const contract = {
    contract: 1,
    id,
    title: "",
    owners: [],
    operations: [],
    constraints: [],
    obligations: [],
  } as const;
  return { identity: { id, revision: 1, digest: "d".repeat(64), slot: "candidate" }, contract };
}

describe("a simulation that is refused", () => {
  it.each<readonly [string, object, string, string | null]>([
    ["no operation", { model: "r" }, "/v1/route/simulate", "operation"],
    ["an unknown operation", { model: "r" }, "/v1/route/simulate?operation=fly", "operation"],
    ["no model", {}, PATH, "model"],
    ["an unknown need", { model: "r", needs: ["flying"] }, PATH, "needs[0]"],
    ["needs and request", { model: "r", needs: [], request: {} }, PATH, null],
    ["a broken request", { model: "r", request: { messages: [] } }, PATH, "request.messages"],
    [
      "a refused request",
      { model: "r", request: { messages: [{ role: "user" }], store: true } },
      PATH,
      "request.store",
    ],
    ["stream beside a request", { model: "r", stream: true, request: {} }, PATH, null],
    [
      "an unknown field",
      { model: "r", request: { messages: [{ role: "user" }], frobnicate: 1 } },
      PATH,
      "request.frobnicate",
    ],
    ["an unknown member", { model: "r", modle: 1 }, PATH, "modle"],
    ["an unknown feature", { model: "r", features: ["flying"] }, PATH, "features[0]"],
    ["a feature twice", { model: "r", features: ["seed", "seed"] }, PATH, "features"],
    ["a bucket that is none", { model: "r", context: "to_2k" }, PATH, "context"],
    ["a number for a bucket", { model: "r", max_output: 100 }, PATH, "max_output"],
    ["an effort that is none", { model: "r", reasoning_effort: "lots" }, PATH, "reasoning_effort"],
    ["no vectors", { model: "r", dimensions: 0 }, PATH, "dimensions"],
    ["half a window", { model: "r", time: { day: "weekend" } }, PATH, "time.hour"],
    [
      "a day that is none",
      { model: "r", time: { day: "monday", hour: "night" } },
      PATH,
      "time.day",
    ],
    ["text for a truth", { model: "r", promoted: "yes" }, PATH, "promoted"],
    ...SHAPE_MEMBERS.map((member): readonly [string, object, string, string | null] => [
      `${member} beside a request`,
      { model: "r", [member]: SHAPE[member], request: { messages: [{ role: "user" }] } },
      PATH,
      null,
    ]),
  ])("refuses %s by name", async (_, body, path, param) => {
    const router = await startRouter({ table: tableOver(await twoUpstreams()) });
    const response = await simulate(router, body, path);
    expect(response.status).toBe(400);
    expect((await errorOf(response)).param).toBe(param);
  });
});
