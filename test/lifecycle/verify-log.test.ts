import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { canonicalJson } from "../../src/canon/json.ts";
import { RECORD_KINDS } from "../../src/lifecycle/records.ts";
import { PolicyLogVerifier } from "../../src/lifecycle/verify-log.ts";
import {
  describePolicyLogFault,
  POLICY_LOG_CAUSES,
  type PolicyLogCause,
} from "../../src/lifecycle/verification/causes.ts";
import type { PolicyLogRow } from "../../src/lifecycle/policy-log-store.ts";
import {
  chainRecords,
  chainTexts,
  content,
  faultIn,
  NOTHING_REQUIRED,
  person,
  REMOVAL,
  REPORT,
  Story,
} from "./policy-rows.ts";

const [a, b, c] = [content("a", 1), content("b", 2), content("c", 3)];
const removal = { revision: 3, digest: REMOVAL, module: null };
const [ann, bob, eve] = [person("ann"), person("bob", ["privacy"]), person("eve", ["security"])];

const at = <Item>(items: readonly Item[], index: number): Item => {
  const item = items[index];
  if (item === undefined) throw new Error("there is no such item");
  return item;
};

/** From the first content to the policy's end and back, with every kind of row. */
const whole = (): Story =>
  new Story()
    .imported(1, a, "enforce")
    .observed(a, { slot: "enforced" })
    .observed(b)
    .approved(b, bob, REPORT)
    .approved(b, eve)
    .by("approval_withdrawn", b, eve)
    .promoted(a, b, {
      approvals: [{ by: bob, at: 4_000, report: REPORT }],
      requirements: {
        ...NOTHING_REQUIRED,
        approvals: 1,
        roles: ["privacy"],
        soak: 4_000,
        decisions: 100,
        assertions: true,
      },
    })
    .rolledBack(b, a)
    .by("candidate_withdrawn", b)
    .by("released", b)
    .removed(3)
    .returned(b)
    .returned(a)
    .returned(removal)
    .promoted(a, removal)
    .rolledBack(removal, a);

describe("a policy log", () => {
  it("verifies as it was written, and says what is in it", () => {
    const { rows } = whole();
    const verifier = new PolicyLogVerifier([at(rows, 3), at(rows, 15)]);
    expect(
      [verifier.begin(), ...rows.map((row) => verifier.add(row)), verifier.end()].filter((fault) => fault !== null),
    ).toEqual([]);
    expect(verifier.head).toEqual({ position: 16, hash: at(rows, 15).hash });
    expect(RECORD_KINDS.map((kind) => `${kind} ${verifier.count(kind)}`)).toEqual([
      "imported 1",
      "observed 3",
      "returned 3",
      "approved 2",
      "approval_withdrawn 1",
      "candidate_withdrawn 1",
      "promoted 2",
      "rolled_back 2",
      "released 1",
    ]);
    expect(verifier.contents).toEqual([
      { policy: "eu-residency", ...a, position: 2 },
      { policy: "eu-residency", ...b, position: 3 },
    ]);
    expect(faultIn([])).toBeNull();
  });

  it("of an older version, which took reports on trust, verifies, and its reports count as claimed", () => {
    const verified = { ...REPORT, verification: { result: "verified", enforced: b.digest } };
    const story = whole().approved(b, bob, verified);
    const read = (records: readonly object[]): PolicyLogVerifier => {
      const verifier = new PolicyLogVerifier();
      for (const row of chainRecords(records)) expect(verifier.add(row)).toBeNull();
      return verifier;
    };
    const { reports, promotionsOnClaims } = read(story.records);
    expect([reports, promotionsOnClaims]).toEqual([{ verified: 1, claimed: 1 }, 1]);

    const approvals = [
      approvalOf(bob, { report: { ...verified, verification: { result: "verified", enforced: a.digest } } }),
    ];
    const [approval] = approvals;
    const proven = enforcedA()
      .observed(b)
      .approved(b, bob, { ...verified, verification: { result: "verified", enforced: a.digest } })
      .promoted(a, b, { approvals: approval === undefined ? [] : [approval], ...requires({ assertions: true }) });
    expect(read(proven.records).promotionsOnClaims).toBe(0);
  });

  it("keeps policies apart", () => {
    const other = { policy: "other" };
    const { records } = new Story()
      .observed(a)
      .observed({ ...b, revision: 1 }, other)
      .promoted(null, a);
    expect(faultIn(chainRecords(records))).toBeNull();
    const strange = new Story()
      .observed(a)
      .observed({ ...b, revision: 1 }, other)
      .promoted(null, { ...b, revision: 1 });
    expect(faultIn(strange.rows)).toBe("3 unknown_content");
  });

  it("with members of a later version verifies", () => {
    const { records } = whole();
    expect(faultIn(chainRecords(records.map((record) => ({ ...record, later: { than: ["this"] } }))))).toBeNull();
  });

  it("is found to be another one, or shorter, by what was remembered", () => {
    const { rows } = whole();
    const forged = new Story().observed(a, { slot: "enforced" }).rows;
    expect(faultIn(forged)).toBeNull();
    expect(faultIn(forged, [at(rows, 0)])).toBe("1 anchor");
    expect(faultIn(forged, [at(rows, 1)])).toBe("2 end");
    expect(faultIn(rows, [{ position: 0, hash: "f".repeat(64) }])).toBe("0 anchor");
    expect(faultIn(rows, [{ ...at(rows, 4), hash: at(rows, 3).hash }])).toBe("5 anchor");
  });
});

describe("whatever is done to a log", () => {
  const { rows } = whole();
  const head = at(rows, rows.length - 1);

  it("a bit that was changed is found where it is", () => {
    const members = ["position", "previous", "hash", "record"] as const;
    fc.assert(
      fc.property(fc.nat(rows.length - 1), fc.constantFrom(...members), fc.nat(), (index, member, bit) => {
        const row = at(rows, index);
        const changed = { ...row, [member]: flipped(row[member], bit) };
        const fault = faultIn(rows.with(index, changed), [head]);
        expect(fault).toMatch(new RegExp(`^${index + 1} (gap|hash)$`));
      }),
      { numRuns: 3_000 },
    );
  });

  it("every bit of one row is found", () => {
    const row = at(rows, 6);
    for (let bit = 0; bit < Buffer.byteLength(row.record) * 8; bit += 1) {
      expect(faultIn(rows.with(6, { ...row, record: String(flipped(row.record, bit)) }))).toBe("7 hash");
    }
  });

  it("rows taken out, swapped, repeated, put in or cut off are found, numbered anew or not", () => {
    const edits = fc.record({
      what: fc.constantFrom("remove" as const, "swap" as const, "repeat" as const, "cut" as const),
      one: fc.nat(rows.length - 1),
      other: fc.nat(rows.length - 1),
      again: fc.constantFrom("as they are", "positions", "positions and hashes before"),
    });
    fc.assert(
      fc.property(edits, ({ what, one, other, again }) => {
        const edited = renumbered(editedRows(rows, what, one, other), again);
        const differs = edited.findIndex((row, index) => canonicalJson(row) !== canonicalJson(rows[index] ?? null));
        const fault = faultIn(edited, [head]);
        if (differs === -1 && edited.length === rows.length) expect(fault).toBeNull();
        else expect(fault?.split(" ")[0]).toBe(String((differs === -1 ? edited.length : differs) + 1));
      }),
      { numRuns: 2_000 },
    );
  });

  it("a row that could be true and is chained to the one before it is found by the one after it", () => {
    const record = canonicalJson({
      ...new Story().approved(b, person("zoe")).records[0],
      policy: "eu-residency",
    });
    for (let index = 3; index < rows.length; index += 1) {
      const [inserted] = chainTexts([record], at(rows, index - 1));
      if (inserted === undefined) throw new Error("no row");
      const before = [...rows.slice(0, index), inserted];
      expect(faultIn(before)).toBeNull();
      expect(faultIn([...before, ...rows.slice(index)])).toBe(`${index + 2} gap`);
      const moved = rows.slice(index).map((row) => ({ ...row, position: row.position + 1 }));
      expect(faultIn([...before, ...moved])).toBe(`${index + 2} hash`);
    }
  });

  it("one that was chained anew from an edit on is found by what was remembered, if not by what it says", () => {
    fc.assert(
      fc.property(fc.constantFrom("remove", "swap", "repeat", "cut"), fc.nat(15), fc.nat(15), (what, one, other) => {
        const forged = chainTexts(editedRows(rows, what, one, other).map(({ record }) => record));
        expect(faultIn(forged, [head]) === null).toBe(canonicalJson(forged) === canonicalJson(rows));
      }),
    );
  });
});

function flipped(value: string | number, bit: number): string | number {
  if (typeof value === "number") return value ^ (1 << (bit % 16));
  const bytes = Buffer.from(value, "utf8");
  const index = Math.floor(bit / 8) % bytes.length;
  bytes[index] = (bytes[index] ?? 0) ^ (1 << (bit % 8));
  return bytes.toString("utf8");
}

function editedRows(rows: readonly PolicyLogRow[], what: string, one: number, other: number): PolicyLogRow[] {
  const row = at(rows, one);
  if (what === "remove") return rows.toSpliced(one, 1);
  if (what === "swap") return rows.with(one, at(rows, other)).with(other, row);
  if (what === "cut") return rows.slice(0, one);
  return rows.toSpliced(other, 0, row);
}

function renumbered(rows: readonly PolicyLogRow[], again: string): readonly PolicyLogRow[] {
  if (again === "as they are") return rows;
  return rows.map((row, index) => {
    const previous = rows[index - 1]?.hash ?? "0".repeat(64);
    return { ...row, position: index + 1, ...(again === "positions" ? {} : { previous }) };
  });
}

const story = (): Story => new Story();
const enforcedA = (): Story => story().observed(a, { slot: "enforced" });
const twoEnforced = (): Story => enforcedA().observed(b).promoted(a, b);
const requires = (more: object): object => ({ requirements: { ...NOTHING_REQUIRED, ...more } });
const approvalOf = (by: object, more: object = {}): object => ({ by, at: 3_000, report: null, ...more });

/** Chains that hold, of rows that cannot be: each with the position and the cause. */
const IMPOSSIBLE: readonly (readonly [string, Story, `${number} ${PolicyLogCause}`])[] = [
  ["a number of an older version late", enforcedA().imported(2, b, "shadow"), "2 imported_late"],
  ["numbers of an older version that fall", story().imported(2, a, "shadow").imported(1, b, "shadow"), "2 revision"],
  ["another slot than the older version's mode", story().imported(1, a, "enforce").observed(a), "2 slot"],
  ["an enforced slot that was shadow", story().imported(1, a, "shadow").observed(b, { slot: "enforced" }), "2 slot"],
  [
    "an older version's content with another number",
    story()
      .imported(1, a, "shadow")
      .observed({ ...a, revision: 2 }),
    "2 revision",
  ],
  ["a first number that is not 1", story().observed(b), "1 revision"],
  ["a number omitted", enforcedA().observed(c), "2 revision"],
  ["a number twice", enforcedA().observed({ ...b, revision: 1 }), "2 revision"],
  ["a content seen twice", enforcedA().observed({ ...a, revision: 2 }), "2 known_content"],
  ["a later content enforced at once", enforcedA().observed(b, { slot: "enforced" }), "2 slot"],
  ["rules without a module", story().observed({ ...a, module: null }), "1 module"],
  ["rules with the digest of the removal", enforcedA().observed({ ...b, digest: REMOVAL }), "2 removal"],
  ["a removal of nothing", story().removed(1), "1 removal"],
  ["a removal with another digest", enforcedA().removed(2, { digest: b.digest }), "2 removal"],
  ["a removal with a module", enforcedA().removed(2, { module: b.module }), "2 module"],
  ["a removal that is enforced at once", enforcedA().removed(2, { slot: "enforced" }), "2 slot"],
  ["a removal seen twice", enforcedA().removed(2).removed(2), "3 known_content"],
  ["a return of what never was", enforcedA().returned(b), "2 unknown_content"],
  ["a return of what an older version had only", story().imported(1, a, "shadow").returned(a), "2 unknown_content"],
  [
    "a return with another number",
    enforcedA()
      .observed(b)
      .returned({ ...a, revision: 2 }),
    "3 revision",
  ],
  ["a return of what is there", enforcedA().observed(b).returned(b), "3 no_change"],
  ["a return of what acts, with no candidate", enforcedA().returned(a), "2 no_change"],
  ["an approval of what never was", enforcedA().approved(b, bob), "2 unknown_content"],
  [
    "an approval with another number",
    enforcedA()
      .observed(b)
      .approved({ ...b, revision: 1 }, bob),
    "3 revision",
  ],
  ["an approval withdrawn that never was", enforcedA().by("approval_withdrawn", a, bob), "2 not_approved"],
  ["an approval withdrawn by another", enforcedA().approved(a, bob).by("approval_withdrawn", a, eve), "3 not_approved"],
  [
    "an approval withdrawn twice",
    enforcedA().approved(a, bob).by("approval_withdrawn", a, bob).by("approval_withdrawn", a, bob),
    "4 not_approved",
  ],
  ["a candidate withdrawn that is none", enforcedA().by("candidate_withdrawn", a), "2 not_candidate"],
  ["a promotion of what acts", enforcedA().promoted(a, a), "2 not_candidate"],
  ["a promotion of what never was", enforcedA().promoted(a, b), "2 unknown_content"],
  ["a promotion of what was replaced", enforcedA().observed(b).observed(c).promoted(a, b), "4 not_candidate"],
  [
    "a promotion of what was withdrawn",
    enforcedA().observed(b).by("candidate_withdrawn", b).promoted(a, b),
    "4 not_candidate",
  ],
  ["a promotion from what did not act", enforcedA().observed(b).promoted(b, b), "3 not_enforced"],
  ["a promotion from nothing where something acted", enforcedA().observed(b).promoted(null, b), "3 not_enforced"],
  ["a promotion from something where nothing acted", story().observed(a).promoted(a, a), "2 not_enforced"],
  ["two promotions from the same", twoEnforced().observed(c).promoted(a, c), "5 not_enforced"],
  [
    "a promotion to another number",
    enforcedA()
      .observed(b)
      .promoted(a, { ...b, revision: 3 }),
    "3 revision",
  ],
  [
    "a promotion to another module",
    enforcedA()
      .observed(b)
      .promoted(a, { ...b, module: a.module }),
    "3 module",
  ],
  [
    "a promotion from another module",
    enforcedA()
      .observed(b)
      .promoted({ ...a, module: null }, b),
    "3 module",
  ],
  ["a promotion of what is held", twoEnforced().rolledBack(b, a).promoted(a, b), "5 held"],
  ["a promotion with no figures", enforcedA().observed(b).promoted(a, b, { shadow: null }), "3 figures"],
  [
    "an end with figures",
    enforcedA()
      .removed(2)
      .promoted(
        a,
        { ...removal, revision: 2 },
        { shadow: { since: 0, judged: 0, wouldDeny: 0, newlyDenied: 0, wouldNarrow: 0, indeterminate: 0 } },
      ),
    "3 figures",
  ],
  [
    "too few approvals",
    enforcedA()
      .observed(b)
      .promoted(a, b, requires({ approvals: 1 })),
    "3 approvals",
  ],
  [
    "too few approvals, after one was withdrawn",
    enforcedA()
      .observed(b)
      .approved(b, bob)
      .by("approval_withdrawn", b, bob)
      .promoted(a, b, requires({ approvals: 1 })),
    "5 approvals",
  ],
  [
    "an approval that never stood",
    enforcedA()
      .observed(b)
      .promoted(a, b, { approvals: [approvalOf(bob)] }),
    "3 approval_unknown",
  ],
  [
    "an approval of another content",
    enforcedA()
      .observed(b)
      .approved(a, bob)
      .promoted(a, b, { approvals: [approvalOf(bob)] }),
    "4 approval_unknown",
  ],
  [
    "an approval that was withdrawn",
    enforcedA()
      .observed(b)
      .approved(b, bob)
      .by("approval_withdrawn", b, bob)
      .promoted(a, b, { approvals: [approvalOf(bob)] }),
    "5 approval_unknown",
  ],
  [
    "an approval with roles of which nothing was known",
    enforcedA()
      .observed(b)
      .approved(b, bob)
      .promoted(a, b, { approvals: [approvalOf({ ...bob, roles: ["privacy", "security"] })] }),
    "4 approval_unknown",
  ],
  [
    "an approval with a report that was not seen",
    enforcedA()
      .observed(b)
      .approved(b, bob)
      .promoted(a, b, { approvals: [approvalOf(bob, { report: REPORT })] }),
    "4 approval_unknown",
  ],
  [
    "an approval counted twice",
    enforcedA()
      .observed(b)
      .approved(b, bob)
      .promoted(a, b, { approvals: [approvalOf(bob), approvalOf(bob)] }),
    "4 approval_unknown",
  ],
  [
    "an approval before the same person's next one",
    enforcedA()
      .observed(b)
      .approved(b, bob)
      .approved(b, bob, REPORT)
      .promoted(a, b, { approvals: [approvalOf(bob)] }),
    "5 approval_unknown",
  ],
  ["an approval omitted", enforcedA().observed(b).approved(b, bob).promoted(a, b), "4 approval_missing"],
  [
    "the promoter's own approval",
    enforcedA()
      .observed(b)
      .approved(b, ann)
      .promoted(a, b, { approvals: [approvalOf(ann)] }),
    "4 self_approval",
  ],
  [
    "the promoter's own approval with another key",
    enforcedA()
      .observed(b)
      .approved(b, { ...bob, origin: ann.origin })
      .promoted(a, b, { approvals: [approvalOf({ ...bob, origin: ann.origin })], ...requires({ approvals: 1 }) }),
    "4 self_approval",
  ],
  [
    "a role that no approver has",
    enforcedA()
      .observed(b)
      .approved(b, bob)
      .promoted(a, b, { approvals: [approvalOf(bob)], ...requires({ roles: ["security"] }) }),
    "4 roles",
  ],
  [
    "a soak too short",
    enforcedA()
      .observed(b)
      .promoted(a, b, requires({ soak: 1_001 })),
    "3 soak",
  ],
  [
    "a soak that began anew",
    enforcedA()
      .observed(b)
      .observed(c)
      .returned(b)
      .promoted(a, b, requires({ soak: 1_001 })),
    "5 soak",
  ],
  [
    "too few decisions",
    enforcedA()
      .observed(b)
      .promoted(a, b, requires({ decisions: 101 })),
    "3 decisions",
  ],
  [
    "indeterminate verdicts",
    enforcedA()
      .observed(b)
      .promoted(a, b, {
        shadow: { since: 0, judged: 9, wouldDeny: 0, newlyDenied: 0, wouldNarrow: 0, indeterminate: 1 },
      }),
    "3 indeterminate",
  ],
  [
    "no report",
    enforcedA()
      .observed(b)
      .approved(b, bob)
      .promoted(a, b, { approvals: [approvalOf(bob)], ...requires({ report: true }) }),
    "4 report",
  ],
  ...(
    [
      ["a report of a part", { complete: false }, { report: true }, "4 report"],
      ["a failed assertion", { assertions: { passed: 9, failed: 1, waived: 0 } }, { assertions: true }, "4 assertions"],
      [
        "no assertion at all",
        { assertions: { passed: 0, failed: 0, waived: 0 } },
        { assertions: true },
        "4 assertions",
      ],
    ] as const
  ).map(([name, more, required, cause]): (typeof IMPOSSIBLE)[number] => {
    const report = { ...REPORT, ...more };
    const approvals = [approvalOf(bob, { report })];
    return [
      name,
      enforcedA()
        .observed(b)
        .approved(b, bob, report)
        .promoted(a, b, { approvals, ...requires(required) }),
      cause,
    ];
  }),
  ...(
    [
      ["a report that is only claimed", { verification: { result: "differs" } }],
      ["a report that no server made", { verification: { result: "not_computed" } }],
      ["a report of another table", { verification: { result: "verified", enforced: a.digest }, tableRevision: "t0" }],
      ["a report against other content", { verification: { result: "verified", enforced: null } }],
    ] as const
  ).map(([name, more]): (typeof IMPOSSIBLE)[number] => {
    const report = { ...REPORT, ...more };
    return [
      name,
      enforcedA()
        .observed(b)
        .approved(b, bob, report)
        .promoted(a, b, { approvals: [approvalOf(bob, { report })], ...requires({ report: true }) }),
      "4 report",
    ];
  }),
  [
    "a verification of no known kind",
    enforcedA()
      .observed(b)
      .approved(b, bob, { ...REPORT, verification: { result: "verified" } }),
    "3 unreadable",
  ],
  ["a rollback of what does not act", enforcedA().observed(b).rolledBack(b, a), "3 not_enforced"],
  ["a rollback where nothing acts", story().observed(a).rolledBack(a, null), "2 not_enforced"],
  ["a rollback to what never was", enforcedA().rolledBack(a, b), "2 unknown_content"],
  ["a rollback to what never acted", twoEnforced().observed(c).rolledBack(b, c), "5 never_enforced"],
  ["a rollback to nothing where something acted from the first", enforcedA().rolledBack(a, null), "2 never_enforced"],
  ["a rollback to the same", enforcedA().rolledBack(a, a), "2 no_change"],
  ["a rollback forward", twoEnforced().rolledBack(b, a).rolledBack(a, b), "5 never_enforced"],
  ["a rollback to another module", twoEnforced().rolledBack(b, { ...a, module: b.module }), "4 module"],
  ["a release of what is not held", twoEnforced().by("released", b), "4 not_held"],
  ["a release of what never was", enforcedA().by("released", b), "2 unknown_content"],
];

describe("a chain that holds, of rows that cannot be", () => {
  it.each(IMPOSSIBLE)("%s is found", (_, { rows }, fault) => {
    expect(faultIn(rows)).toBe(fault);
    expect(faultIn(rows.slice(0, -1))).toBeNull();
  });

  it("no cause is without a test", () => {
    const tested = new Set(IMPOSSIBLE.map(([, , fault]) => fault.split(" ")[1]));
    const ofTheChain = ["gap", "hash", "unreadable", "unknown_kind", "anchor", "end"];
    expect(new Set([...tested, ...ofTheChain])).toEqual(new Set(Object.keys(POLICY_LOG_CAUSES)));
  });

  it.each([
    [
      "self-approval where it is allowed",
      enforcedA()
        .observed(b)
        .approved(b, ann)
        .promoted(a, b, { approvals: [approvalOf(ann)], ...requires({ approvals: 1, selfApproval: true }) }),
    ],
    ["the promoter's own approval omitted", enforcedA().observed(b).approved(b, ann).promoted(a, b)],
    [
      "a soak that is just long enough",
      enforcedA()
        .observed(b)
        .promoted(a, b, requires({ soak: 1_000 })),
    ],
    ["a clock that went back, and no soak", enforcedA().observed(b).promoted(a, b, { at: 5 })],
    [
      "a removal, whatever is required of figures",
      enforcedA()
        .removed(2)
        .promoted(a, { ...removal, revision: 2 }, requires({ decisions: 9 })),
    ],
    ["an end of what is only watched, twice", story().observed(a).removed(2).returned(a).removed(2)],
    [
      "a policy that ended and comes back",
      enforcedA()
        .removed(2)
        .promoted(a, { ...removal, revision: 2 })
        .observed(c)
        .promoted({ ...removal, revision: 2 }, c),
    ],
    ["a rollback to nothing", story().observed(a).promoted(null, a).rolledBack(a, null)],
    ["a rollback over two", twoEnforced().observed(c).promoted(b, c).rolledBack(c, a)],
    ["a promotion after a release", twoEnforced().rolledBack(b, a).by("released", b).promoted(a, b)],
    ["an approval of what an older version numbered", story().imported(1, a, "shadow").approved(a, bob)],
    [
      "a content that an older version numbered twice",
      story()
        .imported(1, a, "shadow")
        .imported(2, b, "shadow")
        .imported(3, a, "shadow")
        .observed({ ...a, revision: 3 }),
    ],
  ])("%s is lawful", (_, { rows }) => {
    expect(faultIn(rows)).toBeNull();
  });
});

describe("a record", () => {
  const [observed = {}] = enforcedA().records;

  it.each([
    ["", "unreadable"],
    ["no JSON", "unreadable"],
    ["null", "unreadable"],
    ["[]", "unreadable"],
    ["{}", "unreadable"],
    [canonicalJson({ ...observed, kind: "approved_by_god" }), "unknown_kind"],
    [canonicalJson({ ...observed, kind: "constructor" }), "unknown_kind"],
    [canonicalJson({ ...observed, kind: 1 }), "unreadable"],
    [canonicalJson({ ...observed, revision: 0 }), "unreadable"],
    [canonicalJson({ ...observed, revision: "1" }), "unreadable"],
    [canonicalJson({ ...observed, digest: a.digest.toUpperCase() }), "unreadable"],
    [canonicalJson({ ...observed, at: -1 }), "unreadable"],
    [canonicalJson({ ...observed, slot: "both" }), "unreadable"],
    [canonicalJson({ ...observed, policy: undefined }), "unreadable"],
    [` ${canonicalJson(observed)}`, "unreadable"],
    [canonicalJson(observed).replace("{", '{"at":1,'), "unreadable"],
    [`{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`, "unreadable"],
  ])("that is none is found: %.40s", (text, cause) => {
    expect(faultIn(chainTexts([text]))).toBe(`1 ${cause}`);
  });

  it("of every kind is none without any of its members", () => {
    for (const [index, record] of whole().records.entries()) {
      for (const member of membersOf(record)) {
        const { records } = whole();
        const faulty = records.with(index, without(record, member));
        expect(faultIn(chainRecords(faulty)), member.join(".")).toBe(`${index + 1} unreadable`);
      }
    }
  });

  it("is not quoted by what is said of it", () => {
    for (const cause of Object.keys(POLICY_LOG_CAUSES) as PolicyLogCause[]) {
      expect(describePolicyLogFault({ position: 7, cause })).toMatch(
        /^does not verify at position 7: [a-z].+ \([a-z_]+\)$/,
      );
    }
  });
});

/** Paths of all members of objects that are not in lists. */
function membersOf(value: object, path: readonly string[] = []): (readonly string[])[] {
  return Object.entries(value).flatMap(([name, member]): (readonly string[])[] => {
    const own = [...path, name];
    const isObject = typeof member === "object" && member !== null && !Array.isArray(member);
    return isObject ? [own, ...membersOf(member as object, own)] : [own];
  });
}

function without(value: object, [name = "", ...rest]: readonly string[]): object {
  const { [name]: member, ...others } = value as Readonly<Record<string, unknown>>;
  return rest.length === 0 ? others : { ...others, [name]: without(member as object, rest) };
}
