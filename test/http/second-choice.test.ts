import { describe, expect, it } from "vitest";
import type { HealthSettings, RouteRow, RoutingTable } from "../../src/canon/table.ts";
import type { OutcomeRecord } from "../../src/evidence/record.ts";
import { formatExposition } from "../../src/telemetry/families.ts";
import { requestMetrics } from "../../src/telemetry/request-metrics.ts";
import { fakePolicies } from "../support/table.ts";
import {
  answerJson,
  hello,
  post,
  startRouter,
  startUpstream,
  tableOver,
  until,
  type Router,
  type Upstream,
} from "../support/router.ts";

const HEALTH: HealthSettings = {
  consecutiveFailures: 1,
  failureRatio: 0,
  minimumCalls: 20,
  window: 30_000,
  ejection: 60_000,
  longestEjection: 60_000,
  probe: null,
};

function withRoute(base: RoutingTable, more: Partial<RouteRow>): RoutingTable {
  const row = base.routes.r;
  if (row === undefined) throw new Error("no route r");
  return { ...base, routes: { r: { ...row, ...more } } };
}

function tableOf(upstreams: readonly Upstream[], more: Partial<RouteRow> = {}): RoutingTable {
  return withRoute(tableOver(upstreams, { health: HEALTH }), { maxEjectedShare: 0.5, ...more });
}

const good = (): Promise<Upstream> => startUpstream((response) => answerJson(response));
const failing = (status: number): Promise<Upstream> =>
  startUpstream((response) => answerJson(response, { error: { message: "no" } }, status));

/** Of the last of so many equal requests. */
async function lastOutcome(
  router: Router,
  requests: number,
  more: object = {},
): Promise<Pick<OutcomeRecord, "skipped" | "secondChoice"> & { readonly calls: string }> {
  for (let sent = 1; sent <= requests; sent += 1) {
    await (await post(router, { ...hello, ...more })).arrayBuffer();
    await router.settled(sent);
  }
  const { skipped, secondChoice, attempts } = router.outcomes.at(-1) ?? {};
  const calls = (attempts ?? []).map(({ endpoint }) => endpoint).join();
  return { calls, ...(skipped && { skipped }), ...(secondChoice && { secondChoice }) };
}

describe("a request that the first choice did not answer", () => {
  it("has neither `skipped` nor `secondChoice` where the first choice answered", async () => {
    const router = await startRouter({ table: tableOf([await good(), await good()]) });
    expect(await lastOutcome(router, 1)).toEqual({ calls: "a" });
  });

  it("is recorded with the failed call of the primary", async () => {
    const router = await startRouter({ table: tableOf([await failing(500), await good()]) });
    expect(await lastOutcome(router, 1)).toEqual({ calls: "a,b", secondChoice: "failed" });
  });

  it("is recorded as ejected where the primary was ejected before", async () => {
    const router = await startRouter({ table: tableOf([await failing(500), await good()]) });
    expect(await lastOutcome(router, 3)).toEqual({
      calls: "b",
      skipped: [{ endpoint: "a", reason: "ejected" }],
      secondChoice: "ejected",
    });
  });

  it("the reason is rate_limited after a provider's 429", async () => {
    const limited = await startUpstream((response) => {
      response.writeHead(429, { "content-type": "application/json", "retry-after": "60" });
      response.end("{}");
    });
    const router = await startRouter({ table: tableOf([limited, await good()]) });
    expect(await lastOutcome(router, 2)).toEqual({
      calls: "b",
      skipped: [{ endpoint: "a", reason: "rate_limited" }],
      secondChoice: "rate_limited",
    });
  });

  it("the reason is preference where the caller orders or ignores providers", async () => {
    const router = await startRouter({ table: tableOf([await good(), await good()]) });
    expect(await lastOutcome(router, 1, { provider: { order: ["p-b"] } })).toEqual({
      calls: "b",
      secondChoice: "preference",
    });
    const without = await startRouter({
      table: tableOf([await good(), await good()], { onGap: "narrow" }),
    });
    expect(await lastOutcome(without, 1, { provider: { ignore: ["p-a"] } })).toEqual({
      calls: "b",
      secondChoice: "preference",
    });
  });

  it("does not count another endpoint of the primary's load-balanced group", async () => {
    const group = { endpoints: ["a", "b"], balance: "weighted", weights: [1, 1_000_000] } as const;
    const balanced = tableOf([await good(), await good()], { tiers: [group] });
    expect(await lastOutcome(await startRouter({ table: balanced }), 1)).toEqual({ calls: "b" });
    const ejecting = tableOf([await failing(500), await good()], {
      tiers: [{ ...group, weights: [1_000_000, 1] }],
    });
    expect(await lastOutcome(await startRouter({ table: ejecting }), 2)).toEqual({
      calls: "b",
      skipped: [{ endpoint: "a", reason: "ejected" }],
    });
  });

  it("names a full queue, and the policy that left the primary out", async () => {
    let release = (): void => {};
    const busy = await startUpstream(async (response) => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      answerJson(response);
    });
    const table = tableOver([busy, await good()], {
      maxConcurrency: 1,
      queue: { size: 0, wait: 1 },
    });
    const router = await startRouter({ table });
    const first = post(router, hello);
    await until(() => busy.calls.length === 1);
    expect(await lastOutcome(router, 1)).toEqual({ calls: "a,b", secondChoice: "queue_full" });
    release();
    await first;

    const policies = fakePolicies(() => [
      { id: "fake", effect: "filter", verdict: "fail", failing: ["a"] },
    ]);
    const filtered = await startRouter({ table: tableOf([await good(), await good()]), policies });
    expect(await lastOutcome(filtered, 1)).toEqual({ calls: "b", secondChoice: "policy" });
  });

  it("counts in the metrics by route and reason, also where no call of it failed", async () => {
    const metrics = requestMetrics();
    const router = await startRouter({
      table: tableOf([await failing(500), await good()]),
      runtime: { observer: metrics },
    });
    await lastOutcome(router, 5);
    const { text } = formatExposition(metrics.families, undefined);
    const lines = text.split("\n").filter((line) => /^signalbox_(second|fallb).*_total/.test(line));
    expect(lines).toEqual([
      'signalbox_fallbacks_total{route="r",endpoint="a",failure="server_error"} 1',
      'signalbox_second_choices_total{route="r",reason="failed"} 1',
      'signalbox_second_choices_total{route="r",reason="ejected"} 4',
    ]);
  });
});
