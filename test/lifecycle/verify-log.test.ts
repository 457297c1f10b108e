import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { canonicalJson } from "../../src/canon/json.ts";
import {
  POLICY_LOG_CAUSES,
  PolicyLogVerifier,
  describePolicyLogFault,
  type PolicyLogCause,
} from "../../src/lifecycle/fold.ts";
import { RECORD_KINDS, type PolicyLogRow } from "../../src/lifecycle/records.ts";
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

const [a, b] = [content("a", 1), content("b", 2)];
const removal = { revision: 3, digest: REMOVAL, module: null };
const [bob, eve] = [person("bob", ["privacy"]), person("eve", ["security"])];

const at = <Item>(items: readonly Item[], index: number): Item => {
  const item = items[index];
  if (item === undefined) throw new Error("there is no such item");
  return item;
};

/** From the first content to the policy's end and back, with every kind of row. */
const whole = (): Story =>
  new Story()
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
  it("verifies unchanged, and its records are counted by kind", () => {
    const { rows } = whole();
    const verifier = new PolicyLogVerifier([at(rows, 2), at(rows, 14)]);
    expect(
      [verifier.begin(), ...rows.map((row) => verifier.add(row)), verifier.end()].filter(
        (fault) => fault !== null,
      ),
    ).toEqual([]);
    expect(verifier.head).toEqual({ position: 15, hash: at(rows, 14).hash });
    expect(RECORD_KINDS.map((kind) => `${kind} ${verifier.count(kind)}`)).toEqual([
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
      { policy: "eu-residency", ...a, position: 1 },
      { policy: "eu-residency", ...b, position: 2 },
    ]);
    expect(faultIn([])).toBeNull();
  });

  it("counts reports that the server recomputed apart from those that are only claimed", () => {
    const verified = { ...REPORT, verification: { result: "verified", enforced: b.digest } };
    const verifier = new PolicyLogVerifier();
    for (const row of whole().approved(b, bob, verified).rows) expect(verifier.add(row)).toBeNull();
    expect(verifier.reports).toEqual({ verified: 1, claimed: 1 });
  });

  it("with members of a later version verifies", () => {
    const { records } = whole();
    expect(
      faultIn(chainRecords(records.map((record) => ({ ...record, later: { than: ["this"] } })))),
    ).toBeNull();
  });

  it("is found to be another one, or shorter, by a remembered head", () => {
    const { rows } = whole();
    const forged = new Story().observed(a).rows;
    expect(faultIn(forged)).toBeNull();
    expect(faultIn(forged, [at(rows, 0)])).toBe("1 anchor");
    expect(faultIn(forged, [at(rows, 1)])).toBe("2 end");
    expect(faultIn(rows, [{ position: 0, hash: "f".repeat(64) }])).toBe("0 anchor");
    expect(faultIn(rows, [{ ...at(rows, 4), hash: at(rows, 3).hash }])).toBe("5 anchor");
  });
});

describe("a change of a log", () => {
  const { rows } = whole();
  const head = at(rows, rows.length - 1);

  it("a changed bit is found in its row", () => {
    const members = ["position", "previous", "hash", "record"] as const;
    fc.assert(
      fc.property(
        fc.nat(rows.length - 1),
        fc.constantFrom(...members),
        fc.nat(),
        (index, member, bit) => {
          const row = at(rows, index);
          const changed = { ...row, [member]: flipped(row[member], bit) };
          const fault = faultIn(rows.with(index, changed), [head]);
          expect(fault).toMatch(new RegExp(`^${index + 1} (gap|hash)$`));
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it("every bit of one row is found", () => {
    const row = at(rows, 6);
    for (let bit = 0; bit < Buffer.byteLength(row.record) * 8; bit += 1) {
      expect(faultIn(rows.with(6, { ...row, record: String(flipped(row.record, bit)) }))).toBe(
        "7 hash",
      );
    }
  });

  it("rows removed, swapped, repeated, inserted or cut off are found, renumbered or not", () => {
    const edits = fc.record({
      what: fc.constantFrom("remove" as const, "swap" as const, "repeat" as const, "cut" as const),
      one: fc.nat(rows.length - 1),
      other: fc.nat(rows.length - 1),
      again: fc.constantFrom("as they are", "positions", "positions and hashes before"),
    });
    fc.assert(
      fc.property(edits, ({ what, one, other, again }) => {
        const edited = renumbered(editedRows(rows, what, one, other), again);
        const differs = edited.findIndex(
          (row, index) => canonicalJson(row) !== canonicalJson(rows[index] ?? null),
        );
        const fault = faultIn(edited, [head]);
        if (differs === -1 && edited.length === rows.length) expect(fault).toBeNull();
        else
          expect(fault?.split(" ")[0]).toBe(String((differs === -1 ? edited.length : differs) + 1));
      }),
      { numRuns: 2_000 },
    );
  });

  it("a plausible row chained to the one before it is found by the one after it", () => {
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

  it("a log that was chained anew from an edit on is found by a remembered head, if not by its content", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("remove", "swap", "repeat", "cut"),
        fc.nat(rows.length - 1),
        fc.nat(rows.length - 1),
        (what, one, other) => {
          const forged = chainTexts(editedRows(rows, what, one, other).map(({ record }) => record));
          const fault = faultIn(forged, [head]);
          // A row that could be true behind the head is how a log goes on.
          if (fault === null)
            expect(canonicalJson(forged.slice(0, rows.length))).toBe(canonicalJson(rows));
          else expect(canonicalJson(forged)).not.toBe(canonicalJson(rows));
        },
      ),
      { examples: [["repeat", rows.length - 1, rows.length - 1]] },
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

function editedRows(
  rows: readonly PolicyLogRow[],
  what: string,
  one: number,
  other: number,
): PolicyLogRow[] {
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

it("a row that no server could apply is found, in a valid chain", () => {
  const { rows } = new Story().observed(a, { slot: "enforced" }).approved(b, bob);
  expect(faultIn(rows)).toBe("2 impossible");
});

describe("a record", () => {
  const [observed = {}] = new Story().observed(a, { slot: "enforced" }).records;

  it.each([
    ["", "unreadable"],
    ["no JSON", "unreadable"],
    ["null", "unreadable"],
    ["[]", "unreadable"],
    ["{}", "unreadable"],
    [canonicalJson({ ...observed, kind: "approved_by_god" }), "unreadable"],
    [canonicalJson({ ...observed, kind: "constructor" }), "unreadable"],
    [canonicalJson({ ...observed, kind: 1 }), "unreadable"],
    [canonicalJson({ ...observed, revision: 0 }), "unreadable"],
    [canonicalJson({ ...observed, revision: "1" }), "unreadable"],
    [canonicalJson({ ...observed, digest: a.digest.toUpperCase() }), "unreadable"],
    [canonicalJson({ ...observed, slot: "both" }), "unreadable"],
    [canonicalJson({ ...observed, policy: undefined }), "unreadable"],
    [` ${canonicalJson(observed)}`, "unreadable"],
    [canonicalJson(observed).replace("{", '{"at":1,'), "unreadable"],
    [`{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`, "unreadable"],
  ])("that is invalid is found: %.40s", (text, cause) => {
    expect(faultIn(chainTexts([text]))).toBe(`1 ${cause}`);
  });

  it("of every kind is invalid without any of its members", () => {
    for (const [index, record] of whole().records.entries()) {
      // Settings may be added: rows without a new one have to stay readable.
      for (const member of membersOf(record).filter(
        ([name]) => name !== "requirements" && name !== "shadow",
      )) {
        const { records } = whole();
        const faulty = records.with(index, without(record, member));
        expect(faultIn(chainRecords(faulty)), member.join(".")).toBe(`${index + 1} unreadable`);
      }
    }
  });

  it("is not quoted by the description of its fault", () => {
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
