import OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";

import { ENDPOINTS } from "../../../src/http/contract/endpoints.ts";
import { EXCHANGED_TOKEN } from "../../../src/http/contract/key-schemas.ts";
import { bodyValidator } from "../../../src/http/validate-body.ts";
import { startTestServer } from "../../support/server.ts";
import { call, decisions, type Answered } from "./support.ts";

const running = await startTestServer();
const { server } = running;
const manager = await running.key("demo", ["operations:manage"]);

const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange";
const EXCHANGE = "/v1/credentials/exchange";
const ORIGIN = "https://app.example.com";

interface Made {
  readonly id: string;
  readonly key: string;
}

async function makeKey(
  exchange: object | null = { maximum_lifetime: 600 },
  more: object = {},
): Promise<Made> {
  const { status, json } = await call(server, manager, "POST", "/v1/keys", {
    scopes: ["inference", "catalogue:read"],
    owner: "test",
    expires_in: 3_600,
    exchange,
    ...more,
  });
  if (status !== 200) throw new Error(`no key: ${JSON.stringify(json)}`);
  return json;
}

const ask = (key: string, requested: object = {}): Promise<Answered> =>
  call(server, key, "POST", EXCHANGE, { grant_type: GRANT_TYPE, ...requested });

async function tokenOf(key: string, requested: object = {}): Promise<string> {
  const { status, json } = await ask(key, requested);
  if (status !== 200) throw new Error(`no token: ${JSON.stringify(json)}`);
  return json.access_token;
}

const chat = (
  token: string,
  model: string,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] }),
  });

const modelsOf = async (credential: string): Promise<string[]> =>
  (await call(server, credential, "GET", "/v1/models")).json.data.map(
    ({ id }: { id: string }) => id,
  );

let parent: Made;
let models: string[];
let model = "";
beforeAll(async () => {
  parent = await makeKey();
  models = await modelsOf(parent.key);
  model = models.find((id) => id.startsWith("chat")) ?? "";
  if ((await chat(parent.key, model)).status !== 200)
    throw new Error("the key itself gets no answer");
});

describe("POST /v1/credentials/exchange", () => {
  it("answers by RFC 8693, to a form and to JSON, and never the same token twice", async () => {
    const json = await ask(parent.key);
    const response = await fetch(`${server.url}${EXCHANGE}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${parent.key}`,
        "content-type": "application/x-www-form-urlencoded",
      },
      body: new URLSearchParams({
        grant_type: GRANT_TYPE,
        subject_token: parent.key,
        subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
        scope: "inference catalogue:read",
        operations: "chat.completions embeddings",
        lifetime: "60",
        max_requests: "5",
      }),
    });
    const form = JSON.parse(await response.text());
    for (const [status, headers, body] of [
      [json.status, json.headers, json.json],
      [response.status, response.headers, form],
    ] as const) {
      expect(status).toBe(200);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(bodyValidator(EXCHANGED_TOKEN)(body)).toBeNull();
      expect(body.access_token).toMatch(/^sbx_x_[\w-]+\.[\w-]+\.[\w-]+$/);
    }
    expect([json.json.expires_in, json.json.scope]).toEqual([600, "inference"]);
    expect([form.expires_in, form.scope]).toEqual([60, "inference catalogue:read"]);
    expect(form.access_token).not.toBe(json.json.access_token);
  });

  it("is recorded, and so is every use, without the token", async () => {
    const answer = await ask(parent.key);
    expect((await decisions(server, 1))[0]).toMatchObject({
      operation: "control",
      keyId: parent.id,
      change: { what: "token_issued", id: answer.json.token_id },
    });
    expect((await chat(answer.json.access_token, model)).status).toBe(200);
    const [used] = await decisions(server, 1);
    expect(used).toMatchObject({
      operation: "chat.completions",
      keyId: parent.id,
      token: answer.json.token_id,
    });
    expect(JSON.stringify(await decisions(server, 100))).not.toContain("sbx_x_");
  });

  it.each<[string, object, string]>([
    ["no grant type", { grant_type: undefined }, "grant_type"],
    ["another grant type", { grant_type: "client_credentials" }, "grant_type"],
    ["another's key as subject", { subject_token: "sbx_production_x" }, "subject_token"],
    ["an unknown member", { route: "r" }, "route"],
    ["a scope of the operator's", { scope: "operations:manage" }, "scope"],
    ["a scope to simulate", { scope: ["inference", "route:simulate"] }, "scope"],
    ["no scope", { scope: "" }, "scope"],
    ["an unknown operation", { operations: "chat" }, "operations"],
    ["no operation", { operations: [] }, "operations"],
    ["a route with spaces", { routes: ["a b"] }, "routes"],
    ["too long a life", { lifetime: 601 }, "lifetime"],
    ["too short a life", { lifetime: 59 }, "lifetime"],
    ["half a second", { lifetime: 60.5 }, "lifetime"],
    ["no number", { lifetime: "soon" }, "lifetime"],
    ["no requests", { max_requests: 0 }, "max_requests"],
    ["a negative ceiling", { max_tokens: -1 }, "max_tokens"],
    ["an origin with a path", { origin: `${ORIGIN}/` }, "origin"],
    [
      "more routes than a token holds",
      { routes: Array.from({ length: 250 }, (_, index) => `route-${index}-${"x".repeat(40)}`) },
      "routes",
    ],
  ])("refuses %s by name", async (_, requested, param) => {
    const answer = await ask(parent.key, requested);
    expect(answer).toMatchObject({
      status: 400,
      json: { error_description: expect.stringContaining(param) },
    });
  });

  it("refuses a body that names a member twice", async () => {
    const body = `{"grant_type":"${GRANT_TYPE}","lifetime":60,"lifetime":600}`;
    const { status, json } = await call(server, parent.key, "POST", EXCHANGE, body);
    expect([status, json.error]).toEqual([400, "invalid_request"]);
    expect(json.error_description).toContain("(invalid_json, ");
  });

  it("grants nothing beyond the parent's grant", async () => {
    const { key } = await makeKey(
      { maximum_lifetime: 120, operations: ["embeddings"], routes: [model], origins: [ORIGIN] },
      { scopes: ["inference"] },
    );
    for (const [requested, param] of [
      [{ origin: ORIGIN, operations: "chat.completions" }, "operations"],
      [{ origin: ORIGIN, operations: "embeddings chat.completions" }, "operations"],
      [{ origin: ORIGIN, routes: "another" }, "routes"],
      [{ origin: ORIGIN, lifetime: 121 }, "lifetime"],
      [{ origin: ORIGIN, scope: "catalogue:read" }, "scope"],
      [{ origin: "https://evil.example" }, "origin"],
      [{}, "origin"],
    ] as const) {
      const description: string = expect.stringContaining(param);
      expect(await ask(key, requested)).toMatchObject({
        status: 400,
        json: { error_description: description },
      });
    }
    expect((await ask(key, { origin: ORIGIN })).status).toBe(200);
  });

  it("requires a key with the permission, and exchanges no other key", async () => {
    const { key } = await makeKey(null);
    expect(await ask(key)).toMatchObject({ status: 400, json: { error: "unauthorized_client" } });
    expect(await ask(parent.key, { subject_token: key })).toMatchObject({ status: 400 });
    expect((await ask(parent.key, { subject_token: parent.key })).status).toBe(200);
  });

  it("refuses a form that names a parameter twice, and a form elsewhere", async () => {
    const post = (path: string, body: string): Promise<Response> =>
      fetch(`${server.url}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${parent.key}`,
          "content-type": "application/x-www-form-urlencoded",
        },
        body,
      });
    expect((await post(EXCHANGE, `grant_type=${GRANT_TYPE}&routes=a&routes=b`)).status).toBe(400);
    expect((await post("/v1/chat/completions", "model=r")).status).toBe(415);
  });
});

describe("a token", () => {
  it("answers the real SDK as its apiKey", async () => {
    const client = new OpenAI({
      apiKey: await tokenOf(parent.key),
      baseURL: `${server.url}/v1`,
      maxRetries: 0,
    });
    const whole = await client.chat.completions.create({
      model,
      messages: [{ role: "user", content: "hello" }],
    });
    expect(whole.choices[0]?.message.content).toEqual(expect.any(String));
    const stream = await client.chat.completions.create({
      model,
      messages: [{ role: "user", content: "hello" }],
      stream: true,
    });
    let finish: string | null = null;
    for await (const chunk of stream) finish = chunk.choices[0]?.finish_reason ?? finish;
    expect(finish).toBe("stop");
  });

  it("lists its routes and no others", async () => {
    const token = await tokenOf(parent.key, { routes: model, scope: "inference catalogue:read" });
    expect(models.length).toBeGreaterThan(1);
    expect(await modelsOf(token)).toEqual([model]);
    expect(await modelsOf(parent.key)).toEqual(models);
    const hidden = models.find((id) => id !== model) ?? "";
    for (const name of [hidden, "no-such-route"]) {
      expect((await call(server, token, "GET", `/v1/models/${name}`)).json.error.code).toBe(
        "model_not_found",
      );
      const refused = await chat(token, name);
      expect([refused.status, JSON.parse(await refused.text()).error.code]).toEqual([
        404,
        "model_not_found",
      ]);
    }
    expect((await chat(token, model)).status).toBe(200);
    expect((await chat(parent.key, hidden)).status).not.toBe(404);
    const messages = await call(server, token, "GET", "/api/v1/models");
    expect(messages.json.data.map(({ id }: { id: string }) => id)).toEqual([model]);
  });

  it("is accepted for its operations and no others", async () => {
    const token = await tokenOf(parent.key, {
      operations: "embeddings",
      scope: "inference catalogue:read",
    });
    const refused = await chat(token, model);
    expect([refused.status, JSON.parse(await refused.text()).error.code]).toEqual([
      403,
      "insufficient_scope",
    ]);
    const seen = (await call(server, token, "GET", "/v1/models")).json.data;
    expect(seen.length).toBeGreaterThan(0);
    for (const { operations } of seen) expect(operations).toEqual(["embeddings"]);
  });

  it("is accepted only at endpoints of its scopes, and is never exchanged again", async () => {
    const token = await tokenOf(parent.key, { scope: "inference catalogue:read" });
    for (const {
      path,
      method,
      scopes: [scope],
      listener,
      id,
    } of ENDPOINTS) {
      if (listener !== "public" || scope === undefined) continue;
      const { status, json } = await call(
        server,
        token,
        method,
        path.replaceAll(/\{\w+\}/g, parent.id),
        method === "POST" || method === "PUT"
          ? id === "exchangeKey"
            ? { grant_type: GRANT_TYPE }
            : {}
          : undefined,
      );
      const isItsOwn =
        (scope === "inference" || scope === "catalogue:read") && id !== "exchangeKey";
      if (isItsOwn) expect([400, 404, 200], path).toContain(status);
      else if (id === "exchangeKey")
        expect([status, json.error], path).toEqual([400, "unauthorized_client"]);
      else expect([status, json.error.code], path).toEqual([403, "insufficient_scope"]);
    }
    const plain = await tokenOf(parent.key);
    expect((await call(server, plain, "GET", "/v1/models")).status).toBe(403);
  });

  it("is accepted from its origin only", async () => {
    const token = await tokenOf(parent.key, { origin: ORIGIN });
    expect((await chat(token, model, { origin: ORIGIN })).status).toBe(200);
    for (const headers of [
      {},
      { origin: "https://evil.example" },
      { origin: `${ORIGIN}.evil.example` },
      { origin: "null" },
    ]) {
      const refused = await chat(token, model, headers);
      expect([refused.status, JSON.parse(await refused.text()).error.code]).toEqual([
        403,
        "origin_not_allowed",
      ]);
    }
  });

  it("starts as many requests as its ceiling, under any concurrency", async () => {
    const token = await tokenOf(parent.key, { max_requests: 3 });
    const answers = await Promise.all(Array.from({ length: 10 }, () => chat(token, model)));
    expect(answers.map(({ status }) => status).toSorted((left, right) => left - right)).toEqual([
      200,
      200,
      200,
      ...Array<number>(7).fill(402),
    ]);
    const refused = answers.find(({ status }) => status === 402);
    expect(refused?.headers.get("retry-after")).toBeNull();
    expect(answers.map(({ headers }) => headers.get("x-should-retry"))).toEqual(
      answers.map(({ status }) => (status === 402 ? "false" : null)),
    );
    expect((await chat(token, model)).headers.get("x-should-retry")).toBe("false");
    expect(JSON.parse((await refused?.text()) ?? "").error.code).toBe("budget_exhausted");
    expect((await chat(await tokenOf(parent.key, { max_requests: 1 }), model)).status).toBe(200);
  });

  it("starts as many calls of batches as its ceiling", async () => {
    const embedder = models.find((id) => id.startsWith("embed")) ?? "";
    const embed = async (token: string, inputs: number): Promise<number> => {
      const answer = await fetch(`${server.url}/v1/embeddings`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "x-max-batch-size": "1",
        },
        body: JSON.stringify({
          model: embedder,
          input: Array.from({ length: inputs }, (_, index) => `text ${index}`),
        }),
      });
      await answer.text();
      return answer.status;
    };
    const token = await tokenOf(parent.key, { max_requests: 5 });
    expect(await embed(token, 6)).toBe(402);
    expect(await embed(token, 4)).toBe(200);
    expect(await embed(token, 1)).toBe(402);
  });

  it("an invalid request is not counted against the token", async () => {
    const token = await tokenOf(parent.key, { max_requests: 1 });
    const path = "/v1/chat/completions";
    for (const body of ["{", {}, { model, messages: "none" }]) {
      expect((await call(server, token, "POST", path, body)).status).toBe(400);
    }
    expect((await chat(token, model)).status).toBe(200);
    expect((await call(server, token, "POST", path, "{")).status).toBe(402);
  });

  it("starts no request once its tokens are used up", async () => {
    const token = await tokenOf(parent.key, { max_tokens: 1 });
    expect((await chat(token, model)).status).toBe(200);
    await server.store.evidence.flush();
    await expect.poll(async () => (await chat(token, model)).status).toBe(402);
  });

  it("is accepted in x-api-key under /api/v1, where that protocol has it", async () => {
    const token = await tokenOf(parent.key, { scope: "catalogue:read" });
    const show = (path: string): Promise<Response> =>
      fetch(`${server.url}${path}`, { headers: { "x-api-key": token } });
    expect((await show("/api/v1/models")).status).toBe(200);
    expect((await show("/v1/models")).status).toBe(401);
  });

  it("ends with its key: revoked at once, expired, rotated away", async () => {
    const [revoked, rotated] = [await makeKey(), await makeKey()];
    const tokens = [await tokenOf(revoked.key), await tokenOf(rotated.key)] as const;
    for (const token of tokens) expect((await chat(token, model)).status).toBe(200);
    await call(server, manager, "POST", `/v1/keys/${revoked.id}/revoke`);
    await call(server, manager, "POST", `/v1/keys/${rotated.id}/rotate`, { overlap_seconds: 0 });
    for (const token of tokens) expect((await chat(token, model)).status).toBe(401);
    const short = await makeKey({ maximum_lifetime: 900 }, { expires_in: 70 });
    expect((await ask(short.key)).json.expires_in).toBeLessThanOrEqual(70);
  });
});
