import { describe, expect, it } from "vitest";
import { approval, approvalWithdrawal, contentRelease } from "../../src/lifecycle/changes.ts";
import type { PromotionRequirements } from "../../src/canon/table.ts";
import type { MissingRequirement } from "../../src/lifecycle/lifecycle.ts";
import type { Actor, ReportReference } from "../../src/lifecycle/records.ts";
import { actor, digestOf, file, LifecycleContext, TABLE } from "./lifecycle-context.ts";

const DAY = 86_400_000;

/** A policy whose first content acts and whose second one waits. */
async function changing(): Promise<LifecycleContext> {
  const context = await LifecycleContext.open();
  await context.observe([file("p", "a", "enforce")]);
  await context.observe([file("p", "b")]);
  return context;
}

function approve(
  context: LifecycleContext,
  by: Actor,
  report: ReportReference | null = null,
  name = "b",
) {
  return context.lifecycle.change(approval({ policy: "p", digest: digestOf(name), by, report }));
}

const REPORT: ReportReference = {
  sha256: digestOf("report"),
  tableRevision: TABLE,
  complete: true,
  assertions: { passed: 3, failed: 0, waived: 1 },
  verification: { result: "verified", enforced: digestOf("a") },
};

describe("promotion and rollback", () => {
  it("move the candidate, keep the former revision, and return to it", async () => {
    const context = await changing();
    const promoted = await context.promote("p");
    expect(promoted).toMatchObject({
      kind: "promoted",
      from: { revision: 1, digest: digestOf("a") },
      to: { revision: 2, digest: digestOf("b") },
    });
    expect(context.slots("p")).toBe("r2 -");
    expect(await context.rollBack("p")).toMatchObject({
      kind: "rolled_back",
      from: { revision: 2 },
      to: { revision: 1 },
    });
    // What was taken back is still watched.
    expect(context.slots("p")).toBe("r1 r2");
  });

  it("hold a rolled back revision until it is released", async () => {
    const context = await changing();
    await context.promote("p");
    await context.rollBack("p");
    expect(await context.promote("p")).toEqual({ fault: "held", revision: 2 });
    const release = { policy: "p", digest: digestOf("b"), by: actor("olga") };
    await context.lifecycle.change(contentRelease({ ...release, expected: context.expected("p") }));
    expect(
      await context.lifecycle.change(
        contentRelease({ ...release, expected: context.expected("p") }),
      ),
    ).toEqual({
      fault: "not_held",
    });
    await context.promote("p");
    expect(context.slots("p")).toBe("r2 -");
  });

  it("roll a first promotion back to nothing, and fail where there is nothing before", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a"), file("q", "x", "enforce")]);
    expect(await context.rollBack("p")).toEqual({ fault: "nothing_to_roll_back_to" });
    expect(await context.rollBack("q")).toEqual({ fault: "nothing_to_roll_back_to" });
    await context.promote("p");
    await context.rollBack("p");
    expect(context.slots("p")).toBe("- r1");
  });

  it("roll back as far as requested, and never to a revision that was not enforced", async () => {
    const context = await changing();
    await context.promote("p");
    await context.observe([file("p", "c")]);
    await context.promote("p");
    await context.observe([file("p", "d")]);
    expect(context.slots("p")).toBe("r3 r4");
    expect(await context.rollBack("p", 4)).toEqual({ fault: "nothing_to_roll_back_to" });
    expect(await context.rollBack("p", 3)).toEqual({ fault: "nothing_to_roll_back_to" });
    await context.rollBack("p", 1);
    expect(context.slots("p")).toBe("r1 r4");
    expect(await context.rollBack("p")).toEqual({ fault: "nothing_to_roll_back_to" });
  });

  it("are refused where the bytes are not kept, or are not those of the log", async () => {
    const context = await changing();
    context.log.contents.delete(digestOf("b"));
    expect(await context.promote("p")).toEqual({ fault: "no_bytes", revision: 2 });
    const kept = { policy: "p", digest: digestOf("b"), description: "{}" };
    await context.log.keep({ ...kept, module: Buffer.from("damaged") });
    expect(await context.promote("p")).toEqual({ fault: "no_bytes", revision: 2 });
    context.log.contents.set(digestOf("b"), { ...kept, module: Buffer.from("module of b") });
    await context.promote("p");
    context.log.contents.delete(digestOf("a"));
    expect(await context.rollBack("p")).toEqual({ fault: "no_bytes", revision: 1 });
  });

  it("refuse a caller with another expected state, and report the present one", async () => {
    const context = await changing();
    const seen = context.expected("p");
    await context.observe([file("p", "c")]);
    const refused = await context.promote("p", actor("alice"), {}, seen);
    expect(refused).toMatchObject({
      fault: "changed",
      etag: context.expected("p").etag,
      candidate: { revision: 3 },
      enforced: { revision: 1 },
    });
    expect(
      await context.promote(
        "p",
        actor("alice"),
        {},
        { ...context.expected("p"), enforcedRevision: null },
      ),
    ).toMatchObject({ fault: "changed" });
    expect(
      await context.promote(
        "p",
        actor("alice"),
        {},
        { ...context.expected("p"), candidateRevision: 2 },
      ),
    ).toMatchObject({ fault: "changed" });
    expect(
      await context.promote(
        "p",
        actor("alice"),
        {},
        { ...context.expected("p"), candidateRevision: 3, enforcedRevision: 1 },
      ),
    ).toHaveProperty("kind");
  });

  it("refuse a state that was seen before a change and its reversal", async () => {
    const context = await changing();
    await context.promote("p");
    const seen = context.expected("p");
    await context.rollBack("p");
    await context.lifecycle.change(
      contentRelease({
        policy: "p",
        digest: digestOf("b"),
        expected: context.expected("p"),
        by: actor("olga"),
      }),
    );
    await context.promote("p");
    expect(context.slots("p")).toBe("r2 -");
    expect(await context.rollBack("p", undefined, seen)).toMatchObject({ fault: "changed" });
  });

  it("refuse unknown policies", async () => {
    const context = await changing();
    expect(
      await context.lifecycle.change(
        approval({
          policy: "constructor",
          digest: digestOf("b"),
          by: actor("a"),
          report: null,
        }),
      ),
    ).toEqual({ fault: "unknown_policy" });
    expect(await approve(context, actor("a"), null, "nobody")).toEqual({
      fault: "unknown_content",
    });
  });
});

describe("requirements", () => {
  const cases: readonly [string, Partial<PromotionRequirements>, readonly MissingRequirement[]][] =
    [
      ["approvals", { approvals: 2 }, [{ requirement: "approvals", have: 0, need: 2 }]],
      ["roles", { roles: ["privacy"] }, [{ requirement: "roles", roles: ["privacy"] }]],
      ["soak", { soak: DAY }, [{ requirement: "soak", have: 0, need: DAY }]],
      ["decisions", { decisions: 10 }, [{ requirement: "decisions", have: 4, need: 10 }]],
      [
        "verdicts that are determinate",
        { noIndeterminate: true },
        [{ requirement: "no_indeterminate", have: 2 }],
      ],
      ["a report", { report: true }, [{ requirement: "report", claimed: 0, outdated: 0 }]],
      [
        "assertions",
        { assertions: true },
        [
          { requirement: "report", claimed: 0, outdated: 0 },
          { requirement: "assertions", have: 0 },
        ],
      ],
      [
        "everything, and names all of it",
        { approvals: 1, soak: 5, decisions: 5 },
        [
          { requirement: "approvals", have: 0, need: 1 },
          { requirement: "soak", have: 0, need: 5 },
          { requirement: "decisions", have: 4, need: 5 },
        ],
      ],
    ];
  it.each(cases)("requires %s", async (_, requirements, missing) => {
    const context = await changing();
    context.figures = { ...context.figures, judged: 4, indeterminate: 2 };
    expect(await context.promote("p", actor("alice"), requirements)).toEqual({
      fault: "requirements",
      missing,
    });
    expect(context.slots("p")).toBe("r1 r2");
  });

  it("keep the approvals, the figures and the requirements in the transition", async () => {
    const context = await changing();
    context.figures = { ...context.figures, judged: 4 };
    await approve(context, actor("bert", { roles: ["privacy"] }), REPORT);
    context.pass(DAY);
    const requirements = {
      approvals: 1,
      roles: ["privacy"],
      soak: DAY,
      decisions: 4,
      noIndeterminate: true,
      report: true,
      assertions: true,
    };
    expect(await context.promote("p", actor("alice"), requirements)).toMatchObject({
      approvals: [{ by: { keyId: "bert" }, report: REPORT }],
      requirements,
      shadow: { judged: 4 },
    });
  });

  it.each<[string, Partial<ReportReference>, object]>([
    [
      "the server's own report is another one",
      { verification: { result: "differs" } },
      { claimed: 1, outdated: 0 },
    ],
    [
      "the server made none",
      { verification: { result: "not_computed" } },
      { claimed: 1, outdated: 0 },
    ],
    [
      "it was verified under another table",
      { tableRevision: "table-0" },
      { claimed: 0, outdated: 1 },
    ],
    [
      "it was verified against other enforced content",
      { verification: { result: "verified", enforced: null } },
      { claimed: 0, outdated: 1 },
    ],
  ])("a report is not counted where %s", async (_, more, counts) => {
    const context = await changing();
    await approve(context, actor("bert"), { ...REPORT, ...more });
    expect(await context.promote("p", actor("alice"), { report: true })).toEqual({
      fault: "requirements",
      missing: [{ requirement: "report", ...counts }],
    });
  });

  it("an approval by the promoter is not counted, under any key, unless that is allowed", async () => {
    const context = await changing();
    await approve(context, actor("second", { origin: "alice" }));
    expect(await context.promote("p", actor("alice"), { approvals: 1 })).toMatchObject({
      missing: [{ have: 0 }],
    });
    expect(
      await context.promote("p", actor("alice"), { approvals: 1, selfApproval: true }),
    ).toHaveProperty("kind");
  });

  it("count one person once, with the last approval", async () => {
    const context = await changing();
    await approve(context, actor("bert"));
    await approve(context, actor("bert-2", { origin: "bert" }), REPORT);
    expect(context.status("p").approvals.get(digestOf("b"))).toHaveLength(1);
    expect(
      await context.promote("p", actor("alice"), { approvals: 2, report: true }),
    ).toMatchObject({
      missing: [{ requirement: "approvals", have: 1, need: 2 }],
    });
    const rows = context.log.rows.length;
    await approve(context, actor("bert"), REPORT);
    expect(context.log.rows).toHaveLength(rows);
  });

  it("count no approval of other content, nor a withdrawn one", async () => {
    const context = await changing();
    await approve(context, actor("bert"), null, "a");
    await approve(context, actor("carl"));
    await context.lifecycle.change(
      approvalWithdrawal({
        policy: "p",
        digest: digestOf("b"),
        by: actor("carl"),
      }),
    );
    expect(
      await context.lifecycle.change(
        approvalWithdrawal({
          policy: "p",
          digest: digestOf("b"),
          by: actor("carl"),
        }),
      ),
    ).toEqual({
      fault: "not_approved",
    });
    expect(await context.promote("p", actor("alice"), { approvals: 1 })).toMatchObject({
      missing: [{ have: 0, need: 1 }],
    });
  });

  it("approvals of a content are kept when it is removed and returns", async () => {
    const context = await changing();
    await approve(context, actor("bert"));
    await context.observe([file("p", "c")], "reload");
    expect(await context.promote("p", actor("alice"), { approvals: 1 })).toMatchObject({
      missing: [{ have: 0 }],
    });
    await context.observe([file("p", "b")], "reload");
    expect(await context.promote("p", actor("alice"), { approvals: 1 })).toHaveProperty("kind");
  });

  it.each([
    ["an incomplete one", { ...REPORT, complete: false }],
    ["one whose assertions failed", { ...REPORT, assertions: { passed: 3, failed: 1, waived: 0 } }],
    ["one without assertions", { ...REPORT, assertions: { passed: 0, failed: 0, waived: 0 } }],
  ])("a report that is %s is not counted as passed assertions", async (_, report) => {
    const context = await changing();
    await approve(context, actor("bert"), report);
    expect(await context.promote("p", actor("alice"), { assertions: true })).toMatchObject({
      fault: "requirements",
    });
  });

  it("require no verdicts of a removal", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a", "enforce")]);
    await context.observe([], "reload");
    expect(
      await context.promote("p", actor("alice"), { decisions: 100, noIndeterminate: true }),
    ).toMatchObject({
      kind: "promoted",
      shadow: null,
    });
  });
});
