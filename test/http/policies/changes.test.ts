import { describe, expect, it } from "vitest";
import { digestOf, LifecycleContext } from "../../lifecycle/lifecycle-context.ts";
import { Fixture, expectDeclared, type MadeKey } from "./fixture.ts";
import { evidenceOf } from "../../support/evidence-of.ts";

const REPORT = {
  sha256: digestOf("report"),
  table_revision: digestOf("table"),
  complete: true,
  assertions: { passed: 3, failed: 0, waived: 1 },
};

async function open(
  options: Parameters<typeof Fixture.open>[0] = {},
): Promise<{ fixture: Fixture; key: MadeKey }> {
  const fixture = await Fixture.open(options);
  return { fixture, key: await fixture.key() };
}

const changesOf = (fixture: Fixture): readonly unknown[] =>
  fixture.router.decisions.flatMap(({ change }) => (change === undefined ? [] : [change]));

describe("a policy from shadow to enforced and back", () => {
  it("is approved, promoted, changed, rolled back, released and promoted again", async () => {
    const { fixture, key } = await open({ promotion: { "*": { approvals: 1 } } });
    const approver = await fixture.key("acme", ["operations:manage"], ["dpo"]);
    await fixture.observe({ a: "first" });

    const approved = await fixture.post(approver, "/v1/policies/a/approvals", {
      body: { digest: digestOf("first"), report: REPORT },
    });
    expect(approved.status, approved.text).toBe(200);
    expectDeclared("POST", "/v1/policies/{id}/approvals", approved.json);
    expect(approved.json.approvals).toMatchObject([
      {
        by: { key_id: approver.id, workspace: "acme", origin: approver.id, roles: ["dpo"] },
        report: REPORT,
      },
    ]);
    // The approval counts for another promoter, not for its approver.
    expect(approved.json.missing).toEqual([]);
    expect((await fixture.get(approver, "/v1/policies/a")).json.missing).toMatchObject([
      { requirement: "approvals" },
    ]);
    // Who wants to promote need not look again because somebody has approved.
    expect((await fixture.get(key, "/v1/policies/a")).json.etag).toBe(approved.json.etag);

    const promoted = await fixture.change(key, "a", "promotions");
    expect(promoted.status, promoted.text).toBe(200);
    expectDeclared("POST", "/v1/policies/{id}/promotions", promoted.json);
    expect(promoted.headers.get("etag")).toBe(promoted.json.etag);
    expect(promoted.json).toMatchObject({
      state: "enforced",
      enforced: { revision: "r1", digest: digestOf("first") },
      candidate: null,
      can_roll_back: true,
      rollback_to: null,
    });

    await fixture.observe({ a: "second" });
    await fixture.post(approver, "/v1/policies/a/approvals", {
      body: { digest: digestOf("second") },
    });
    expect((await fixture.change(key, "a", "promotions")).status).toBe(200);

    const rolledBack = await fixture.change(key, "a", "rollbacks", { reason: "wrong_denials" });
    expect(rolledBack.status, rolledBack.text).toBe(200);
    expectDeclared("POST", "/v1/policies/{id}/rollbacks", rolledBack.json);
    expect(rolledBack.json).toMatchObject({
      state: "changing",
      enforced: { revision: "r1" },
      candidate: { revision: "r2", held: true },
      held: [{ revision: "r2", digest: digestOf("second") }],
    });
    const held = await fixture.change(key, "a", "promotions");
    expect(held).toMatchObject({ status: 409, json: { error: { code: "held" } } });
    expect(held.json.error).toMatchObject({
      message: expect.stringMatching(/Revision r2 .* held/),
      fix: expect.stringMatching(/^Release it first/),
    });

    const released = await fixture.post(key, "/v1/policies/a/releases", {
      ifMatch: rolledBack.json.etag,
      body: { digest: digestOf("second") },
    });
    expect(released.status, released.text).toBe(200);
    expectDeclared("POST", "/v1/policies/{id}/releases", released.json);
    expect(released.json).toMatchObject({ held: [], candidate: { revision: "r2", held: false } });
    // The approval outlived promotion, rollback and hold.
    expect((await fixture.change(key, "a", "promotions")).json).toMatchObject({
      enforced: { revision: "r2" },
    });

    await fixture.router.settled(fixture.router.decisions.length);
    const [first, second] = [digestOf("first"), digestOf("second")];
    expect(changesOf(fixture)).toEqual([
      { what: "policy_approved", id: "a", content: first },
      { what: "policy_promoted", id: "a", content: first },
      { what: "policy_approved", id: "a", content: second },
      { what: "policy_promoted", id: "a", content: second },
      { what: "policy_rolled_back", id: "a", content: second },
      { what: "policy_released", id: "a", content: second },
      { what: "policy_promoted", id: "a", content: second },
    ]);
    expect(fixture.steps.length).toBe(7);
    const records = fixture.log.rows.map(({ record }) => JSON.parse(record));
    expect(records.filter(({ kind }) => kind === "promoted")[0]).toMatchObject({
      by: { keyId: key.id, requestId: expect.stringMatching(/^req_/) },
      approvals: [
        {
          by: { keyId: approver.id },
          report: { sha256: REPORT.sha256, tableRevision: REPORT.table_revision },
        },
      ],
      requirements: { approvals: 1 },
      shadow: { judged: 0 },
    });
    expect(records.find(({ kind }) => kind === "rolled_back")).toMatchObject({
      reason: "wrong_denials",
    });
  });

  it("is rolled back to a named revision, or to none", async () => {
    const { fixture, key } = await open();
    await fixture.observe({ a: "first" }, "start");
    for (const name of ["first", "second", "third"]) {
      await fixture.observe({ a: name });
      expect((await fixture.change(key, "a", "promotions")).status).toBe(200);
    }
    expect((await fixture.change(key, "a", "rollbacks", { to_revision: "r1" })).json).toMatchObject(
      {
        enforced: { revision: "r1" },
        held: [{ revision: "r3" }],
      },
    );
    const nothing = await fixture.change(key, "a", "rollbacks", { to_revision: null });
    expect(nothing.json).toMatchObject({ enforced: null, state: "shadow" });
    expect(
      nothing.json.held.map(({ revision }: { revision: string }) => revision).toSorted(),
    ).toEqual(["r1", "r3"]);
  });

  it("withdraws an approval, once, and only the caller's own", async () => {
    const { fixture, key } = await open();
    const other = await fixture.key();
    await fixture.observe({ a: "first" });
    const body = { digest: digestOf("first") };
    for (const by of [key, other]) await fixture.post(by, "/v1/policies/a/approvals", { body });
    const withdrawal = { body: { what: "approval", ...body } };
    const withdrawn = await fixture.post(key, "/v1/policies/a/withdrawals", withdrawal);
    expectDeclared("POST", "/v1/policies/{id}/withdrawals", withdrawn.json);
    expect(withdrawn.json.approvals).toMatchObject([{ by: { key_id: other.id } }]);
    const again = await fixture.post(key, "/v1/policies/a/withdrawals", withdrawal);
    expect(again).toMatchObject({ status: 409, json: { error: { code: "not_approved" } } });
    expect(changesOf(fixture).at(-1)).toMatchObject({ what: "policy_approval_withdrawn" });
  });

  it("withdraws the candidate for good", async () => {
    const { fixture, key } = await open();
    await fixture.observe({ a: "first" });
    const { etag } = (await fixture.get(key, "/v1/policies/a")).json;
    const withdrawn = await fixture.post(key, "/v1/policies/a/withdrawals", {
      ifMatch: etag,
      body: { what: "candidate", expected: { candidate_revision: "r1" } },
    });
    expect(withdrawn.json).toMatchObject({
      candidate: null,
      withdrawn: [{ revision: "r1" }],
      approvals: [],
    });
    expect(changesOf(fixture)).toEqual([
      { what: "policy_candidate_withdrawn", id: "a", content: digestOf("first") },
    ]);
  });

  it("a second approval changes nothing and is not recorded as a change", async () => {
    const { fixture, key } = await open();
    await fixture.observe({ a: "first" });
    const body = { digest: digestOf("first"), report: REPORT };
    const [first, second] = [
      await fixture.post(key, "/v1/policies/a/approvals", { body }),
      await fixture.post(key, "/v1/policies/a/approvals", { body }),
    ];
    expect(second.status).toBe(200);
    expect(second.json.approvals).toEqual(first.json.approvals);
    expect(changesOf(fixture).length).toBe(1);
    // Another report is another statement.
    const other = { ...body, report: { ...REPORT, sha256: digestOf("another report") } };
    expect(
      (await fixture.post(key, "/v1/policies/a/approvals", { body: other })).json.approvals.length,
    ).toBe(1);
    expect(changesOf(fixture).length).toBe(2);
  });
});

describe("the order of a change", () => {
  it("a change is recorded, then applied, then in effect here, then answered", async () => {
    const seen: string[] = [];
    const fixture = await Fixture.open({
      runtime: {
        evidence: evidenceOf(({ change }) => {
          if (change !== undefined)
            seen.push(
              `recorded with ${fixture.log.rows.length} rows, ${fixture.steps.length} applied`,
            );
          return Promise.resolve();
        }),
      },
    });
    const key = await fixture.key();
    await fixture.observe({ a: "first" });
    expect((await fixture.change(key, "a", "promotions")).status).toBe(200);
    expect(seen).toEqual(["recorded with 1 rows, 0 applied"]);
    expect(fixture.log.rows.length).toBe(2);
    expect(fixture.steps).toEqual(["applied"]);
  });

  it("is not applied where it cannot be recorded", async () => {
    let isFull = false;
    const decide = () =>
      isFull ? Promise.reject(new Error("the disk is full")) : Promise.resolve();
    const { fixture, key } = await open({ runtime: { evidence: evidenceOf(decide) } });
    await fixture.observe({ a: "first" });
    await fixture.change(key, "a", "promotions");
    await fixture.observe({ a: "second" });
    const [digest, { etag }] = [
      digestOf("second"),
      (await fixture.get(key, "/v1/policies/a")).json,
    ];
    const requested: readonly (readonly [string, object])[] = [
      ["approvals", { digest }],
      ["promotions", { expected: { candidate_revision: "r2", enforced_revision: "r1" } }],
      ["rollbacks", { expected: { enforced_revision: "r1" } }],
      ["withdrawals", { what: "candidate", expected: { candidate_revision: "r2" } }],
    ];
    const rows = fixture.log.rows.length;
    isFull = true;
    for (const [path, body] of requested) {
      const answer = await fixture.post(key, `/v1/policies/a/${path}`, { body, ifMatch: etag });
      expect(answer, path).toMatchObject({
        status: 503,
        json: { error: { code: "evidence_unavailable" } },
      });
      expect(answer.text).not.toContain("disk");
    }
    expect(fixture.log.rows.length).toBe(rows);
  });

  it("reports that the change is recorded where this process cannot load it", async () => {
    const { fixture, key } = await open();
    await fixture.observe({ a: "first" });
    fixture.steps.push = () => {
      throw new Error("the module does not load");
    };
    const answer = await fixture.change(key, "a", "promotions");
    expect(answer).toMatchObject({
      status: 503,
      json: { error: { code: "policies_not_applied" } },
    });
    expect(answer.headers.get("retry-after")).toBeNull();
    expect(fixture.status("a").enforced?.digest).toBe(digestOf("first"));
  });
});

describe("a store that is unavailable", () => {
  it.each([
    ["GET", "/v1/policies", {}],
    ["GET", "/v1/policies/a", {}],
    ["GET", "/v1/policies/a/content", {}],
    ["GET", "/v1/policies/a/shadow", {}],
    ["GET", "/v1/policies/a/transitions", {}],
    ["POST", "/v1/policies/a/approvals", { digest: digestOf("first") }],
    [
      "POST",
      "/v1/policies/a/promotions",
      { expected: { candidate_revision: "r1", enforced_revision: null } },
    ],
    ["POST", "/v1/policies/a/rollbacks", { expected: { enforced_revision: "r1" } }],
    ["POST", "/v1/policies/a/withdrawals", { what: "approval", digest: digestOf("first") }],
    ["POST", "/v1/policies/a/releases", { digest: digestOf("first") }],
  ] as const)(
    "%s %s is answered with a 503 without details of the store",
    async (method, path, body) => {
      const { fixture, key } = await open();
      await fixture.observe({ a: "first" });
      fixture.log.isAway = true;
      const answer =
        method === "GET"
          ? await fixture.get(key, path)
          : await fixture.post(key, path, { body, ifMatch: '"x"' });
      expect(answer).toMatchObject({ status: 503, json: { error: { code: "store_unavailable" } } });
      expect(answer.headers.get("retry-after")).toBe("1");
      expect(answer.text).not.toContain("secret");
    },
  );

  it("a change that cannot be appended is a 503, and on record as failed", async () => {
    const { fixture, key } = await open();
    await fixture.observe({ a: "first" });
    const { etag } = (await fixture.get(key, "/v1/policies/a")).json;
    fixture.log.isReadOnly = true;
    const body = { expected: { candidate_revision: "r1", enforced_revision: null } };
    const answer = await fixture.post(key, "/v1/policies/a/promotions", { ifMatch: etag, body });
    expect(answer).toMatchObject({ status: 503, json: { error: { code: "store_unavailable" } } });
    await fixture.router.settled(2);
    expect(fixture.router.decisions.at(-1)).toMatchObject({ change: { what: "policy_promoted" } });
    expect(fixture.router.outcomes.at(-1)).toMatchObject({ status: 503, terminal: "failed" });
    expect(fixture.steps).toEqual([]);
  });
});

describe("concurrent changes", () => {
  it.each([2, 12])("exactly one of %i promotions with one precondition succeeds", async (count) => {
    const { fixture, key } = await open();
    await fixture.observe({ a: "first" });
    const { etag } = (await fixture.get(key, "/v1/policies/a")).json;
    const body = { expected: { candidate_revision: "r1", enforced_revision: null } };
    const answers = await Promise.all(
      Array.from({ length: count }, () =>
        fixture.post(key, "/v1/policies/a/promotions", { ifMatch: etag, body }),
      ),
    );
    const statuses = answers.map(({ status }) => status).toSorted((left, right) => left - right);
    expect(statuses).toEqual([200, ...Array.from({ length: count - 1 }, () => 412)]);
    for (const { status, json } of answers) {
      if (status === 412)
        expect(json.error.current).toMatchObject({
          candidate_revision: null,
          enforced_revision: "r1",
        });
    }
    expect(
      fixture.log.rows.filter(({ record }) => record.includes('"kind":"promoted"')).length,
    ).toBe(1);
  });

  it("a change that is later than another process's is refused with the present state", async () => {
    const meanwhile: { promote: (() => Promise<unknown>) | null } = { promote: null };
    const decide = async ({ change }: { readonly change?: unknown }): Promise<void> => {
      if (change !== undefined) await meanwhile.promote?.();
    };
    const { fixture, key } = await open({ runtime: { evidence: evidenceOf(decide) } });
    await fixture.observe({ a: "first" });
    const { etag } = (await fixture.get(key, "/v1/policies/a")).json;
    const elsewhere = await LifecycleContext.open(fixture.log, { now: Date.now() });
    meanwhile.promote = () => elsewhere.promote("a");
    const body = { expected: { candidate_revision: "r1", enforced_revision: null } };
    const answer = await fixture.post(key, "/v1/policies/a/promotions", { ifMatch: etag, body });
    expect(answer.status, answer.text).toBe(412);
    expect(answer.json.error.current).toMatchObject({
      candidate_revision: null,
      enforced_revision: "r1",
    });
    expect(fixture.steps).toEqual([]);
    expect(fixture.log.rows.length).toBe(2);
  });
});
