import { beforeAll, describe, expect, it } from "vitest";

import { ENDPOINTS } from "../../../src/http/contract/endpoints.ts";
import { startTestServer } from "../../support/server.ts";
import { rawCall, type RawAnswer } from "./raw-call.ts";
import { call, decisions } from "./support.ts";

const running = await startTestServer();
const { server } = running;
const ORIGIN = "https://app.example.com";
const OTHER = "https://other.example.com";
const ALL = [
  "inference",
  "catalogue:read",
  "route:simulate",
  "governance:read",
  "operations:manage",
] as const;
const PAGE = { origin: ORIGIN, "sec-fetch-mode": "cors" };

let service = "";
let ofOther = "";
let token = "";
let unbound = "";
beforeAll(async () => {
  const make = async (workspace: string, origins: string[] | null): Promise<string> => {
    const manager = await running.key(workspace, ["operations:manage"]);
    const made = await call(server, manager, "POST", "/v1/keys", {
      scopes: ALL,
      owner: "test",
      expires_in: 3_600,
      exchange: { maximum_lifetime: 600, origins },
    });
    return made.json.key;
  };
  const tokenOf = async (from: string, more: object): Promise<string> => {
    const grant = {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      scope: "inference catalogue:read",
    };
    return (await call(server, from, "POST", "/v1/credentials/exchange", { ...grant, ...more }))
      .json.access_token;
  };
  service = await make("demo", [ORIGIN]);
  ofOther = await make("other", [OTHER]);
  token = await tokenOf(service, { origin: ORIGIN });
  unbound = await tokenOf(await make("demo", null), {});
});

const corsHeaders = ({ headers }: RawAnswer): string[] =>
  Object.keys(headers).filter((name) => name.startsWith("access-control-"));

const keyed = ENDPOINTS.filter(
  ({ scopes, listener }) => scopes.length > 0 && listener === "public",
);

describe("a service key that a page sends", () => {
  it.each(keyed.map(({ method, path }) => [method, path] as const))(
    "is refused by %s %s, without CORS headers, and recorded with its id",
    async (method, path) => {
      const at = path.replace(/\{\w+\}/, "x");
      const headers = {
        ...PAGE,
        authorization: `Bearer ${service}`,
        "content-type": "application/json",
      };
      const answer = await rawCall(server, method, at, headers, method === "POST" ? "{}" : "");
      expect(answer.text).toContain("Sec-Fetch-Mode");
      expect(answer.text).not.toContain(ORIGIN);
      expect(corsHeaders(answer)).toEqual([]);
      expect((await decisions(server, 1))[0]).toMatchObject({
        outcome: "refuse",
        reason: "service_key_in_browser",
        workspace: "demo",
        keyId: service.split("_")[2],
        ended: "refused",
      });
    },
  );

  it.each([
    ["the origin that its own grant names", {}, () => service],
    ["a key of another workspace", {}, () => ofOther],
    ["an extension", { origin: "chrome-extension://abcdefghijklmnop" }, () => service],
    ["a sandboxed frame", { origin: "null" }, () => service],
    [
      "the router's own origin",
      { origin: server.url, "sec-fetch-site": "same-origin" },
      () => service,
    ],
  ])("is refused with 403 and service_key_in_browser: %s", async (_name, more, credential) => {
    const headers = { ...PAGE, ...more, authorization: `Bearer ${credential()}` };
    const answer = await rawCall(server, "GET", "/v1/models", headers);
    expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([
      403,
      "service_key_in_browser",
    ]);
    const messages = await rawCall(server, "GET", "/api/v1/models", {
      ...PAGE,
      ...more,
      "x-api-key": credential(),
    });
    expect(messages.status).toBe(403);
    expect(JSON.parse(messages.text).error).toMatchObject({
      type: "permission_error",
      details: { error_code: "service_key_in_browser" },
    });
    expect([...corsHeaders(answer), ...corsHeaders(messages)]).toEqual([]);
  });

  it.each([
    ["an Origin alone", { origin: ORIGIN }],
    ["Sec-Fetch-Mode alone, as Node's fetch sends it", { "sec-fetch-mode": "cors" }],
    ["another mode", { origin: ORIGIN, "sec-fetch-mode": "no-cors" }],
    ["neither", {}],
  ])("is a server's with %s, and answered without CORS headers", async (_name, headers) => {
    const answer = await rawCall(server, "GET", "/v1/models", {
      ...headers,
      authorization: `Bearer ${service}`,
    });
    expect([answer.status, corsHeaders(answer)]).toEqual([200, []]);
  });
});

describe("a token", () => {
  it("may be read by pages of its origin, and by no others that some key grants", async () => {
    const of = (origin: string, bearer: string): Promise<RawAnswer> =>
      rawCall(server, "GET", "/v1/models", { ...PAGE, origin, authorization: `Bearer ${bearer}` });
    const own = await of(ORIGIN, token);
    expect([own.status, own.headers["access-control-allow-origin"]]).toEqual([200, ORIGIN]);
    const foreign = await of(OTHER, token);
    expect([foreign.status, corsHeaders(foreign)]).toEqual([403, []]);
    const free = await of(ORIGIN, unbound);
    expect([free.status, corsHeaders(free)]).toEqual([200, []]);
  });

  it("of an unknown key is refused so that pages of granted origins can read it, and no others", async () => {
    const of = (origin: string): Promise<RawAnswer> =>
      rawCall(server, "GET", "/v1/models", {
        ...PAGE,
        origin,
        authorization: "Bearer sbx_x_a.b.c",
      });
    expect((await of(ORIGIN)).headers["access-control-allow-origin"]).toBe(ORIGIN);
    expect(corsHeaders(await of("https://evil.example"))).toEqual([]);
  });

  it("gets readable errors too, also for a request that reached no endpoint", async () => {
    const headers = {
      ...PAGE,
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
    };
    const invalid = await rawCall(server, "POST", "/v1/chat/completions", headers, "{");
    expect([invalid.status, invalid.headers["access-control-allow-origin"]]).toEqual([400, ORIGIN]);
    const unseen = await rawCall(server, "GET", `/v1/models?limit=${"1".repeat(8_200)}`, headers);
    expect([unseen.status, unseen.headers["access-control-allow-origin"]]).toEqual([414, ORIGIN]);
  });
});
