import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it, vi } from "vitest";
import type { Scope } from "../../src/canon/identity.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import { type SummaryAnswer, GOVERNANCE_SUMMARY } from "../../src/governance/summary-answer.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { SummaryTurns } from "../../src/http/control/governance-summary.ts";
import { openLifecycle } from "../../src/lifecycle/open-lifecycle.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "../store/records.ts";
import { startRouter } from "../support/router.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { identity, table } from "../support/table.ts";
import { NOTHING_COUNTED } from "./summary-source.ts";

const READ: readonly Scope[] = ["governance:read"];

const ajv = new Ajv2020({ strict: false, formats: { "date-time": true } });
const isSummary = ajv.compile(GOVERNANCE_SUMMARY);

/** An answer, or an error's body: a test looks at the one that its status says. */
type Answer = SummaryAnswer & {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly param: string | null;
  };
};

async function ask(
  url: string,
  key: string,
  query = "",
): Promise<{ status: number; body: Answer }> {
  const response = await fetch(`${url}/v1/governance/summary${query}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const body: Answer = JSON.parse(await response.text());
  return { status: response.status, body };
}

async function inferOnce({ server }: TestServer, key: string, body: object): Promise<number> {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  await response.text();
  return response.status;
}

/** The whole server: what is inferred is counted, for its workspace alone. */
describe("GET /v1/governance/summary", () => {
  it("counts real requests, of the key's workspace only, without any text of them", async () => {
    const test = await startTestServer();
    const { server } = test;
    const loaded = server.built.snapshot.decider.table;
    const [workspace = "", other = "other"] = Object.keys(loaded.workspaces);
    const infer = await test.key(workspace, ["inference"]);
    const route = Object.values(loaded.routes).find(
      ({ id, operations }) =>
        operations.includes("generate") &&
        loaded.workspaces[workspace]?.approve.routes.includes(id),
    );
    const secret = "zebra-crossing-secret";
    const messages = [{ role: "user", content: secret }];
    expect(await inferOnce(test, infer, { model: route?.id, messages })).toBe(200);
    expect(await inferOnce(test, infer, { model: secret, messages })).toBe(404);
    expect(await inferOnce(test, infer, { model: route?.id, messages: 7 })).toBe(400);
    expect(await inferOnce(test, "nonsense", { model: route?.id, messages })).toBe(401);
    await server.store.evidence.flush();

    const { status, body } = await ask(
      server.url,
      await test.key(workspace, READ),
      "?group_by=route",
    );
    expect(status).toBe(200);
    expect(isSummary(body), JSON.stringify(isSummary.errors)).toBe(true);
    expect(body).toMatchObject({
      object: "governance.summary",
      version: 1,
      workspace,
      group_by: ["route"],
    });
    expect(body.totals).toMatchObject({
      requests: 3,
      allowed: 1,
      denied: 1,
      refused: 1,
      running: 0,
    });
    expect(body.totals.ended?.latency_ms.total).toMatchObject({
      count: 1,
      p50: expect.any(Number),
    });
    expect(body.totals.ended?.attempts.total).toBe(1);
    expect(body.groups).toContainEqual(
      expect.objectContaining({ group: { route: route?.id }, allowed: 1 }),
    );
    expect(body.verdicts).toContainEqual(
      expect.objectContaining({ policy: "approvals", reason_code: "model_not_found", denied: 1 }),
    );
    expect(body.table_revision).toBe(loaded.revision);
    // A position would count the requests of all workspaces.
    expect(body.evidence.head).toEqual({ hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(body.policies.map(({ drift }) => drift)).toEqual(body.policies.map(() => null));
    expect(body.policies.length).toBeGreaterThan(0);
    expect(JSON.stringify(body)).not.toMatch(new RegExp(`${secret}|sbx_`));

    const theirs = await ask(server.url, await test.key(other, READ));
    expect(theirs.body.workspace).toBe(other);
    expect(theirs.body.totals.requests).toBe(0);
    expect(theirs.body).toMatchObject({ groups: [], verdicts: [], shadows: [] });

    // What another process writes and this one cannot run.
    const { policyLog } = server.store;
    const contents = body.policies.map(({ id, stored }, index) => {
      const digest = index === 0 ? "0".repeat(64) : (stored?.candidate ?? stored?.enforced)?.digest;
      return {
        policy: id,
        digest: digest ?? "",
        module: "1".repeat(64),
        initialMode: "shadow" as const,
      };
    });
    const [first] = contents;
    if (first === undefined) throw new Error("no policy is loaded");
    await policyLog.keep({ ...first, description: "{}", module: new Uint8Array([1]) });
    await (await openLifecycle(policyLog, Date.now)).observe(contents, "start", "table");
    const after = await ask(server.url, await test.key(workspace, READ));
    expect(after.body.policies[0]).toMatchObject({
      drift: "digest",
      stored: {
        candidate: {
          digest: "0".repeat(64),
          content: "rules",
          since: expect.stringContaining("T"),
        },
      },
    });
    expect(after.body.policies.slice(1).map(({ drift }) => drift)).toEqual(
      body.policies.slice(1).map(() => null),
    );
    expect(isSummary(after.body), JSON.stringify(isSummary.errors)).toBe(true);
    // The summary's own requests are no traffic.
    expect(after.body.totals).toMatchObject({ requests: 3, answered: 0 });
  });

  it("needs its own scope", async () => {
    const test = await startTestServer();
    const { server } = test;
    for (const scope of [
      "inference",
      "catalogue:read",
      "route:simulate",
      "operations:manage",
    ] as const) {
      const { status, body } = await ask(server.url, await test.key("acme-prod", [scope]));
      expect([status, body.error.code]).toEqual([403, "insufficient_scope"]);
    }
    expect((await ask(server.url, "")).status).toBe(401);
  });

  it("has a window of whole hours, and the time until which it is complete", async () => {
    const test = await startTestServer();
    const { server } = test;
    const at = Date.UTC(2026, 0, 10, 6, 30);
    await recordDecision(server.store.evidence, decisionRecord("r1", { at }));
    await recordDecision(
      server.store.evidence,
      decisionRecord("r2", { at: at + 3_600_000, workspace: asIdentifier("other") }),
    );
    const reader = await test.key("acme-prod", READ);
    const query =
      "?start=2026-01-10T05:10:00%2B00:00&end=2026-01-10T09:00:00.001Z&group_by=day,route&group_by=operation";
    const { body } = await ask(server.url, reader, query);
    expect(body.window).toEqual({
      start: "2026-01-10T05:00:00Z",
      end: "2026-01-10T10:00:00Z",
      complete_until: "2026-01-10T06:00:00Z",
    });
    expect(body.groups.map(({ group }) => group)).toEqual([
      { day: "2026-01-10", route: "chat-large", operation: "chat.completions" },
    ]);
    expect(body.totals).toMatchObject({ requests: 1, running: 1 });
    server.store.evidence.settle(outcomeRecord("r1"));
    await server.store.evidence.flush();
    expect((await ask(server.url, reader, query)).body.window.complete_until).toBe(
      "2026-01-10T10:00:00Z",
    );
  });

  it.each([
    [
      "?groupby=route",
      "groupby",
      "Unknown query parameter groupby; give start, end, group_by, workspaces",
    ],
    ["?%3Cb%3E=1", null, "Unknown query parameter; give start, end, group_by, workspaces"],
    ["?start=yesterday", "start", "start must be a time as RFC 3339 writes it"],
    ["?start=2026-02-30T00:00:00Z", "start", "start must be a time"],
    ["?end=2026-02-01", "end", "end must be a time"],
    ["?end=2026-02-01T00:00:00", "end", "with a zone"],
    ["?start=2026-02-01T00:00:00Z&start=2026-02-02T00:00:00Z", "start", "start must be given once"],
    ["?start=2026-02-02T00:00:00Z&end=2026-02-01T00:00:00Z", "start", "start must be before end"],
    ["?start=2026-02-02T00:00:00Z&end=2026-02-02T00:00:00Z", "start", "start must be before end"],
    [
      "?start=2024-01-01T00:00:00Z&end=2026-02-02T00:00:00Z",
      "start",
      "at most 400 days before end",
    ],
    [
      "?group_by=colour",
      "group_by",
      "group_by must be one of operation, route, provider, region, model, key, policy",
    ],
    ["?group_by=constructor", "group_by", "group_by must be one of"],
    ["?group_by=", "group_by", "group_by must be one of"],
    ["?group_by=route,route", "group_by", "names route twice"],
    ["?group_by=day,hour", "group_by", "one of day, hour and minute"],
    ["?group_by=minute,key", "group_by", "combine minute with operation, route and workspace"],
    ["?group_by=minute&start=2026-01-01T00:00:00Z", "start", "within the last three hours"],
    ["?group_by=provider,region,model,day", "group_by", "at most 3"],
    ["?group_by=route,key", "group_by", "can combine these"],
    ["?group_by=policy,key", "group_by", "can combine these"],
    ["?end=9999-12-31T23:59:59Z", "end", "from 1970 to 9998"],
    [
      "?start=2026-01-01T00:00:00Z&end=2026-02-01T00:00:01Z&group_by=route,hour",
      "group_by",
      "at most 31 days",
    ],
  ])("refuses %s", async (query, param, message) => {
    const router = await startRouter({
      table: table(),
      identity: { ...identity, scopes: new Set(READ) },
      runtime: {
        summary: {
          read: () => emptyPages(),
          policies: () => Promise.resolve([]),
          turns: new SummaryTurns(),
          ...NOTHING_COUNTED,
        },
      },
    });
    const { status, body } = await ask(router.url, "good", query);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ type: "invalid_request_error", param });
    expect(body.error.message).toContain(message);
  });

  it("has no complete hour in the future, nor one that late records may still change", async () => {
    const test = await startTestServer();
    const reader = await test.key("acme-prod", READ);
    const { body } = await ask(
      test.server.url,
      reader,
      "?start=2190-01-10T05:00:00Z&end=2190-01-11T05:00:00Z&group_by=hour",
    );
    expect(body.window.start).toBe("2190-01-10T05:00:00Z");
    expect(Date.parse(body.window.complete_until)).toBeLessThanOrEqual(Date.now() - 120_000);
  });

  it("computes one summary of a workspace at a time, and refuses callers that request many at once", async () => {
    let running = 0;
    let most = 0;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const policies = async (): Promise<[]> => [];
    const read = async function* pages(): AsyncGenerator<never> {
      most = Math.max(most, (running += 1));
      await released;
      running -= 1;
      yield* [];
    };
    const summary = { read, policies, turns: new SummaryTurns(), ...NOTHING_COUNTED };
    const scoped = { ...identity, scopes: new Set(READ) };
    const router = await startRouter({ table: table(), identity: scoped, runtime: { summary } });
    const answers = Array.from({ length: 18 }, () => ask(router.url, "good"));
    const early: Awaited<(typeof answers)[number]>[] = [];
    for (const answer of answers) void answer.then((one) => early.push(one));
    await vi.waitFor(() => expect(early).toHaveLength(2), 10_000);
    expect(early.map(({ status, body }) => [status, body.error.code])).toEqual(
      Array.from({ length: 2 }, () => [429, "summaries_waiting"]),
    );
    release();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(16);
    expect(most).toBe(1);
    expect((await ask(router.url, "good")).status).toBe(200);
  });

  it("is 503 where the store cannot be read", async () => {
    const down = () => Promise.reject(new Error("secret path"));
    const router = await startRouter({
      table: table(),
      identity: { ...identity, scopes: new Set(READ) },
      runtime: {
        summary: {
          read: () => emptyPages(),
          policies: down,
          turns: new SummaryTurns(),
          ...NOTHING_COUNTED,
        },
      },
    });
    const { status, body } = await ask(router.url, "good");
    expect([status, body.error.code]).toEqual([503, "summary_unavailable"]);
    expect(JSON.stringify(body)).not.toContain("secret");
  });

  it("is described in the contract", () => {
    const endpoint = ENDPOINTS.find(({ path }) => path === "/v1/governance/summary");
    expect(endpoint).toMatchObject({ scopes: ["governance:read"], answer: GOVERNANCE_SUMMARY });
  });
});

// oxlint-disable-next-line eslint/require-yield -- there is nothing to give
async function* emptyPages(): AsyncGenerator<never> {
  await Promise.resolve();
}
