import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import type { Scope } from "../../src/canon/identity.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import { SPEND, type SpendAnswer } from "../../src/governance/summary-answer.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { SummaryTurns } from "../../src/http/control/governance-summary.ts";
import { publicIdOf } from "../../src/keys/key-text.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "../store/records.ts";
import { startRouter } from "../support/router.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { identity, table } from "../support/table.ts";
import { NOTHING_COUNTED } from "./summary-source.ts";
import { spendOfKeys, TEN_A_DAY } from "./used-budgets.ts";

const ajv = new Ajv2020({ strict: false, formats: { "date-time": true } });
const isSpend = ajv.compile(SPEND);
const AT = Date.UTC(2026, 10, 23, 6, 30);
const WINDOW = "start=2026-11-23T00:00:00Z&end=2026-11-24T00:00:00Z";

function get(
  { server }: TestServer,
  key: string,
  query: string,
  accept = "*/*",
): Promise<Response> {
  return fetch(`${server.url}/v1/spend?${query}`, {
    headers: { authorization: `Bearer ${key}`, accept },
  });
}

/**
 * Three requests of `acme-prod`: one that cost, one whose cost is unknown, and one that called no
 * provider.
 */
async function spent(): Promise<TestServer> {
  const test = await startTestServer();
  const { evidence } = test.server.store;
  for (const [id, costNanoUsd] of [
    ["r1", 1_500_000_000],
    ["r2", null],
    ["r3", undefined],
  ] as const) {
    await recordDecision(evidence, decisionRecord(id, { at: AT }));
    const nothing = id === "r3" ? { inputTokens: null, outputTokens: null, attempts: [] } : {};
    const outcome = outcomeRecord(id);
    const attempts = outcome.attempts.map((attempt) => ({
      ...attempt,
      model: asIdentifier("sonnet"),
    }));
    evidence.settle({ ...outcome, attempts, at: AT, costNanoUsd, ...nothing });
  }
  await evidence.flush();
  return test;
}

describe("GET /v1/spend", () => {
  it("reports the cost of the workspace's requests by group, and counts those of unknown cost", async () => {
    const test = await spent();
    const response = await get(
      test,
      await test.key("acme-prod", ["spend:read"]),
      `${WINDOW}&group_by=route,day`,
    );
    const body: SpendAnswer = JSON.parse(await response.text());
    expect([response.status, isSpend(body)], JSON.stringify(isSpend.errors)).toEqual([200, true]);
    expect(body).toMatchObject({
      object: "spend",
      workspace: "acme-prod",
      window: { start: "2026-11-23T00:00:00Z", end: "2026-11-24T00:00:00Z" },
      group_by: ["route", "day"],
      total: { requests: 3, cost_usd: 1.5, unpriced_requests: 1 },
      estimate: true,
    });
    expect(body.groups).toHaveLength(1);
    expect(body.groups[0]).toMatchObject({
      group: { day: "2026-11-23" },
      cost_usd: 1.5,
      unpriced_requests: 1,
    });
  });

  it("answers CSV where the caller accepts it", async () => {
    const test = await spent();
    const key = await test.key("acme-prod", ["spend:read"]);
    const response = await get(
      test,
      key,
      `${WINDOW}&group_by=day`,
      "text/csv, application/json;q=0.5",
    );
    expect(response.headers.get("content-type")).toMatch(/^text\/csv;/);
    const [head, line] = (await response.text()).split("\r\n");
    expect(head).toMatch(/^day,requests,.*,cost_usd,unpriced_requests$/);
    expect(line).toMatch(/^2026-11-23,3,.*,1\.5,1$/);
  });

  it("is hidden from another workspace", async () => {
    const test = await spent();
    const other = Object.keys(test.server.built.snapshot.decider.table.workspaces).find(
      (id) => id !== "acme-prod",
    );
    const response = await get(test, await test.key(other ?? "other", ["spend:read"]), WINDOW);
    const body: SpendAnswer = JSON.parse(await response.text());
    expect(body).toMatchObject({
      total: { requests: 0, cost_usd: null, unpriced_requests: 0 },
      groups: [],
    });
  });

  it("requires its own scope, and refuses to group by items without a cost", async () => {
    const test = await startTestServer();
    for (const scope of ["inference", "governance:read", "operations:manage"] as const) {
      expect((await get(test, await test.key("acme-prod", [scope]), "")).status).toBe(403);
    }
    const key = await test.key("acme-prod", ["spend:read"]);
    for (const query of ["group_by=policy", "group_by=provider&group_by=key", "until=now"]) {
      expect((await get(test, key, query)).status).toBe(400);
    }
  });

  it("distinguishes workspace, key, route, model and day at once, as JSON and as CSV", async () => {
    const test = await spent();
    const key = await test.key("acme-prod", ["spend:read"]);
    const query = `${WINDOW}&group_by=workspace,key,route,model,day`;
    const body: SpendAnswer = JSON.parse(await (await get(test, key, query)).text());
    expect(body.group_by).toEqual(["workspace", "key", "route", "model", "day"]);
    const used = body.groups.find(({ group }) => group.model !== null);
    expect(used?.group).toEqual({
      workspace: "acme-prod",
      key: "k7Hs92kLmQ3x",
      route: "chat-large",
      model: "sonnet",
      day: "2026-11-23",
    });
    expect([used?.requests, used?.cost_usd]).toEqual([2, 1.5]);
    const [head] = (await (await get(test, key, query, "text/csv")).text()).split("\r\n");
    expect(head).toMatch(/^workspace,key,route,model,day,requests,/);
  });

  it("has the workspace's budget in money with the usage that limits have counted", async () => {
    const budget = { usd: 50, per: "month" } as const;
    const base = table({});
    const { w } = base.workspaces;
    if (w === undefined) throw new Error("no workspace");
    const noLimits = {
      requestsPerMinute: null,
      tokensPerMinute: null,
      concurrency: null,
      perKey: null,
    };
    const read = async function* read() {};
    const router = await startRouter({
      table: { ...base, workspaces: { w: { ...w, limits: { ...noLimits, budget } } } },
      identity: { ...identity, scopes: new Set(["spend:read"]) },
      runtime: {
        summary: {
          read,
          policies: () => Promise.resolve([]),
          turns: new SummaryTurns(),
          ...NOTHING_COUNTED,
          limitUsage: (now) => {
            const date = new Date(now);
            const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
            const month = {
              subject: "workspace:w",
              measure: "micro_usd",
              window: "month",
              start,
            } as const;
            return Promise.resolve({ counters: [{ ...month, used: 2_500_000 }], slots: [] });
          },
        },
      },
    });
    const response = await fetch(`${router.url}/v1/spend`, {
      headers: { authorization: "Bearer good" },
    });
    const body: SpendAnswer = JSON.parse(await response.text());
    expect(body.budgets).toMatchObject([{ name: "usd/month", limit_usd: 50, spent_usd: 2.5 }]);
  });

  it("has budgets of keys for callers who may list these keys, and of no other workspace", async () => {
    const test = await startTestServer();
    const ids: string[] = [];
    for (const workspace of ["acme-prod", "demo"]) {
      const text = await test.key(workspace, ["inference"], { limits: TEN_A_DAY });
      ids.push(publicIdOf(text) ?? "");
    }
    await spendOfKeys(test.server.store, ids, 2.5);
    const budgetsFor = async (scopes: readonly Scope[]): Promise<SpendAnswer["budgets"]> => {
      const response = await get(test, await test.key("acme-prod", scopes), "workspaces=all");
      const body: SpendAnswer = JSON.parse(await response.text());
      expect(isSpend(body), JSON.stringify(isSpend.errors)).toBe(true);
      return body.budgets.filter(({ key }) => key !== null);
    };
    expect(await budgetsFor(["spend:read"])).toEqual([]);
    for (const scope of ["operations:manage", "platform:manage"] as const) {
      expect(await budgetsFor(["spend:read", scope])).toMatchObject([
        { name: "usd/day", workspace: "acme-prod", key: ids[0], limit_usd: 10, spent_usd: 2.5 },
      ]);
    }
  });

  it("is in the contract with its own scope", () => {
    const endpoint = ENDPOINTS.find(({ path }) => path === "/v1/spend");
    expect(endpoint).toMatchObject({ scopes: ["spend:read"], answer: SPEND });
  });
});
