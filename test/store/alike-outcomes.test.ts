import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { asIdentifier, type OutcomeRecord } from "../../src/evidence/record.ts";
import { GENESIS } from "../../src/evidence/chain.ts";
import { Increments } from "../../src/governance/increments.ts";
import { decisionFacts, rollUpDecision, rollUpOutcome } from "../../src/governance/roll-up.ts";
import { AlikeOutcomes } from "../../src/store/batch/alike-outcomes.ts";
import { encodeBatch } from "../../src/store/batch/frames.ts";
import { OpenDecisions } from "../../src/store/sqlite/batch/open-decision.ts";
import { sealBatch } from "../../src/store/sqlite/batch/seal.ts";
import { IN_MEMORY, openDatabase } from "../../src/store/sqlite/database.ts";
import { BatchTable } from "../../src/store/sqlite/tables/batch-table.ts";
import { RollUpTable } from "../../src/store/sqlite/tables/roll-up-table.ts";
import { recordedRequests, type RecordedRequest } from "../governance/random-records.ts";
import { decisionRecord, outcomeRecord } from "./records.ts";

const count = fc.oneof(
  { weight: 20, arbitrary: fc.nat(100_000) },
  { weight: 1, arbitrary: fc.constantFrom(0.5, 1e21, 1e-7, 9_007_199_254_740_991, 123_456_789_012_345_680) },
);
const milliseconds = fc.integer({ min: 0, max: 20_000_000 }).map((microseconds) => microseconds / 1000);

/** What outcomes that are alike differ in. */
const numbers = fc.record({
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: count,
  reasoningTokens: count,
  costNanoUsd: count,
  firstByte: milliseconds,
  total: milliseconds,
  router: milliseconds,
});

const UNMETERED: RecordedRequest = {
  decision: decisionRecord("req_u"),
  outcome: { ...outcomeRecord("req_u"), inputTokens: null, outputTokens: null, costNanoUsd: null },
};

/** Requests of which many are like others. */
const requests = fc
  .tuple(
    recordedRequests(3).filter(({ length }) => length > 0),
    fc.array(fc.record({ of: fc.nat(3), numbers, finish: fc.constantFrom("stop", '"total":5,', 'x\\","total":5}') }), {
      minLength: 40,
      maxLength: 60,
    }),
  )
  .map(([kinds, copies]) =>
    copies.flatMap(({ of, numbers: own, finish }, index): readonly RecordedRequest[] => {
      const kind = of === 3 ? UNMETERED : kinds[of % kinds.length];
      if (kind === undefined) return [];
      const requestId = asIdentifier(`req_${index}`);
      return [{ decision: { ...kind.decision, requestId }, outcome: outcomeLike(kind, requestId, own, finish) }];
    }),
  );

function outcomeLike(
  { outcome }: RecordedRequest,
  requestId: OutcomeRecord["requestId"],
  own: Partial<OutcomeRecord>,
  finish: string,
): OutcomeRecord | null {
  if (outcome === null) return null;
  // What a provider did not say, it says of none that are alike.
  const isSaid = (name: string): boolean => typeof Reflect.get(outcome, name) === "number";
  const said = Object.fromEntries(Object.entries(own).filter(([name]) => isSaid(name)));
  return { ...outcome, ...said, requestId, finish: asIdentifier(finish) };
}

describe("counting outcomes that are alike", () => {
  it("gives the cells that counting each by itself gives, to the byte", () => {
    fc.assert(
      fc.property(requests, fc.integer({ min: 1, max: 30 }), (all, size) => {
        const one = new Increments();
        for (const { decision, outcome } of all) {
          rollUpDecision(one, decision);
          if (outcome !== null) rollUpOutcome(one, decisionFacts(decision), outcome);
        }
        const database = openDatabase(IN_MEMORY, 0);
        const table = new RollUpTable(database, new BatchTable(database));
        let head = GENESIS;
        for (let index = 0; index < all.length; index += size) {
          const part = all.slice(index, index + size);
          const batch = encodeBatch(
            part.flatMap(({ decision }) => [0, decision.requestId, decision.workspace, JSON.stringify(decision)]),
            part.flatMap(({ outcome }) => (outcome === null ? [] : [0, outcome.requestId, JSON.stringify(outcome)])),
          );
          const known = { head, highWater: "", knows: () => false, open: new OpenDecisions() };
          const sealed = sealBatch(batch, 1, known);
          ({ head } = sealed);
          table.add(sealed.bytes, sealed.steps, true);
          table.count();
        }
        table.writeCells();
        const rows = database.prepare("SELECT * FROM roll_ups").all();
        database.close();
        const keyOf = (row: object): string =>
          ["workspace", "facet", "hour", "labels"].map((name) => String(Reflect.get(row, name))).join("\n");
        const found = new Map(rows.map((row) => [keyOf(row), row["cell"]]));
        const expected = new Map(
          one.entries().map((entry) => [keyOf({ ...entry, workspace: entry.workspace ?? "" }), entry.cell.encode()]),
        );
        expect([...found.keys()].toSorted()).toEqual([...expected.keys()].toSorted());
        for (const [key, cell] of expected) expect(found.get(key), key).toEqual(cell);
      }),
      { numRuns: 100 },
    );
  });

  it("parses none after the second, unless it is another kind or one of too many kinds", () => {
    const alike = new AlikeOutcomes();
    const facts = decisionFacts(decisionRecord("req_0"));
    const take = (members: Partial<OutcomeRecord>): boolean => {
      const bytes = Buffer.from(JSON.stringify({ ...outcomeRecord("req_0"), ...members }));
      return alike.take(facts, "req_0", bytes, 0, bytes.length);
    };
    expect([1, 2, 3, 4].map((total) => take({ total, inputTokens: 5 * total }))).toEqual([false, false, true, true]);
    expect([take({ inputTokens: null }), take({ inputTokens: null })]).toEqual([false, true]);
    const statuses = [201, 202, 203, 204].map((status) => [take({ status }), take({ status })]);
    expect(statuses).toEqual([
      [false, true],
      [false, true],
      [false, false],
      [false, false],
    ]);
    const exact = [take({ inputTokens: 999_999_999_999_999 }), take({ inputTokens: 1_000_000_000_000_000 })];
    expect(exact, "more than 15 digits may not be exact").toEqual([true, false]);
  });
});
