import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { startRouter, startUpstream, type Router } from "../support/router.ts";
import { askings, estates, policiesOf, rules, tableOf, type Asking } from "./simulate-estate.ts";

const KEY = { authorization: "Bearer good", "content-type": "application/json" };

async function postJson(url: string, body: unknown): Promise<{ readonly status: number; readonly json: JsonObject }> {
  const response = await fetch(url, { method: "POST", headers: KEY, body: JSON.stringify(body) });
  const json: JsonObject = JSON.parse(await response.text());
  return { status: response.status, json };
}

function objects(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item): item is JsonObject => isJsonObject(item)) : [];
}

function member(value: JsonValue | undefined, name: string): JsonValue {
  return (isJsonObject(value) ? value[name] : null) ?? null;
}

/** Endpoint ids tier by tier, each tier sorted: who of equals goes first is found at dispatch. */
function tiersOf(plan: readonly JsonObject[]): readonly (readonly JsonValue[])[] {
  const tiers = Map.groupBy(plan, ({ tier }) => tier);
  return [...tiers.values()].map((tier) => tier.map(({ endpoint }) => JSON.stringify(endpoint)).toSorted());
}

/** What happened, cut into the same tiers. */
function cut(attempts: readonly string[], tiers: readonly (readonly JsonValue[])[]): readonly (readonly string[])[] {
  let from = 0;
  return tiers.map(({ length }) => attempts.slice(from, (from += length)).toSorted());
}

async function simulateThenExecute(router: Router, { operation, path, body }: Asking, calls: readonly unknown[]) {
  const before = calls.length;
  const said = await postJson(`${router.url}/v1/route/simulate?operation=${operation}`, { request: body });
  expect(calls.length, "simulation called a provider").toBe(before);
  const done = router.outcomes.length;
  const real = await postJson(`${router.url}${path}`, body);
  await router.settled(done + 1);
  const [decision, outcome] = [router.decisions.at(-1), router.outcomes.at(-1)];
  if (decision === undefined || outcome === undefined) throw new Error("a call without a record");
  return { said, real, decision, outcome };
}

const counts = { routed: 0, several: 0, denied: 0, refused: 0 };

describe("simulate == execute", () => {
  it(
    "over random tables, policies and requests: route, order, denial, reason, status",
    { timeout: 120_000 },
    async () => {
      // What an operator must mend sends a request to every other place, once and without a pause.
      const upstream = await startUpstream((response) => {
        response.writeHead(401, { "content-type": "application/json" });
        response.end("{}");
      });
      await fc.assert(
        fc.asyncProperty(
          estates,
          rules,
          fc.array(askings, { minLength: 2, maxLength: 5 }),
          async (estate, ruled, asked) => {
            for (const asking of asked) {
              // A fresh router each time: what it has learnt of endpoints may put equals in another order, or a place out.
              const router = await startRouter({ table: tableOf(estate, upstream.url), policies: policiesOf(ruled) });
              const { said, real, decision, outcome } = await simulateThenExecute(router, asking, upstream.calls);
              if (said.status !== 200) {
                counts.refused += 1;
                expect(decision.outcome).toBe("refuse");
                expect(said.status).toBe(real.status);
                expect(outcome.attempts).toEqual([]);
                continue;
              }
              const plan = objects(said.json["plan"]);
              expect(said.json["outcome"]).toBe(decision.outcome);
              expect(said.json["route"]).toBe(decision.route);
              expect(plan.map(({ endpoint }) => endpoint)).toEqual(decision.plan);
              if (said.json["outcome"] === "deny") {
                counts.denied += 1;
                const { denial } = said.json;
                expect(member(member(denial, "policy"), "id")).toBe(decision.policy);
                expect(member(member(denial, "policy"), "revision")).toBe(decision.policyRevision);
                expect(member(denial, "failed_constraint")).toBe(decision.constraint);
                expect(member(denial, "reason_code")).toBe(decision.reason);
                expect(member(said.json["error"], "status")).toBe(real.status);
                expect(outcome.attempts).toEqual([]);
                continue;
              }
              counts.routed += 1;
              if (plan.length > 1) counts.several += 1;
              const attempts = outcome.attempts.map(({ endpoint }) => JSON.stringify(endpoint));
              const tiers = tiersOf(plan);
              if (said.json["max_places"] === 1) expect(tiers[0]).toContain(attempts.join());
              else expect(cut(attempts, tiers)).toEqual(tiers);
            }
          },
        ),
        { numRuns: 70 },
      );
      // A generator that only denies would prove nothing about the rest.
      expect(counts.routed).toBeGreaterThan(20);
      expect(counts.several).toBeGreaterThan(10);
      expect(counts.denied).toBeGreaterThan(20);
      expect(counts.refused).toBeGreaterThan(2);
    },
  );
});
