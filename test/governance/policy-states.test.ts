import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PolicyIdentity } from "../../src/canon/policy.ts";
import {
  policyStates,
  storedPolicies,
  type StoredPolicy,
  type StoredSlot,
} from "../../src/governance/summary-answer.ts";
import { actor, digestOf, file, LifecycleContext } from "../lifecycle/lifecycle-context.ts";

const loaded = (slot: "enforced" | "candidate", digest: string, revision = 1): PolicyIdentity => ({
  id: "p",
  slot,
  digest,
  revision,
});
const rules = (digest: string): StoredSlot => ({ revision: 1, digest, content: "rules", since: 0 });
const removal: StoredSlot = { revision: 2, digest: "end", content: "removal", since: 0 };

describe("the drift of a process from the policy log", () => {
  it.each<[string, readonly PolicyIdentity[], Omit<StoredPolicy, "id"> | null, string | null]>([
    [
      "enforced here and there",
      [loaded("enforced", "A")],
      { enforced: rules("A"), candidate: null },
      null,
    ],
    [
      "both slots",
      [loaded("enforced", "A"), loaded("candidate", "B")],
      { enforced: rules("A"), candidate: rules("B") },
      null,
    ],
    [
      "the end of it is watched",
      [loaded("enforced", "A")],
      { enforced: rules("A"), candidate: removal },
      null,
    ],
    [
      "another content",
      [loaded("enforced", "A")],
      { enforced: rules("B"), candidate: null },
      "digest",
    ],
    [
      "one more there",
      [loaded("enforced", "A")],
      { enforced: rules("A"), candidate: rules("B") },
      "digest",
    ],
    [
      "one more here",
      [loaded("enforced", "A"), loaded("candidate", "B")],
      { enforced: rules("A"), candidate: null },
      "digest",
    ],
    [
      "promoted there",
      [loaded("candidate", "A")],
      { enforced: rules("A"), candidate: null },
      "slot",
    ],
    [
      "exchanged",
      [loaded("enforced", "A"), loaded("candidate", "B")],
      { enforced: rules("B"), candidate: rules("A") },
      "slot",
    ],
    ["only there", [], { enforced: null, candidate: rules("A") }, "not_loaded"],
    ["only here", [loaded("enforced", "A")], null, "not_stored"],
    [
      "ended there",
      [loaded("enforced", "A")],
      { enforced: removal, candidate: null },
      "not_stored",
    ],
    [
      "an end that waits, of nothing that is loaded",
      [],
      { enforced: null, candidate: removal },
      null,
    ],
  ])("%s", (_, own, stored, drift) => {
    const states = policyStates(own, stored === null ? [] : [{ id: "p", ...stored }]);
    expect(states).toMatchObject([{ id: "p", drift }]);
    expect(
      policyStates(null, stored === null ? [] : [{ id: "p", ...stored }]).map(
        (state) => state.drift,
      ),
    ).toEqual(stored === null || stored.enforced === removal ? [] : [null]);
  });

  it("is null exactly where the process has loaded the slots of the log", () => {
    const slots = fc.record({
      enforced: fc.option(fc.constantFrom("A", "B", "C")),
      candidate: fc.option(fc.constantFrom("D", "E", "A")),
    });
    let same = 0;
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("p", "q", "__proto__", "constructor"), slots),
        slots,
        (made, other) => {
          const stored = Object.entries(made).map(([id, { enforced, candidate }]) => ({
            id,
            enforced: enforced === null ? null : rules(enforced),
            candidate: candidate === null ? null : rules(candidate),
          }));
          const identities = (policies: typeof made): readonly PolicyIdentity[] =>
            Object.entries(policies).flatMap(([id, names]) =>
              (["enforced", "candidate"] as const).flatMap((slot) => {
                const digest = names[slot];
                return digest === null ? [] : [{ id, slot, digest, revision: 1 }];
              }),
            );
          const own = identities(made);
          expect(policyStates(own, stored).every(({ drift }) => drift === null)).toBe(true);
          const [first] = Object.entries(made);
          if (first === undefined) return;
          const [id, was] = first;
          const changed = identities({ ...Object.fromEntries(Object.entries(made)), [id]: other });
          const found =
            policyStates(changed, stored).find((state) => state.id === id)?.drift ?? null;
          const isSame = was.enforced === other.enforced && was.candidate === other.candidate;
          if (isSame) same += 1;
          expect(found === null).toBe(isSame);
        },
      ),
      { numRuns: 300 },
    );
    expect(same).toBeGreaterThan(3);
  });
});

describe("the status of policies by their log", () => {
  it("follows promotions, ends and rollbacks", async () => {
    const context = await LifecycleContext.open();
    const shown = () =>
      storedPolicies(context.lifecycle.states).map(({ id, enforced, candidate }) =>
        [
          id,
          ...[enforced, candidate].map((slot) =>
            slot === null ? "-" : `${slot.content} r${slot.revision}`,
          ),
        ].join(", "),
      );
    await context.observe([file("p", "A"), file("q", "Q", "enforce")]);
    expect(shown()).toEqual(["p, -, rules r1", "q, rules r1, -"]);
    context.pass(5_000);
    await context.promote("p");
    const [p] = storedPolicies(context.lifecycle.states);
    expect(p?.enforced).toEqual({
      revision: 1,
      digest: digestOf("A"),
      content: "rules",
      since: 1_005_000,
    });
    await context.observe([file("p", "B")], "reload");
    expect(shown()).toEqual(["p, rules r1, rules r2", "q, rules r1, removal r2"]);
    await context.promote("q", actor("bob"));
    expect(shown()).toEqual(["p, rules r1, rules r2", "q, removal r2, -"]);
    expect(
      policyStates(null, storedPolicies(context.lifecycle.states)).map(({ id }) => id),
    ).toEqual(["p"]);
    await context.rollBack("p", null);
    expect(shown()[0]).toBe("p, -, rules r2");
  });
});
