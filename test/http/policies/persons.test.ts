import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { ConsoleSettings } from "../../../src/canon/table.ts";
import type { Person } from "../../../src/canon/identity.ts";
import type { Console } from "../../../src/http/console/console-port.ts";
import { csrfToken } from "../../../src/http/console/signed-in.ts";
import { digestOf } from "../../lifecycle/lifecycle-context.ts";
import { Fixture, type Answered, type FixtureOptions } from "./fixture.ts";

const ISSUER = "https://idp.example";

const SETTINGS: ConsoleSettings = {
  url: "http://127.0.0.1:8081",
  idle: 1_800_000,
  absolute: 43_200_000,
  oidc: {
    label: "Example",
    issuer: ISSUER,
    clientId: "signalbox",
    clientSecret: null,
    scopes: [],
    groupsClaim: "groups",
    nameClaim: "name",
  },
  roles: [
    { group: "readers", role: "viewer", workspaces: null },
    { group: "risk", role: "approver", workspaces: null },
    { group: "sre", role: "operator", workspaces: null },
  ],
};

function person(subject: string, ...groups: readonly string[]): Person {
  return { issuer: ISSUER, subject, name: null, groups };
}

/** Somebody whose cookie is their subject. */
const PEOPLE: ReadonlyMap<string, Person> = new Map(
  [
    person("reader", "readers"),
    person("approver", "risk"),
    person("second", "risk"),
    person("operator", "sre"),
    { ...person("named", "risk"), name: "Ada" },
    { ...person("moved", "risk"), issuer: "https://old.example" },
  ].map((one) => [one.subject, one]),
);

const unused = (): never => {
  throw new Error("not here");
};

const CONSOLE: Console = {
  listener: "public",
  isSecure: false,
  inference: null,
  bundle: unused,
  sessions: {
    start: unused,
    endSession: unused,
    find: (value) => {
      const holder = PEOPLE.get(value);
      const now = Date.now();
      return Promise.resolve(
        holder === undefined ? null : { holder, seenAt: now, endsAt: now + 60_000 },
      );
    },
  },
  holderOf: unused,
  takeCode: unused,
  sealSignIn: unused,
  openSignIn: unused,
  oidcClient: unused,
};

async function open(
  promotion: FixtureOptions["promotion"] = { a: { approvals: 1 } },
): Promise<Fixture> {
  const fixture = await Fixture.open({
    promotion,
    runtime: { console: CONSOLE },
    console: SETTINGS,
  });
  await fixture.observe({ a: "first" });
  return fixture;
}

async function ask(
  fixture: Fixture,
  subject: string,
  path: string,
  body?: object,
  ifMatch?: string,
): Promise<Answered> {
  const response = await fetch(`${fixture.router.url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      cookie: `signalbox_session=${subject}`,
      "x-signalbox-csrf": csrfToken(subject),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(ifMatch !== undefined && { "if-match": ifMatch }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
}

const approve = (fixture: Fixture, subject: string): Promise<Answered> =>
  ask(fixture, subject, "/v1/policies/a/approvals", { digest: digestOf("first") });

async function promote(fixture: Fixture, subject: string): Promise<Answered> {
  const { json } = await ask(fixture, subject, "/v1/policies/a");
  const expected = { enforced_revision: null, candidate_revision: json.candidate.revision };
  return ask(fixture, subject, "/v1/policies/a/promotions", { expected }, json.etag);
}

const idOf = (subject: string): string =>
  `person_${hash("sha256", `oidc:${ISSUER}#${subject}`, "hex").slice(0, 24)}`;

describe("a person who is signed in", () => {
  it("approves as issuer and subject, with a name only where one is read", async () => {
    const fixture = await open();
    expect((await approve(fixture, "approver")).status).toBe(200);
    const { json } = await approve(fixture, "named");
    expect(json.approvals.map(({ by }: { readonly by: object }) => by)).toEqual([
      {
        key_id: idOf("approver"),
        workspace: "acme",
        origin: idOf("approver"),
        roles: ["risk"],
        person: { issuer: ISSUER, subject: "approver" },
      },
      {
        key_id: idOf("named"),
        workspace: "acme",
        origin: idOf("named"),
        roles: ["risk"],
        person: { issuer: ISSUER, subject: "named", name: "Ada" },
      },
    ]);
  });

  it("is one approver, over any number of sign-ins", async () => {
    const fixture = await open();
    await approve(fixture, "approver");
    expect((await approve(fixture, "approver")).json.approvals).toHaveLength(1);
    expect((await approve(fixture, "second")).json.approvals).toHaveLength(2);
  });

  it("may promote a candidate that others approved, and the record names both", async () => {
    const fixture = await open();
    await approve(fixture, "approver");
    expect((await promote(fixture, "operator")).status).toBe(200);
    const { json } = await ask(fixture, "operator", "/v1/policies/a/transitions");
    const { by, approvals } = json.data.at(-1).record;
    expect(by.person).toEqual({ issuer: ISSUER, subject: "operator" });
    expect(approvals[0].by.person).toEqual({ issuer: ISSUER, subject: "approver" });
  });

  it("does not approve their own promotion, nor by a key that they create", async () => {
    const fixture = await open();
    const body = { scopes: ["operations:manage"], owner: "x", expires_in: 600, labels: ["risk"] };
    const made = await ask(fixture, "operator", "/v1/keys", body);
    expect(made.status).toBe(200);
    const key = { text: made.json.key, id: made.json.id };
    const { json } = await fixture.post(key, "/v1/policies/a/approvals", {
      body: { digest: digestOf("first") },
    });
    expect(json.approvals).toMatchObject([
      { by: { key_id: key.id, origin: idOf("operator"), roles: [] } },
    ]);
    const refused = await promote(fixture, "operator");
    expect([refused.status, refused.json.error.code]).toEqual([409, "approvals_required"]);
  });

  it("counts for a role that a promotion requires by their groups", async () => {
    const fixture = await open({ a: { approvals: 1, roles: ["risk"] } });
    await approve(fixture, "operator");
    const refused = await promote(fixture, "operator");
    expect(refused.status).toBe(409);
    await approve(fixture, "approver");
    expect((await promote(fixture, "operator")).status).toBe(200);
  });

  it("is limited to their role, for every request", async () => {
    const fixture = await open();
    const { json } = await ask(fixture, "reader", "/v1/policies/a");
    const expected = { enforced_revision: null, candidate_revision: json.candidate.revision };
    const withdrawal = {
      what: "candidate",
      expected: { candidate_revision: json.candidate.revision },
    };
    for (const [subject, path, body] of [
      ["reader", "approvals", { digest: digestOf("first") }],
      ["reader", "withdrawals", { what: "approval", digest: digestOf("first") }],
      ["reader", "promotions", { expected }],
      ["approver", "promotions", { expected }],
      ["approver", "rollbacks", { expected: { enforced_revision: 1 }, reason: "mistake" }],
      ["approver", "withdrawals", withdrawal],
    ] as const) {
      const refused = await ask(fixture, subject, `/v1/policies/a/${path}`, body, json.etag);
      expect([subject, path, refused.status, refused.json.error.code]).toEqual([
        subject,
        path,
        403,
        "insufficient_scope",
      ]);
    }
    expect(
      (await ask(fixture, "operator", "/v1/policies/a/withdrawals", withdrawal, json.etag)).status,
    ).toBe(200);
  });

  it("withdraws an approval", async () => {
    const fixture = await open();
    await approve(fixture, "approver");
    const body = { what: "approval", digest: digestOf("first") };
    const { status, json } = await ask(fixture, "approver", "/v1/policies/a/withdrawals", body);
    expect([status, json.approvals]).toEqual([200, []]);
  });

  it("of another provider than the configured one has no session", async () => {
    const fixture = await open();
    const answer = await ask(fixture, "moved", "/v1/policies");
    expect([answer.status, answer.json.error.code]).toEqual([401, "session_ended"]);
  });
});
