import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { freePort } from "../../support/ports.ts";
import { addKey, startRunning, writeFixture } from "../../running/running-server.ts";
import type { RunningServer } from "../../../src/server/running-server.ts";
import { CLIENT, startIdentityProvider, type IdentityProvider } from "./identity-provider.ts";
import { spendOfKeys, TEN_A_DAY } from "../used-budgets.ts";
import { ask, browserOf, type Answer, type Browser } from "./support.ts";

interface SignedIn {
  /** Path of routes.yaml. */
  readonly config: string;
  readonly server: RunningServer;
  readonly idp: IdentityProvider;
  readonly origin: string;
}

const ROLES = [
  { group: "readers", role: "viewer", workspaces: ["small"] },
  { group: "risk", role: "approver", workspaces: ["large"] },
  { group: "sre", role: "operator", workspaces: "all" },
];

/** A server whose console knows a provider. */
async function startOidc(
  edit: (console: object) => object = (own) => own,
  more: (routes: object) => object = (own) => own,
): Promise<SignedIn> {
  const adminPort = await freePort();
  const origin = `http://127.0.0.1:${adminPort}`;
  const idp = await startIdentityProvider(`${origin}/console/oidc/callback`);
  const oidc = {
    issuer: idp.issuer,
    client_id: CLIENT.id,
    client_secret: { env: "PROVIDER_KEY" },
    label: "Example",
  };
  const fixture = writeFixture("http://127.0.0.1:9", (routes) => ({
    ...more(routes),
    console: edit({ url: origin, oidc, roles: ROLES }),
  }));
  const server = await startRunning(fixture, { console: "admin", adminPort });
  return { config: fixture.config, server, idp, origin };
}

/** Cookies by name, as one browser has them for one host; ports share them. */
type Jar = Map<string, string>;

async function follow(url: string, jar: Jar): Promise<Answer> {
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
  const answer = await ask(url, { headers: { cookie } });
  for (const line of answer.headers.getSetCookie()) {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    jar.set(name, value);
  }
  return answer;
}

/**
 * Follows redirects until the browser comes back from the provider; gives the address of the
 * return.
 */
async function atProvider(start: string, jar: Jar): Promise<string> {
  let url = start;
  for (let steps = 0; steps < 10; steps += 1) {
    const { headers, status, text } = await follow(url, jar);
    const location = headers.get("location");
    if (location === null) throw new Error(`${url}: ${status} ${text}`);
    url = new URL(location, url).href;
    if (url.includes("/console/oidc/callback")) return url;
  }
  throw new Error("the provider redirects without end");
}

async function signIn(
  { origin }: SignedIn,
  jar: Jar = new Map(),
): Promise<Browser & { readonly callback: Answer }> {
  const callback = await follow(await atProvider(`${origin}/console/oidc/start`, jar), jar);
  const cookie = `signalbox_session=${jar.get("signalbox_session") ?? ""}`;
  const session = await ask(`${origin}/console/session`, { headers: { cookie } });
  const answer = { ...session, headers: new Headers([["set-cookie", cookie]]) };
  return { ...browserOf(origin, answer), callback };
}

interface Line {
  readonly workspace: string;
  readonly operation: string;
}

const isModels = ({ operation }: Line): boolean => operation === "models";

describe("signing in at an identity provider", () => {
  it("is offered, with the provider's label", async () => {
    const { origin } = await startOidc();
    expect((await ask(`${origin}/console/session`)).json).toEqual({
      signed_in: false,
      sign_in: { key: true, oidc: { name: "Example", url: "/console/oidc/start" } },
    });
  });

  it("opens a session of the person, in every workspace with a role for a group", async () => {
    const own = await startOidc();
    const { callback, answer } = await signIn(own);
    expect([callback.status, callback.headers.get("location")]).toEqual([302, "/console/"]);
    expect(callback.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^signalbox_session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
      ),
      expect.stringMatching(/^signalbox_sign_in=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax$/),
    ]);
    expect(answer.json).toMatchObject({
      signed_in: true,
      person: { subject: "248289", issuer: own.idp.issuer, name: null, key: null },
      roles: ["operator"],
      scopes: expect.arrayContaining(["governance:read", "operations:manage", "policies:approve"]),
    });
    expect(answer.json.workspaces).toContain("small");
    expect(answer.json.scopes).not.toContain("inference");
  });

  it("keeps a name only where the configuration requires it, and no group that has no role", async () => {
    const own = await startOidc((settings) => ({
      ...settings,
      oidc: { ...Reflect.get(settings, "oidc"), name_claim: "name" },
    }));
    const { answer } = await signIn(own);
    expect(answer.json.person.name).toBe("Ada");
    expect(JSON.stringify(answer.json)).not.toContain("everybody");
  });

  it.each([
    {
      groups: ["readers"],
      workspaces: ["small"],
      roles: ["viewer"],
      without: ["operations:manage", "policies:approve"],
    },
    {
      groups: ["risk"],
      workspaces: ["large"],
      roles: ["approver"],
      without: ["operations:manage"],
    },
    {
      groups: ["risk", "readers"],
      workspaces: ["large", "small"],
      roles: ["approver"],
      without: ["operations:manage"],
    },
  ])("grants $groups the roles $roles", async ({ groups, workspaces, roles, without }) => {
    const own = await startOidc();
    own.idp.account = { subject: "b", groups, name: "B" };
    const { answer, get, post } = await signIn(own);
    expect(answer.json).toMatchObject({ workspaces, workspace: workspaces[0], roles });
    for (const scope of without) expect(answer.json.scopes).not.toContain(scope);
    const refused = await post("/v1/keys", { scopes: ["inference"], owner: "a", expires_in: 600 });
    expect([refused.status, refused.json.error.code]).toEqual([403, "insufficient_scope"]);
    const promotion = await post(
      "/v1/policies/a/promotions",
      { candidate_revision: 1 },
      { "if-match": "*" },
    );
    expect([promotion.status, promotion.json.error.code]).toEqual([403, "insufficient_scope"]);
    const elsewhere = await get("/v1/governance/summary", { "x-signalbox-workspace": "metered" });
    expect([elsewhere.status, elsewhere.json.error.code]).toEqual([403, "workspace_not_allowed"]);
    expect((await get("/v1/governance/summary")).status).toBe(200);
  });

  it("reads all workspaces of its roles at once on request, and no other", async () => {
    const own = await startOidc();
    for (const workspace of ["small", "large", "metered"]) {
      const { text } = await addKey(own.server.store, workspace, ["inference", "catalogue:read"]);
      await ask(`${own.server.url}/v1/models`, { headers: { authorization: `Bearer ${text}` } });
    }
    await own.server.store.evidence.flush();
    own.idp.account = { subject: "b", groups: ["risk", "readers"], name: "B" };
    const { get } = await signIn(own);
    const workspacesOf = async (query: string): Promise<readonly string[]> => {
      const { json } = await get(`/v1/decisions?kind=router&${query}`);
      return json.data
        .filter(isModels)
        .map(({ workspace }: Line) => workspace)
        .toSorted();
    };
    expect(await workspacesOf("")).toEqual(["large"]);
    expect(await workspacesOf("workspaces=own")).toEqual(["large"]);
    expect(await workspacesOf("workspaces=all")).toEqual(["large", "small"]);
    expect(await workspacesOf("workspaces=all&outcome=deny")).toEqual([]);
    const summary = (
      await get("/v1/governance/summary?workspaces=all&group_by=workspace,operation")
    ).json;
    expect([summary.workspace, summary.workspaces]).toEqual([null, ["large", "small"]]);
    expect(summary.groups.map(({ group }: { readonly group: object }) => group)).toEqual(
      expect.arrayContaining([
        { workspace: "large", operation: "models" },
        { workspace: "small", operation: "models" },
      ]),
    );
    expect(summary.totals.requests).toBe(0);
    const { json: spend } = await get("/v1/spend?workspaces=all");
    expect(spend.workspaces).toEqual(["large", "small"]);
    const { json: one } = await get("/v1/governance/summary?group_by=operation", {
      "x-signalbox-workspace": "small",
    });
    expect(one.groups.length).toBeLessThan(summary.groups.length);
    const { json: found } = await get("/v1/decisions?workspaces=all");
    const foreign = found.data.find(({ workspace }: Line) => workspace === "small").id;
    expect((await get(`/v1/decisions/${foreign}`)).status).toBe(404);
    expect((await get(`/v1/decisions/${foreign}?workspaces=all`)).status).toBe(200);
    expect((await get("/v1/decisions?workspaces=some")).json.error.param).toBe("workspaces");
  });

  it("lists the keys of all workspaces that it manages, in one order over pages", async () => {
    const own = await startOidc((settings) => ({
      ...settings,
      roles: [...ROLES, { group: "two", role: "operator", workspaces: ["large", "small"] }],
    }));
    const ids: string[] = [];
    for (const workspace of ["small", "metered", "large", "small", "large"]) {
      const { id } = await addKey(own.server.store, workspace);
      if (workspace !== "metered") ids.unshift(id);
    }
    own.idp.account = { subject: "b", groups: ["two", "readers"], name: "B" };
    const { get } = await signIn(own);
    const listed = async (query: string): Promise<readonly string[]> => {
      const found: string[] = [];
      for (let after = ""; ;) {
        const { json } = await get(`/v1/keys?limit=1&${query}${after}`);
        found.push(...json.data.map(({ id }: { readonly id: string }) => id));
        if (json.has_more !== true) return found;
        after = `&after=${json.last_id}`;
      }
    };
    const order = await listed("workspaces=all");
    expect(order.toSorted()).toEqual(ids.toSorted());
    expect(await listed("workspaces=own")).toHaveLength(2);
    const before = new Date(Date.now() + 3_600_000).toISOString();
    expect((await listed(`workspaces=all&expires_before=${before}`)).toSorted()).toEqual(
      ids.toSorted(),
    );
    const both = await get("/v1/keys?workspaces=all&workspace=large");
    expect([both.status, both.json.error.param]).toEqual([400, "workspaces"]);
  });

  it("shows budgets of keys only of workspaces where the person manages keys", async () => {
    const own = await startOidc((settings) => ({
      ...settings,
      roles: [...ROLES, { group: "one", role: "operator", workspaces: ["large"] }],
    }));
    const { store } = own.server;
    const large = await addKey(store, "large", ["inference"], { limits: TEN_A_DAY });
    const small = await addKey(store, "small", ["inference"], { limits: TEN_A_DAY });
    await spendOfKeys(store, [large.id, small.id], 4);
    own.idp.account = { subject: "b", groups: ["one", "readers"], name: "B" };
    const { get } = await signIn(own);
    const { json } = await get("/v1/spend?workspaces=all");
    const ofKeys = json.budgets.filter(({ key }: { readonly key: string | null }) => key !== null);
    expect([json.workspaces, ofKeys]).toMatchObject([
      ["large", "small"],
      [{ workspace: "large", key: large.id, spent_usd: 4 }],
    ]);
    expect(ofKeys).toHaveLength(1);
  });

  it("names the workspace as which policies are managed, where a role reaches one", async () => {
    const own = await startOidc();
    expect((await signIn(own)).answer.json.policies).toBeNull();
    const managed = await startOidc(
      (settings) => settings,
      (routes) => ({ ...routes, policies: { managed_by: ["small", "large"] } }),
    );
    managed.idp.account = { subject: "b", groups: ["risk", "readers"], name: "B" };
    const { json } = (await signIn(managed)).answer;
    expect(json.policies).toEqual({
      workspace: "large",
      scopes: expect.arrayContaining(["policies:approve"]),
    });
  });

  it("loses a role with the reload that removes it, and the last one ends the session", async () => {
    const own = await startOidc();
    own.idp.account = { subject: "b", groups: ["sre", "readers"], name: "B" };
    const { get, post } = await signIn(own);
    expect((await get("/console/session")).json.roles).toEqual(["operator"]);
    const change = async (groups: readonly string[]): Promise<void> => {
      const routes = JSON.parse(readFileSync(own.config, "utf8"));
      routes.console.roles = ROLES.filter(({ group }) => groups.includes(group));
      writeFileSync(own.config, JSON.stringify(routes));
      expect((await own.server.reload()).ok).toBe(true);
    };
    await change(["readers", "risk"]);
    expect((await get("/console/session")).json).toMatchObject({
      roles: ["viewer"],
      workspaces: ["small"],
    });
    const made = await post("/v1/keys", { scopes: ["inference"], owner: "a", expires_in: 600 });
    expect([made.status, made.json.error.code]).toEqual([403, "insufficient_scope"]);
    await change(["risk"]);
    expect((await get("/v1/governance/summary")).json.error.code).toBe("session_ended");
    expect((await get("/console/session")).json.signed_in).toBe(false);
  });

  it("reads no return address from the request, and never redirects elsewhere", async () => {
    const own = await startOidc();
    const jar: Jar = new Map();
    const query =
      "?return_to=https://evil.example&next=//evil.example&redirect_uri=https://evil.example";
    const start = await follow(`${own.origin}/console/oidc/start${query}`, jar);
    const target = new URL(start.headers.get("location") ?? "");
    expect(target.origin).toBe(own.idp.issuer);
    expect(target.searchParams.get("redirect_uri")).toBe(`${own.origin}/console/oidc/callback`);
    expect(target.searchParams.get("code_challenge_method")).toBe("S256");
    expect(target.href).not.toContain("evil.example");
    const returned = await atProvider(`${own.origin}/console/oidc/start`, jar);
    const callback = await follow(`${returned}&return_to=https://evil.example`, jar);
    expect([callback.status, callback.headers.get("location")]).toEqual([302, "/console/"]);
    for (const path of ["//evil.example", "/\\evil.example", "/?to=//evil.example"]) {
      const answer = await ask(`${own.origin}${path}`);
      expect(answer.headers.get("location") ?? "/console/").toBe("/console/");
    }
  });

  it("keeps no value of a session that a browser brought along", async () => {
    const own = await startOidc();
    const planted = "A".repeat(43);
    const jar: Jar = new Map([["signalbox_session", planted]]);
    const { answer } = await signIn(own, jar);
    expect(answer.json.signed_in).toBe(true);
    expect(jar.get("signalbox_session")).not.toBe(planted);
    const other = await ask(`${own.origin}/v1/health`, {
      headers: { cookie: `signalbox_session=${planted}` },
    });
    expect([other.status, other.json.error.code]).toEqual([401, "session_ended"]);
  });

  it.each([
    { groups: [], says: "lists no groups" },
    { groups: ["SRE", "sre ", "readers,sre"], says: "none of your groups has a role" },
  ])("grants no role for $groups", async ({ groups, says }) => {
    const own = await startOidc();
    own.idp.account = { subject: "b", groups, name: "B" };
    const { callback, answer } = await signIn(own);
    expect([callback.status, callback.text]).toEqual([403, expect.stringContaining(says)]);
    expect(answer.json.signed_in).toBe(false);
  });

  it("answers for the requested workspace", async () => {
    const own = await startOidc();
    own.idp.account = { subject: "b", groups: ["risk", "readers"], name: "B" };
    const { get } = await signIn(own);
    const { json } = await get("/console/session", { "x-signalbox-workspace": "small" });
    expect([json.workspace, json.roles, json.workspaces]).toEqual([
      "small",
      ["viewer"],
      ["large", "small"],
    ]);
  });

  it("is refused without a role, with the roles and groups to request", async () => {
    const own = await startOidc();
    own.idp.account = { subject: "b", groups: ["<script>"], name: "B" };
    const { callback, answer } = await signIn(own);
    expect([callback.status, callback.headers.get("content-type")]).toEqual([
      403,
      "text/plain; charset=utf-8",
    ]);
    expect(callback.text).toContain("none of your groups has a role here");
    expect(callback.text).toContain("readers (viewer), risk (approver), sre (operator)");
    expect(callback.text).not.toContain("<script>");
    expect(callback.headers.getSetCookie()).toEqual([]);
    expect(answer.json.signed_in).toBe(false);
  });

  it("is refused where the provider refuses, without any text of the provider's", async () => {
    const own = await startOidc();
    own.idp.account = null;
    const { callback } = await signIn(own);
    expect([callback.status, callback.text]).toEqual([
      403,
      expect.stringContaining("sign_in_failed"),
    ]);
    expect(callback.text).not.toContain("<b>");
  });

  it.each([
    [
      "a cookie that somebody made up",
      () => Buffer.from('{"state":"a","nonce":"b","verifier":"c"}').toString("base64url"),
    ],
    ["a changed cookie", (sealed: string) => sealed.replace(/\.[^.]*\./, ".eyJzdGF0ZSI6ImEifQ.")],
    ["a cookie of 20 kB", () => "A".repeat(20_000)],
  ])("is refused with %s, and the provider is not called", async (_, forge) => {
    const own = await startOidc();
    const jar: Jar = new Map();
    const returned = await atProvider(`${own.origin}/console/oidc/start`, jar);
    const calls = own.idp.calls.length;
    jar.set("signalbox_sign_in", forge(jar.get("signalbox_sign_in") ?? ""));
    const callback = await follow(returned, jar);
    expect(callback.status).toBeGreaterThanOrEqual(400);
    expect(jar.has("signalbox_session")).toBe(false);
    expect(own.idp.calls).toHaveLength(calls);
  });

  it("is refused with the state of another sign-in, and the provider is not called", async () => {
    const own = await startOidc();
    const jar: Jar = new Map();
    const returned = new URL(await atProvider(`${own.origin}/console/oidc/start`, jar));
    const calls = own.idp.calls.length;
    returned.searchParams.set("state", "A".repeat(43));
    const callback = await follow(returned.href, jar);
    expect([callback.status, callback.text]).toEqual([
      403,
      expect.stringContaining("sign_in_failed"),
    ]);
    expect(own.idp.calls).toHaveLength(calls);
  });

  it("is refused with a code that has been used, and in a browser that did not begin it", async () => {
    const own = await startOidc();
    const jar: Jar = new Map();
    const returned = await atProvider(`${own.origin}/console/oidc/start`, jar);
    const other = await follow(returned, new Map());
    expect([other.status, other.text]).toEqual([403, expect.stringContaining("sign_in_failed")]);
    const again = new Map(jar);
    expect((await follow(returned, jar)).status).toBe(302);
    expect((await follow(returned, again)).status).toBe(403);
  });

  it("is a 503 while the provider cannot be reached", async () => {
    const own = await startOidc((settings) => ({
      ...settings,
      oidc: { ...Reflect.get(settings, "oidc"), issuer: "http://127.0.0.1:9" },
    }));
    const answer = await ask(`${own.origin}/console/oidc/start`);
    expect([answer.status, answer.text]).toEqual([
      503,
      expect.stringContaining("sign_in_unavailable"),
    ]);
  });

  it("is recorded as the person's, by a digest of their identity", async () => {
    const own = await startOidc();
    const { get } = await signIn(own);
    await get("/v1/governance/summary");
    await own.server.store.evidence.flush();
    const read = await own.server.store.evidence.read({ after: 0, limit: 10 });
    const ids = new Set(read.map(({ decision }) => decision.keyId));
    expect([...ids]).toEqual([expect.stringMatching(/^person_[0-9a-f]{24}$/)]);
    expect(JSON.stringify(read)).not.toContain("248289");
  });

  it("allows keys to be created in the person's name", async () => {
    const own = await startOidc();
    const { post } = await signIn(own);
    const made = await post("/v1/keys", { scopes: ["inference"], owner: "a", expires_in: 600 });
    expect(made.status).toBe(200);
    expect((await own.server.store.keys.get(made.json.id))?.createdBy).toMatch(/^person_/);
  });

  it("does not change the sign-in with a key", async () => {
    const own = await startOidc();
    const { text } = await addKey(own.server.store, "large", ["governance:read"]);
    const answer = await ask(`${own.origin}/console/session`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: own.origin },
      body: JSON.stringify({ key: text }),
    });
    expect(answer.json).toMatchObject({ signed_in: true, workspace: "large", roles: ["viewer"] });
  });
});
