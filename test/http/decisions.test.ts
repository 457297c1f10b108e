import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, it } from "vitest";
import type { Scope } from "../../src/canon/identity.ts";
import {
  DECISION,
  DECISION_EXPLANATION,
  DECISION_LIST,
  type DecisionAnswer,
  type DecisionExplanationAnswer,
  type DecisionListAnswer,
} from "../../src/http/contract/decision-schemas.ts";
import { startTestServer, type TestServer } from "../support/server.ts";

const READ: readonly Scope[] = ["governance:read"];
const SECRET = "zebra-crossing-secret";

const ajv = new Ajv2020({ strict: false, formats: { "date-time": true } });
const isList = ajv.compile(DECISION_LIST);
const isDecision = ajv.compile(DECISION);
const isExplanation = ajv.compile(DECISION_EXPLANATION);

/** A list, a decision or an error: a test looks at the one that its status says. */
interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: Omit<DecisionListAnswer, "object"> &
    Omit<DecisionAnswer, "object"> &
    Omit<DecisionExplanationAnswer, "object"> & {
      readonly error: { readonly code: string; readonly param: string | null };
    };
}

describe("GET /v1/decisions", () => {
  let test: TestServer;
  let workspace = "";
  let other = "";
  let route = "";
  let reader = "";
  let routed = "";
  let denied = "";

  beforeAll(async () => {
    test = await startTestServer();
    const { table } = test.server.built.snapshot.decider;
    [workspace = "", other = ""] = Object.keys(table.workspaces);
    route =
      Object.values(table.routes).find(
        ({ id, operations }) =>
          operations.includes("generate") &&
          table.workspaces[workspace]?.approve.routes.includes(id),
      )?.id ?? "";
    const infer = await test.key(workspace, ["inference"]);
    routed = await inferred(infer, { model: route, messages: [{ role: "user", content: SECRET }] });
    denied = await inferred(infer, {
      model: SECRET,
      messages: [{ role: "user", content: SECRET }],
    });
    await test.server.store.evidence.flush();
    reader = await test.key(workspace, READ);
  });

  async function inferred(key: string, body: object): Promise<string> {
    const response = await fetch(`${test.server.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    await response.text();
    return response.headers.get("x-request-id") ?? "";
  }

  async function get(path: string, key = reader): Promise<Answer> {
    const response = await fetch(`${test.server.url}${path}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const text = await response.text();
    const body: Answer["body"] = JSON.parse(text);
    return { status: response.status, text, body };
  }

  it("lists decisions, newest first, without any text of the requests", async () => {
    const { status, body, text } = await get("/v1/decisions?operation=chat.completions");
    expect(status).toBe(200);
    expect(isList(body), JSON.stringify(isList.errors)).toBe(true);
    expect(body.data.map(({ id, outcome, reason }) => [id, outcome, reason])).toEqual([
      [denied, "deny", "model_not_found"],
      [routed, "route", null],
    ]);
    expect(body.data[1]).toMatchObject({ route, terminal: "completed", status: 200, attempts: 1 });
    expect(body.data[1]?.input_tokens).toBeGreaterThan(0);
    expect(body.data[1]?.cost_usd).toBeGreaterThan(0);
    expect(body.data[0]?.cost_usd).toBe(null);
    expect(text).not.toContain(SECRET);
  });

  it("narrows by every parameter, and pages", async () => {
    const ids = async (query: string): Promise<readonly string[]> =>
      (await get(`/v1/decisions?operation=chat.completions&${query}`)).body.data.map(
        ({ id }) => id,
      );
    const {
      endpoint = "",
      provider = "",
      key = "",
    } = (await get(`/v1/decisions?route=${route}`)).body.data[0] ?? {};
    for (const query of [
      `route=${route}`,
      "outcome=route",
      "terminal=completed",
      `provider=${provider}`,
      `endpoint=${endpoint}`,
    ]) {
      expect(await ids(query), query).toEqual([routed]);
    }
    for (const query of [
      "outcome=deny",
      "policy=approvals",
      "reason=model_not_found",
      "constraint=route_known",
      "terminal=denied",
    ]) {
      expect(await ids(query), query).toEqual([denied]);
    }
    expect(await ids(`key=${key}`)).toEqual([denied, routed]);
    expect(await ids("route=nothing")).toEqual([]);
    expect(await ids("end=2026-01-01T00:00:00Z")).toEqual([]);
    expect(await ids("start=2026-01-01T00:00:00Z")).toEqual([denied, routed]);
    const first = await get("/v1/decisions?operation=chat.completions&limit=1");
    const cursor = first.body.next_cursor ?? "";
    expect(await ids(`limit=1&cursor=${cursor}`)).toEqual([routed]);
  });

  it("has everything of one decision under either id, and the command that repeats it", async () => {
    const { status, body, text } = await get(`/v1/decisions/${routed}`);
    expect(status).toBe(200);
    expect(isDecision(body), JSON.stringify(isDecision.errors)).toBe(true);
    expect(body.calls).toHaveLength(1);
    expect(body.plan).toContain(body.endpoint);
    expect(body.explain).toContain(
      `signalbox explain --point '{"workspace":"${workspace}","operation":"chat.completions","model":"${route}"`,
    );
    expect(text).not.toContain(SECRET);
    expect((await get(`/v1/decisions/${routed.replace("req_", "dec_")}`)).body).toEqual(body);
  });

  it("explains every candidate, as the same table decides again", async () => {
    const { status, body, text } = await get(`/v1/decisions/${routed}/explanation`);
    expect(status).toBe(200);
    expect(isExplanation(body), JSON.stringify(isExplanation.errors)).toBe(true);
    expect(body).toMatchObject({
      id: routed,
      same_table: true,
      same_policies: true,
      same_result: true,
    });
    const { plan } = (await get(`/v1/decisions/${routed}`)).body;
    const { candidates = [] } = body.explanation ?? {};
    expect(candidates.filter(({ in_plan }) => in_plan).map(({ endpoint }) => endpoint)).toEqual(
      plan,
    );
    expect(candidates.every(({ constraints }) => constraints.length > 0)).toBe(true);
    expect(text).not.toContain(SECRET);
  });

  it("explains a denial with the candidates that were excluded", async () => {
    const infer = await test.key(workspace, ["inference"]);
    const provider = { max_price: { input: 0 } };
    const id = await inferred(infer, {
      model: route,
      messages: [{ role: "user", content: SECRET }],
      provider,
    });
    await test.server.store.evidence.flush();
    const { body } = await get(`/v1/decisions/${id}/explanation`);
    expect(body).toMatchObject({ same_result: true, explanation: { outcome: "deny" } });
    const { candidates = [] } = body.explanation ?? {};
    expect(candidates.length).toBeGreaterThan(0);
    for (const { constraints } of candidates) {
      expect(
        constraints.some(({ policy, verdict }) => policy === "preferences" && verdict === "fail"),
      ).toBe(true);
    }
  });

  it("explains no request without a decision on a route, and none of another workspace", async () => {
    expect((await get(`/v1/decisions/${denied}/explanation`)).body).toMatchObject({
      same_table: true,
      same_result: null,
      explanation: null,
    });
    const foreign = await test.key(other, READ);
    expect((await get(`/v1/decisions/${routed}/explanation`, foreign)).status).toBe(404);
    const spender = await test.key(workspace, ["spend:read"]);
    expect((await get(`/v1/decisions/${routed}/explanation`, spender)).status).toBe(403);
  });

  it("reports that the table has changed since the decision", async () => {
    const path = join(test.folder, "routes.yaml");
    writeFileSync(
      path,
      readFileSync(path, "utf8").replace(/^(\s+price: \{ input:) [\d.]+/m, "$1 77"),
    );
    await test.server.reload();
    expect((await get(`/v1/decisions/${routed}/explanation`)).body).toMatchObject({
      same_table: false,
      same_policies: true,
      same_result: true,
    });
  });

  it("shows no decision of another workspace, and requires the scope", async () => {
    const foreign = await test.key(other, READ);
    expect((await get("/v1/decisions?operation=chat.completions", foreign)).body.data).toEqual([]);
    expect(await get(`/v1/decisions/${routed}`, foreign)).toMatchObject({
      status: 404,
      body: { error: { code: "decision_not_found" } },
    });
    const infer = await test.key(workspace, ["inference"]);
    expect((await get(`/v1/decisions/${routed}`, infer)).status).toBe(403);
  });

  it("distinguishes requests of models from the router's own, and a key with `workspaces=all` reads its own workspace", async () => {
    const operations = async (query: string): Promise<ReadonlySet<string>> =>
      new Set((await get(`/v1/decisions?${query}`)).body.data.map(({ operation }) => operation));
    expect(await operations("kind=inference")).toEqual(new Set(["chat.completions"]));
    expect(await operations("kind=router")).toEqual(new Set(["control"]));
    const { data } = (await get("/v1/decisions?workspaces=all")).body;
    expect(new Set(data.map((line) => line.workspace))).toEqual(new Set([workspace]));
  });

  it.each([
    ["kind=all", "invalid_value", "kind"],
    ["workspaces=other", "invalid_value", "workspaces"],
    ["limit=0", "invalid_value", "limit"],
    ["limit=101", "invalid_value", "limit"],
    ["cursor=1", "invalid_cursor", "cursor"],
    ["start=yesterday", "invalid_value", "start"],
    ["outcome=routed", "invalid_value", "outcome"],
    ["terminal=done", "invalid_value", "terminal"],
    ["route=", "invalid_value", "route"],
    ["route=a&route=b", "invalid_value", "route"],
    ["rute=a", "unknown_parameter", "rute"],
  ])("refuses %s and names the parameter", async (query, code, param) => {
    const { status, body } = await get(`/v1/decisions?${query}`);
    expect([status, body.error.code, body.error.param]).toEqual([400, code, param]);
  });

  it.each(["req_0", "nothing", `req_${"0".repeat(32)}`])("answers 404 to the id %s", async (id) => {
    expect((await get(`/v1/decisions/${id}`)).status).toBe(404);
  });
});
