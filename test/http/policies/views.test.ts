import { describe, expect, it } from "vitest";
import { digestOf } from "../../lifecycle/lifecycle-context.ts";
import { Fixture, type FixtureOptions, expectDeclared, type MadeKey } from "./fixture.ts";

const ONE = "/v1/policies/{id}";

/** For tests that change nothing. */
const still = await open();
await still.fixture.observe({ a: "first" }, "start", "enforce");

async function open(
  options: FixtureOptions = {},
): Promise<{ readonly fixture: Fixture; readonly reader: MadeKey; readonly manager: MadeKey }> {
  const fixture = await Fixture.open(options);
  const reader = await fixture.key("acme", ["governance:read"]);
  return { fixture, reader, manager: await fixture.key() };
}

describe("GET /v1/policies/{id}", () => {
  it("has a new policy in shadow, its rules, and no missing requirement", async () => {
    const { fixture, reader } = await open();
    await fixture.observe({ a: "first" });
    const { status, json, headers } = await fixture.get(reader, "/v1/policies/a");
    expect(status).toBe(200);
    expectDeclared("GET", ONE, json);
    expect(headers.get("etag")).toBe(json.etag);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(json.etag).toMatch(/^"[0-9a-f]{32}"$/);
    expect(json).toMatchObject({
      object: "policy",
      id: "a",
      title: "Title of a",
      owners: ["group:governance"],
      state: "shadow",
      enforced: null,
      candidate: {
        revision: "r1",
        digest: digestOf("first"),
        content: "rules",
        held: false,
        constraints: [
          { name: "in_region", effect: "require_all", reasons: ["OUTSIDE", "UNKNOWN"] },
        ],
        obligations: [{ name: "short", kind: "max_output_tokens", value: 100 }],
        operations: ["chat.completions"],
      },
      approvals: [],
      requirements: { approvals: 0, soak_seconds: 0, no_indeterminate: true, self_approval: false },
      rollback_to: null,
      can_roll_back: false,
      held: [],
      withdrawn: [],
      files: { revision: "r1", digest: digestOf("first") },
      drift: [],
      missing: [],
    });
  });

  it("names every state that a policy can be in", async () => {
    const { fixture, reader, manager } = await open();
    const state = async (): Promise<string> =>
      (await fixture.get(reader, "/v1/policies/a")).json.state;
    await fixture.observe({ a: "first" });
    expect(await state()).toBe("shadow");
    await fixture.change(manager, "a", "promotions");
    expect(await state()).toBe("enforced");
    await fixture.observe({ a: "second" });
    expect(await state()).toBe("changing");
    await fixture.observe({});
    expect(await state()).toBe("ending");
    const { json } = await fixture.get(reader, "/v1/policies/a");
    expectDeclared("GET", ONE, json);
    expect(json.candidate).toMatchObject({
      content: "removal",
      module_sha256: null,
      constraints: [],
      operations: [],
    });
    expect(json).toMatchObject({ title: "Title of a", drift: [], files: null, missing: [] });
    await fixture.change(manager, "a", "promotions");
    expect(await state()).toBe("ended");
    const ended = (await fixture.get(reader, "/v1/policies/a")).json;
    expectDeclared("GET", ONE, ended);
    expect(ended).toMatchObject({ title: "Title of a", candidate: null, missing: null, drift: [] });
    await fixture.observe({ a: "third" });
    expect(await state()).toBe("shadow");
  });

  it("has the mode of a policy, and the revision of that mode", async () => {
    const { fixture, reader, manager } = await open();
    const seen = async (): Promise<object> => {
      const { state, mode, revision } = (await fixture.get(reader, "/v1/policies/a")).json;
      return { state, mode, revision };
    };
    await fixture.observe({ a: "first" });
    expect(await seen()).toEqual({ state: "shadow", mode: "shadow", revision: "r1" });
    await fixture.change(manager, "a", "promotions");
    expect(await seen()).toEqual({ state: "enforced", mode: "enforce", revision: "r1" });
    await fixture.observe({ a: "second" });
    expect(await seen()).toEqual({ state: "changing", mode: "enforce", revision: "r1" });
    await fixture.observe({});
    expect(await seen()).toEqual({ state: "ending", mode: "enforce", revision: "r1" });
    await fixture.change(manager, "a", "promotions");
    expect(await seen()).toEqual({ state: "ended", mode: null, revision: null });
  });

  it("lists the differences between files and slots", async () => {
    const { fixture, reader, manager } = await open();
    const drift = async (): Promise<readonly string[]> =>
      (await fixture.get(reader, "/v1/policies/a")).json.drift;
    const fileBecomes = (digest: string | null): void => {
      fixture.files.clear();
      if (digest !== null) fixture.files.set("a", digest);
    };
    await fixture.observe({ a: "first" }, "start", "enforce");
    expect(await drift()).toEqual([]);
    await fixture.observe({ a: "second" });
    expect(await drift()).toEqual([]);
    // A replica that still has the older files.
    fileBecomes(digestOf("first"));
    expect(await drift()).toEqual(["candidate_not_in_files"]);
    fileBecomes(null);
    expect(await drift()).toEqual(["not_in_files"]);
    fileBecomes(digestOf("unheard of"));
    expect(await drift()).toEqual(["files_differ"]);
    fileBecomes(digestOf("second"));
    await fixture.change(manager, "a", "promotions");
    await fixture.change(manager, "a", "rollbacks");
    expect(await drift()).toEqual(["files_held"]);
    const { etag } = (await fixture.get(reader, "/v1/policies/a")).json;
    await fixture.post(manager, "/v1/policies/a/withdrawals", {
      ifMatch: etag,
      body: { what: "candidate", expected: { candidate_revision: "r2" } },
    });
    expect(await drift()).toEqual(["files_held"]);
  });

  it("lists the requirements that a promotion by the caller lacks, in numbers", async () => {
    const fixture = await Fixture.open({
      promotion: {
        "*": {
          approvals: 2,
          roles: ["dpo"],
          soak: 3_600_000,
          decisions: 100,
          report: true,
          assertions: true,
        },
      },
    });
    const manager = await fixture.key();
    await fixture.ago(600_000).observe({ a: "first" });
    fixture.counts.set("a r1", { judged: 40, indeterminate: 2 });
    const { json } = await fixture.get(manager, "/v1/policies/a");
    expectDeclared("GET", ONE, json);
    expect(json.missing).toMatchObject([
      { requirement: "approvals", have: 0, need: 2 },
      { requirement: "roles", roles: ["dpo"] },
      { requirement: "soak", have_seconds: expect.any(Number), need_seconds: 3_600 },
      { requirement: "decisions", have: 40, need: 100 },
      { requirement: "no_indeterminate", have: 2 },
      { requirement: "report", claimed: 0, outdated: 0 },
      { requirement: "assertions", have: 0 },
    ]);
    expect(Math.abs(json.missing[2].have_seconds - 600)).toBeLessThan(60);
    expect(json.requirements).toMatchObject({
      approvals: 2,
      soak_seconds: 3_600,
      min_decisions: 100,
    });
  });
});

describe("GET /v1/policies", () => {
  it("lists policies by id, ended ones last and only when requested", async () => {
    const { fixture, reader, manager } = await open();
    await fixture.observe({ a: "a1", b: "b1", c: "c1" }, "start", "enforce");
    await fixture.observe({ b: "b1", c: "c2" });
    await fixture.change(manager, "a", "promotions");
    const ids = async (query: string): Promise<unknown> => {
      const { json } = await fixture.get(reader, `/v1/policies${query}`);
      expectDeclared("GET", "/v1/policies", json);
      expect(json).toMatchObject({
        object: "list",
        policy_set: expect.any(String),
        table_revision: expect.any(String),
      });
      return json.data.map((view: { id: string; state: string }) => `${view.id} ${view.state}`);
    };
    expect(await ids("")).toEqual(["b enforced", "c changing"]);
    expect(await ids("?ended=false")).toEqual(["b enforced", "c changing"]);
    expect(await ids("?ended=true")).toEqual(["b enforced", "c changing", "a ended"]);
  });

  it("lists the policies of the files in every state, withdrawn ones too", async () => {
    const { fixture, reader, manager } = await open();
    await fixture.observe({ a: "first" });
    const { etag } = (await fixture.get(manager, "/v1/policies/a")).json;
    const body = { what: "candidate", expected: { candidate_revision: "r1" } };
    expect(
      (await fixture.post(manager, "/v1/policies/a/withdrawals", { ifMatch: etag, body })).status,
    ).toBe(200);
    const { json } = await fixture.get(reader, "/v1/policies");
    expect(json.data).toMatchObject([{ id: "a", state: "ended", drift: ["files_withdrawn"] }]);
  });

  it.each([
    "ended=yes",
    "ended=",
    "ended=true&ended=true",
    "end=true",
    "constructor=1",
    "ended=true&x%20y=1",
  ])("refuses ?%s", async (query) => {
    const { fixture, reader } = still;
    const answer = await fixture.get(reader, `/v1/policies?${query}`);
    expect(answer).toMatchObject({
      status: 400,
      json: { error: { code: expect.stringMatching(/invalid_value|unknown_parameter/) } },
    });
    expect(answer.text).not.toContain("x y");
  });
});

describe("GET /v1/policies/{id}/content", () => {
  it("returns the rules of a slot, of a digest or of its first digits", async () => {
    const { fixture, reader } = await open();
    await fixture.observe({ a: "first" }, "start", "enforce");
    await fixture.observe({ a: "second" });
    const digests = { first: digestOf("first"), second: digestOf("second") };
    for (const [query, name] of [
      ["", "second"],
      ["?digest=candidate", "second"],
      ["?digest=enforced", "first"],
      [`?digest=${digests.first}`, "first"],
      [`?digest=${digests.first.slice(0, 6)}`, "first"],
      ["?revision=r1", "first"],
      ["?revision=r2", "second"],
    ] as const) {
      const { status, json } = await fixture.get(reader, `/v1/policies/a/content${query}`);
      expect(status, query).toBe(200);
      expectDeclared("GET", "/v1/policies/{id}/content", json);
      expect(json).toMatchObject({
        object: "policy.content",
        policy: "a",
        revision: name === "first" ? "r1" : "r2",
        digest: digests[name],
        content: "rules",
        module_sha256: digestOf(`module of ${digests[name]}`),
        contract: { title: "Title of a", constraints: [{ name: "in_region" }] },
        sources: [{ package: "policies.a", source: expect.stringContaining(digests[name]) }],
      });
    }
  });

  it("has the enforced content where there is no candidate, and no rules for a removal", async () => {
    const { fixture, reader } = await open();
    await fixture.observe({ a: "first" }, "start", "enforce");
    expect((await fixture.get(reader, "/v1/policies/a/content")).json.digest).toBe(
      digestOf("first"),
    );
    expect(
      (await fixture.get(reader, "/v1/policies/a/content?digest=candidate")).json.error.code,
    ).toBe("content_not_found");
    await fixture.observe({});
    const { json } = await fixture.get(reader, "/v1/policies/a/content");
    expectDeclared("GET", "/v1/policies/{id}/content", json);
    expect(json).toMatchObject({
      content: "removal",
      module_sha256: null,
      contract: null,
      sources: [],
    });
  });

  it.each([
    ["digest=00000", 400],
    ["digest=000000", 404],
    [`digest=${"0".repeat(64)}`, 404],
    [`digest=${"0".repeat(65)}`, 400],
    ["digest=ENFORCED", 400],
    ["digest=..%2f..%2f", 400],
    ["digest=", 400],
    ["digest=enforced&digest=candidate", 400],
    ["slot=enforced", 400],
    ["revision=r99", 404],
    ["revision=1", 400],
    ["revision=r0", 400],
    ["revision=r1&digest=enforced", 400],
  ])("answers ?%s with %i", async (query, status) => {
    const { fixture, reader } = still;
    const answer = await fixture.get(reader, `/v1/policies/a/content?${query}`);
    expect(answer.status, answer.text).toBe(status);
    expect(answer.text).not.toContain("..");
  });

  it("does not return another policy's content", async () => {
    const { fixture, reader } = await open();
    await fixture.observe({ a: "first", b: "other" });
    const answer = await fixture.get(reader, `/v1/policies/a/content?digest=${digestOf("other")}`);
    expect(answer).toMatchObject({
      status: 404,
      json: { error: { code: "content_not_found", param: "digest" } },
    });
  });
});

describe("GET /v1/policies/{id}/shadow", () => {
  it("returns the candidate's numbers, by name for workspaces that the caller may read", async () => {
    const { fixture, reader } = await open({ managedBy: ["acme"] });
    await fixture.observe({ a: "first" });
    fixture.counts.set("a r1", {
      judged: 10,
      would_deny: 3,
      newly_denied: 2,
      would_narrow: 1,
      indeterminate: 1,
    });
    const { status, json } = await fixture.get(reader, "/v1/policies/a/shadow?examples=0");
    expect(status).toBe(200);
    expectDeclared("GET", "/v1/policies/{id}/shadow", json);
    expect(json).toMatchObject({ policy: "a", revision: "r1", judged: 10, newly_denied: 2 });
    expect(json.by_workspace).toMatchObject([{ workspace: "acme", judged: 10 }]);
    const otherWorkspace = await fixture.key("office", ["governance:read"]);
    const other = (await fixture.get(otherWorkspace, "/v1/policies/a/shadow")).json;
    expect(other.by_workspace).toMatchObject([{ workspace: null, judged: 10 }]);
  });

  it("shows all workspaces to those that manage policies", async () => {
    const fixture = await Fixture.open({ managedBy: ["office"] });
    await fixture.observe({ a: "first" });
    fixture.counts.set("a r1", { judged: 10 });
    const answers = await Promise.all(
      ["office", "acme"].map(async (name) => {
        const key = await fixture.key(name, ["governance:read"]);
        return (await fixture.get(key, "/v1/policies/a/shadow")).json.by_workspace;
      }),
    );
    expect(answers).toMatchObject([[{ workspace: "acme" }], [{ workspace: "acme" }]]);
  });

  it("is a 409 without a candidate, and a 400 for a bad number of examples", async () => {
    const { fixture, reader } = await open();
    await fixture.observe({ a: "first" }, "start", "enforce");
    const none = await fixture.get(reader, "/v1/policies/a/shadow");
    expect(none).toMatchObject({ status: 409, json: { error: { code: "no_candidate" } } });
    expect((await fixture.get(reader, "/v1/policies/a/shadow?examples=101")).status).toBe(400);
  });
});

describe("GET /v1/policies/{id}/transitions", () => {
  it("returns the policy's rows of the log as they were hashed, in pages", async () => {
    const { fixture, reader, manager } = await open();
    await fixture.observe({ a: "a1", b: "b1" });
    await fixture.change(manager, "a", "promotions");
    await fixture.change(manager, "b", "promotions");
    await fixture.observe({ a: "a2", b: "b1" });
    const whole = (await fixture.get(reader, "/v1/policies/a/transitions")).json;
    expectDeclared("GET", "/v1/policies/{id}/transitions", whole);
    expect(whole.has_more).toBe(false);
    expect(whole.data.map((row: { record: { kind: string } }) => row.record.kind)).toEqual([
      "observed",
      "promoted",
      "observed",
    ]);
    for (const row of whole.data) {
      const kept = fixture.log.rows[row.position - 1];
      expect(row).toEqual({ ...kept, record: JSON.parse(kept?.record ?? "") });
    }
    expect(whole.data[1].record).toMatchObject({
      policy: "a",
      by: { keyId: manager.id, workspace: "acme" },
      from: null,
    });
    const paged: unknown[] = [];
    for (let after = 0, more = true; more;) {
      const page = (await fixture.get(reader, `/v1/policies/a/transitions?limit=1&after=${after}`))
        .json;
      expect(page.data.length).toBe(1);
      paged.push(...page.data);
      after = page.data[0].position;
      more = page.has_more;
    }
    expect(paged).toEqual(whole.data);
  });

  it.each([
    "limit=0",
    "limit=1001",
    "limit=x",
    "after=-1",
    "after=1.5",
    "limit=1&limit=2",
    "before=3",
  ])("refuses ?%s", async (query) => {
    const { fixture, reader } = still;
    expect((await fixture.get(reader, `/v1/policies/a/transitions?${query}`)).status).toBe(400);
  });
});
