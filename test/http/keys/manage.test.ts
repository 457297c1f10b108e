import { describe, expect, it } from "vitest";

import { ENDPOINTS } from "../../../src/http/contract/endpoints.ts";
import { bodyValidator } from "../../../src/http/validate-body.ts";
import {
  CREATED_KEY,
  KEY_LIST,
  ROTATED_KEY,
  SERVICE_KEY,
} from "../../../src/http/contract/key-schemas.ts";
import { DAY, digestKeyText } from "../../../src/keys/key-record.ts";
import { parseKeyText } from "../../../src/keys/key-text.ts";
import { startTestServer } from "../../support/server.ts";
import { call, decisions } from "./support.ts";

const running = await startTestServer();
const { server } = running;
const key: typeof running.key = (...given) => running.key(...given);
const manager = await key("acme-prod", ["operations:manage"]);
const managerId = parseKeyText(manager)?.publicId;
const foreign = await key("other", ["operations:manage"]);
const PLAIN = { scopes: ["inference"], owner: "group:payments", expires_in: 3600 };

const create = (body: object = {}) =>
  call(server, manager, "POST", "/v1/keys", { ...PLAIN, ...body });
const CANARY = "sbx_production_canary";

describe("POST /v1/keys", () => {
  it("creates a key that works at once, shows it once, and stores no secret", async () => {
    const made = await create({
      name: "checkout-eu",
      scopes: ["catalogue:read", "inference"],
      environment: "staging",
      workload: "checkout",
      labels: ["eu"],
      exchange: { maximum_lifetime: 600, operations: ["chat.completions"] },
      limits: {
        requests_per_minute: 60,
        budget: { usd: 5, per: "week", time_zone: "Asia/Tokyo" },
      },
    });
    expect(made.status).toBe(200);
    expect(made.headers.get("cache-control")).toBe("no-store");
    expect(bodyValidator(CREATED_KEY)(made.json)).toBeNull();
    const { key: text, id } = made.json;
    expect(parseKeyText(text)).toEqual({ publicId: id, environment: "staging" });
    expect(made.json).toMatchObject({
      object: "service_key",
      name: "checkout-eu",
      status: "active",
      workspace: "acme-prod",
      scopes: ["inference", "catalogue:read"],
      labels: ["eu"],
      created_by: managerId,
      exchange: {
        maximum_lifetime: 600,
        operations: ["chat.completions"],
        routes: null,
        origins: null,
      },
      limits: {
        requests_per_minute: 60,
        tokens_per_minute: null,
        budget: { usd: 5, per: "week", time_zone: "Asia/Tokyo" },
      },
    });
    expect((await call(server, text, "GET", "/v1/models")).status).toBe(200);
    const read = await call(server, manager, "GET", `/v1/keys/${id}`);
    expect(bodyValidator(SERVICE_KEY)(read.json)).toBeNull();
    const listed = await call(server, manager, "GET", "/v1/keys?limit=100");
    expect(bodyValidator(KEY_LIST)(listed.json)).toBeNull();
    for (const answer of [read, listed]) {
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.text).toContain(id);
      expect(answer.text).not.toContain(text.slice(-39));
      expect(answer.text).not.toContain(digestKeyText(text));
    }
    expect(made.text).not.toContain(digestKeyText(text));
  });

  it("is recorded before it exists, with maker and key", async () => {
    const { json } = await create({ name: "nightly" });
    expect((await decisions(server, 1))[0]).toMatchObject({
      operation: "control",
      outcome: "answer",
      workspace: "acme-prod",
      keyId: managerId,
      change: { what: "key_created", id: json.id, name: "nightly" },
      ended: "completed",
    });
  });

  it("accepts an expiry in either form, and grants scopes beyond the caller's, for its own workspace only", async () => {
    const at = new Date(Date.now() + 30 * DAY).toISOString();
    const made = await create({
      expires_in: undefined,
      expires_at: at,
      scopes: ["inference", "operations:manage"],
    });
    expect(made.json).toMatchObject({ expires_at: at, scopes: ["inference", "operations:manage"] });
    expect((await create({ workspace: "acme-prod" })).status).toBe(200);
    const others = await Promise.all(
      ["other", "no-such-workspace"].map((workspace) => create({ workspace })),
    );
    expect(
      new Set(
        others.map(({ json, status }) =>
          JSON.stringify([status, json]).replaceAll(/req_\w+|dec_\w+/g, ""),
        ),
      ).size,
    ).toBe(1);
    expect(others[0]).toMatchObject({
      status: 404,
      json: { error: { code: "workspace_not_found", param: "workspace" } },
    });
  });

  it.each<[string, object, string, string | null]>([
    ["a name with a space", { name: `${CANARY} x` }, "invalid_value", "name"],
    ["no owner", { owner: undefined }, "missing_field", "owner"],
    ["an empty owner", { owner: "" }, "invalid_value", "owner"],
    ["an owner with spaces", { owner: `a ${CANARY}` }, "invalid_value", "owner"],
    ["no scopes", { scopes: undefined }, "missing_field", "scopes"],
    ["no scope", { scopes: [] }, "invalid_value", "scopes"],
    ["a wrong scope", { scopes: [CANARY] }, "invalid_value", "scopes[0]"],
    ["no expiry", { expires_in: undefined }, "missing_field", "expires_at"],
    ["two expiries", { expires_at: "2030-01-01T00:00:00Z" }, "invalid_value", "expires_in"],
    [
      "a past expiry",
      { expires_in: undefined, expires_at: "2020-01-01T00:00:00Z" },
      "invalid_value",
      "expires_at",
    ],
    ["a date", { expires_in: undefined, expires_at: "2030-01-01" }, "invalid_value", "expires_at"],
    ["an expiry too far", { expires_in: 401 * 86_400 }, "invalid_value", "expires_in"],
    ["an expiry out of numbers", { expires_in: 1e300 }, "invalid_value", "expires_in"],
    ["an unknown member", { secret: CANARY }, "unknown_field", "secret"],
    ["an environment in capitals", { environment: "PROD" }, "invalid_value", "environment"],
    ["a label with spaces", { labels: ["a b"] }, "invalid_value", "labels"],
    [
      "an exchange without inference",
      { scopes: ["catalogue:read"], exchange: { maximum_lifetime: 60 } },
      "invalid_value",
      "scopes",
    ],
    [
      "an exchange without a lifetime",
      { exchange: {} },
      "missing_field",
      "exchange.maximum_lifetime",
    ],
    [
      "an exchange for too long",
      { exchange: { maximum_lifetime: 901 } },
      "invalid_value",
      "exchange.maximum_lifetime",
    ],
    [
      "an origin with a path",
      { exchange: { maximum_lifetime: 60, origins: ["https://a.example/b"] } },
      "invalid_value",
      "exchange.origins",
    ],
    [
      "no requests",
      { limits: { requests_per_minute: 0 } },
      "invalid_value",
      "limits.requests_per_minute",
    ],
    [
      "a date that there is not",
      { expires_in: undefined, expires_at: "2027-02-30T00:00:00Z" },
      "invalid_value",
      "expires_at",
    ],
    [
      "an hour that there is not",
      { expires_in: undefined, expires_at: "2027-02-20T24:00:00Z" },
      "invalid_value",
      "expires_at",
    ],
    ["a key for an owner", { owner: `of:${manager}` }, "invalid_value", "owner"],
    ["a key for a workload", { workload: manager }, "invalid_value", "workload"],
    ["a key for a label", { labels: [manager] }, "invalid_value", "labels"],
    [
      "a token for a label",
      { labels: ["sbx_x_eyJhbGciOiJFZERTQSJ9.eyJ"] },
      "invalid_value",
      "labels",
    ],
    [
      "a key for a route",
      { exchange: { maximum_lifetime: 60, routes: [manager] } },
      "invalid_value",
      "exchange.routes",
    ],
    [
      "a route that is not there",
      { exchange: { maximum_lifetime: 60, routes: ["chat-mistyped"] } },
      "invalid_value",
      "exchange.routes",
    ],
    [
      "a budget of nothing",
      { limits: { budget: { tokens: null, per: "day" } } },
      "invalid_type",
      "limits.budget.tokens",
    ],
    [
      "a budget without an amount",
      { limits: { budget: { per: "day" } } },
      "invalid_value",
      "limits.budget",
    ],
    [
      "a budget of both",
      { limits: { budget: { usd: 1, tokens: 1, per: "day" } } },
      "invalid_value",
      "limits.budget",
    ],
    [
      "money that rounds to none",
      { limits: { budget: { usd: 1e-9, per: "day" } } },
      "invalid_value",
      "limits.budget.usd",
    ],
    [
      "no money",
      { limits: { budget: { usd: 0, per: "day" } } },
      "invalid_value",
      "limits.budget.usd",
    ],
    [
      "a wrong period",
      { limits: { budget: { usd: 1, per: "year" } } },
      "invalid_value",
      "limits.budget.per",
    ],
    ["an unknown limit", { limits: { rpm: 1 } }, "unknown_field", "limits.rpm"],
  ])("refuses %s by name", async (_, body, code, param) => {
    const { status, json, text } = await create(body);
    expect({ status, ...json.error }).toMatchObject({ status: 400, code, param });
    expect(text).not.toContain(CANARY);
    expect(text).not.toContain(manager);
  });
});

describe("GET /v1/keys", () => {
  it("lists the workspace's keys newest first, page by page", async () => {
    const own = await key("paged", ["operations:manage"]);
    const made: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const { json } = await call(server, own, "POST", "/v1/keys", PLAIN);
      made.unshift(json.id);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const pages: string[][] = [];
    for (let after = ""; ;) {
      const { json } = await call(server, own, "GET", `/v1/keys?limit=2${after}`);
      pages.push(json.data.map(({ id }: { id: string }) => id));
      expect(json.last_id).toBe(pages.at(-1)?.at(-1));
      if (json.has_more !== true) break;
      after = `&after=${json.last_id}`;
    }
    expect(pages.map((page) => page.length)).toEqual([2, 2, 2]);
    expect(pages.flat().slice(0, 5)).toEqual(made);
  });

  it("lists only keys that expire before a time, the soonest first", async () => {
    const own = await key("expiring", ["operations:manage"]);
    const made: string[] = [];
    for (const expires_in of [30 * 86_400, 2 * 86_400, 9 * 86_400]) {
      made.push((await call(server, own, "POST", "/v1/keys", { ...PLAIN, expires_in })).json.id);
    }
    const end = new Date(Date.now() + 10 * 86_400_000).toISOString();
    const { json } = await call(server, own, "GET", `/v1/keys?expires_before=${end}`);
    const found = json.data.map(({ id }: { id: string }) => id);
    expect(found.filter((id: string) => made.includes(id))).toEqual([made[1], made[2]]);
  });

  it.each(["limit=0", "limit=101", "limit=x", "after=nobody", "expires_before=soon"])(
    "refuses ?%s",
    async (query) => {
      expect((await call(server, manager, "GET", `/v1/keys?${query}`)).status).toBe(400);
    },
  );
});

describe("keys of others", () => {
  it("look like keys that do not exist, for every operation", async () => {
    const { json } = await create();
    const answers = await Promise.all(
      [json.id, "nobodysKey12", "constructor", "..%2f", `${json.key}`].flatMap((id) => [
        call(server, foreign, "GET", `/v1/keys/${id}`),
        call(server, foreign, "POST", `/v1/keys/${id}/rotate`, {}),
        call(server, foreign, "POST", `/v1/keys/${id}/revoke`),
      ]),
    );
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 404, json: { error: { code: "key_not_found" } } });
      expect(answer.text).not.toContain(json.id);
    }
    expect((await call(server, manager, "GET", `/v1/keys/${json.id}`)).json.status).toBe("active");
    expect((await call(server, foreign, "GET", "/v1/keys")).text).not.toContain(json.id);
  });
});

describe("POST /v1/keys/{id}/rotate", () => {
  it("creates a key with the same grants, and the old one works for the overlap, a day by default", async () => {
    const grants = {
      name: "nightly",
      exchange: { maximum_lifetime: 60 },
      limits: { concurrency: 3 },
      workload: "checkout",
    };
    const old = (await create(grants)).json;
    // Without a body.
    const rotated = await call(server, manager, "POST", `/v1/keys/${old.id}/rotate`);
    expect(rotated.status).toBe(200);
    expect(rotated.headers.get("cache-control")).toBe("no-store");
    expect(bodyValidator(ROTATED_KEY)(rotated.json)).toBeNull();
    const { id, key: text, previous } = rotated.json;
    for (const member of [
      "name",
      "workspace",
      "scopes",
      "owner",
      "environment",
      "workload",
      "labels",
      "exchange",
      "limits",
    ]) {
      expect(rotated.json[member], member).toEqual(old[member]);
    }
    expect(rotated.json.rotated_from).toBe(old.id);
    // The old key was to live for an hour, so the overlap of a day ends with it.
    expect(previous).toMatchObject({ id: old.id, expires_at: old.expires_at });
    for (const each of [text, old.key])
      expect((await call(server, each, "GET", "/v1/models")).status).toBe(403);
    expect((await decisions(server, 3))[0]?.change).toEqual({
      what: "key_rotated",
      id,
      name: "nightly",
      replaces: old.id,
    });
  });

  it("ends the old key at once with no overlap, and refuses to revive it", async () => {
    const old = (await create()).json;
    const rotated = await call(server, manager, "POST", `/v1/keys/${old.id}/rotate`, {
      overlap_seconds: 0,
      expires_in: 60,
    });
    expect(rotated.json.previous.status).toBe("expired");
    expect((await call(server, old.key, "POST", "/v1/chat/completions", {})).json.error.code).toBe(
      "expired_api_key",
    );
    expect((await call(server, rotated.json.key, "POST", "/v1/chat/completions", {})).status).toBe(
      400,
    );
    const again = await call(server, manager, "POST", `/v1/keys/${old.id}/rotate`);
    expect(again).toMatchObject({ status: 400, json: { error: { code: "key_not_active" } } });
  });

  it("refuses a second rotation in the overlap, names the replacement, and changes neither", async () => {
    const old = (await create({ expires_in: 30 * 86_400 })).json;
    const path = `/v1/keys/${old.id}/rotate`;
    const answers = await Promise.all([1, 2, 3, 4].map(() => call(server, manager, "POST", path)));
    const [won, ...others] = answers.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    const refused = [
      ...answers.filter(({ status }) => status !== 200),
      await call(server, manager, "POST", path),
    ];
    for (const answer of refused) {
      expect(answer).toMatchObject({
        status: 409,
        json: {
          error: {
            code: "key_already_rotated",
            service_key: { id: old.id, status: "active", replaced_by: won?.json.id },
          },
        },
      });
    }
    expect(won?.json.previous.replaced_by).toBe(won?.json.id);
    const living = Date.parse(won?.json.expires_at) - Date.parse(won?.json.created_at);
    expect(living).toBe(Date.parse(old.expires_at) - Date.parse(old.created_at));
    const next = await call(server, manager, "POST", `/v1/keys/${won?.json.id}/rotate`);
    expect(next).toMatchObject({
      status: 200,
      json: { rotated_from: won?.json.id, replaced_by: null },
    });
    const children = (await server.store.keys.list()).filter(
      ({ rotatedFrom }) => rotatedFrom === old.id,
    );
    expect(children).toHaveLength(1);
  });

  it.each([
    [{ overlap_seconds: -1 }, "overlap_seconds"],
    [{ overlap_seconds: 1e12 }, "overlap_seconds"],
    [{ overlap: 1 }, "overlap"],
    [{ expires_in: 500 * 86_400 }, "expires_in"],
  ])("refuses %o by name", async (body, param) => {
    const { id } = (await create()).json;
    const answer = await call(server, manager, "POST", `/v1/keys/${id}/rotate`, body);
    expect(answer).toMatchObject({ status: 400, json: { error: { param } } });
  });
});

describe("POST /v1/keys/{id}/revoke", () => {
  it("ends a key for good, and keeps the first time", async () => {
    const { id, key: text } = (await create()).json;
    const revoked = await call(server, manager, "POST", `/v1/keys/${id}/revoke`);
    expect(revoked.json).toMatchObject({ id, status: "revoked", revoked_at: expect.any(String) });
    expect((await call(server, text, "POST", "/v1/chat/completions", {})).json.error.code).toBe(
      "invalid_api_key",
    );
    const again = await call(server, manager, "POST", `/v1/keys/${id}/revoke`);
    expect(again.json.revoked_at).toBe(revoked.json.revoked_at);
    expect((await decisions(server, 1))[0]?.change).toEqual({ what: "key_revoked", id });
  });

  it("may revoke the calling key", async () => {
    const own = await key("self", ["operations:manage"]);
    const id = parseKeyText(own)?.publicId;
    expect((await call(server, own, "POST", `/v1/keys/${id}/revoke`)).status).toBe(200);
    expect((await call(server, own, "GET", "/v1/keys")).status).toBe(401);
  });
});

it("a rotated key and its replacement share one limit", async () => {
  const manager2 = await key("demo", ["operations:manage"]);
  const made = await call(server, manager2, "POST", "/v1/keys", {
    ...PLAIN,
    limits: { requests_per_minute: 2 },
  });
  const route = server.built.snapshot.decider.table.workspaces.demo?.approve.routes[0];
  const ask = async (credential: string): Promise<number> =>
    (
      await call(server, credential, "POST", "/v1/chat/completions", {
        model: route,
        messages: [{ role: "user", content: "hello" }],
      })
    ).status;
  expect(await ask(made.json.key)).toBe(200);
  const rotated = await call(server, manager2, "POST", `/v1/keys/${made.json.id}/rotate`);
  const again = await call(server, manager2, "POST", `/v1/keys/${rotated.json.id}/rotate`);
  expect(await ask(rotated.json.key)).toBe(200);
  expect([await ask(again.json.key), await ask(made.json.key)]).toEqual([429, 429]);
});

it.each([
  [
    "/v1/keys",
    '{"scopes":["inference"],"scopes":["operations:manage"],"owner":"a","expires_in":60}',
  ],
  ["/v1/keys", String.raw`{"scopes":["inference"],"\u006fwner":"b","owner" : "a","expires_in":60}`],
  [
    "/v1/keys",
    '{"scopes":["inference"],"owner":"a","expires_in":60,"limits":{"concurrency":1,"concurrency":9}}',
  ],
  [`/v1/keys/${managerId ?? ""}/rotate`, '{"overlap_seconds":0,"overlap_seconds":86400}'],
])("POST %s refuses a body that names a member twice: %s", async (path, body) => {
  const { status, json } = await call(server, manager, "POST", path, body);
  expect([status, json.error.code]).toEqual([400, "invalid_json"]);
});

it("names of members inside a text are ignored", async () => {
  const twice = { maximum_lifetime: 60, routes: ['"owner":{"owner":', "owner"] };
  const { json } = await create({
    exchange: twice,
    limits: { budget: { usd: 0.000_001, per: "day" } },
  });
  expect(json.error).toMatchObject({ code: "invalid_value", param: "exchange.routes" });
});

it("paths with a slash at their end get a 404", async () => {
  for (const { path, method, listener } of ENDPOINTS) {
    if (listener !== "public") continue;
    const body = method === "POST" || method === "PUT" ? "{}" : undefined;
    const { status, json } = await call(
      server,
      manager,
      method,
      `${path.replaceAll(/\{\w+\}/g, "x")}/`,
      body,
    );
    expect([path, status, json.error?.code ?? json.error?.type]).toEqual([
      path,
      404,
      expect.anything(),
    ]);
    if (!path.startsWith("/api/") && !path.includes("responses"))
      expect(json.error.code, path).toBe("unknown_path");
  }
});
