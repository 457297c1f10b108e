import { describe, expect, it } from "vitest";
import { removalDigest } from "../../src/lifecycle/entity-tag.ts";
import { driftOf } from "../../src/lifecycle/observe.ts";
import { actor, digestOf, file, Scene } from "./scene.ts";

describe("contents and slots", () => {
  it.each([
    ["shadow", "- r1"],
    ["enforce", "r1 -"],
  ] as const)("starts a policy that the log has never seen in %s", async (mode, slots) => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a", mode)]);
    expect(scene.slots("p")).toBe(slots);
  });

  it("keeps the enforced content when the files change, and lets the new one wait", async () => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a", "enforce")]);
    await scene.observe([file("p", "b", "enforce")]);
    expect(scene.slots("p")).toBe("r1 r2");
    await scene.observe([file("p", "c", "enforce")]);
    expect(scene.slots("p")).toBe("r1 r3");
  });

  it("writes nothing for files that are as they were", async () => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a"), file("q", "x", "enforce")]);
    const rows = scene.log.rows.length;
    await scene.observe([file("p", "a"), file("q", "x", "shadow")]);
    await (await scene.another()).observe([file("q", "x"), file("p", "a", "enforce")]);
    expect(scene.log.rows).toHaveLength(rows);
  });

  it("is not moved back by a replica that starts with older files", async () => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a", "enforce")]);
    await scene.observe([file("p", "b")]);
    await (await scene.another()).observe([file("p", "a", "enforce")]);
    await scene.lifecycle.refresh();
    expect(scene.slots("p")).toBe("r1 r2");
    await scene.promote("p");
    await (await scene.another()).observe([file("p", "a", "enforce")]);
    await scene.lifecycle.refresh();
    expect(scene.slots("p")).toBe("r2 -");
  });

  it("follows the files of a running server back to a known content", async () => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a")]);
    await scene.observe([file("p", "b")], "reload");
    expect(scene.slots("p")).toBe("- r2");
    await scene.observe([file("p", "a")], "reload");
    expect(scene.slots("p")).toBe("- r1");
  });

  it("has no candidate any more when the files of a running server go back to the enforced content", async () => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a", "enforce")]);
    await scene.observe([file("p", "b")], "reload");
    await scene.observe([file("p", "a")], "reload");
    expect(scene.slots("p")).toBe("r1 -");
    // And the other one again, in a new deployment: the slot is free, so nobody's place is taken.
    await (await scene.another()).observe([file("p", "b")]);
    await scene.lifecycle.refresh();
    expect(scene.slots("p")).toBe("r1 r2");
  });

  it("takes a reload over another file for no change of the policy", async () => {
    const scene = await Scene.open();
    const older = await scene.another();
    await older.observe([file("p", "a", "enforce")]);
    await scene.observe([file("p", "b")]);
    await older.observe([file("p", "a", "enforce")], "reload");
    await scene.lifecycle.refresh();
    expect(scene.slots("p")).toBe("r1 r2");
  });
});

describe("a policy that is no longer in the files", () => {
  it("goes on acting until its end is promoted, and comes back by a rollback", async () => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a", "enforce")]);
    await scene.observe([], "reload");
    expect(scene.slots("p")).toBe("r1 end2");
    await scene.promote("p");
    expect(scene.slots("p")).toBe("end2 -");
    await scene.observe([]);
    expect(scene.slots("p")).toBe("end2 -");
    await scene.rollBack("p");
    expect(scene.slots("p")).toBe("r1 end2");
    expect(await scene.promote("p")).toMatchObject({ fault: "held" });
  });

  it("ends at a start too where no other candidate waits", async () => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a", "enforce"), file("q", "x", "enforce")]);
    await scene.observe([file("q", "y")]);
    expect([scene.slots("p"), scene.slots("q")]).toEqual(["r1 end2", "r1 r2"]);
    await (await scene.another()).observe([]);
    await scene.lifecycle.refresh();
    expect([scene.slots("p"), scene.slots("q")]).toEqual(["r1 end2", "r1 r2"]);
  });

  it("is not watched any more where it was only watched, when a running server sees it go", async () => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a")]);
    await (await scene.another()).observe([]);
    await scene.lifecycle.refresh();
    expect(scene.slots("p")).toBe("- r1");
    await scene.observe([], "reload");
    expect(scene.slots("p")).toBe("- -");
    await scene.observe([file("p", "a", "enforce")]);
    expect(scene.slots("p")).toBe("- r1");
  });

  it("keeps acting when its file comes back", async () => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a", "enforce")]);
    await scene.observe([], "reload");
    await scene.observe([file("p", "a")], "reload");
    expect(scene.slots("p")).toBe("r1 -");
  });
});

describe("candidates taken out by hand", () => {
  it("do not come back by a start, but by files that change or by a release", async () => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a", "enforce")]);
    await scene.observe([file("p", "b")]);
    await scene.lifecycle.withdrawCandidate({ policy: "p", expected: scene.expected("p"), by: actor("olga") });
    expect(scene.slots("p")).toBe("r1 -");
    await scene.observe([file("p", "b")]);
    expect(scene.slots("p")).toBe("r1 -");
    await scene.lifecycle.release({
      policy: "p",
      digest: digestOf("b"),
      expected: scene.expected("p"),
      by: actor("olga"),
    });
    expect(scene.slots("p")).toBe("r1 r2");
  });

  it("cannot be taken out twice, nor by who saw another state", async () => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a")]);
    const seen = scene.expected("p");
    const withdraw = { policy: "p", by: actor("olga") };
    await scene.lifecycle.withdrawCandidate({ ...withdraw, expected: seen });
    expect(await scene.lifecycle.withdrawCandidate({ ...withdraw, expected: seen })).toMatchObject({
      fault: "changed",
    });
    expect(await scene.lifecycle.withdrawCandidate({ ...withdraw, expected: scene.expected("p") })).toEqual({
      fault: "no_candidate",
    });
  });
});

describe("a replica whose files come late", () => {
  it.each([
    ["through what acts by now", ["a", "b", "c"], ["r3 r4", "r3 r4"]],
    ["through what is known and stands in no slot", ["a", "x", "c"], ["r3 r4", "r3 r4"]],
    ["to what is watched, and back from it", ["c", "b"], ["r3 -"]],
  ] as const)("takes the candidate out only by going back from it: %s", async (_, names, slots) => {
    const scene = await Scene.open();
    for (const name of ["a", "x"]) await scene.observe([file("p", name, "enforce")]);
    const [start, ...later] = names;
    const late = await scene.another();
    await late.observe([file("p", "a")]);
    await scene.observe([file("p", "b")]);
    await scene.promote("p");
    scene.pass(1_000);
    await scene.observe([file("p", "c")]);
    const { since } = scene.status("p").candidate ?? {};
    if (start !== "a") await late.observe([file("p", start)], "reload");
    for (const [index, name] of later.entries()) {
      late.pass(1_000);
      await late.observe([file("p", name)], "reload");
      expect(late.slots("p")).toBe(slots[index]);
      if (late.status("p").candidate !== null) expect(late.status("p").candidate?.since).toBe(since);
    }
  });
});

describe("the end of a policy", () => {
  it("is nothing to bring back where nothing of it acts", async () => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a")]);
    await scene.observe([], "reload");
    const end = { policy: "p", digest: removalDigest("p"), expected: scene.expected("p"), by: actor("olga") };
    expect(await scene.lifecycle.release(end)).toEqual({ fault: "not_held" });
    expect(scene.slots("p")).toBe("- -");
  });
});

describe("drift", () => {
  it.each([
    ["nothing where the files hold a slot's content", "b", []],
    ["a candidate that the files do not hold", "a", ["candidate_not_in_files"]],
    ["files that stand in no slot", "z", ["files_differ"]],
    ["a policy without a file", null, ["not_in_files"]],
  ] as const)("says %s", async (_, name, words) => {
    const scene = await Scene.open();
    await scene.observe([file("p", "a", "enforce")]);
    await scene.observe([file("p", "b")]);
    expect(driftOf(scene.status("p"), name === null ? null : digestOf(name))).toEqual(words);
  });
});
