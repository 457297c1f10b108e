import { beforeAll, describe, expect, it } from "vitest";

import { ENDPOINTS } from "../../../src/http/contract/endpoints.ts";
import { startTestServer } from "../../support/server.ts";
import { call } from "./support.ts";

const running = await startTestServer();
const { server } = running;
const ORIGIN = "https://app.example.com";
const REVOKED = "https://gone.example.com";

let token = "";
let manager = "";
beforeAll(async () => {
  manager = await running.key("demo", ["operations:manage"]);
  const make = async (origins: string[] | null): Promise<{ key: string; id: string }> =>
    (
      await call(server, manager, "POST", "/v1/keys", {
        scopes: ["inference", "catalogue:read"],
        owner: "test",
        expires_in: 3_600,
        exchange: { maximum_lifetime: 600, origins },
      })
    ).json;
  const { key } = await make([ORIGIN]);
  const gone = await make([REVOKED]);
  await call(server, manager, "POST", `/v1/keys/${gone.id}/revoke`);
  token = (
    await call(server, key, "POST", "/v1/credentials/exchange", {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      scope: "inference catalogue:read",
      origin: ORIGIN,
    })
  ).json.access_token;
});

const preflight = (
  path: string,
  origin: string,
  headers = "authorization, content-type",
): Promise<Response> =>
  fetch(`${server.url}${path}`, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": headers,
    },
  });

const corsHeaders = ({ headers }: Response): string[] =>
  [...headers.keys()].filter((name) => name.startsWith("access-control-"));

describe("a preflight", () => {
  it("is answered for origins in a valid key's grant, with the headers of the official clients", async () => {
    const requested =
      "authorization,content-type,x-stainless-lang,x-stainless-retry-count,anthropic-version,cookie,x-evil";
    const response = await preflight("/v1/chat/completions", ORIGIN, requested);
    expect(response.status).toBe(204);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "access-control-allow-origin": ORIGIN,
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers":
        "authorization, content-type, x-stainless-lang, x-stainless-retry-count, anthropic-version",
      vary: "origin",
      "x-request-id": expect.stringMatching(/^req_/),
    });
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
  });

  it.each([
    "https://evil.example",
    "null",
    `${ORIGIN}.evil.example`,
    `${ORIGIN}/`,
    "https://APP.example.com",
    REVOKED,
  ])("is not answered for %s", async (origin) => {
    const response = await preflight("/v1/chat/completions", origin);
    expect(response.status).toBe(404);
    expect(corsHeaders(response)).toEqual([]);
  });

  it("is answered where tokens are accepted, and nowhere else", async () => {
    for (const {
      path,
      scopes: [scope],
      listener,
      id,
    } of ENDPOINTS) {
      if (listener !== "public") continue;
      const response = await preflight(path.replace(/\{\w+\}/, "x"), ORIGIN);
      const isForTokens =
        (scope === "inference" || scope === "catalogue:read") && id !== "exchangeKey";
      expect([path, response.status, corsHeaders(response).length > 0]).toEqual([
        path,
        isForTokens ? 204 : 404,
        isForTokens,
      ]);
    }
  });
});

describe("an answer", () => {
  it("may be read by the page, errors too, with the headers that a client needs", async () => {
    for (const bearer of [token, "sbx_x_a.b.c"]) {
      const response = await fetch(`${server.url}/v1/models`, {
        headers: { origin: ORIGIN, authorization: `Bearer ${bearer}` },
      });
      expect(response.status).toBe(bearer === token ? 200 : 401);
      expect(response.headers.get("access-control-allow-origin")).toBe(ORIGIN);
      expect(response.headers.get("vary")).toBe("origin");
      expect(response.headers.get("access-control-expose-headers")).toContain("x-request-id");
      expect(response.headers.get("access-control-expose-headers")).toContain(
        "x-signalbox-simulated",
      );
    }
  });

  it("may be read by the page also where it is a stream", async () => {
    const { data } = (await call(server, token, "GET", "/v1/models")).json ?? {};
    expect(data).toBeUndefined();
    const listed = await fetch(`${server.url}/v1/models`, {
      headers: { origin: ORIGIN, authorization: `Bearer ${token}` },
    });
    const models: { data: { id: string }[] } = JSON.parse(await listed.text());
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        origin: ORIGIN,
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({
        model: models.data.find(({ id }) => id.startsWith("chat"))?.id,
        messages: [{ role: "user", content: "hello" }],
        stream: true,
      }),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(response.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(await response.text()).toContain("[DONE]");
  });

  it("has vary: origin on the paths for tokens, with and without an origin", async () => {
    for (const {
      path,
      method,
      scopes: [scope],
      listener,
      id,
    } of ENDPOINTS) {
      if (listener !== "public") continue;
      const isForTokens =
        (scope === "inference" || scope === "catalogue:read") && id !== "exchangeKey";
      for (const headers of [{}, { origin: "https://evil.example" }]) {
        const response = await fetch(`${server.url}${path.replace(/\{\w+\}/, "x")}`, {
          method,
          headers,
        });
        expect([path, response.headers.get("vary")]).toEqual([path, isForTokens ? "origin" : null]);
      }
    }
  });

  it("has no CORS header for other origins, without an origin, and on other paths", async () => {
    for (const [path, headers] of [
      ["/v1/models", { origin: "https://evil.example" }],
      ["/v1/models", {}],
      ["/v1/keys", { origin: ORIGIN }],
      ["/status", { origin: ORIGIN }],
    ] as const) {
      const response = await fetch(`${server.url}${path}`, {
        headers: { ...headers, authorization: `Bearer ${manager}` },
      });
      expect(corsHeaders(response), path).toEqual([]);
    }
  });
});
