import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { hash } from "node:crypto";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

import { EXCHANGED_TOKEN } from "../../../src/http/contract/key-schemas.ts";
import { bodyValidator } from "../../../src/http/validate-body.ts";
import { startTestServer } from "../../support/server.ts";
import {
  forgedJwt,
  makeIssuerKey,
  startWorkloadIssuer,
  workloadJwt,
  type JwtParts,
} from "../../support/workload-issuer.ts";
import { call, decisions } from "./support.ts";

const key = await makeIssuerKey("first");
const idp = await startWorkloadIssuer([key]);
const gone = await startWorkloadIssuer([key]);
await gone.stop();

const RULES = `
workload_identity:
  issuers:
    cluster: { issuer: "${idp.issuer}", network: private }
    gone: { issuer: "${gone.issuer}", network: private }
  rules:
    checkout:
      issued_by: cluster
      audience: signalbox
      claims: { sub: "system:serviceaccount:shop:checkout" }
      workspace: demo
      scopes: [inference, "catalogue:read", "route:simulate"]
      operations: [chat.completions]
      routes: [chat-small]
      lifetime: 10m
      owner: group:payments
    all-in-shop:
      issued_by: cluster
      audience: signalbox
      claims: { /kubernetes.io/namespace: shop, kind: twice }
      workspace: demo
    batch:
      issued_by: cluster
      audience: signalbox
      claims: { client_id: batch }
      workspace: demo
      lifetime: 5m
    gone: { issued_by: gone, audience: signalbox, claims: { sub: a }, workspace: demo }
`;

const running = await startTestServer((routes) => `${routes}\n${RULES}`);
const { server, folder } = running;

const EXCHANGE = `${server.url}/v1/credentials/exchange`;
const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_TYPE = "urn:ietf:params:oauth:token-type:jwt";

async function exchange(
  jwt: string,
  more: Record<string, string> = {},
  headers: Record<string, string> = {},
) {
  const response = await fetch(EXCHANGE, {
    method: "POST",
    headers,
    body: new URLSearchParams({
      grant_type: GRANT_TYPE,
      subject_token_type: JWT_TYPE,
      subject_token: jwt,
      ...more,
    }),
  });
  return {
    status: response.status,
    headers: response.headers,
    json: JSON.parse(await response.text()),
  };
}

const jwtOf = (parts: JwtParts = {}): Promise<string> => workloadJwt(idp.issuer, key, parts);

async function tokenOf(more: Record<string, string> = {}): Promise<string> {
  const { status, json } = await exchange(await jwtOf(), more);
  if (status !== 200) throw new Error(`no token: ${JSON.stringify(json)}`);
  return json.access_token;
}

const chat = (
  token: string,
  model = "chat-small",
  path = "/v1/chat/completions",
): Promise<Response> =>
  fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(
      path.endsWith("embeddings")
        ? { model, input: "a" }
        : { model, messages: [{ role: "user", content: "hello" }] },
    ),
  });

describe("a workload without a key", () => {
  it("gets a token for its JWT by RFC 8693, and its requests are served", async () => {
    const { status, headers, json } = await exchange(await jwtOf());
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(bodyValidator(EXCHANGED_TOKEN)(json)).toBeNull();
    // No token outlives its JWT, which was made a moment ago for 600 seconds.
    expect(json.expires_in).toBeGreaterThan(590);
    expect(json.expires_in).toBeLessThanOrEqual(600);
    expect(json.scope).toBe("inference catalogue:read route:simulate");
    expect((await chat(json.access_token)).status).toBe(200);
    // JSON is accepted as with keys.
    const asJson = await call(server, "", "POST", "/v1/credentials/exchange", {});
    expect(asJson.status).toBe(401);
  });

  it("gets no more than its rule grants", async () => {
    const token = await tokenOf();
    expect((await chat(token, "chat-large")).status).toBe(404);
    expect((await chat(token, "embed-small", "/v1/embeddings")).status).toBe(403);
    const models = await call(server, token, "GET", "/v1/models");
    expect(models.json.data.map(({ id }: { id: string }) => id)).toEqual(["chat-small"]);
    expect((await call(server, token, "GET", "/v1/keys")).status).toBe(403);
    expect((await call(server, token, "GET", "/v1/decisions")).status).toBe(403);
    const simulated = await call(
      server,
      token,
      "POST",
      "/v1/route/simulate?operation=chat.completions",
      {
        request: { model: "chat-small", messages: [{ role: "user", content: "a" }] },
      },
    );
    expect(simulated.status).toBe(200);
    const again = await fetch(EXCHANGE, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: new URLSearchParams({ grant_type: GRANT_TYPE }),
    });
    expect([again.status, JSON.parse(await again.text()).error]).toEqual([
      400,
      "unauthorized_client",
    ]);
  });

  it("may request less, and not more", async () => {
    const less = await exchange(await jwtOf(), {
      scope: "inference",
      lifetime: "60",
      max_requests: "1",
    });
    expect([less.json.expires_in, less.json.scope]).toEqual([60, "inference"]);
    expect((await call(server, less.json.access_token, "GET", "/v1/models")).status).toBe(403);
    expect((await chat(less.json.access_token)).status).toBe(200);
    expect((await chat(less.json.access_token)).status).toBe(402);
    for (const [more, error] of [
      [{ scope: "operations:manage" }, "invalid_scope"],
      [{ lifetime: "601" }, "invalid_request"],
      [{ routes: "chat-large" }, "invalid_request"],
      [{ operations: "embeddings" }, "invalid_request"],
      [{ audience: "signalbox" }, "invalid_target"],
    ] as const) {
      const refused = await exchange(await jwtOf(), more);
      expect([refused.status, refused.json.error]).toEqual([400, error]);
    }
  });

  it("gets no token that outlives its JWT by more than the allowed clock skew", async () => {
    const { json } = await exchange(await jwtOf({ expires: 90 }));
    expect(json.expires_in).toBeGreaterThan(80);
    expect(json.expires_in).toBeLessThanOrEqual(120);
  });

  it("gets a token for a JWT of the issuer itself", async () => {
    const issued = await fetch(`${idp.issuer}/token`, {
      method: "POST",
      headers: {
        authorization: `Basic ${Buffer.from("batch:a%20secret%20of%20the%20tests").toString("base64")}`,
      },
      body: new URLSearchParams({ grant_type: "client_credentials", resource: "urn:signalbox" }),
    });
    const text = await issued.text();
    expect(issued.status, text).toBe(200);
    const { access_token } = JSON.parse(text);
    const { status, json } = await exchange(access_token);
    expect([status, json.expires_in]).toEqual([200, 300]);
    expect((await chat(json.access_token)).status).toBe(200);
  });

  it("is recorded by its rule and a digest of issuer and subject, without the JWT", async () => {
    const jwt = await jwtOf();
    const { json } = await exchange(jwt);
    const [issued] = await decisions(server, 1);
    expect(issued).toMatchObject({
      operation: "control",
      workspace: "demo",
      keyId: "workload_checkout",
      change: {
        what: "token_issued",
        id: json.token_id,
        subject: hash(
          "sha256",
          JSON.stringify([idp.issuer, "system:serviceaccount:shop:checkout"]),
          "hex",
        ),
      },
    });
    await chat(json.access_token);
    expect((await decisions(server, 1))[0]).toMatchObject({
      operation: "chat.completions",
      keyId: "workload_checkout",
      token: json.token_id,
    });
    const all = JSON.stringify(await decisions(server, 100));
    for (const part of [jwt, jwt.split(".")[1] ?? "", "serviceaccount", idp.issuer])
      expect(all).not.toContain(part);
    const reader = await running.key("demo", ["governance:read"]);
    const listed = await call(server, reader, "GET", "/v1/decisions?key=workload_checkout&limit=5");
    expect(listed.status).toBe(200);
    expect(listed.json.data.length).toBe(5);
    const { id } = listed.json.data.find(
      ({ operation }: { operation: string }) => operation === "chat.completions",
    );
    expect((await call(server, reader, "GET", `/v1/decisions/${id}`)).status).toBe(200);
    const explained = await call(server, reader, "GET", `/v1/decisions/${id}/explain`);
    expect([200, 404]).toContain(explained.status);
  });
});

describe("the token endpoint refuses a JWT", () => {
  it.each<[string, () => Promise<string> | string, string, string, number?]>([
    [
      "of another issuer",
      () => workloadJwt("https://other.example", key),
      "invalid_request",
      "subject_token_invalid",
    ],
    [
      "for another audience",
      () => jwtOf({ claims: { aud: "https://kubernetes.default.svc" } }),
      "unauthorized_client",
      "workload_not_granted",
    ],
    [
      "with other claims",
      () => jwtOf({ claims: { sub: "system:serviceaccount:shop:other" } }),
      "unauthorized_client",
      "workload_not_granted",
    ],
    [
      "that two rules match",
      () => jwtOf({ claims: { kind: "twice" } }),
      "unauthorized_client",
      "workload_ambiguous",
    ],
    [
      "that has expired",
      () => jwtOf({ expires: -60, notBefore: -600 }),
      "invalid_request",
      "subject_token_expired",
    ],
    [
      "that is not valid yet",
      () => jwtOf({ notBefore: 60 }),
      "invalid_request",
      "subject_token_expired",
    ],
    [
      "of another key",
      async () => workloadJwt(idp.issuer, await makeIssuerKey("first")),
      "invalid_request",
      "subject_token_invalid",
    ],
    [
      "without a signature",
      () => forgedJwt({ alg: "none" }, { iss: idp.issuer, sub: "a", aud: "signalbox" }),
      "invalid_request",
      "subject_token_invalid",
    ],
    ["that is none", () => "sbx_production_x", "invalid_request", "subject_token_invalid"],
    ["that is longer than any", () => "x".repeat(16_385), "invalid_request", "invalid_value"],
    [
      "of an issuer that cannot be reached",
      () => workloadJwt(gone.issuer, key, { claims: { sub: "a" } }),
      "temporarily_unavailable",
      "issuer_unavailable",
      503,
    ],
  ])("%s", async (_, jwt, error, code, status = 400) => {
    const refused = await exchange(await jwt());
    expect([refused.status, refused.json.error]).toEqual([status, error]);
    expect(refused.json.error_description).toContain(`(${code}, request id req_`);
    expect(refused.headers.get("retry-after")).toBe(status === 503 ? "5" : null);
    expect((await decisions(server, 1))[0]).toMatchObject({
      outcome: "refuse",
      reason: code,
      keyId: null,
    });
  });

  it("with a body above the limit, before it is read whole", async () => {
    const refused = await exchange("x".repeat(40_000));
    expect([refused.status, refused.json.error]).toEqual([413, "invalid_request"]);
  });

  it("beside a key, because one of the two would be ignored", async () => {
    const bearer = await running.key("demo", ["inference"]);
    const refused = await exchange(await jwtOf(), {}, { authorization: `Bearer ${bearer}` });
    expect([refused.status, refused.json.error]).toEqual([400, "invalid_request"]);
    expect(refused.json.error_description).toContain("subject_token_type");
  });

  it("of another type, as it refuses a request without a key", async () => {
    const response = await fetch(EXCHANGE, {
      method: "POST",
      body: new URLSearchParams({ grant_type: GRANT_TYPE, subject_token: await jwtOf() }),
    });
    expect([response.status, JSON.parse(await response.text()).error]).toEqual([
      401,
      "invalid_client",
    ]);
  });
});

describe("a rule", () => {
  it("that is changed or removed ends its tokens, and no others", async () => {
    const path = join(folder, "routes.yaml");
    const before = readFileSync(path, "utf8");
    const token = await tokenOf();
    appendFileSync(path, "# the same\n");
    expect((await server.reload()).ok).toBe(true);
    expect((await chat(token)).status).toBe(200);
    writeFileSync(path, before.replace("shop:checkout", "shop:till"));
    expect((await server.reload()).ok).toBe(true);
    expect((await chat(token)).status).toBe(401);
    expect((await exchange(await jwtOf())).json.error).toBe("unauthorized_client");
    const till = await exchange(
      await jwtOf({ claims: { sub: "system:serviceaccount:shop:till" } }),
    );
    expect((await chat(till.json.access_token)).status).toBe(200);
    writeFileSync(path, before.slice(0, before.indexOf("workload_identity:")));
    expect((await server.reload()).ok).toBe(true);
    expect((await chat(till.json.access_token)).status).toBe(401);
    expect((await exchange(await jwtOf())).json.error).toBe("invalid_client");
    writeFileSync(path, before);
    expect((await server.reload()).ok).toBe(true);
    expect((await chat(token)).status).toBe(200);
  });

  it("counts against the limits of its workspace, and as one key against those of each key", async () => {
    const path = join(folder, "routes.yaml");
    const before = readFileSync(path, "utf8");
    const limited = before.replace(
      "limits: { requests_per_minute: 600,",
      "limits: { per_key: { requests_per_minute: 2 },",
    );
    writeFileSync(path, limited);
    expect((await server.reload()).ok).toBe(true);
    const tokens = [await tokenOf(), await tokenOf(), await tokenOf()];
    const statuses: number[] = [];
    for (const token of tokens) statuses.push((await chat(token)).status);
    expect(statuses).toEqual([200, 200, 429]);
    writeFileSync(path, before);
    expect((await server.reload()).ok).toBe(true);
  });

  it("reads the keys of its issuer from a file beside routes.yaml", async () => {
    const path = join(folder, "routes.yaml");
    const before = readFileSync(path, "utf8");
    writeFileSync(join(folder, "cluster.jwks.json"), JSON.stringify({ keys: [key.publicJwk] }));
    writeFileSync(
      path,
      before.replace(
        `{ issuer: "${gone.issuer}", network: private }`,
        `{ issuer: "${gone.issuer}", jwks_file: cluster.jwks.json }`,
      ),
    );
    expect((await server.reload()).ok).toBe(true);
    const jwt = await workloadJwt(gone.issuer, key, { claims: { sub: "a" } });
    expect((await exchange(jwt)).status).toBe(200);
    const other = await makeIssuerKey("second");
    writeFileSync(join(folder, "cluster.jwks.json"), JSON.stringify({ keys: [other.publicJwk] }));
    expect((await server.reload()).ok).toBe(true);
    expect((await exchange(jwt)).json.error_description).toContain("subject_token_invalid");
    writeFileSync(join(folder, "cluster.jwks.json"), JSON.stringify({ keys: [other.privateJwk] }));
    const failed = await server.reload();
    expect(failed.ok).toBe(false);
    expect(JSON.stringify(failed.ok ? [] : failed.diagnostics)).toContain("JWKS_INVALID");
    writeFileSync(path, before);
    expect((await server.reload()).ok).toBe(true);
  });
});
