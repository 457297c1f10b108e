import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Cell } from "../../src/governance/cell.ts";
import { Increments, type RollUpRow } from "../../src/governance/increments.ts";
import { MAXIMUM_GROUPS, summarise } from "../../src/governance/summarise.ts";
import {
  HOUR,
  decisionFacts,
  formatStart,
  rollUpDecision,
  rollUpOutcome,
} from "../../src/governance/roll-up.ts";
import { isOperation } from "../../src/canon/operation.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import { cellsOf } from "../../src/http/control/query.ts";
import { decisionRecord } from "../store/records.ts";
import { expectAgreement, expectSpendAgreement, groupingOf, readRows } from "./agreement.ts";
import { countAll } from "./brute-force.ts";
import {
  groupings,
  recordedRequests,
  spendGroupings,
  windows,
  WORKSPACES,
  type RecordedRequest,
} from "./random-records.ts";

/** Rolled up in batches of `size`, as a store does it, each through its bytes. */
function rolledUp(requests: readonly RecordedRequest[], size: number): readonly RollUpRow[] {
  const cells = new Map<string, { readonly row: Omit<RollUpRow, "cell">; readonly cell: Cell }>();
  for (let index = 0; index < requests.length; index += size) {
    const batch = new Increments();
    for (const { decision, outcome } of requests.slice(index, index + size)) {
      rollUpDecision(batch, decision);
      if (outcome !== null) rollUpOutcome(batch, decisionFacts(decision), outcome);
    }
    for (const { cell, ...row } of batch.entries()) {
      const key = JSON.stringify(row);
      const sum = cells.get(key) ?? { row, cell: new Cell() };
      sum.cell.addEncoded(cell.encode());
      cells.set(key, sum);
    }
  }
  return [...cells.values()].map(({ row, cell }) => ({ ...row, cell: cell.encode() }));
}

describe("a summary", () => {
  it("equals a count of the records, for every window and grouping, of one workspace", async () => {
    await fc.assert(
      fc.asyncProperty(
        recordedRequests(60),
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom(...WORKSPACES, null),
        windows,
        groupings,
        async (requests, size, workspace, window, names) => {
          const read = readRows(rolledUp(requests, size));
          const summary = await summarise(
            (facet) => read({ workspace, facet, ...window }),
            groupingOf(names),
          );
          expectAgreement(summary, countAll(requests, workspace, window, names));
          expect(summary.truncated).toBe(false);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("lists reasons of denials and refusals, and verdicts of each revision in shadow", async () => {
    await fc.assert(
      fc.asyncProperty(recordedRequests(40), async (requests) => {
        const window = { from: 0, until: 1_000_000 };
        const read = readRows(rolledUp(requests, 7));
        const found = await summarise(
          (facet) => read({ workspace: "acme", facet, ...window }),
          groupingOf([]),
        );
        const whys = countAll(requests, "acme", window, [
          "policy",
          "constraint",
          "reason_code",
        ]).groups;
        const denials = whys.filter(({ counts }) => (counts.requests ?? 0) > 0);
        expect(new Set(found.verdicts)).toEqual(
          new Set(
            denials.map(({ group, counts }) => ({
              ...group,
              denied: counts.denied ?? 0,
              refused: counts.refused ?? 0,
            })),
          ),
        );
        const own = requests.filter(
          ({ decision }) => decision.workspace === "acme" && isOperation(decision.operation),
        );
        for (const { policy, revision, judged, would_deny, verdicts } of found.shadows) {
          const requested = own.filter(({ decision }) =>
            (decision.shadows ?? []).some(
              (one) => one.policy === policy && one.revision === revision,
            ),
          );
          const said = requested.map(({ decision }) =>
            decision.wouldDeny.filter((one) => one.policy === policy && one.revision === revision),
          );
          const denies = said.map(
            (lines) => lines.filter(({ effect }) => effect === "would_deny").length,
          );
          expect(judged).toBe(requested.length);
          expect(would_deny).toBe(denies.filter((count) => count > 0).length);
          expect(verdicts.reduce((sum, verdict) => sum + verdict.would_deny, 0)).toBe(
            denies.reduce((sum, count) => sum + count, 0),
          );
        }
        const revisions = own.flatMap(({ decision }) =>
          (decision.shadows ?? []).map(({ policy, revision }) => `${policy} ${revision}`),
        );
        expect(found.shadows.map(({ policy, revision }) => `${policy} ${revision}`)).toEqual(
          [...new Set(revisions)].toSorted((left, right) => (left < right ? -1 : 1)),
        );
      }),
      { numRuns: 100 },
    );
  });

  it("has the spend of several workspaces by key, route, model and day, equal to a count one by one", async () => {
    const workspaces = WORKSPACES.slice(0, 2);
    await fc.assert(
      fc.asyncProperty(
        recordedRequests(60),
        windows,
        spendGroupings,
        async (requests, window, names) => {
          const read = readRows(rolledUp(requests, 7));
          const summary = await summarise(
            (facet) => cellsOf(read, workspaces, { facet, ...window }),
            groupingOf(names, "spend"),
          );
          expect(summary.truncated).toBe(false);
          expectSpendAgreement(summary, countAll(requests, workspaces, window, names));
        },
      ),
      { numRuns: 300 },
    );
  });

  it("is the same for every batching of the records", async () => {
    await fc.assert(
      fc.asyncProperty(
        recordedRequests(40),
        windows,
        groupings,
        async (requests, window, names) => {
          const [whole, parts] = await Promise.all(
            [100, 3].map((size) => {
              const read = readRows(rolledUp(requests, size));
              return summarise(
                (facet) => read({ workspace: "acme", facet, ...window }),
                groupingOf(names),
              );
            }),
          );
          expect(parts).toEqual(whole);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("is truncated to the groups with the most requests, and marked", async () => {
    const increments = new Increments();
    for (let key = 0; key <= MAXIMUM_GROUPS; key++) {
      const decision = decisionRecord(`r${key}`, { keyId: asIdentifier(`k${key}`), at: 0 });
      rollUpDecision(increments, decision);
      if (key !== 17) rollUpDecision(increments, decision);
    }
    const read = readRows(
      increments.entries().map((entry) => ({ ...entry, cell: entry.cell.encode() })),
    );
    const summary = await summarise(
      (facet) => read({ workspace: "acme-prod", facet, from: 0, until: 1 }),
      groupingOf(["key"]),
    );
    expect(summary.truncated).toBe(true);
    expect(summary.groups).toHaveLength(MAXIMUM_GROUPS);
    expect(summary.groups.map(({ group }) => group.key)).not.toContain("k17");
    expect(summary.totals.requests).toBe(2 * MAXIMUM_GROUPS + 1);
  });

  it("reads groups twice where there are too many, holds no more than it returns, and finds the largest", async () => {
    const increments = new Increments();
    const sizes: { readonly name: string; readonly size: number }[] = [];
    for (let hour = 0; hour < 50; hour++) {
      for (let route = 0; route < 40; route++) {
        const size = 1 + ((hour * 37 + route * 11) % 97);
        const decision = decisionRecord("r", { route: asIdentifier(`c${route}`), at: hour * HOUR });
        for (let count = 0; count < size; count++) rollUpDecision(increments, decision);
        sizes.push({ name: `${formatStart(hour, HOUR)} c${route}`, size });
      }
    }
    const read = readRows(
      increments.entries().map((entry) => ({ ...entry, cell: entry.cell.encode() })),
    );
    const facets: string[] = [];
    const summary = await summarise(
      (facet) => {
        facets.push(facet);
        return read({ workspace: "acme-prod", facet, from: 0, until: 100 });
      },
      groupingOf(["route", "hour"]),
    );
    const found = summary.groups.map(({ group, measures }) => ({
      name: `${group.hour} ${group.route}`,
      size: measures.requests,
    }));
    const smallest = Math.min(...found.map(({ size }) => size));
    expect(summary.truncated).toBe(true);
    expect(found).toHaveLength(MAXIMUM_GROUPS);
    expect(sizes).toEqual(expect.arrayContaining(found));
    const larger = sizes.filter(({ size }) => size > smallest);
    expect(found).toEqual(expect.arrayContaining(larger));
    expect(facets).toEqual(["total", "traffic", "verdict", "shadow", "traffic"]);
  });

  it("reports the first hour in which a request still runs", async () => {
    const increments = new Increments();
    const at = (hour: number) => decisionRecord(`r${hour}`, { at: hour * HOUR });
    for (const hour of [3, 5, 4]) rollUpDecision(increments, at(hour));
    const read = readRows(
      increments.entries().map((entry) => ({ ...entry, cell: entry.cell.encode() })),
    );
    const { firstRunning } = await summarise(
      (facet) => read({ workspace: "acme-prod", facet, from: 0, until: 9 }),
      groupingOf([]),
    );
    expect(firstRunning).toBe(3);
  });
});
