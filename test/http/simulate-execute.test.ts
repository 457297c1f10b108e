import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { startRouter, startUpstream, type Router } from "../support/router.ts";
import { askings, fixtures, policiesOf, rules, tableOf, type Asking } from "./simulate-fixture.ts";
import { learnings, candidatesWith } from "./simulate-learnt.ts";

const KEY = { authorization: "Bearer good", "content-type": "application/json" };

async function postJson(
  url: string,
  body: unknown,
): Promise<{ readonly status: number; readonly json: JsonObject }> {
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

/**
 * @param chance what every draw gives, from 0 up to, and without, 1: first for the simulation, then
 * for the call.
 */
async function simulateThenExecute(
  router: Router,
  { operation, path, body }: Asking,
  calls: readonly unknown[],
  chance: readonly [number, number],
) {
  const before = calls.length;
  const random = vi.spyOn(Math, "random").mockReturnValue(chance[0]);
  const said = await postJson(`${router.url}/v1/route/simulate?operation=${operation}`, {
    request: body,
  });
  expect(calls.length, "simulation called a provider").toBe(before);
  const done = router.outcomes.length;
  random.mockReturnValue(chance[1]);
  const real = await postJson(`${router.url}${path}`, body);
  await router.settled(done + 1);
  random.mockRestore();
  const [decision, outcome] = [router.decisions.at(-1), router.outcomes.at(-1)];
  if (decision === undefined || outcome === undefined) throw new Error("a call without a record");
  return { said, real, decision, outcome };
}

const counts = { routed: 0, several: 0, rearranged: 0, denied: 0, refused: 0 };
const chances = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("simulate == execute", () => {
  it(
    "over random tables, policies, requests, measurements and health: route, order, denial, reason, status",
    { timeout: 120_000 },
    async () => {
      // What an operator must fix sends a request to every other endpoint, once and without a
      // pause.
      const upstream = await startUpstream((response) => {
        response.writeHead(401, { "content-type": "application/json" });
        response.end("{}");
      });
      await fc.assert(
        fc.asyncProperty(
          fixtures,
          rules,
          fc.array(askings, { minLength: 2, maxLength: 5 }),
          learnings,
          fc.oneof(
            chances.map((chance): readonly [number, number] => [chance, chance]),
            fc.tuple(chances, chances),
          ),
          async (fixture, ruled, requested, learnt, chance) => {
            for (const asking of requested) {
              // A fresh router each time: every failure changes what is known of the endpoints.
              const router = await startRouter({
                table: tableOf(fixture, upstream.url),
                policies: policiesOf(ruled),
                runtime: { endpoints: candidatesWith(learnt) },
              });
              const { said, real, decision, outcome } = await simulateThenExecute(
                router,
                asking,
                upstream.calls,
                chance,
              );
              if (said.status !== 200) {
                counts.refused += 1;
                expect(decision.outcome).toBe("refuse");
                expect(said.status).toBe(real.status);
                expect(outcome.attempts).toEqual([]);
                continue;
              }
              const plan = objects(said.json.plan);
              expect(said.json.outcome).toBe(decision.outcome);
              expect(said.json.route).toBe(decision.route);
              const order = plan.map(({ endpoint }) => endpoint);
              const decided =
                said.json.outcome === "route" ? member(said.json.arrangement, "decided") : order;
              expect(decided).toEqual(decision.plan);
              expect(new Set(order)).toEqual(new Set<unknown>(decision.plan));
              if (said.json.outcome === "deny") {
                counts.denied += 1;
                const { denial } = said.json;
                expect(member(member(denial, "policy"), "id")).toBe(decision.policy);
                expect(member(member(denial, "policy"), "revision")).toBe(decision.policyRevision);
                expect(member(denial, "failed_constraint")).toBe(decision.constraint);
                expect(member(denial, "reason_code")).toBe(decision.reason);
                expect(member(said.json.error, "status")).toBe(real.status);
                expect(outcome.attempts).toEqual([]);
                continue;
              }
              counts.routed += 1;
              if (plan.length > 1) counts.several += 1;
              const attempts = outcome.attempts.map(({ endpoint }) => endpoint);
              const tried = said.json.max_candidates === 1 ? order.slice(0, 1) : order;
              if (member(said.json.arrangement, "by_chance") === true) {
                if (said.json.max_candidates !== 1)
                  expect(new Set<JsonValue | undefined>(attempts)).toEqual(new Set(tried));
                if (chance[0] !== chance[1]) continue;
              }
              if (JSON.stringify(decision.plan) !== JSON.stringify(order)) counts.rearranged += 1;
              expect(attempts).toEqual(tried);
            }
          },
        ),
        { numRuns: 70 },
      );
      // A generator that only denies would prove nothing about the rest.
      expect(counts.routed).toBeGreaterThan(20);
      expect(counts.several).toBeGreaterThan(10);
      expect(counts.rearranged).toBeGreaterThan(2);
      expect(counts.denied).toBeGreaterThan(20);
      // About nine of a run; fewer than three came once in a hundred runs.
      expect(counts.refused).toBeGreaterThan(0);
    },
  );
});
