import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import type { Identity, Scope } from "../../src/canon/identity.ts";
import {
  answerJson,
  errorOf,
  hello,
  post,
  startRouter,
  startUpstream,
  tableOver,
} from "../support/router.ts";
import { fakePolicies, identity } from "../support/table.ts";

const SECRET = "my-secret-prompt";

async function plainRouter(more: Partial<Parameters<typeof startRouter>[0]> = {}) {
  const upstream = await startUpstream((response) => answerJson(response));
  return { upstream, router: await startRouter({ table: tableOver([upstream]), ...more }) };
}

function withScopes(scopes: readonly Scope[]): Identity {
  return { ...identity, scopes: new Set(scopes) };
}

describe("bodies", () => {
  const deep = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
  it.each<[string, string, number, string, string | null]>([
    ["nothing", "", 400, "invalid_json", null],
    ["text", SECRET, 400, "invalid_json", null],
    [
      "half JSON",
      `{"model":"r","messages":[{"role":"user","content":"${SECRET}`,
      400,
      "invalid_json",
      null,
    ],
    ["a list", `["${SECRET}"]`, 400, "invalid_json", null],
    ["null", "null", 400, "invalid_json", null],
    [
      "no model",
      `{"messages":[{"role":"user","content":"${SECRET}"}]}`,
      400,
      "missing_field",
      "model",
    ],
    ["no messages", `{"model":"r"}`, 400, "missing_field", "messages"],
    ["empty messages", `{"model":"r","messages":[]}`, 400, "invalid_value", "messages"],
    ["messages as text", `{"model":"r","messages":"${SECRET}"}`, 400, "invalid_type", "messages"],
    [
      "a message as text",
      `{"model":"r","messages":["${SECRET}"]}`,
      400,
      "invalid_type",
      "messages[0]",
    ],
    [
      "an unknown role",
      `{"model":"r","messages":[{"role":"${SECRET}"}]}`,
      400,
      "invalid_value",
      "messages[0].role",
    ],
    [
      "content as number",
      `{"model":"r","messages":[{"role":"user","content":4}]}`,
      400,
      "invalid_type",
      "messages[0].content",
    ],
    [
      "a part without type",
      `{"model":"r","messages":[{"role":"user","content":[{"text":"${SECRET}"}]}]}`,
      400,
      "missing_field",
      "messages[0].content[0].type",
    ],
    [
      "temperature as text",
      `{"model":"r","messages":[{"role":"user"}],"temperature":"${SECRET}"}`,
      400,
      "invalid_type",
      "temperature",
    ],
    [
      "temperature too high",
      `{"model":"r","messages":[{"role":"user"}],"temperature":2.5}`,
      400,
      "invalid_value",
      "temperature",
    ],
    [
      "stream as text",
      `{"model":"r","messages":[{"role":"user"}],"stream":"yes"}`,
      400,
      "invalid_type",
      "stream",
    ],
    [
      "a tool without function",
      `{"model":"r","messages":[{"role":"user"}],"tools":[{"type":"function"}]}`,
      400,
      "missing_field",
      "tools[0].function",
    ],
    [
      "an unknown field",
      `{"model":"r","messages":[{"role":"user"}],"temprature":1}`,
      400,
      "unknown_field",
      "temprature",
    ],
    [
      "an unknown preference",
      `{"model":"r","messages":[{"role":"user"}],"provider":{"onyl":["x"]}}`,
      400,
      "unknown_field",
      "provider.onyl",
    ],
    [
      "an unknown provider",
      `{"model":"r","messages":[{"role":"user"}],"provider":{"only":["${SECRET}"]}}`,
      400,
      "unknown_preference",
      "provider",
    ],
    [
      "a nesting bomb",
      `{"model":"r","messages":[{"role":"user"}],"tools":[{"type":"function","function":{"name":"f","parameters":${deep(5_000)}}}]}`,
      400,
      "too_deeply_nested",
      null,
    ],
    [
      "too much",
      `{"model":"r","messages":[{"role":"user","content":"${"x".repeat(1_100_000)}"}]}`,
      413,
      "request_too_large",
      null,
    ],
  ])("a body of %s is refused with its code", async (_, body, status, code, param) => {
    const { upstream, router } = await plainRouter();
    const response = await post(router, body);
    const text = await response.text();
    expect({ status: response.status, ...JSON.parse(text).error }).toMatchObject({
      status,
      code,
      param,
    });
    expect(text).not.toContain(SECRET);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("x-request-id")).toBe("req_1");
    expect(upstream.calls).toHaveLength(0);
    await router.settled(1);
    expect(router.decisions).toHaveLength(1);
    expect(JSON.stringify([router.decisions, router.outcomes])).not.toContain(SECRET);
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "application/jsonx"])(
    "the content type %s is refused with 415",
    async (type) => {
      const { router } = await plainRouter();
      const response = await post(router, hello, { "content-type": type });
      expect(response.status).toBe(415);
      expect((await errorOf(response)).code).toBe("unsupported_media_type");
    },
  );

  it("invalid UTF-8 is not JSON", async () => {
    const { router } = await plainRouter();
    const response = await fetch(`${router.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer good", "content-type": "application/json" },
      body: Buffer.concat([
        Buffer.from('{"model":"'),
        Buffer.from([0xff, 0xfe]),
        Buffer.from('"}'),
      ]),
    });
    expect((await errorOf(response)).code).toBe("invalid_json");
  });

  it.concurrent("a body that never arrives is abandoned, with its socket", async () => {
    const { router } = await plainRouter();
    const { port } = new URL(router.url);
    const text = await new Promise<string>((resolve) => {
      let seen = "";
      const socket = connect(Number(port), "127.0.0.1");
      socket.on("data", (chunk) => (seen += chunk.toString()));
      socket.on("close", () => resolve(seen));
      socket.write(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
      );
    });
    expect(text).toContain("HTTP/1.1 408");
    expect(text).toContain("body_timeout");
  });

  it.concurrent.each([
    ["too little", 1, "408"],
    ["enough", 4_000, "200"],
  ])(
    "a body that brings %s of itself in each interval (%i bytes) is answered with %s",
    async (_, piece, status) => {
      const limits = {
        bodyBytes: 1_000_000,
        answerBytes: 1_000_000,
        requestTime: 60_000,
        writeTime: 2_000,
      };
      const { router } = await plainRouter({
        runtime: { limits: { ...limits, bodyTime: 60_000, bodyProgressTime: 1_000 } },
      });
      const body = JSON.stringify({
        ...hello,
        messages: [{ role: "user", content: "x".repeat(60_000) }],
      });
      const socket = connect(Number(new URL(router.url).port), "127.0.0.1");
      const answer = new Promise<string>((resolve) =>
        socket.once("data", (chunk: Buffer) => resolve(chunk.toString())),
      );
      const head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good";
      socket.write(
        `${head}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
      );
      let sent = 0;
      const sending = setInterval(() => {
        if (sent < body.length) socket.write(body.slice(sent, (sent += piece)));
      }, 100);
      expect((await answer).slice(9, 12)).toBe(status);
      clearInterval(sending);
      socket.destroy();
    },
  );

  it("a client that disconnects while it sends is recorded, and not logged as an error", async () => {
    const { router } = await plainRouter();
    const socket = connect(Number(new URL(router.url).port), "127.0.0.1");
    socket.write(
      "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
    );
    setTimeout(() => socket.destroy(), 30);
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({ terminal: "client_closed", status: 499 });
  });
});

describe("credentials", () => {
  it.each([
    ["none", {}, "invalid_api_key"],
    ["a wrong one", { authorization: "Bearer wrong-key-text" }, "invalid_api_key"],
    ["another scheme", { authorization: "Basic Z29vZA==" }, "invalid_api_key"],
    ["an empty one", { authorization: "Bearer " }, "invalid_api_key"],
    ["x-api-key where it does not count", { "x-api-key": "good" }, "invalid_api_key"],
  ])("%s → 401 that repeats no value", async (_, headers, code) => {
    const { upstream, router } = await plainRouter();
    const response = await fetch(`${router.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(hello),
    });
    const text = await response.text();
    expect(response.status).toBe(401);
    expect(JSON.parse(text).error).toMatchObject({ type: "authentication_error", code });
    expect(text).not.toContain("wrong-key-text");
    expect(upstream.calls).toHaveLength(0);
  });

  it("an expired key is refused with expired_api_key", async () => {
    const { router } = await plainRouter({
      runtime: { verify: () => ({ ok: false, code: "expired_api_key" }) },
    });
    expect((await errorOf(await post(router, hello))).code).toBe("expired_api_key");
  });

  it.each<[string, string, Scope]>([
    ["POST", "/v1/chat/completions", "inference"],
    ["GET", "/v1/models", "catalogue:read"],
    ["GET", "/v1/models/r", "catalogue:read"],
    ["POST", "/v1/route/simulate?operation=chat.completions", "route:simulate"],
  ])("%s %s needs exactly %s", async (method, path, needed) => {
    const all: readonly Scope[] = [
      "inference",
      "catalogue:read",
      "route:simulate",
      "governance:read",
      "operations:manage",
    ];
    const call = async (scopes: readonly Scope[]): Promise<Response> => {
      const { router } = await plainRouter({ identity: withScopes(scopes) });
      return fetch(`${router.url}${path}`, {
        method,
        headers: { authorization: "Bearer good", "content-type": "application/json" },
        ...(method === "POST"
          ? { body: JSON.stringify(path.includes("simulate") ? { model: "r" } : hello) }
          : {}),
      });
    };
    expect((await call([needed])).status).toBe(200);
    const others = await call(all.filter((scope) => scope !== needed));
    expect(others.status).toBe(403);
    expect(await errorOf(others)).toMatchObject({
      type: "insufficient_scope",
      code: "insufficient_scope",
    });
  });
});

describe("denials", () => {
  it("carry policy, revision, constraint, reason and decision id, in the body and in the message", async () => {
    const policies = fakePolicies(() => [
      {
        id: "eu-residency",
        constraint: "region_approved",
        effect: "require_all",
        verdict: "fail",
        failing: ["a"],
      },
    ]);
    const others = policies.policies.map(({ identity: named, contract }) => ({
      identity: { ...named, id: "eu-residency" },
      contract: { ...contract, title: "In the Union", owners: ["group:privacy"] },
    }));
    const { upstream, router } = await plainRouter({ policies: { ...policies, policies: others } });
    const response = await post(router, hello);
    const error = await errorOf(response);
    expect(response.status).toBe(403);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "x-signalbox-decision": "dec_1",
      "x-signalbox-route": "r",
      "x-signalbox-table": "a".repeat(12),
      "x-signalbox-attempts": "0",
      "server-timing": expect.stringMatching(/^router;dur=/),
    });
    expect(error).toMatchObject({
      type: "policy_denied",
      code: "NOT_OK",
      policy: {
        id: "eu-residency",
        revision: "r1",
        mode: "enforce",
        title: "In the Union",
        owners: ["group:privacy"],
      },
      failed_constraint: "region_approved",
      reason_code: "NOT_OK",
      decision_id: "dec_1",
    });
    for (const name of ["eu-residency", "r1", "region_approved", "NOT_OK", "req_1"])
      expect(error.message).toContain(name);
    expect(upstream.calls).toHaveLength(0);
    await router.settled(1);
    expect(router.decisions[0]).toMatchObject({
      outcome: "deny",
      policy: "eu-residency",
      reason: "NOT_OK",
    });
    expect(router.outcomes[0]).toMatchObject({ terminal: "denied", status: 403 });
  });

  it("an unknown model is 404 and names no route", async () => {
    const { router } = await plainRouter();
    const response = await post(router, { ...hello, model: SECRET });
    const text = await response.text();
    expect(response.status).toBe(404);
    expect(JSON.parse(text).error).toMatchObject({
      code: "model_not_found",
      param: "model",
      type: "invalid_request_error",
    });
    expect(text).not.toContain(SECRET);
    await router.settled(1);
    expect(JSON.stringify(router.decisions)).not.toContain(SECRET);
  });
});

describe("paths", () => {
  it.each([
    ["GET", "/", "openai", "unknown_path"],
    ["POST", "/v1/unknown", "openai", "unknown_path"],
    ["GET", "/v1/chat/completions", "openai", "unknown_path"],
    ["GET", "/v1/responses/resp_1", "openai", "not_supported"],
    ["POST", "/v1/responses/input_tokens", "openai", "unknown_path"],
    ["POST", "/v1/responses/compact", "openai", "unknown_path"],
    ["GET", "/v1/responses/input_tokens/input_items", "openai", "not_supported"],
    ["GET", "/livez", "openai", "unknown_path"],
    ["POST", "/api/v1/nothing", "anthropic", "unknown_path"],
  ])("%s %s → 404 in the shape of its family", async (method, path, family, code) => {
    const { router } = await plainRouter();
    const response = await fetch(`${router.url}${path}`, {
      method,
      headers: { "x-client-request-id": "mine" },
    });
    expect(response.headers.get("x-client-request-id")).toBe("mine");
    const body: { error: { code: string } } = JSON.parse(await response.text());
    expect(response.status).toBe(404);
    if (family === "openai") expect(body.error.code).toBe(code);
    else
      expect(body).toMatchObject({
        type: "error",
        error: { type: "not_found_error", details: { error_code: code } },
        request_id: "req_1",
      });
  });

  it("a client with another base URL gets an error with the right path, without its query", async () => {
    const { router } = await plainRouter();
    const response = await fetch(`${router.url}/v1/messages?note=${SECRET}`, {
      method: "POST",
      body: "{}",
    });
    const text = await response.text();
    expect([response.status, text]).toEqual([
      404,
      expect.stringContaining("Did you mean POST /api/v1/messages?"),
    ]);
    expect(text).not.toContain(SECRET);
  });

  it("status and readyz are open to anybody, and no figure in them moves with traffic but the time", async () => {
    const { router } = await plainRouter({
      runtime: {
        evidenceStatus: () => ({
          state: "ok",
          waiting: 7,
          refused: 7,
          lost: 7,
          head: { position: 7, hash: "a" },
        }),
      },
    });
    const status = JSON.parse(await (await fetch(`${router.url}/status`)).text());
    expect(Object.keys(status).toSorted()).toEqual([
      "build_id",
      "contract_sha256",
      "degraded",
      "evidence",
      "policy_revisions",
      "policy_set",
      "table_sha256",
      "uptime_seconds",
    ]);
    expect(status.evidence).toEqual({ state: "ok" });
    expect(await (await fetch(`${router.adminUrl}/readyz`)).json()).toEqual({ status: "ready" });
  });

  it("livez and readyz are served on the admin listener; readyz follows the server's state", async () => {
    let accepting = true;
    const { router } = await plainRouter({ runtime: { accepting: () => accepting } });
    expect((await fetch(`${router.adminUrl}/livez`)).status).toBe(200);
    expect((await fetch(`${router.adminUrl}/readyz`)).status).toBe(200);
    accepting = false;
    expect((await fetch(`${router.adminUrl}/readyz`)).status).toBe(503);
    expect((await fetch(`${router.adminUrl}/livez`)).status).toBe(200);
  });

  it.each(["x-request-timeout-ms", "x-max-attempts"])(
    "%s that is no number is refused by name",
    async (header) => {
      const { router } = await plainRouter();
      const response = await post(router, hello, { [header]: "soon" });
      expect(response.status).toBe(400);
      expect((await errorOf(response)).message).toContain(header);
    },
  );
});

describe("a bug of the router", () => {
  it("answers 500 without quoting the error, and the server continues", async () => {
    const policies = fakePolicies(() => {
      throw new Error(SECRET);
    });

    const { router } = await plainRouter({ policies });
    const response = await post(router, hello);
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(JSON.parse(text).error.code).toBe("internal_error");
    expect(text).not.toContain(SECRET);
    expect((await fetch(`${router.url}/status`)).status).toBe(200);
  });

  it("has a record under the id that the client got", async () => {
    const policies = fakePolicies(() => {
      throw new Error(SECRET);
    });
    const { router } = await plainRouter({ policies });
    const response = await post(router, hello);
    await router.settled(1);
    expect(router.decisions).toMatchObject([
      { requestId: response.headers.get("x-request-id"), reason: "internal_error" },
    ]);
    expect(router.outcomes).toMatchObject([{ status: 500, terminal: "failed" }]);
  });
});
