import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CompactSign, base64url } from "jose";
import { describe, expect, it, onTestFinished } from "vitest";
import { createOidcClient } from "../../src/keys/oidc-client.ts";
import { makeIssuerKey } from "../support/workload-issuer.ts";

const CLIENT = "signalbox";
const CHECK = { state: "s".repeat(43), nonce: "n".repeat(43), verifier: "v".repeat(43) };

const [signing, other] = [await makeIssuerKey("a"), await makeIssuerKey("a")];

type Claims = Readonly<Record<string, unknown>>;
type Token = (claims: Claims) => string | Promise<string>;

const signed = (key = signing): Token => {
  return (claims) =>
    new CompactSign(Buffer.from(JSON.stringify(claims)))
      .setProtectedHeader({ alg: "ES256", kid: "a" })
      .sign(key.privateKey);
};

const raw = (header: object, signature: (text: string) => string | Promise<string>): Token => {
  return async (claims) => {
    const text = [header, claims].map((part) => base64url.encode(JSON.stringify(part))).join(".");
    return `${text}.${await signature(text)}`;
  };
};

interface Hostile {
  readonly token?: Token;
  readonly claims?: Claims;
  readonly algorithms?: readonly string[];
  readonly tokenEndpoint?: (response: ServerResponse) => void;
}

/** A provider whose ID token, claims and token endpoint the test chooses. */
async function finishAt({
  token = signed(),
  claims = {},
  algorithms = ["ES256"],
  tokenEndpoint,
}: Hostile) {
  const server = createServer((incoming, response) => {
    const json = (value: unknown): void => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
    };
    if (incoming.url === "/jwks") return json({ keys: [signing.publicJwk] });
    if (incoming.url !== "/token") {
      return json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        id_token_signing_alg_values_supported: algorithms,
      });
    }
    if (tokenEndpoint !== undefined) return tokenEndpoint(response);
    const now = Math.floor(Date.now() / 1_000);
    const usual = {
      iss: issuer,
      sub: "ada",
      aud: CLIENT,
      nonce: CHECK.nonce,
      iat: now,
      exp: now + 300,
      groups: ["sre"],
    };
    void Promise.resolve(token({ ...usual, ...claims })).then((idToken) =>
      json({ access_token: "a", token_type: "bearer", id_token: idToken }),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has this address
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return createOidcClient({ ...SETTINGS, issuer }, null).finish(RETURNED, CHECK);
}

const SETTINGS = {
  label: "P",
  issuer: "https://people.example",
  clientId: CLIENT,
  clientSecret: null,
  scopes: [],
  groupsClaim: "groups",
  nameClaim: "name",
};
const RETURNED = new URL(`http://127.0.0.1/callback?code=c&state=${CHECK.state}`);

it("no more than 50 returns wait for the provider at once, also after others have ended", async () => {
  let isDown = true;
  const client = createOidcClient(SETTINGS, null, () =>
    isDown ? Promise.reject(new Error("down")) : new Promise(() => {}),
  );
  const finish = () => client.finish(RETURNED, CHECK);
  expect(await finish()).toEqual({ fault: "unavailable" });
  isDown = false;
  const waiting = Array.from({ length: 50 }, finish).at(-1);
  const soon = (end: unknown) =>
    Promise.race([end, new Promise((resolve) => setImmediate(resolve, "waits"))]);
  expect(await soon(waiting)).toBe("waits");
  expect(await soon(finish())).toEqual({ fault: "unavailable" });
});

describe("an ID token", () => {
  it("that the provider signed signs its person in", async () => {
    const named = { claims: { name: "A\u0007da" } };
    expect(await finishAt(named)).toMatchObject({ subject: "ada", name: "Ada", groups: ["sre"] });
  });

  it.each<readonly [string, unknown, readonly string[]]>([
    ["one text", "sre", ["sre"]],
    ["a number", 7, []],
    ["an object", { sre: true }, []],
    ["a list of texts and others", ["sre", 7, null, "web"], ["sre", "web"]],
    ["absent", undefined, []],
  ])("with groups that are %s signs in with the texts among them", async (_, groups, expected) => {
    expect(await finishAt({ claims: { groups } })).toMatchObject({
      subject: "ada",
      groups: expected,
    });
  });

  const none = { alg: "none", kid: "a" };
  const hmac = { alg: "HS256", kid: "a" };
  const sign = async (text: string): Promise<string> => {
    const { createHmac } = await import("node:crypto");
    return createHmac("sha256", JSON.stringify(signing.publicJwk)).update(text).digest("base64url");
  };
  it.each<readonly [string, Hostile]>([
    ["signed with another key", { token: signed(other) }],
    ["with an empty signature", { token: raw({ alg: "ES256", kid: "a" }, () => "") }],
    [
      "with alg none, which the provider lists",
      { token: raw(none, () => ""), algorithms: ["none", "ES256"] },
    ],
    [
      "with HS256 and the public key, which the provider lists",
      { token: raw(hmac, sign), algorithms: ["HS256", "ES256"] },
    ],
    [
      "of a key that the provider does not publish",
      { token: raw({ alg: "ES256", kid: "b" }, () => "AAAA") },
    ],
    ["for another client", { claims: { aud: "other" } }],
    ["whose azp is another client", { claims: { azp: "other" } }],
    ["for several clients, without azp", { claims: { aud: [CLIENT, "other"] } }],
    ["of another issuer", { claims: { iss: "https://other.example" } }],
    ["with another nonce", { claims: { nonce: "other" } }],
    ["that is over", { claims: { exp: Math.floor(Date.now() / 1_000) - 60 } }],
    ["that never ends", { claims: { exp: 1e300 } }],
    ["whose end is a text", { claims: { exp: "4000000000" } }],
    [
      "that is made tomorrow",
      { claims: { iat: Math.floor(Date.now() / 1_000) + 86_400, exp: 4e9 } },
    ],
    ["made at a time before 1970", { claims: { iat: -1 } }],
    ["with a subject of control characters", { claims: { sub: "a\u001b[0m" } }],
  ])("%s is refused", async (_, hostile) => {
    expect(await finishAt(hostile)).toEqual({ fault: "unverified" });
  });
});

describe("the token endpoint", () => {
  it("that refuses the code invalidates the sign-in", async () => {
    const tokenEndpoint = (response: ServerResponse): void => {
      response
        .writeHead(400, { "content-type": "application/json" })
        .end('{"error":"invalid_grant"}');
    };
    expect(await finishAt({ tokenEndpoint })).toEqual({ fault: "invalid" });
  });

  it.each<readonly [string, (response: ServerResponse) => void]>([
    ["answers 500", (response) => response.writeHead(500).end("no")],
    ["hangs up", (response) => response.destroy()],
    [
      "answers without end",
      (response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const write = (): void => {
          while (!response.destroyed && response.write(" ".repeat(65_536)));
        };
        response.on("drain", write);
        write();
      },
    ],
  ])("that %s makes sign-in unavailable", async (_, tokenEndpoint) => {
    expect(await finishAt({ tokenEndpoint })).toEqual({ fault: "unavailable" });
  });
});
