import { describe, expect, it } from "vitest";
import { candidateWithdrawal, contentRelease } from "../../src/lifecycle/changes.ts";
import { removalDigest } from "../../src/lifecycle/lifecycle.ts";
import { driftOf } from "../../src/lifecycle/observe.ts";
import { actor, digestOf, file, LifecycleContext } from "./lifecycle-context.ts";

describe("contents and slots", () => {
  it.each([
    ["shadow", "- r1"],
    ["enforce", "r1 -"],
  ] as const)("of a policy that the log has never seen start in %s", async (mode, slots) => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a", mode)]);
    expect(context.slots("p")).toBe(slots);
  });

  it("the enforced content stays when the files change, and the new one waits", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a", "enforce")]);
    await context.observe([file("p", "b", "enforce")]);
    expect(context.slots("p")).toBe("r1 r2");
    await context.observe([file("p", "c", "enforce")]);
    expect(context.slots("p")).toBe("r1 r3");
  });

  it("write no row for unchanged files", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a"), file("q", "x", "enforce")]);
    const rows = context.log.rows.length;
    await context.observe([file("p", "a"), file("q", "x", "shadow")]);
    await (await context.another()).observe([file("q", "x"), file("p", "a", "enforce")]);
    expect(context.log.rows).toHaveLength(rows);
  });

  it("a replica that starts with older files moves no slot back", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a", "enforce")]);
    await context.observe([file("p", "b")]);
    await (await context.another()).observe([file("p", "a", "enforce")]);
    await context.lifecycle.refresh();
    expect(context.slots("p")).toBe("r1 r2");
    await context.promote("p");
    await (await context.another()).observe([file("p", "a", "enforce")]);
    await context.lifecycle.refresh();
    expect(context.slots("p")).toBe("r2 -");
  });

  it("the candidate follows the files of a running server back to a known content", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a")]);
    await context.observe([file("p", "b")], "reload");
    expect(context.slots("p")).toBe("- r2");
    await context.observe([file("p", "a")], "reload");
    expect(context.slots("p")).toBe("- r1");
  });

  it("the candidate is removed when the files of a running server return to the enforced content", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a", "enforce")]);
    await context.observe([file("p", "b")], "reload");
    await context.observe([file("p", "a")], "reload");
    expect(context.slots("p")).toBe("r1 -");
    // And the other one again, in a new deployment: the slot is free, so nothing is replaced.
    await (await context.another()).observe([file("p", "b")]);
    await context.lifecycle.refresh();
    expect(context.slots("p")).toBe("r1 r2");
  });

  it("treat a reload over another file as no change of the policy", async () => {
    const context = await LifecycleContext.open();
    const older = await context.another();
    await older.observe([file("p", "a", "enforce")]);
    await context.observe([file("p", "b")]);
    await older.observe([file("p", "a", "enforce")], "reload");
    await context.lifecycle.refresh();
    expect(context.slots("p")).toBe("r1 r2");
  });
});

describe("a policy that is no longer in the files", () => {
  it("stays enforced until its removal is promoted, and returns by a rollback", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a", "enforce")]);
    await context.observe([], "reload");
    expect(context.slots("p")).toBe("r1 end2");
    await context.promote("p");
    expect(context.slots("p")).toBe("end2 -");
    await context.observe([]);
    expect(context.slots("p")).toBe("end2 -");
    await context.rollBack("p");
    expect(context.slots("p")).toBe("r1 end2");
    expect(await context.promote("p")).toMatchObject({ fault: "held" });
  });

  it("ends at a start too where no other candidate waits", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a", "enforce"), file("q", "x", "enforce")]);
    await context.observe([file("q", "y")]);
    expect([context.slots("p"), context.slots("q")]).toEqual(["r1 end2", "r1 r2"]);
    await (await context.another()).observe([]);
    await context.lifecycle.refresh();
    expect([context.slots("p"), context.slots("q")]).toEqual(["r1 end2", "r1 r2"]);
  });

  it("leaves shadow where it was not enforced, when a running server reloads without it", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a")]);
    await (await context.another()).observe([]);
    await context.lifecycle.refresh();
    expect(context.slots("p")).toBe("- r1");
    await context.observe([], "reload");
    expect(context.slots("p")).toBe("- -");
    await context.observe([file("p", "a", "enforce")]);
    expect(context.slots("p")).toBe("- r1");
  });

  it("stays enforced when its file returns", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a", "enforce")]);
    await context.observe([], "reload");
    await context.observe([file("p", "a")], "reload");
    expect(context.slots("p")).toBe("r1 -");
  });
});

describe("withdrawn candidates", () => {
  it("are not restored by a start, but by changed files or by a release", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a", "enforce")]);
    await context.observe([file("p", "b")]);
    await context.lifecycle.change(
      candidateWithdrawal({
        policy: "p",
        expected: context.expected("p"),
        by: actor("olga"),
      }),
    );
    expect(context.slots("p")).toBe("r1 -");
    await context.observe([file("p", "b")]);
    expect(context.slots("p")).toBe("r1 -");
    await context.lifecycle.change(
      contentRelease({
        policy: "p",
        digest: digestOf("b"),
        expected: context.expected("p"),
        by: actor("olga"),
      }),
    );
    expect(context.slots("p")).toBe("r1 r2");
  });

  it("cannot be withdrawn twice, nor with another expected state", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a")]);
    const seen = context.expected("p");
    const withdraw = { policy: "p", by: actor("olga") };
    await context.lifecycle.change(candidateWithdrawal({ ...withdraw, expected: seen }));
    expect(
      await context.lifecycle.change(candidateWithdrawal({ ...withdraw, expected: seen })),
    ).toMatchObject({
      fault: "changed",
    });
    expect(
      await context.lifecycle.change(
        candidateWithdrawal({ ...withdraw, expected: context.expected("p") }),
      ),
    ).toEqual({
      fault: "no_candidate",
    });
  });
});

describe("a replica with late files", () => {
  it.each([
    ["through what acts by now", ["a", "b", "c"], ["r3 r4", "r3 r4"]],
    ["through what is known and stands in no slot", ["a", "x", "c"], ["r3 r4", "r3 r4"]],
    ["to what is watched, and back from it", ["c", "b"], ["r3 -"]],
  ] as const)("takes the candidate out only by going back from it: %s", async (_, names, slots) => {
    const context = await LifecycleContext.open();
    for (const name of ["a", "x"]) await context.observe([file("p", name, "enforce")]);
    const [start, ...later] = names;
    const late = await context.another();
    await late.observe([file("p", "a")]);
    await context.observe([file("p", "b")]);
    await context.promote("p");
    context.pass(1_000);
    await context.observe([file("p", "c")]);
    const { since } = context.status("p").candidate ?? {};
    if (start !== "a") await late.observe([file("p", start)], "reload");
    for (const [index, name] of later.entries()) {
      late.pass(1_000);
      await late.observe([file("p", name)], "reload");
      expect(late.slots("p")).toBe(slots[index]);
      if (late.status("p").candidate !== null)
        expect(late.status("p").candidate?.since).toBe(since);
    }
  });
});

describe("the end of a policy", () => {
  it("cannot be rolled back where no revision was enforced", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a")]);
    await context.observe([], "reload");
    const end = {
      policy: "p",
      digest: removalDigest("p"),
      expected: context.expected("p"),
      by: actor("olga"),
    };
    expect(await context.lifecycle.change(contentRelease(end))).toEqual({ fault: "not_held" });
    expect(context.slots("p")).toBe("- -");
  });
});

describe("drift", () => {
  it.each([
    ["nothing where the files hold a slot's content", "b", []],
    ["a candidate that the files do not hold", "a", ["candidate_not_in_files"]],
    ["files that stand in no slot", "z", ["files_differ"]],
    ["a policy without a file", null, ["not_in_files"]],
  ] as const)("reports %s", async (_, name, expected) => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a", "enforce")]);
    await context.observe([file("p", "b")]);
    expect(driftOf(context.status("p"), name === null ? null : digestOf(name))).toEqual(expected);
  });
});
