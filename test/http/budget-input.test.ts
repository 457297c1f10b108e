import { afterEach, describe, expect, it } from "vitest";
import { budgetLevels } from "../../src/limits/usage.ts";
import type { LimitUsage } from "../../src/limits/limit-store.ts";
import { windowAt } from "../../src/limits/windows.ts";
import {
  answerJson,
  errorOf,
  hello,
  post,
  startRouter,
  startUpstream,
  tableOver,
} from "../support/router.ts";
import { fakePolicies } from "../support/table.ts";
import { withLimits } from "./limited-router.ts";

const NOW = Date.UTC(2026, 10, 22, 10, 0, 10);
let reading: () => Promise<LimitUsage>;

const usedOfDay = (used: number): Promise<LimitUsage> => {
  const day = {
    subject: "workspace:w",
    measure: "tokens",
    window: "day",
    start: windowAt("day", NOW).start,
  } as const;
  return Promise.resolve({ counters: [{ ...day, used }], slots: [] });
};

async function routerWith(readsBudget: boolean) {
  const upstream = await startUpstream((response) => {
    answerJson(response);
  });
  let now = NOW;
  let reads = 0;
  const read = (): Promise<LimitUsage> => {
    reads += 1;
    return reading();
  };
  const policies = { ...fakePolicies(), readsBudget };
  const router = await startRouter({
    table: withLimits(tableOver([upstream]), { budget: { tokens: 1_000_000_000, per: "day" } }),
    policies,
    runtime: { budgets: budgetLevels({ read }, () => now) },
  });
  const later = (milliseconds: number): void => {
    now += milliseconds;
  };
  return { upstream, router, policies, later, reads: () => reads };
}

afterEach(() => {
  reading = () => usedOfDay(0);
});

describe("input.budget of a request", () => {
  it("is the caller's remaining budget, and is in the evidence", async () => {
    reading = () => usedOfDay(950_000_000);
    const { router, policies, later } = await routerWith(true);
    expect((await post(router, hello)).status).toBe(200);
    reading = () => usedOfDay(1_000_000_000);
    later(60_000);
    expect((await post(router, hello)).status).toBe(200);
    expect(policies.requested.map(({ budget }) => budget.remaining)).toEqual([
      "below_tenth",
      "exhausted",
    ]);
    expect(router.decisions.map(({ budget }) => budget)).toEqual(["below_tenth", "exhausted"]);
  });

  it("is unlimited, in the evidence too, without limits", async () => {
    const policies = { ...fakePolicies(), readsBudget: true };
    const router = await startRouter({
      table: tableOver([await startUpstream((response) => answerJson(response))]),
      policies,
    });
    expect((await post(router, hello)).status).toBe(200);
    expect(policies.requested.map(({ budget }) => budget.remaining)).toEqual(["unlimited"]);
    expect(router.decisions[0]).toMatchObject({ budget: "unlimited" });
  });

  it("is neither looked up nor recorded where no policy reads it", async () => {
    const { router, policies, reads } = await routerWith(false);
    expect((await post(router, hello)).status).toBe(200);
    expect(policies.requested.map(({ budget }) => budget.remaining)).toEqual(["unlimited"]);
    expect(router.decisions[0]).not.toHaveProperty("budget");
    expect(reads()).toBe(0);
  });

  it("is not waited for beyond the request's deadline", async () => {
    reading = () => new Promise(() => {});
    const { router, upstream } = await routerWith(true);
    const refused = await post(router, hello, { "x-request-timeout-ms": "5" });
    expect([refused.status, (await errorOf(refused)).code]).toEqual([
      504,
      "upstream_timeout_total",
    ]);
    expect(upstream.calls).toEqual([]);
  });

  it("is unknown without the counters: no policy is evaluated, and no provider is called", async () => {
    reading = () => Promise.reject(new Error("no disk"));
    const { router, policies, upstream } = await routerWith(true);
    const refused = await post(router, hello);
    expect([refused.status, (await errorOf(refused)).code]).toEqual([503, "limits_unavailable"]);
    expect([policies.requested, upstream.calls]).toEqual([[], []]);
  });
});
