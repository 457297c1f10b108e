import fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  chainHash,
  chainVerifier,
  GENESIS,
  type ChainLink,
  type ChainRow,
} from "../../src/evidence/chain.ts";

/** A chain of the records of `plan`: `d1` is the decision of request 1, `o1` its outcome. */
function chain(plan: readonly string[], from: ChainLink = GENESIS): ChainRow[] {
  let { position, hash } = from;
  return plan.map((step) => {
    position += 1;
    const kind = step.startsWith("d") ? "decision" : "outcome";
    const record = JSON.stringify({ requestId: step.slice(1), is: kind });
    hash = chainHash(hash, position, kind, record);
    return { position, kind, record, hash };
  });
}

/** The first fault, as `position cause`; `null` where all verifies. */
function verify(
  rows: readonly ChainRow[],
  from: ChainLink = GENESIS,
  remembered: readonly ChainLink[] = [],
) {
  const verifier = chainVerifier({ from, remembered });
  const begun = verifier.begin();
  if (begun !== null) return `${begun.position} ${begun.cause}`;
  for (const row of rows) {
    const fault = verifier.add(row);
    if (fault !== null) return `${fault.position} ${fault.cause}`;
  }
  const ended = verifier.end();
  return ended === null ? null : `${ended.position} ${ended.cause}`;
}

const at = <Item>(items: readonly Item[], index: number): Item => {
  const item = items[index];
  if (item === undefined) throw new Error("there is no such item");
  return item;
};

describe("the hash of a row", () => {
  it("is that of sha256sum over the four parts, a line feed between each", () => {
    // printf '%s\n1\ndecision\n{"requestId":"grüße"}' 000…0 | sha256sum
    expect(chainHash(GENESIS.hash, 1, "decision", '{"requestId":"grüße"}')).toBe(
      "6249441c62c258b15d4e82e5165c4cb72462fb08240551c9feb036e163232712",
    );
  });
});

describe("a chain", () => {
  const whole = chain(["d1", "d2", "o2", "o1", "d3"]);

  it("verifies unchanged, and reports its head, its rows and running requests", () => {
    const verifier = chainVerifier({ from: GENESIS, remembered: [at(whole, 4), at(whole, 1)] });
    expect([verifier.begin(), ...whole.map((row) => verifier.add(row)), verifier.end()]).toEqual(
      Array.from({ length: 7 }, () => null),
    );
    expect([verifier.head, verifier.rows, verifier.running]).toEqual([
      { position: 5, hash: at(whole, 4).hash },
      5,
      1,
    ]);
    expect(verify([])).toBeNull();
  });

  it.each([
    [
      "a record that was changed",
      whole.with(2, { ...at(whole, 2), record: '{"requestId":"2"}' }),
      "3 hash",
    ],
    [
      "a kind that was changed",
      whole.with(1, { ...at(whole, 1), kind: "outcome" as const }),
      "2 hash",
    ],
    ["a hash that was changed", whole.with(3, { ...at(whole, 3), hash: "f".repeat(64) }), "4 hash"],
    ["a row taken out", whole.toSpliced(1, 1), "2 gap"],
    ["a row taken out, and the rest numbered anew", renumbered(whole.toSpliced(1, 1)), "2 hash"],
    ["two rows swapped", [at(whole, 1), at(whole, 0), ...whole.slice(2)], "1 gap"],
    [
      "two rows swapped, and numbered anew",
      renumbered([at(whole, 1), at(whole, 0), ...whole.slice(2)]),
      "1 hash",
    ],
    ["a row put in", whole.toSpliced(2, 0, at(chain(["d9"], at(whole, 1)), 0)), "4 gap"],
    ["a row put in twice", whole.toSpliced(2, 0, at(whole, 1)), "3 gap"],
    ["a beginning that is missing", whole.slice(2), "1 gap"],
  ])("with %s is found", (_, rows, fault) => {
    expect(verify(rows)).toBe(fault);
  });

  it.each([
    ["a decision twice", ["d1", "d1"], "2 duplicate"],
    ["a decision again after its end", ["d1", "o1", "d1"], "3 duplicate"],
    ["an outcome twice", ["d1", "o1", "d2", "o1"], "4 duplicate"],
    ["an outcome before its decision", ["d1", "o2", "d2"], "2 outcome_before_decision"],
  ])("with %s is found though the hashes match", (_, plan, fault) => {
    expect(verify(chain(plan))).toBe(fault);
  });

  it("with an invalid record is found", () => {
    for (const record of ["", "no JSON", "null", "{}", '{"requestId":1}']) {
      const hash = chainHash(GENESIS.hash, 1, "decision", record);
      expect(verify([{ position: 1, kind: "decision", record, hash }]), record).toBe(
        "1 unreadable",
      );
    }
  });

  it("that was rewritten from a row on is found by a remembered head", () => {
    const forged = [...whole.slice(0, 2), ...chain(["o1", "o2", "d3"], at(whole, 1))];
    expect(verify(forged)).toBeNull();
    expect(verify(forged, GENESIS, [at(whole, 1)])).toBeNull();
    expect(verify(forged, GENESIS, [at(whole, 1), at(whole, 3)])).toBe("4 anchor");
  });

  it("that was cut off is found by a remembered head", () => {
    expect(verify(whole.slice(0, 3))).toBeNull();
    expect(verify(whole.slice(0, 3), GENESIS, [at(whole, 4)])).toBe("4 end");
    expect(verify([], GENESIS, [at(whole, 0)])).toBe("1 end");
  });

  it("verifies from its anchor after pruning, despite remembered heads before it", () => {
    const [first, anchor] = [at(whole, 0), at(whole, 1)];
    const forged = { position: 2, hash: first.hash };
    expect(verify(whole.slice(2), anchor, [first, anchor, at(whole, 4)])).toBeNull();
    expect(verify(whole.slice(2), forged)).toBe("3 hash");
    expect(verify(whole.slice(2), forged, [anchor])).toBe("2 anchor");
    expect(verify(whole.slice(3), anchor)).toBe("3 gap");
  });
});

function renumbered(rows: readonly ChainRow[]): ChainRow[] {
  return rows.map((row, index) => ({ ...row, position: index + 1 }));
}

describe("a change of a chain", () => {
  const plans = fc
    .integer({ min: 2, max: 12 })
    .chain((requests) =>
      fc
        .array(fc.boolean(), { minLength: requests, maxLength: requests })
        .map((ended) =>
          ended.flatMap((hasEnded, index) =>
            hasEnded ? [`d${index}`, `o${index}`] : [`d${index}`],
          ),
        ),
    );
  const edit = fc.oneof(
    fc.record({
      what: fc.constant("change" as const),
      member: fc.constantFrom("record", "hash", "kind"),
    }),
    fc.record({
      what: fc.constantFrom("remove" as const, "swap" as const, "insert" as const),
      renumber: fc.boolean(),
    }),
  );

  it("is found at the first row that differs", () => {
    fc.assert(
      fc.property(plans, edit, fc.nat(), fc.nat(), (plan, how, one, other) => {
        const rows = chain(plan);
        const chosen = one % rows.length;
        const edited = editedRows(rows, how, chosen, other % rows.length);
        const differs = edited.findIndex((row, index) => !sameRow(row, rows[index]));
        // Only the end was taken away: that is seen by who remembers the head.
        const expected = differs === -1 ? edited.length : differs;
        const fault = verify(edited, GENESIS, [at(rows, rows.length - 1)]);
        if (edited.length === rows.length && differs === -1) expect(fault).toBeNull();
        else expect(fault?.split(" ")[0]).toBe(String(expected + 1));
      }),
      { numRuns: 1_000 },
    );
  });

  it("is not reported for an unchanged chain, from any anchor on", () => {
    fc.assert(
      fc.property(plans, fc.nat(), (plan, one) => {
        const rows = chain(plan);
        const cut = one % (rows.length + 1);
        const anchor = cut === 0 ? GENESIS : at(rows, cut - 1);
        expect(verify(rows.slice(cut), anchor, rows)).toBeNull();
      }),
    );
  });
});

type Edit =
  | { readonly what: "change"; readonly member: string }
  | { readonly what: "remove" | "swap" | "insert"; readonly renumber: boolean };

function editedRows(
  rows: readonly ChainRow[],
  how: Edit,
  index: number,
  other: number,
): ChainRow[] {
  const row = at(rows, index);
  if (how.what === "change") {
    if (how.member === "record") return rows.with(index, { ...row, record: `${row.record} ` });
    if (how.member === "hash")
      return rows.with(index, {
        ...row,
        hash: row.hash.replace(/^./, (digit) => (digit === "0" ? "1" : "0")),
      });
    return rows.with(index, { ...row, kind: row.kind === "decision" ? "outcome" : "decision" });
  }
  const edited =
    how.what === "remove"
      ? rows.toSpliced(index, 1)
      : how.what === "swap"
        ? rows.with(index, at(rows, other)).with(other, row)
        : rows.toSpliced(index, 0, at(rows, other));
  return how.renumber ? renumbered(edited) : [...edited];
}

function sameRow(row: ChainRow, other: ChainRow | undefined): boolean {
  return JSON.stringify(row) === JSON.stringify(other);
}
