import {
  SignJWT,
  base64url,
  exportJWK,
  generateKeyPair,
  generateSecret,
  type JWTPayload,
} from "jose";
import { createHmac } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";

import { startTestServer } from "../../support/server.ts";
import { call } from "./support.ts";

/**
 * Tokens that are none: each differs in one thing from a good one, and all are refused with the
 * same message.
 */
const running = await startTestServer();
const { server } = running;
const KID = "issuer-of-the-test";
const pair = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
const { x: publicKey = "" } = await exportJWK(pair.publicKey);
const foreignKeys = await generateKeyPair("EdDSA", { crv: "Ed25519" });

let keyId = "";
let plainKeyId = "";
let revokedId = "";
beforeAll(async () => {
  await server.store.issuers.publish({ kid: KID, publicKey, expiresAt: Date.now() + 600_000 });
  const manager = await running.key("demo", ["operations:manage"]);
  const make = async (exchange: object | null): Promise<string> =>
    (
      await call(server, manager, "POST", "/v1/keys", {
        scopes: ["catalogue:read", "inference"],
        owner: "test",
        expires_in: 3_600,
        exchange,
      })
    ).json.id;
  keyId = await make({ maximum_lifetime: 600 });
  plainKeyId = await make(null);
  revokedId = await make({ maximum_lifetime: 600 });
  await call(server, manager, "POST", `/v1/keys/${revokedId}/revoke`);
});

const now = (): number => Math.floor(Date.now() / 1_000);

const claims = (): JWTPayload => ({
  iss: "signalbox",
  sub: keyId,
  jti: "a-token-of-the-test",
  iat: now(),
  nbf: now(),
  exp: now() + 300,
  workspace: "demo",
  scope: "catalogue:read",
  operations: null,
  routes: null,
  origin: null,
  max_requests: null,
  max_tokens: null,
});

const HEADER = { alg: "EdDSA", typ: "at+jwt", kid: KID };

async function sign(
  more: Record<string, unknown> = {},
  header: object = {},
  key: CryptoKey = pair.privateKey,
): Promise<string> {
  const jwt = await new SignJWT({ ...claims(), ...more })
    .setProtectedHeader({ ...HEADER, ...header })
    .sign(key);
  return `sbx_x_${jwt}`;
}

const encode = (value: unknown): string => base64url.encode(JSON.stringify(value));

function withoutSignature(header: object, signature = ""): string {
  return `sbx_x_${encode({ ...HEADER, ...header })}.${encode(claims())}.${signature}`;
}

const show = (token: string): Promise<{ status: number; text: string }> =>
  call(server, token, "GET", "/v1/models");

it("a valid token is accepted, also where its issuer was published a moment ago", async () => {
  expect((await show(await sign())).status).toBe(200);
});

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

it("a token has one text: unused bits of the last character of its signature must be zero", async () => {
  const good = await sign();
  const last = BASE64URL.indexOf(good.at(-1) ?? "");
  // 64 bytes leave four bits of the last character unused.
  expect(last % 16).toBe(0);
  for (let bits = 1; bits < 16; bits += 1) {
    const other = `${good.slice(0, -1)}${BASE64URL[last + bits]}`;
    expect(Buffer.from(other.split(".")[2] ?? "", "base64url")).toEqual(
      Buffer.from(good.split(".")[2] ?? "", "base64url"),
    );
    expect((await show(other)).status).toBe(401);
  }
  for (const padded of [`${good}=`, `${good}==`, good.replaceAll("-", "+").replaceAll("_", "/")]) {
    if (padded !== good) expect((await show(padded)).status).toBe(401);
  }
  expect((await show(good)).status).toBe(200);
});

describe("a bad token is refused without detail", () => {
  const cases: readonly (readonly [string, () => Promise<string> | string])[] = [
    ["no algorithm", () => withoutSignature({ alg: "none" })],
    ["no algorithm, in capitals", () => withoutSignature({ alg: "NONE" })],
    [
      "the public key as an HMAC secret",
      () => {
        const text = `${encode({ ...HEADER, alg: "HS256" })}.${encode(claims())}`;
        const secret = Buffer.from(publicKey, "base64url");
        return `sbx_x_${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
      },
    ],
    [
      "an HMAC of its own",
      async () => {
        const secret = await generateSecret("HS256", { extractable: true });
        const jwt = await new SignJWT(claims())
          .setProtectedHeader({ ...HEADER, alg: "HS256" })
          .sign(secret);
        return `sbx_x_${jwt}`;
      },
    ],
    [
      "another curve's algorithm",
      async () => {
        const { privateKey } = await generateKeyPair("ES256");
        const jwt = await new SignJWT(claims())
          .setProtectedHeader({ ...HEADER, alg: "ES256" })
          .sign(privateKey);
        return `sbx_x_${jwt}`;
      },
    ],
    ["another's signature", () => sign({}, {}, foreignKeys.privateKey)],
    [
      "its own key in the header",
      async () => sign({}, { jwk: await exportJWK(foreignKeys.publicKey) }, foreignKeys.privateKey),
    ],
    ["no issuer's name", () => sign({}, { kid: undefined })],
    ["an unknown issuer", () => sign({}, { kid: "nobody" })],
    ["a name of every object", () => sign({}, { kid: "constructor" })],
    ["another type of JWT", () => sign({}, { typ: "JWT" })],
    ["no type", () => sign({}, { typ: undefined })],
    ["another service's", () => sign({ iss: "another" })],
    ["expired", () => sign({ iat: now() - 400, nbf: now() - 400, exp: now() - 1 })],
    ["not yet", () => sign({ nbf: now() + 20 })],
    ["without an end", () => sign({ exp: undefined })],
    ["without a beginning", () => sign({ nbf: undefined })],
    ["too long a life", () => sign({ exp: now() + 901 })],
    ["no id", () => sign({ jti: undefined })],
    ["free text as id", () => sign({ jti: "some free text" })],
    ["an unknown key", () => sign({ sub: "nobodysKey12" })],
    ["a revoked key", () => sign({ sub: revokedId })],
    ["a key without the permission", () => sign({ sub: plainKeyId })],
    ["another workspace", () => sign({ workspace: "acme-prod" })],
    ["a scope that its key has not", () => sign({ scope: "catalogue:read governance:read" })],
    ["the operator's scope", () => sign({ scope: "operations:manage" })],
    ["no scope", () => sign({ scope: "" })],
    ["nothing about routes", () => sign({ routes: undefined })],
    ["routes that are no list", () => sign({ routes: "r" })],
    ["routes that are no texts", () => sign({ routes: [1] })],
    ["nothing about operations", () => sign({ operations: undefined })],
    ["nothing about its origin", () => sign({ origin: undefined })],
    ["nothing about ceilings", () => sign({ max_requests: undefined })],
    ["a ceiling that is no number", () => sign({ max_tokens: "many" })],
    [
      "one changed byte of its claims",
      async () => {
        const [header = "", body = "", signature = ""] = (await sign()).split(".");
        const changed = encode({
          ...JSON.parse(Buffer.from(body, "base64url").toString()),
          workspace: "acme-prod",
        });
        return [header, changed, signature].join(".");
      },
    ],
    [
      "one changed bit of its signature",
      async () => {
        const token = await sign();
        return token.slice(0, -10) + (token.at(-10) === "A" ? "B" : "A") + token.slice(-9);
      },
    ],
    ["a signature cut short", async () => (await sign()).slice(0, -20)],
    [
      "too large",
      () => sign({ routes: Array.from({ length: 200 }, (_, index) => `a-route-of-many-${index}`) }),
    ],
    ["much too large", () => `sbx_x_${"a.".repeat(5_000)}`],
    ["dots", () => "sbx_x_..."],
    ["no JWT", () => "sbx_x_a.b.c"],
    ["four parts", async () => `${await sign()}.more`],
    ["without its prefix", async () => (await sign()).slice("sbx_x_".length)],
  ];

  it.each(cases)("%s", async (_, make) => {
    const token = await make();
    const { status, text } = await show(token);
    expect(status).toBe(401);
    const { error } = JSON.parse(text);
    expect([error.type, error.code]).toEqual(["authentication_error", "invalid_api_key"]);
    if (token.startsWith("sbx_x_"))
      expect(error.message).toContain("The token is not valid; get a new one.");
    if (token.length > 40) expect(text).not.toContain(token.slice(10, 40));
  });
});

it("an issuer's tokens end with the issuer", async () => {
  await server.store.issuers.publish({ kid: "short", publicKey, expiresAt: Date.now() + 3_000 });
  const token = await sign({}, { kid: "short" });
  await expect.poll(async () => (await show(token)).status, { timeout: 2_500 }).toBe(200);
  await expect.poll(async () => (await show(token)).status, { timeout: 6_000 }).toBe(401);
});

it("a damaged public key in the store does not affect tokens of other keys", async () => {
  await server.store.issuers.publish({
    kid: "damaged",
    publicKey: "not a key",
    expiresAt: Date.now() + 600_000,
  });
  expect((await show(await sign({}, { kid: "damaged" }))).status).toBe(401);
  expect((await show(await sign())).status).toBe(200);
});
