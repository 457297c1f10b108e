import { describe, expect, it, vi } from "vitest";
import {
  describeMissing,
  missingCode,
  missingJson,
} from "../../../src/http/control/policies/policy-error.ts";
import type { MissingRequirement } from "../../../src/lifecycle/lifecycle.ts";
import { digestOf } from "../../lifecycle/lifecycle-context.ts";
import {
  Fixture,
  type Answered,
  type FixtureOptions,
  type MadeKey,
  type ReportBody,
} from "./fixture.ts";

const HOUR = 3_600_000;
const report = (more: Partial<ReportBody> = {}): ReportBody => ({
  sha256: digestOf("report"),
  table_revision: digestOf("table"),
  complete: true,
  assertions: { passed: 1, failed: 0, waived: 0 },
  ...more,
});

interface Case {
  readonly name: string;
  readonly required: NonNullable<FixtureOptions["promotion"]>[string];
  /** What has been done of it. */
  readonly prepare?: (fixture: Fixture, key: MadeKey) => Promise<unknown>;
  readonly code: string;
  readonly missing: readonly object[];
  readonly says: RegExp;
}

const approve = async (fixture: Fixture, key: MadeKey, more: object = {}): Promise<Answered> =>
  fixture.post(key, "/v1/policies/a/approvals", { body: { digest: digestOf("first"), ...more } });

/** Approves with a report that the server makes itself. */
const approveVerified = async (fixture: Fixture, body: ReportBody): Promise<Answered> => {
  fixture.simulate("first", body);
  return approve(fixture, await fixture.key(), { report: body });
};

const CASES: readonly Case[] = [
  {
    name: "an approval",
    required: { approvals: 1 },
    code: "approvals_required",
    missing: [{ requirement: "approvals", have: 0, need: 1 }],
    says: /1 approval of this content \(0 count\)/,
  },
  {
    name: "a second person",
    required: { approvals: 2 },
    prepare: async (fixture) => approve(fixture, await fixture.key()),
    code: "approvals_required",
    missing: [{ requirement: "approvals", have: 1, need: 2 }],
    says: /2 approvals of this content \(1 count\)/,
  },
  {
    name: "somebody other than who promotes",
    required: { approvals: 1 },
    prepare: approve,
    code: "approvals_required",
    missing: [{ requirement: "approvals", have: 0, need: 1 }],
    says: /0 count/,
  },
  {
    name: "a role",
    required: { approvals: 1, roles: ["dpo", "security"] },
    prepare: async (fixture) =>
      approve(fixture, await fixture.key("office", ["operations:manage"], ["security", "x"])),
    code: "approvals_required",
    missing: [{ requirement: "roles", roles: ["dpo"] }],
    says: /an approver with the role dpo/,
  },
  {
    name: "time in shadow",
    required: { soak: 2 * 24 * HOUR + HOUR },
    code: "soak_not_met",
    missing: [{ requirement: "soak", have_seconds: 3_600, need_seconds: 176_400 }],
    says: /2d 1h in shadow \(1h.* so far\)/,
  },
  {
    name: "decisions",
    required: { decisions: 1_000 },
    prepare: (fixture) => Promise.resolve(fixture.counts.set("a r1", { judged: 999 })),
    code: "decisions_required",
    missing: [{ requirement: "decisions", have: 999, need: 1_000 }],
    says: /1000 decisions in shadow \(999 so far\)/,
  },
  {
    name: "a verdict where there was none",
    required: {},
    prepare: (fixture) =>
      Promise.resolve(fixture.counts.set("a r1", { judged: 10, indeterminate: 1 })),
    code: "indeterminate_seen",
    missing: [{ requirement: "no_indeterminate", have: 1 }],
    says: /1 request had none/,
  },
  {
    name: "a report",
    required: { approvals: 1, report: true },
    prepare: async (fixture) => approve(fixture, await fixture.key()),
    code: "report_required",
    missing: [{ requirement: "report", claimed: 0, outdated: 0 }],
    says: /the complete simulation report that this server makes itself/,
  },
  {
    name: "a report that is not only claimed",
    required: { approvals: 1, report: true, assertions: true },
    prepare: async (fixture) => approve(fixture, await fixture.key(), { report: report() }),
    code: "report_required",
    missing: [
      { requirement: "report", claimed: 1, outdated: 0 },
      { requirement: "assertions", have: 0 },
    ],
    says: /\(1 only claimed, 0 outdated\)/,
  },
  {
    name: "a report of the table that serves",
    required: { approvals: 1, report: true },
    prepare: (fixture) =>
      approveVerified(fixture, report({ table_revision: digestOf("another table") })),
    code: "report_required",
    missing: [{ requirement: "report", claimed: 0, outdated: 1 }],
    says: /\(0 only claimed, 1 outdated\)/,
  },
  {
    name: "a complete report",
    required: { approvals: 1, report: true },
    prepare: (fixture) => approveVerified(fixture, report({ complete: false })),
    code: "report_required",
    missing: [{ requirement: "report", claimed: 0, outdated: 0 }],
    says: /the complete simulation report that this server makes itself/,
  },
  {
    name: "assertions that passed",
    required: { approvals: 1, report: true, assertions: true },
    prepare: (fixture) =>
      approveVerified(fixture, report({ assertions: { passed: 5, failed: 2, waived: 0 } })),
    code: "assertions_not_passed",
    missing: [{ requirement: "assertions", have: 2 }],
    says: /2 failed/,
  },
  {
    name: "everything",
    required: {
      approvals: 2,
      roles: ["dpo"],
      soak: 24 * HOUR,
      decisions: 10,
      report: true,
      assertions: true,
    },
    prepare: (fixture) =>
      Promise.resolve(fixture.counts.set("a r1", { judged: 1, indeterminate: 1 })),
    code: "approvals_required",
    missing: [
      { requirement: "approvals", have: 0, need: 2 },
      { requirement: "roles", roles: ["dpo"] },
      { requirement: "soak", have_seconds: 3_600, need_seconds: 86_400 },
      { requirement: "decisions", have: 1, need: 10 },
      { requirement: "no_indeterminate", have: 1 },
      { requirement: "report", claimed: 0, outdated: 0 },
      { requirement: "assertions", have: 0 },
    ],
    says: /2 approvals.*role dpo.*1d in shadow.*10 decisions.*verdict.*report.*assertions/,
  },
];

describe("a promotion that lacks", () => {
  it.each(CASES.map((row) => [row.name, row] as const))(
    "%s",
    async (_, { required, prepare, code, missing, says }) => {
      const fixture = await Fixture.open({ promotion: { a: required } });
      const key = await fixture.key();
      await fixture.ago(HOUR).observe({ a: "first" });
      fixture.ago(0);
      await prepare?.(fixture, key);
      const looked = (await fixture.get(key, "/v1/policies/a")).json.missing;
      const rows = fixture.log.rows.length;
      const answer = await fixture.change(key, "a", "promotions");
      expect(answer.status, answer.text).toBe(409);
      const { error } = answer.json;
      expect(error).toMatchObject({ code, type: "invalid_request_error", param: null });
      const sentences = {
        message: expect.stringMatching(/./),
        fix: expect.stringMatching(/^[A-Z`].*\.$/),
      };
      const described = missing.map((one) =>
        Object.assign(JSON.parse(JSON.stringify(one)), sentences),
      );
      expect(blurred(error.missing)).toEqual(described);
      expect(blurred(looked)).toEqual(described);
      expect(error.message).toMatch(says);
      // Refused, not changed: nothing in the log, and the evidence names the reason and no change.
      expect(fixture.log.rows.length).toBe(rows);
      expect(fixture.router.decisions.at(-1)).toMatchObject({ outcome: "refuse", reason: code });
      expect(fixture.router.decisions.at(-1)).not.toHaveProperty("change");
    },
  );
});

/** Seconds of a soak run on while a test runs. */
function blurred(missing: readonly object[]): unknown {
  return JSON.parse(JSON.stringify(missing), (name, value: unknown) =>
    name === "have_seconds" && typeof value === "number" ? Math.round(value / 600) * 600 : value,
  );
}

describe("with the requirements met", () => {
  it("a promotion is made, and its record has it", async () => {
    const required = {
      approvals: 2,
      roles: ["dpo"],
      soak: HOUR,
      decisions: 5,
      report: true,
      assertions: true,
    };
    const fixture = await Fixture.open({ promotion: { "*": { approvals: 20 }, a: required } });
    const key = await fixture.key();
    await fixture.ago(2 * HOUR).observe({ a: "first" });
    fixture.ago(0);
    fixture.counts.set("a r1", { judged: 5, would_deny: 1 });
    await approve(fixture, await fixture.key("acme", ["operations:manage"], ["dpo"]));
    await approveVerified(fixture, report());
    const answer = await fixture.change(key, "a", "promotions");
    expect(answer.status, answer.text).toBe(200);
    const record = JSON.parse(fixture.log.rows.at(-1)?.record ?? "");
    expect(record).toMatchObject({
      kind: "promoted",
      requirements: required,
      shadow: { judged: 5, wouldDeny: 1 },
    });
    expect(record.approvals.length).toBe(2);
  });

  it("an approval of one content does not count for another", async () => {
    const fixture = await Fixture.open({ promotion: { "*": { approvals: 1 } } });
    const [key, approver] = [await fixture.key(), await fixture.key()];
    await fixture.observe({ a: "first", b: "first of b" });
    expect((await approve(fixture, approver)).status).toBe(200);
    await fixture.observe({ a: "second", b: "first of b" });
    for (const policy of ["a", "b"]) {
      const answer = await fixture.change(key, policy, "promotions");
      expect(answer).toMatchObject({
        status: 409,
        json: { error: { code: "approvals_required" } },
      });
    }
    // One policy's digest is no content of another.
    const foreign = await fixture.post(approver, "/v1/policies/b/approvals", {
      body: { digest: digestOf("first") },
    });
    expect(foreign).toMatchObject({ status: 404, json: { error: { code: "content_not_found" } } });
    await fixture.observe({ a: "first", b: "first of b" });
    expect((await fixture.change(key, "a", "promotions")).status).toBe(200);
  });

  it("a policy's removal requires approvals too, and no evidence from shadow", async () => {
    const fixture = await Fixture.open({ promotion: { "*": { approvals: 1, decisions: 50 } } });
    const [key, approver] = [await fixture.key(), await fixture.key()];
    await fixture.observe({ a: "first" }, "start", "enforce");
    await fixture.observe({});
    expect((await fixture.change(key, "a", "promotions")).json.error.missing).toMatchObject([
      { requirement: "approvals", have: 0, need: 1 },
    ]);
    const { digest } = (await fixture.get(key, "/v1/policies/a")).json.candidate;
    await fixture.post(approver, "/v1/policies/a/approvals", { body: { digest } });
    expect((await fixture.change(key, "a", "promotions")).json).toMatchObject({ state: "ended" });
  });
});

describe("409 without requirements", () => {
  // `a` is new, in shadow; `b` has been enforced from the start, without a candidate.
  it.each<[string, string, object, string]>([
    [
      "promotions",
      "b",
      { expected: { candidate_revision: "r1", enforced_revision: "r1" } },
      "no_candidate",
    ],
    ["rollbacks", "a", { expected: { enforced_revision: "r1" } }, "nothing_to_roll_back_to"],
    ["rollbacks", "b", { expected: { enforced_revision: "r1" } }, "nothing_to_roll_back_to"],
    [
      "rollbacks",
      "b",
      { expected: { enforced_revision: "r1" }, to_revision: "r7" },
      "nothing_to_roll_back_to",
    ],
    [
      "withdrawals",
      "b",
      { what: "candidate", expected: { candidate_revision: "r1" } },
      "no_candidate",
    ],
    ["withdrawals", "a", { what: "approval", digest: digestOf("first") }, "not_approved"],
    ["releases", "a", { digest: digestOf("first") }, "not_held"],
  ])("POST …/%s of %s: %j is %s", async (path, policy, body, code) => {
    const fixture = await Fixture.open();
    const key = await fixture.key();
    await fixture.observe({ b: "one" }, "start", "enforce");
    await fixture.observe({ a: "first", b: "one" });
    const { etag } = (await fixture.get(key, `/v1/policies/${policy}`)).json;
    const answer = await fixture.post(key, `/v1/policies/${policy}/${path}`, {
      body,
      ifMatch: etag,
    });
    expect(answer.status, answer.text).toBe(409);
    expect(answer.json.error.code).toBe(code);
    expect(answer.json.error).not.toHaveProperty("missing");
    expect(fixture.router.decisions.filter(({ change }) => change !== undefined)).toEqual([]);
  });

  it("a content without stored bytes is neither promoted nor rolled back to", async () => {
    const fixture = await Fixture.open();
    const key = await fixture.key();
    await fixture.observe({ a: "first" });
    await fixture.change(key, "a", "promotions");
    await fixture.observe({ a: "second" });
    const kept = new Map(fixture.log.contents);
    fixture.log.contents.delete(digestOf("second"));
    const promotion = await fixture.change(key, "a", "promotions");
    expect(promotion).toMatchObject({ status: 409, json: { error: { code: "content_not_kept" } } });
    expect(promotion.json.error.message).toMatch(/revision r2/);
    for (const [digest, content] of kept) fixture.log.contents.set(digest, content);
    await fixture.change(key, "a", "promotions");
    fixture.log.contents.delete(digestOf("first"));
    const rollback = await fixture.change(key, "a", "rollbacks");
    expect(rollback).toMatchObject({ status: 409, json: { error: { code: "content_not_kept" } } });
    expect(fixture.status("a").enforced?.digest).toBe(digestOf("second"));
  });

  it("a change among too many others gets an error with retry-after", async () => {
    const fixture = await Fixture.open();
    const key = await fixture.key();
    await fixture.observe({ a: "first" });
    // Somebody else is always quicker.
    fixture.log.append = () => Promise.resolve(false);
    // The pauses between attempts are random.
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    const answer = await fixture.change(key, "a", "promotions");
    expect(answer).toMatchObject({ status: 409, json: { error: { code: "busy" } } });
    expect(answer.headers.get("retry-after")).toBe("1");
    random.mockRestore();
  });
});

describe("the missing requirements", () => {
  const all: readonly MissingRequirement[] = [
    { requirement: "approvals", have: 0, need: 1 },
    { requirement: "roles", roles: ["a", "b"] },
    { requirement: "soak", have: 1_999, need: 90_061_000 },
    { requirement: "decisions", have: 0, need: 1 },
    { requirement: "no_indeterminate", have: 2 },
    { requirement: "report", claimed: 1, outdated: 0 },
    { requirement: "assertions", have: 1 },
  ];

  it("name the first one of a fixed order", () => {
    const codes = all.map((_, index) => missingCode(all.slice(index).toReversed()));
    expect(codes).toEqual([
      "approvals_required",
      "approvals_required",
      "soak_not_met",
      "decisions_required",
      "indeterminate_seen",
      "report_required",
      "assertions_not_passed",
    ]);
  });

  it("are one sentence with all numbers", () => {
    expect(describeMissing(all)).toBe(
      "The promotion still needs 1 approval of this content (0 count); an approver with the role a, and one with b; 1d 1h in shadow (1s so far); 1 decision in shadow (0 so far); a verdict for every request in shadow (2 requests had none); an approval with the complete simulation report that this server makes itself (1 only claimed, 0 outdated); and an approval whose verified report has no failed assertions (1 failed).",
    );
  });

  it("round an unfinished soak down", () => {
    expect(missingJson({ requirement: "soak", have: 59_999, need: 60_000 })).toEqual({
      requirement: "soak",
      have_seconds: 59,
      need_seconds: 60,
      message: "1m in shadow (59s so far)",
      fix: "Wait for the rest of the time.",
    });
  });
});
