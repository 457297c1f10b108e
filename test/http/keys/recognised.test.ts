import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";

import { createKey, DAY } from "../../../src/keys/key-record.ts";
import { parseKeyText } from "../../../src/keys/key-text.ts";
import { startTestServer } from "../../support/server.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "../../store/records.ts";
import { asIdentifier } from "../../../src/evidence/record.ts";
import { call, decisions } from "./support.ts";

const running = await startTestServer();
const { server } = running;
const key: typeof running.key = (...given) => running.key(...given);
const manager = await key("demo", ["operations:manage"]);
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const idOf = (text: string): string => parseKeyText(text)?.publicId ?? "";

async function revoked(): Promise<string> {
  const text = await key("demo", ["inference"]);
  await server.store.keys.revoke(idOf(text), Date.now());
  return text;
}

async function expired(): Promise<string> {
  const options = { scopes: ["inference"], owner: "test", createdBy: "test" };
  const past = Date.now() - DAY;
  const made = createKey(
    { workspace: "demo", ...options, expiresAt: past + 1_000 },
    () => past,
    randomBytes,
  );
  await server.store.keys.create(made.record);
  return made.text;
}

/** The public id of a key that exists, another secret, and a checksum that fits. */
function withWrongSecret(text: string): string {
  const body = `${text.slice(0, -39)}${"A".repeat(33)}`;
  let sum = "";
  for (let rest = crc32(body); sum.length < 6; rest = Math.floor(rest / 62))
    sum = BASE62.charAt(rest % 62) + sum;
  return body + sum;
}

const chat = (bearer: string, body: unknown = {}) =>
  call(server, bearer, "POST", "/v1/chat/completions", body);

describe("the record of a refusal names a recognised key and its workspace", () => {
  it.each([
    ["a revoked key", revoked, chat, 401, "invalid_api_key"],
    ["an expired key", expired, chat, 401, "expired_api_key"],
    [
      "a key without the scope",
      () => key("demo", ["catalogue:read"]),
      chat,
      403,
      "insufficient_scope",
    ],
    [
      "a key without the scope of a control endpoint",
      () => key("demo", ["inference"]),
      (bearer: string) => call(server, bearer, "GET", "/v1/keys"),
      403,
      "insufficient_scope",
    ],
    ["a good key with a bad body", () => key("demo", ["inference"]), chat, 400, "missing_field"],
  ] as const)("%s", async (_name, make, send, status, reason) => {
    const bearer = await make();
    expect((await send(bearer)).status).toBe(status);
    expect((await decisions(server, 1))[0]).toMatchObject({
      outcome: "refuse",
      reason,
      workspace: "demo",
      environment: "production",
      keyId: idOf(bearer),
    });
  });

  it("where a header that bounds the request is invalid", async () => {
    const bearer = await key("demo", ["inference"]);
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${bearer}`, "x-request-timeout-ms": "soon" },
    });
    expect(response.status).toBe(400);
    expect((await decisions(server, 1))[0]).toMatchObject({
      reason: "invalid_timeout",
      keyId: idOf(bearer),
    });
  });

  it("where a token of a revoked key is sent, with the token's id", async () => {
    const made = await call(server, manager, "POST", "/v1/keys", {
      scopes: ["inference"],
      owner: "test",
      expires_in: 3_600,
      exchange: { maximum_lifetime: 600 },
    });
    const exchanged = await call(server, made.json.key, "POST", "/v1/credentials/exchange", {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    });
    await call(server, manager, "POST", `/v1/keys/${made.json.id}/revoke`);
    expect((await chat(exchanged.json.access_token)).status).toBe(401);
    expect((await decisions(server, 1))[0]).toMatchObject({
      reason: "invalid_api_key",
      workspace: "demo",
      keyId: made.json.id,
      token: exchanged.json.token_id,
    });
  });
});

describe("the record of a refusal is anonymous", () => {
  it.each([
    [
      "a wrong secret behind a known id",
      async () => withWrongSecret(await key("demo", ["inference"])),
    ],
    ["a wrong secret behind the id of a revoked key", async () => withWrongSecret(await revoked())],
    ["a mistyped key", async () => `${(await key("demo", ["inference"])).slice(0, -1)}_`],
    [
      "an unknown key",
      () => Promise.resolve(withWrongSecret(`sbx_production_${"b".repeat(12)}_${"b".repeat(39)}`)),
    ],
    ["no key at all", () => Promise.resolve("nobody")],
  ])("for %s", async (_name, make) => {
    expect((await chat(await make())).status).toBe(401);
    expect((await decisions(server, 1))[0]).toMatchObject({
      reason: "invalid_api_key",
      workspace: null,
      keyId: null,
      environment: null,
    });
  });
});

it("a flood of refusals with one key costs a bounded number of rows, all with the key's id, and the summary counts them", async () => {
  const other = await startTestServer();
  const { server: flooded } = other;
  const reader = await other.key("demo", ["governance:read"]);
  const gone = await other.key("demo", ["inference"]);
  await flooded.store.keys.revoke(idOf(gone), Date.now());
  await Promise.all(
    Array.from({ length: 300 }, () => call(flooded, gone, "POST", "/v1/chat/completions", {})),
  );
  const rows = await decisions(flooded, 1_000);
  expect(rows.length).toBeGreaterThanOrEqual(100);
  expect(rows.length).toBeLessThan(200);
  expect(new Set(rows.map(({ keyId }) => keyId))).toEqual(new Set([idOf(gone)]));
  // What is added up is written after ten seconds: such a record by hand.
  const members = {
    workspace: asIdentifier("demo"),
    keyId: asIdentifier(idOf(gone)),
    route: null,
    plan: [],
    wouldDeny: [],
  };
  const sum = {
    ...members,
    at: Date.now(),
    outcome: "refuse",
    reason: asIdentifier("invalid_api_key"),
    repeated: 200,
  } as const;
  await recordDecision(flooded.store.evidence, decisionRecord("req_sum", sum));
  flooded.store.evidence.settle({
    ...outcomeRecord("req_sum", "refused"),
    status: 401,
    attempts: [],
  });
  await flooded.store.evidence.flush();
  const { json } = await call(flooded, reader, "GET", "/v1/governance/summary?group_by=key");
  const group = json.groups.find(
    (one: { group: { key: string | null } }) => one.group.key === idOf(gone),
  );
  expect(group.refused).toBe(rows.length + 200);
});
