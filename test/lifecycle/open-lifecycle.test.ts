import fc from "fast-check";
import { approval, candidateWithdrawal, contentRelease } from "../../src/lifecycle/changes.ts";
import { describe, expect, it } from "vitest";
import { chainHash } from "../../src/evidence/chain.ts";
import { foldRow, PolicyLogError } from "../../src/lifecycle/fold.ts";
import { NO_POLICY_STATES, type PolicyStates } from "../../src/lifecycle/lifecycle.ts";
import { openLifecycle } from "../../src/lifecycle/open-lifecycle.ts";
import { StoreUnavailableError } from "../../src/canon/error.ts";
import type { PolicyLogRow } from "../../src/lifecycle/records.ts";
import { MemoryPolicyLog } from "./memory-log.ts";
import { actor, digestOf, file, LifecycleContext } from "./lifecycle-context.ts";

const fold = (rows: readonly PolicyLogRow[]): PolicyStates =>
  rows.reduce(foldRow, NO_POLICY_STATES);

describe("several changes at once", () => {
  it("exactly one of a hundred promotions with the same precondition wins", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a", "enforce")]);
    await context.observe([file("p", "b")]);
    const expected = context.expected("p");
    const processes = await Promise.all(Array.from({ length: 10 }, () => context.another()));
    const answers = await Promise.all(
      processes.flatMap((one) =>
        Array.from({ length: 10 }, () => one.promote("p", actor("alice"), {}, expected)),
      ),
    );
    expect(answers.filter((answer) => answer !== null && "kind" in answer)).toHaveLength(1);
    expect(
      answers.filter(
        (answer) => answer !== null && "fault" in answer && answer.fault === "changed",
      ),
    ).toHaveLength(99);
    await context.lifecycle.refresh();
    expect(context.slots("p")).toBe("r2 -");
  });

  it("each of many approvals is recorded", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a")]);
    const processes = await Promise.all(Array.from({ length: 5 }, () => context.another()));
    const approvals = processes.flatMap((one, process) =>
      Array.from({ length: 8 }, (_, index) =>
        one.lifecycle.change(
          approval({
            policy: "p",
            digest: digestOf("a"),
            by: actor(`k${process}-${index}`),
            report: null,
          }),
        ),
      ),
    );
    await Promise.all(approvals);
    await context.lifecycle.refresh();
    expect(context.status("p").approvals.get(digestOf("a"))).toHaveLength(40);
  });

  it("fail with busy where another process is always quicker", async () => {
    const log = new MemoryPolicyLog();
    await (await LifecycleContext.open(log)).observe([file("p", "a")]);
    let pauses = 0;
    const slow = await openLifecycle(log, Date.now, () => {
      pauses += 1;
      return Promise.resolve();
    });
    log.append = () => Promise.resolve(false);
    const approve = approval({ policy: "p", digest: digestOf("a"), by: actor("me"), report: null });
    expect(await slow.change(approve)).toEqual({ fault: "busy" });
    expect(pauses).toBe(400);
    await expect(slow.observe([file("p", "z")], "start", "t")).rejects.toThrow(
      StoreUnavailableError,
    );
    expect(pauses).toBe(800);
  });
});

describe("the states", () => {
  it("are the same when read from the beginning as when continued by a process", async () => {
    const names = fc.constantFrom("a", "b", "c");
    const step = fc.oneof(
      fc.record({
        do: fc.constant("files" as const),
        name: fc.option(names),
        occasion: fc.constantFrom("start" as const, "reload" as const),
      }),
      fc.record({
        do: fc.constantFrom("promote" as const, "rollBack" as const, "withdraw" as const),
        name: names,
      }),
      fc.record({ do: fc.constantFrom("approve" as const, "release" as const), name: names }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ step, process: fc.nat(1) }), { maxLength: 25 }),
        async (steps) => {
          const first = await LifecycleContext.open();
          const processes = [first, await first.another()];
          await first.observe([file("p", "a", "enforce")]);
          for (const { step: one, process } of steps) {
            first.pass(1_000);
            const context = processes[process] ?? first;
            await context.lifecycle.refresh();
            const expected = context.expected("p");
            const by = actor(`k${process}`);
            if (one.do === "files")
              await context.observe(one.name === null ? [] : [file("p", one.name)], one.occasion);
            else if (one.do === "promote") await context.promote("p", by);
            else if (one.do === "rollBack") await context.rollBack("p");
            else if (one.do === "withdraw")
              await context.lifecycle.change(candidateWithdrawal({ policy: "p", expected, by }));
            else if (one.do === "approve")
              await context.lifecycle.change(
                approval({
                  policy: "p",
                  digest: digestOf(one.name),
                  by,
                  report: null,
                }),
              );
            else
              await context.lifecycle.change(
                contentRelease({
                  policy: "p",
                  digest: digestOf(one.name),
                  expected,
                  by,
                }),
              );
          }
          const whole = fold(first.log.rows);
          for (const context of processes) expect(await context.lifecycle.refresh()).toEqual(whole);
          const status = whole.policies.get("p");
          // What acts was first there, or came by a promotion or a rollback; and it never waits at
          // the same time.
          expect(
            status?.candidate?.digest === undefined ||
              status.candidate.digest !== status.enforced?.digest,
          ).toBe(true);
          const revisions = [...(status?.contents.values() ?? [])].map(({ revision }) => revision);
          expect(revisions.toSorted((left, right) => left - right)).toEqual(
            revisions.map((_, index) => index + 1),
          );
        },
      ),
      { numRuns: 150 },
    );
  });

  it("refuse a log other than the one that was read", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a"), file("q", "b")]);
    context.log.rows.pop();
    await expect(context.lifecycle.refresh()).rejects.toThrow(/backup/);
    expect(await context.promote("p")).toEqual({ fault: "unavailable" });
    await (await context.another()).observe([file("p", "a"), file("q", "z")]);
    await expect(context.lifecycle.refresh()).rejects.toThrow(PolicyLogError);
  });

  it("refuse a log with a broken chain, or of a newer version", async () => {
    const context = await LifecycleContext.open();
    await context.observe([file("p", "a"), file("q", "b")]);
    const [first, second] = context.log.rows;
    if (first === undefined || second === undefined) throw new Error("two rows were written");
    expect(() => fold([second])).toThrow(PolicyLogError);
    expect(() => fold([first, first])).toThrow(PolicyLogError);
    expect(() =>
      fold([first, { ...second, record: second.record.replace("shadow", "enforce") }]),
    ).not.toThrow(TypeError);
    expect(() =>
      fold([{ ...first, record: first.record.replace("candidate", "enforced") }]),
    ).toThrow(/does not verify at position 1/);
    // A row of another log, whole in itself, at the position that comes next.
    const previous = "ab".repeat(32);
    const foreign = { ...second, previous, hash: chainHash(previous, 2, "policy", second.record) };
    expect(() => fold([first, foreign])).toThrow(/does not verify at position 2/);
    expect(fold([first, second]).head).toEqual({ position: 2, hash: second.hash });
  });
});
