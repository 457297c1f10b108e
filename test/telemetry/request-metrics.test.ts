import { describe, expect, it } from "vitest";
import { asIdentifier, type AttemptRecord } from "../../src/evidence/record.ts";
import { decisionRecord, outcomeRecord } from "../store/records.ts";
import { formatExposition } from "../../src/telemetry/families.ts";
import { requestMetrics, type RequestMetrics } from "../../src/telemetry/request-metrics.ts";
import {
  answerJson,
  delta,
  hello,
  post,
  sse,
  startRouter,
  startSse,
  startUpstream,
  tableOver,
  until,
} from "../support/router.ts";
import { parseExposition, sumOf, type ParsedFamily } from "./parse-exposition.ts";

function pageOf(metrics: RequestMetrics): ReadonlyMap<string, ParsedFamily> {
  return parseExposition(formatExposition(metrics.families, undefined).text);
}

describe("metrics of requests", () => {
  it("agree with the evidence, after every kind of end", async () => {
    let mode = "well";
    const first = await startUpstream((response) => {
      if (mode === "overloaded" || mode === "all-down")
        return answerJson(response, { error: {} }, 503);
      if (mode === "cut") {
        startSse(response);
        response.write(sse(delta("one")));
        setTimeout(() => response.destroy(), 10);
        return undefined;
      }
      if (mode !== "hang") answerJson(response);
      return undefined;
    });
    const second = await startUpstream((response) =>
      mode === "all-down" ? answerJson(response, { error: {} }, 500) : answerJson(response),
    );
    const metrics = requestMetrics();
    const table = tableOver([first, second]);
    const router = await startRouter({ table, runtime: { observer: metrics } });
    const workspace = table.workspaces.w;
    if (workspace === undefined) throw new Error("no workspace");
    const strict = {
      ...table,
      workspaces: { w: { ...workspace, approve: { ...workspace.approve, providers: [] } } },
    };
    const denying = await startRouter({ table: strict, runtime: { observer: metrics } });
    let count = 0;
    const ask = async (next: string, send: () => Promise<unknown>): Promise<void> => {
      mode = next;
      await send();
      count += 1;
      await router.settled(count);
    };
    const inFlight = (): number => sumOf(pageOf(metrics), "signalbox_requests_in_flight");
    await ask("well", () => post(router, hello));
    await ask("well", () => post(router, hello));
    await ask("overloaded", () => post(router, hello));
    await ask("all-down", () => post(router, hello));
    await ask("cut", async () => (await post(router, { ...hello, stream: true })).text());
    await ask("well", () => post(router, { model: "no-such-route", messages: hello.messages }));
    await ask("well", () => post(router, "{"));
    await ask("well", () => post(router, hello, { authorization: "Bearer bad" }));
    await ask("well", () =>
      fetch(`${router.url}/v1/models`, { headers: { authorization: "Bearer good" } }),
    );
    await ask("hang", async () => {
      const controller = new AbortController();
      const calls = first.calls.length;
      const gone = fetch(`${router.url}/v1/chat/completions`, {
        method: "POST",
        signal: controller.signal,
        headers: { authorization: "Bearer good", "content-type": "application/json" },
        body: JSON.stringify(hello),
      });
      await until(() => first.calls.length > calls);
      expect(inFlight()).toBe(1);
      controller.abort();
      await gone.catch(() => {});
    });
    await post(denying, hello);
    await denying.settled(1);
    await fetch(`${router.adminUrl}/livez`);
    await until(() => inFlight() === 0);
    const page = pageOf(metrics);
    const decisions = [...router.decisions, ...denying.decisions];
    const outcomes = [...router.outcomes, ...denying.outcomes];
    const TERMINALS = ["client_closed", "completed", "denied", "failed", "refused"];
    expect([...new Set(outcomes.map(({ terminal }) => terminal))].toSorted()).toEqual(TERMINALS);

    for (const terminal of TERMINALS) {
      const inEvidence = outcomes.filter((outcome) => outcome.terminal === terminal).length;
      expect(sumOf(page, "signalbox_requests_total", { terminal }), terminal).toBe(inEvidence);
      expect(sumOf(page, "signalbox_workspace_requests_total", { terminal }), terminal).toBe(
        inEvidence,
      );
      expect(sumOf(page, "signalbox_request_duration_seconds_count", { terminal }), terminal).toBe(
        inEvidence,
      );
    }
    for (const outcome of ["route", "deny", "refuse", "answer"]) {
      const inEvidence = decisions.filter((decision) => decision.outcome === outcome).length;
      expect(inEvidence).toBeGreaterThan(0);
      expect(sumOf(page, "signalbox_decisions_total", { outcome }), outcome).toBe(inEvidence);
    }
    const attempts = outcomes.flatMap((outcome): readonly AttemptRecord[] => outcome.attempts);
    for (const provider of ["p-a", "p-b"]) {
      const own = attempts.filter((attempt) => attempt.provider === provider);
      expect(sumOf(page, "signalbox_attempts_total", { provider })).toBe(own.length);
      const overloaded = own.filter(({ failure }) => failure === "overloaded").length;
      expect(sumOf(page, "signalbox_attempts_total", { provider, failure: "overloaded" })).toBe(
        overloaded,
      );
    }
    expect(sumOf(page, "signalbox_fallbacks_total", { route: "r", endpoint: "a" })).toBe(2);
    expect(sumOf(page, "signalbox_denials_total", { reason: "PROVIDER_NOT_APPROVED" })).toBe(1);
    expect(sumOf(page, "signalbox_refusals_total", { code: "invalid_json" })).toBe(1);
    expect(sumOf(page, "signalbox_first_byte_seconds_count")).toBe(
      outcomes.filter(({ firstByte }) => firstByte !== null).length,
    );
    const sum = (values: readonly (number | null)[]): number =>
      values.reduce<number>((all, one) => all + (one ?? 0), 0);
    expect(sumOf(page, "signalbox_tokens_total", { type: "input" })).toBe(
      sum(outcomes.map((one) => one.inputTokens)),
    );
    expect(sumOf(page, "signalbox_tokens_total", { type: "output" })).toBe(
      sum(outcomes.map((one) => one.outputTokens)),
    );
    expect(
      sumOf(page, "signalbox_workspace_tokens_total", { workspace: "w", type: "output" }),
    ).toBeGreaterThan(0);
    expect(sumOf(page, "signalbox_workspace_cost_usd_total")).toBeCloseTo(
      sumOf(page, "signalbox_cost_usd_total"),
    );
    const total = sum(outcomes.map((one) => one.total)) / 1000;
    expect(sumOf(page, "signalbox_request_duration_seconds_sum")).toBeCloseTo(total, 6);
  });

  it("add up known costs where they were answered, and count requests of unknown cost", () => {
    const metrics = requestMetrics();
    const attempt = outcomeRecord("r").attempts.at(-1);
    if (attempt === undefined) throw new Error("no attempt");
    const ofTwo = [
      { ...attempt, endpoint: asIdentifier("e1"), provider: asIdentifier("p1"), calls: 3 },
      { ...attempt, endpoint: asIdentifier("e2"), provider: asIdentifier("p2"), calls: 1 },
    ];
    for (const more of [
      { attempts: [ofTwo[0] ?? attempt], costNanoUsd: 500_000_000 },
      { attempts: ofTwo, costNanoUsd: 4_000_000_000 },
      { attempts: [ofTwo[1] ?? attempt], costNanoUsd: null },
      { attempts: [] },
    ]) {
      const ended = {
        decision: decisionRecord("r"),
        outcome: { ...outcomeRecord("r"), ...more },
        traceId: null,
      };
      metrics.ended("chat.completions", ended);
    }
    const page = pageOf(metrics);
    expect(sumOf(page, "signalbox_cost_usd_total", { provider: "p1" })).toBeCloseTo(3.5, 9);
    expect(sumOf(page, "signalbox_cost_usd_total", { provider: "p2" })).toBeCloseTo(1, 9);
    expect(sumOf(page, "signalbox_unpriced_requests_total")).toBe(1);
    expect(sumOf(page, "signalbox_unpriced_requests_total", { provider: "p2" })).toBe(1);
  });

  it("cost no request where they fail", async () => {
    const upstream = await startUpstream((response) => answerJson(response));
    const ended = (): never => {
      throw new Error("broken");
    };
    const router = await startRouter({
      table: tableOver([upstream]),
      runtime: { observer: { began: () => {}, ended } },
    });
    expect((await post(router, hello)).status).toBe(200);
    await router.settled(1);
    await until(() => router.snapshots.users === 0);
  });

  it("create no series from names of anonymous callers", async () => {
    const upstream = await startUpstream((response) => answerJson(response));
    const metrics = requestMetrics();
    const router = await startRouter({
      table: tableOver([upstream]),
      runtime: { observer: metrics },
    });
    const name = "an-undeclared-name";
    for (let time = 0; time < 20; time += 1) {
      await post(
        router,
        { ...hello, model: `${name}-${time}` },
        { "x-client-request-id": `${name}-${time}` },
      );
      await fetch(`${router.url}/v1/${name}/${time}`);
      await post(router, { ...hello, provider: { only: [`${name}-${time}`] } });
      await fetch(`${router.url}/v1/models/${name}-${time}`, {
        headers: { authorization: `Bearer ${name}` },
      });
    }
    await router.settled(60);
    const { text } = formatExposition(metrics.families, undefined);
    expect(text).not.toContain(name);
    expect(parseExposition(text).get("signalbox_requests_total")?.samples.length).toBeLessThan(6);
  });
});
