import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportSPKI, importJWK } from "jose";
import { describe, expect, it, vi } from "vitest";
import {
  workloadCaller,
  type WorkloadIdentity,
  type WorkloadIssuer,
  type WorkloadRule,
} from "../../../src/canon/workload-identity.ts";
import { jsonFetcher } from "../../../src/dispatch/fetch-json.ts";
import { createWorkloadTokens, ruleHolder } from "../../../src/keys/workload-tokens.ts";
import { whenFileEnds } from "../../support/file-end.ts";
import {
  forgedJwt,
  makeIssuerKey,
  startWorkloadIssuer,
  workloadJwt,
} from "../../support/workload-issuer.ts";

const first = await makeIssuerKey("first");
const second = await makeIssuerKey("second");
const rsa = await makeIssuerKey("rsa", "RS256");

const RULE: WorkloadRule = {
  id: "checkout",
  issuedBy: "cluster",
  audience: "signalbox",
  claims: [{ claim: "sub", values: ["system:serviceaccount:shop:*"] }],
  workspace: "shop",
  scopes: ["inference"],
  operations: null,
  routes: null,
  lifetime: 600,
  environment: "production",
  workload: "",
  owner: null,
  labels: [],
};

function rulesOf(
  issuer: WorkloadIssuer,
  ...rules: readonly Partial<WorkloadRule>[]
): WorkloadIdentity {
  const rows = rules.length === 0 ? [RULE] : rules.map((rule) => ({ ...RULE, ...rule }));
  return {
    issuers: { cluster: issuer },
    rules: Object.fromEntries(rows.map((rule) => [rule.id, rule])),
  };
}

/** Judges over sockets, with a clock that the test moves. */
function judge() {
  const clock = { now: 0 };
  const failures: string[] = [];
  const tokens = createWorkloadTokens(
    jsonFetcher(),
    Date.now,
    () => clock.now,
    (_, failure) => failures.push(failure),
  );
  return { clock, failures, admit: tokens.admit.bind(tokens) };
}

const discovered = (issuer: string): WorkloadIssuer => ({
  issuer,
  keys: { kind: "discovery" },
  network: "private",
});

describe("the owner of a caller's id", () => {
  const issuer: WorkloadIssuer = { issuer: "edge", keys: { kind: "file", file: "e", keys: [] } };
  const rules = rulesOf(
    issuer,
    { id: "deploy", owner: "group:ops" },
    { id: "null" },
    { id: "ci", owner: null },
  );

  it("has the members of its rule, and no owner where the rule has none", () => {
    const identity = ruleHolder(rules, workloadCaller("deploy"))?.identity;
    expect(identity).toMatchObject({
      keyId: workloadCaller("deploy"),
      workspace: RULE.workspace,
      owner: "group:ops",
    });
    expect(ruleHolder(rules, workloadCaller("ci"))?.identity).not.toHaveProperty("owner");
  });

  it.each([
    ["an id of no rule", rules, workloadCaller("gone")],
    ["a name that every object has", rules, workloadCaller("constructor")],
    ["a key, beside a rule named null", rules, "k1"],
    ["a table without workloads", undefined, workloadCaller("deploy")],
  ])("is none for %s", (_, workloads, id) => {
    expect(ruleHolder(workloads, id)).toBeNull();
  });
});

describe("keys of an issuer", () => {
  it("are discovered once, and not for every JWT", async () => {
    const idp = await startWorkloadIssuer([first, rsa]);
    const { admit } = judge();
    const rules = rulesOf(discovered(idp.issuer));
    for (const key of [first, rsa, first]) {
      expect(await admit(await workloadJwt(idp.issuer, key), rules)).toHaveProperty(
        "identity.workspace",
        "shop",
      );
    }
    expect(idp.requests).toEqual(["/.well-known/openid-configuration", "/jwks"]);
  });

  it("are fetched again for a new key, but not more often than every half minute", async () => {
    const idp = await startWorkloadIssuer([first]);
    const { admit, clock } = judge();
    const rules = rulesOf(discovered(idp.issuer));
    expect(await admit(await workloadJwt(idp.issuer, first), rules)).toHaveProperty("identity");
    idp.rotate([second, first]);
    const jwt = await workloadJwt(idp.issuer, second);
    expect(await admit(jwt, rules)).toEqual({ fault: "invalid" });
    expect(idp.requests.length).toBe(2);
    clock.now += 30_000;
    const together = await Promise.all([admit(jwt, rules), admit(jwt, rules), admit(jwt, rules)]);
    for (const one of together) expect(one).toHaveProperty("identity");
    expect(idp.requests.length).toBe(4);
    // Of unknown keys, anybody could send as many as they like.
    const unknown = await makeIssuerKey("unknown");
    for (let sent = 0; sent < 5; sent += 1) {
      expect(await admit(await workloadJwt(idp.issuer, unknown), rules)).toEqual({
        fault: "invalid",
      });
    }
    expect(idp.requests.length).toBe(4);
  });

  it("that the issuer has withdrawn are refused after ten minutes", async () => {
    const idp = await startWorkloadIssuer([first]);
    const { admit, clock } = judge();
    const rules = rulesOf(discovered(idp.issuer));
    const jwt = await workloadJwt(idp.issuer, first, { expires: 3_600 });
    expect(await admit(jwt, rules)).toHaveProperty("identity");
    idp.rotate([second]);
    clock.now += 10 * 60_000 - 1;
    expect(await admit(jwt, rules)).toHaveProperty("identity");
    clock.now += 1;
    expect(await admit(jwt, rules)).toEqual({ fault: "invalid" });
  });

  it("are used for an hour while the issuer cannot be reached, and then refused as unavailable", async () => {
    const idp = await startWorkloadIssuer([first]);
    const { admit, clock, failures } = judge();
    const rules = rulesOf(discovered(idp.issuer));
    const jwt = await workloadJwt(idp.issuer, first);
    expect(await admit(jwt, rules)).toHaveProperty("identity");
    await idp.stop();
    clock.now += 60 * 60_000 - 1;
    expect(await admit(jwt, rules)).toHaveProperty("identity");
    expect(await admit(jwt, rules)).toHaveProperty("identity");
    expect(failures).toEqual(["unreachable"]);
    clock.now += 1;
    expect(await admit(jwt, rules)).toEqual({ fault: "unavailable" });
    expect(failures).toEqual(["unreachable"]);
    clock.now += 5_000;
    expect(await admit(jwt, rules)).toEqual({ fault: "unavailable" });
    expect(failures).toEqual(["unreachable", "unreachable"]);
  });

  it("come from `jwks_uri` without discovery, and from the table without a call", async () => {
    const idp = await startWorkloadIssuer([first]);
    const byUri = rulesOf({
      ...discovered(idp.issuer),
      keys: { kind: "uri", uri: `${idp.issuer}/jwks` },
    });
    expect(await judge().admit(await workloadJwt(idp.issuer, first), byUri)).toHaveProperty(
      "identity",
    );
    expect(idp.requests).toEqual(["/jwks"]);
    const keys = [{ ...first.publicJwk }];
    const byFile = rulesOf({ issuer: "edge", keys: { kind: "file", file: "edge.json", keys } });
    expect(await judge().admit(await workloadJwt("edge", first), byFile)).toHaveProperty(
      "identity",
    );
    expect(await judge().admit(await workloadJwt("edge", second), byFile)).toEqual({
      fault: "invalid",
    });
    expect(idp.requests.length).toBe(1);
  });

  it.each<[string, (issuer: string) => unknown, string]>([
    [
      "of another issuer",
      () => ({ issuer: "https://other.example", jwks_uri: "https://other.example" }),
      "discovery_mismatch",
    ],
    ["without keys", (issuer) => ({ issuer }), "discovery_mismatch"],
    [
      "with keys over plain http elsewhere",
      (issuer) => ({ issuer, jwks_uri: "http://192.0.2.1/keys" }),
      "discovery_mismatch",
    ],
    [
      "with keys at a metadata service",
      (issuer) => ({ issuer, jwks_uri: "https://169.254.169.254/keys" }),
      "address_refused",
    ],
    ["that is no object", () => [], "discovery_mismatch"],
    ["that is null", () => null, "discovery_mismatch"],
    ["that is very large", () => "x".repeat(300_000), "too_large"],
    ["that is no JSON", () => "<html>", "not_json"],
    ["that redirects", () => 302, "status"],
    ["that fails", () => 500, "status"],
  ])("are unavailable with a discovery document %s", async (_, document, failure) => {
    const idp = await startWorkloadIssuer([first]);
    idp.interfere = (_incoming, response) => {
      const value = document(idp.issuer);
      if (typeof value === "number") response.writeHead(value, { location: "/jwks" }).end();
      else response.end(typeof value === "string" ? value : JSON.stringify(value));
    };
    const { admit, failures } = judge();
    expect(
      await admit(await workloadJwt(idp.issuer, first), rulesOf(discovered(idp.issuer))),
    ).toEqual({
      fault: "unavailable",
    });
    expect(failures).toEqual([failure]);
  });

  it("are not fetched from a private address unless the issuer's row allows it", async () => {
    const idp = await startWorkloadIssuer([first]);
    const { admit, failures } = judge();
    const { network: _, ...guarded } = discovered(idp.issuer);
    expect(await admit(await workloadJwt(idp.issuer, first), rulesOf(guarded))).toEqual({
      fault: "unavailable",
    });
    expect(failures).toEqual(["address_refused"]);
    expect(idp.requests).toEqual([]);
  });

  it("are unavailable after five seconds where the issuer does not answer", async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => {
      silent.listen(0, "127.0.0.1", resolve);
    });
    whenFileEnds(async () => {
      silent.closeAllConnections();
      silent.close();
    });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has this address
    const issuer = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const { admit, failures } = judge();
    const timeOut = AbortSignal.timeout.bind(AbortSignal);
    const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => timeOut(50));
    expect(await admit(await workloadJwt(issuer, first), rulesOf(discovered(issuer)))).toEqual({
      fault: "unavailable",
    });
    expect(timeout).toHaveBeenCalledWith(5_000);
    timeout.mockRestore();
    expect(failures).toEqual(["unreachable"]);
  });

  it("are unavailable with a key set that is null", async () => {
    const idp = await startWorkloadIssuer([first]);
    idp.interfere = (_, response) => void response.end("null");
    const rules = rulesOf({
      ...discovered(idp.issuer),
      keys: { kind: "uri", uri: `${idp.issuer}/jwks` },
    });
    const { admit, failures } = judge();
    expect(await admit(await workloadJwt(idp.issuer, first), rules)).toEqual({
      fault: "unavailable",
    });
    expect(failures).toEqual(["not_a_key_set"]);
  });

  it("keys of other kinds beside them are ignored", async () => {
    const keys = [
      { kty: "oct", k: "c2VjcmV0", kid: "first" },
      { kty: "NEW" },
      5,
      { ...first.publicJwk },
    ];
    const idp = await startWorkloadIssuer([first]);
    idp.interfere = (_, response) => void response.end(JSON.stringify({ keys }));
    const rules = rulesOf({
      ...discovered(idp.issuer),
      keys: { kind: "uri", uri: `${idp.issuer}/jwks` },
    });
    expect(await judge().admit(await workloadJwt(idp.issuer, first), rules)).toHaveProperty(
      "identity",
    );
  });
});

describe("a JWT", () => {
  const rules = rulesOf({
    issuer: "edge",
    keys: { kind: "file", file: "e", keys: [{ ...first.publicJwk }] },
  });
  const good = {
    iss: "edge",
    sub: "system:serviceaccount:shop:a",
    aud: "signalbox",
    exp: 4_000_000_000,
  };
  const { admit } = judge();

  it("of a rule has its identity, and the digest of issuer and subject", async () => {
    const admitted = await admit(await workloadJwt("edge", first), rules);
    expect(admitted).toMatchObject({ identity: { workspace: "shop", keyId: "workload_checkout" } });
    expect(admitted).toHaveProperty("subject", expect.stringMatching(/^[0-9a-f]{64}$/));
    const other = await admit(
      await workloadJwt("edge", first, { claims: { sub: "system:serviceaccount:shop:b" } }),
      rules,
    );
    expect(Reflect.get(other, "subject")).not.toBe(Reflect.get(admitted, "subject"));
  });

  it.each<[string, () => Promise<string> | string]>([
    ["that is none", () => "nothing"],
    ["that is empty", () => ""],
    ["of another issuer", () => workloadJwt("other", first)],
    ["without an issuer", () => workloadJwt("edge", first, { claims: { iss: undefined } })],
    ["with a list of issuers", () => forgedJwt({ alg: "ES256" }, { ...good, iss: ["edge"] })],
    [
      "signed by another key of the same name",
      async () => workloadJwt("edge", { ...(await makeIssuerKey("first")) }),
    ],
    ["of an unknown key", () => workloadJwt("edge", second)],
    ["without a signature", () => forgedJwt({ alg: "none" }, good)],
    [
      "without a signature, under the key's name",
      () => forgedJwt({ alg: "none", kid: "first" }, good),
    ],
    ["without an algorithm", () => forgedJwt({ kid: "first" }, good, "AAAA")],
    ["without a subject", () => workloadJwt("edge", first, { claims: { sub: undefined } })],
    ["with an empty subject", () => workloadJwt("edge", first, { claims: { sub: "" } })],
    ["without an audience", () => workloadJwt("edge", first, { claims: { aud: undefined } })],
    ["without an expiry", () => workloadJwt("edge", first, { claims: { exp: undefined } })],
    ["that is huge", () => workloadJwt("edge", first, { claims: { more: "x".repeat(20_000) } })],
    [
      "whose signature has another last character for the same bytes",
      async () => {
        const jwt = await workloadJwt("edge", first);
        const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        return jwt.slice(0, -1) + digits.charAt(digits.indexOf(jwt.slice(-1)) ^ 1);
      },
    ],
    [
      "that has been changed",
      async () =>
        (await workloadJwt("edge", first)).replace(
          /\.[^.]+\./,
          `.${Buffer.from(JSON.stringify(good)).toString("base64url")}.`,
        ),
    ],
  ])("%s is invalid", async (_, jwt) => {
    expect(await admit(await jwt(), rules)).toEqual({ fault: "invalid" });
  });

  it("with an HMAC over the public key as its signature is invalid", async () => {
    const key = await importJWK(first.publicJwk, "ES256", { extractable: true });
    if (key instanceof Uint8Array) throw new Error("no public key");
    const secret = await exportSPKI(key);
    const unsigned = forgedJwt({ alg: "HS256", kid: "first" }, good).slice(0, -1);
    const signature = createHmac("sha256", secret).update(unsigned).digest("base64url");
    expect(await admit(`${unsigned}.${signature}`, rules)).toEqual({ fault: "invalid" });
  });

  it("of a clock that is 30 seconds ahead is valid, and an expired one never is", async () => {
    const at = (parts: object) =>
      workloadJwt("edge", first, parts).then((jwt) => admit(jwt, rules));
    expect(await at({ expires: -1, notBefore: -600 })).toEqual({ fault: "expired" });
    const admitted = await at({ expires: 20, notBefore: -600 });
    expect(Reflect.get(Reflect.get(admitted, "identity"), "expiresAt")).toBeLessThanOrEqual(
      Date.now() + 20_000,
    );
    expect(await at({ notBefore: 25 })).toHaveProperty("identity");
    expect(await at({ notBefore: 35 })).toEqual({ fault: "expired" });
    const now = Math.floor(Date.now() / 1_000);
    expect(await at({ claims: { nbf: undefined, iat: now + 35 } })).toEqual({ fault: "expired" });
  });

  it.each<[string, Record<string, unknown>]>([
    ["another audience", { aud: "https://kubernetes.default.svc" }],
    ["an audience that begins like it", { aud: ["signalbox2"] }],
    ["another namespace", { sub: "system:serviceaccount:shop2:checkout" }],
    ["a subject with a further part", { sub: "system:serviceaccount:shop:checkout:more" }],
    ["a subject with nothing for the star", { sub: "system:serviceaccount:shop:" }],
    ["an audience that is an object", { aud: { 0: "signalbox" } }],
    ["an audience that is a number", { aud: 1 }],
    ["a subject that is a list", { sub: ["system:serviceaccount:shop:checkout"] }],
  ])("with %s is not granted", async (_, claims) => {
    const admitted = await admit(await workloadJwt("edge", first, { claims }), rules);
    expect(admitted).toEqual({
      fault: Array.isArray(Reflect.get(claims, "sub")) ? "invalid" : "not_granted",
    });
  });

  it("that two rules match is refused, and the rules are named", async () => {
    const two = rulesOf(
      { issuer: "edge", keys: { kind: "file", file: "e", keys: [{ ...first.publicJwk }] } },
      {},
      { id: "namespace", claims: [{ claim: "/kubernetes.io/namespace", values: ["shop"] }] },
      { id: "other", audience: "other" },
    );
    expect(await admit(await workloadJwt("edge", first), two)).toEqual({
      fault: "ambiguous",
      rules: ["checkout", "namespace"],
    });
  });
});
