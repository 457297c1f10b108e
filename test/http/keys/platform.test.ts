import { describe, expect, it } from "vitest";

import { PUT_KEY, SERVICE_KEY } from "../../../src/http/contract/key-schemas.ts";
import { bodyValidator } from "../../../src/http/validate-body.ts";
import { digestKeyText } from "../../../src/keys/key-record.ts";
import { parseKeyText, publicIdFor } from "../../../src/keys/key-text.ts";
import { startTestServer } from "../../support/server.ts";
import { call, decisions } from "./support.ts";

const running = await startTestServer();
const { server } = running;
const platform = await running.key("acme-prod", ["platform:manage"]);
const manager = await running.key("acme-prod", ["operations:manage"]);
const neighbour = await running.key("demo", ["operations:manage"]);

const EXPIRY = new Date(Date.now() + 30 * 86_400_000).toISOString();
const PLAIN = { scopes: ["inference"], owner: "group:payments", expires_at: EXPIRY };
const at = (name: string, workspace = "demo"): string => `/v1/workspaces/${workspace}/keys/${name}`;
const put = (name: string, body: object = PLAIN, key = platform, workspace = "demo") =>
  call(server, key, "PUT", at(name, workspace), body);

describe("a key with platform:manage", () => {
  it("creates, lists, reads, rotates and revokes keys of every workspace", async () => {
    const made = await call(server, platform, "POST", "/v1/keys", { ...PLAIN, workspace: "demo" });
    expect(made.json).toMatchObject({
      workspace: "demo",
      created_by: parseKeyText(platform)?.publicId,
    });
    const { id } = made.json;
    const listed = await call(server, platform, "GET", "/v1/keys?workspace=demo&limit=100");
    expect(listed.json.data.map((one: { id: string }) => one.id)).toContain(id);
    expect((await call(server, platform, "GET", `/v1/keys/${id}`)).json).toMatchObject({
      id,
      workspace: "demo",
    });
    const rotated = await call(server, platform, "POST", `/v1/keys/${id}/rotate`);
    expect(rotated.json).toMatchObject({ workspace: "demo", rotated_from: id });
    expect(
      (await call(server, platform, "POST", `/v1/keys/${rotated.json.id}/revoke`)).json.status,
    ).toBe("revoked");
    expect((await decisions(server, 100)).find(({ change }) => change?.id === id)).toMatchObject({
      workspace: "acme-prod",
      change: { what: "key_created", id, workspace: "demo" },
    });
  });

  it("gets 404 for a workspace that does not exist, as a manager gets for any other workspace", async () => {
    for (const [key, status] of [
      [platform, 404],
      [manager, 404],
    ] as const) {
      const { json, status: answered } = await call(
        server,
        key,
        "GET",
        "/v1/keys?workspace=nowhere",
      );
      expect([answered, json.error.code]).toEqual([status, "workspace_not_found"]);
    }
    expect((await call(server, manager, "GET", "/v1/keys?workspace=demo")).status).toBe(404);
    expect((await call(server, platform, "GET", "/v1/keys?workspace=constructor")).status).toBe(
      404,
    );
  });

  it("may only manage keys", async () => {
    for (const path of [
      "/v1/models",
      "/v1/decisions",
      "/v1/spend",
      "/v1/policies",
      "/v1/governance/summary",
    ]) {
      expect((await call(server, platform, "GET", path)).status, path).toBe(403);
    }
  });

  it("is created on a terminal only: no key grants it over HTTP, not even one that has it", async () => {
    for (const key of [platform, manager]) {
      const { status, json } = await call(server, key, "POST", "/v1/keys", {
        ...PLAIN,
        scopes: ["platform:manage"],
      });
      expect([status, json.error.code, json.error.param]).toEqual([
        400,
        "invalid_value",
        "scopes[0]",
      ]);
      const named = await put(
        "escalated",
        { ...PLAIN, scopes: ["platform:manage"] },
        key,
        "acme-prod",
      );
      expect(named.status).toBe(400);
    }
  });

  it("is not rotated or revoked by a key that manages its workspace only", async () => {
    const other = await running.key("acme-prod", ["platform:manage"]);
    const id = parseKeyText(other)?.publicId ?? "";
    for (const what of ["rotate", "revoke"]) {
      const { status, json, text } = await call(server, manager, "POST", `/v1/keys/${id}/${what}`);
      expect([what, status, json.error.code]).toEqual([what, 403, "insufficient_scope"]);
      expect(text).not.toContain("sbx_");
    }
    expect((await call(server, other, "GET", "/v1/keys")).status).toBe(200);
    expect((await call(server, platform, "POST", `/v1/keys/${id}/revoke`)).json.status).toBe(
      "revoked",
    );
  });
});

describe("a key by name", () => {
  it("is created by the first PUT, and only described by later ones", async () => {
    const made = await put("terraform-1");
    expect(made.status).toBe(200);
    expect(bodyValidator(PUT_KEY)(made.json)).toBeNull();
    const { key, id } = made.json;
    expect(parseKeyText(key)?.publicId).toBe(id);
    expect(made.json).toMatchObject({ name: "terraform-1", workspace: "demo", expires_at: EXPIRY });
    const again = [
      await put("terraform-1"),
      await put("terraform-1", { ...PLAIN, labels: [] }, neighbour),
    ];
    again.push(await call(server, neighbour, "GET", at("terraform-1")));
    for (const { status, json, text } of again) {
      expect([status, json.id, json.key]).toEqual([200, id, undefined]);
      expect(bodyValidator(SERVICE_KEY)(json)).toBeNull();
      expect(text).not.toContain(key.slice(-39));
      expect(text).not.toContain(digestKeyText(key));
    }
    expect((await call(server, key, "GET", "/v1/keys")).status).toBe(403);
    const made2 = (await decisions(server, 1_000)).filter(({ change }) => change?.id === id);
    expect(made2.map(({ change }) => change?.what)).toEqual(["key_created"]);
  });

  it.each([
    ["environment", { environment: "staging" }],
    ["exchange", { exchange: { maximum_lifetime: 60 } }],
    ["expires_at", { expires_at: new Date(Date.parse(EXPIRY) + 60_000).toISOString() }],
  ])("conflicts by %s, which is named, and stays unchanged", async (field, change) => {
    const { json: made } = await put("kept");
    const { status, json } = await put("kept", { ...PLAIN, owner: "group:else", ...change });
    expect([status, json.error.code, json.error.param]).toEqual([409, "key_differs", field]);
    const { json: read } = await call(server, platform, "GET", at("kept"));
    expect(read).toMatchObject({
      id: made.id,
      scopes: PLAIN.scopes,
      owner: PLAIN.owner,
      limits: null,
    });
  });

  const LIMITS = {
    requests_per_minute: 5,
    tokens_per_minute: null,
    concurrency: null,
    budget: null,
  };
  it.each([
    ["scopes", { scopes: ["catalogue:read"] }],
    ["owner", { owner: "group:else" }],
    ["workload", { workload: "batch" }],
    ["labels", { labels: ["eu"] }],
    ["limits", { limits: LIMITS }],
  ])(
    "gets other %s by the next PUT, with the same text and id, on record",
    async (grant, change) => {
      const { json: made } = await put(`changed-${grant}`);
      const { status, json } = await put(`changed-${grant}`, { ...PLAIN, ...change });
      expect([status, json.id, json.key]).toEqual([200, made.id, undefined]);
      expect(bodyValidator(SERVICE_KEY)(json)).toBeNull();
      const { key: _text, ...described } = made;
      expect(json).toEqual({ ...described, ...change });
      expect((await call(server, platform, "GET", at(`changed-${grant}`))).json).toEqual(json);
      expect((await put(`changed-${grant}`, { ...PLAIN, ...change })).json).toEqual(json);
      const records = (await decisions(server, 1_000)).filter((one) => one.change?.id === made.id);
      expect(records.map((one) => one.change)).toMatchObject([
        { what: "key_created", workspace: "demo" },
        { what: "key_changed", grants: [grant], workspace: "demo" },
      ]);
    },
  );

  it("has the scopes of a PUT at once, and loses them with a PUT that removes them", async () => {
    const { json: made } = await put("scoped");
    const models = async (): Promise<number> =>
      (await call(server, made.key, "GET", "/v1/models")).status;
    expect(await models()).toBe(403);
    await put("scoped", { ...PLAIN, scopes: ["catalogue:read", "inference"] });
    expect(await models()).toBe(200);
    await put("scoped");
    expect(await models()).toBe(403);
  });

  it("gets no platform scope and no undeclared label, and stays unchanged", async () => {
    const { json: made } = await put("modest");
    for (const change of [
      { scopes: ["inference", "platform:manage"] },
      { labels: ["no-such-label"] },
    ]) {
      for (const key of [platform, neighbour]) {
        expect((await put("modest", { ...PLAIN, ...change }, key)).status).toBe(400);
      }
    }
    expect((await put("modest", { ...PLAIN, owner: "group:else" }, manager)).status).toBe(404);
    const inference = await running.key("demo", ["inference"]);
    expect((await put("modest", { ...PLAIN, owner: "group:else" }, inference)).status).toBe(403);
    const { json } = await call(server, platform, "GET", at("modest"));
    expect(json).toMatchObject({
      id: made.id,
      scopes: PLAIN.scopes,
      labels: [],
      owner: PLAIN.owner,
    });
  });

  it("changes with its rotations: no former key keeps a grant during its overlap", async () => {
    const { json: first } = await put("overlap", {
      ...PLAIN,
      scopes: ["catalogue:read", "inference"],
    });
    const { json: second } = await call(server, platform, "POST", `/v1/keys/${first.id}/rotate`);
    expect((await put("overlap")).json).toMatchObject({ id: second.id, scopes: ["inference"] });
    for (const { key } of [first, second])
      expect((await call(server, key, "GET", "/v1/models")).status).toBe(403);
  });

  it("is one key where two requests create it at once, and one answer has the secret", async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => put("at-once")));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
    expect(answers.filter(({ json }) => json.key !== undefined)).toHaveLength(1);
  });

  it("may be deleted repeatedly, and its name then creates another key", async () => {
    const { json: first } = await put("again");
    for (let count = 0; count < 2; count += 1) {
      const deleted = await call(server, platform, "DELETE", at("again"));
      expect(deleted.json).toMatchObject({ id: first.id, name: "again", status: "revoked" });
    }
    expect((await call(server, platform, "GET", at("again"))).status).toBe(404);
    expect((await call(server, first.key, "GET", "/v1/models")).status).toBe(401);
    const { json: second } = await put("again", { ...PLAIN, owner: "group:second" });
    expect(second.id).not.toBe(first.id);
    expect(parseKeyText(second.key)?.publicId).toBe(second.id);
    expect((await call(server, platform, "GET", at("again"))).json.owner).toBe("group:second");
    expect((await call(server, platform, "DELETE", at("never"))).status).toBe(404);
  });

  it("follows rotations: the new key has the name, and deleting ends the old one too", async () => {
    const { json: first } = await put("rotated");
    const { json: second } = await call(server, platform, "POST", `/v1/keys/${first.id}/rotate`);
    expect((await put("rotated")).json).toMatchObject({ id: second.id });
    expect((await call(server, platform, "DELETE", at("rotated"))).json).toMatchObject({
      id: second.id,
    });
    for (const { key } of [first, second])
      expect((await call(server, key, "GET", "/v1/models")).status).toBe(401);
  });

  it("belongs to its workspace: the same name elsewhere is another key, and managers read their own", async () => {
    const { json: theirs } = await put("shared", PLAIN, neighbour);
    const { json: ours } = await put("shared", PLAIN, manager, "acme-prod");
    expect(ours.id).not.toBe(theirs.id);
    for (const method of ["GET", "PUT", "DELETE"] as const) {
      const { status, json } = await call(
        server,
        manager,
        method,
        at("shared"),
        method === "PUT" ? PLAIN : undefined,
      );
      expect([method, status, json.error.code]).toEqual([method, 404, "workspace_not_found"]);
    }
  });

  it.each([
    "UPPER",
    "-dash",
    "under_score",
    "a".repeat(64),
    "%00",
    "a%2Fb",
    "sbx_production_aaaaaaaaaaaa",
  ])("a name that is not plain is refused: %s", async (name) => {
    expect((await put(name)).status).toBe(400);
    expect((await call(server, platform, "GET", at(name))).status).toBe(404);
  });

  it.each([
    ["an expiry in seconds", { ...PLAIN, expires_in: 60 }, "expires_in"],
    ["a workspace in the body", { ...PLAIN, workspace: "demo" }, "workspace"],
    ["no expiry", { scopes: ["inference"], owner: "me" }, "expires_at"],
    ["a past expiry", { ...PLAIN, expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
  ])("refuses %s", async (_, body, param) => {
    const { status, json } = await put("refused", body);
    expect([status, json.error.param]).toEqual([400, param]);
  });

  it("has an id derived unambiguously from workspace and name", () => {
    const ids = [
      publicIdFor(["named key", "a", "b", 0]),
      publicIdFor(["named key", "a", "b", 1]),
      publicIdFor(["named key", "ab", "", 0]),
      publicIdFor(["named key", "", "ab", 0]),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(publicIdFor(["named key", "a", "b", 0])).toBe(ids[0]);
    for (const id of ids) expect(id).toMatch(/^[0-9A-Za-z]{12}$/);
  });
});
