import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asIdentifier } from "../../src/evidence/record.ts";
import { HOUR, rollUpDecision } from "../../src/governance/roll-up.ts";
import {
  shadowFigures,
  MAXIMUM_LINES,
  shadowCountReport,
  shadowReader,
  type ShadowCountReport,
} from "../../src/governance/shadow-report.ts";
import { decisionRecord } from "../store/records.ts";
import { Increments, type RollUpRow, type SummaryStore } from "../../src/governance/increments.ts";
import { readRows } from "./agreement.ts";
import { countShadowReport } from "./brute-force.ts";
import {
  FIRST_HOUR,
  HOURS,
  recordedRequests,
  WORKSPACES,
  type RecordedRequest,
} from "./random-records.ts";

const NOW = (FIRST_HOUR + HOURS) * HOUR;
const SINCE = FIRST_HOUR * HOUR;

function rowsOf(requests: readonly Pick<RecordedRequest, "decision">[]): readonly RollUpRow[] {
  const increments = new Increments();
  for (const { decision } of requests) rollUpDecision(increments, decision);
  return increments.entries().map((entry) => ({ ...entry, cell: entry.cell.encode() }));
}

function sourceOf(rows: readonly RollUpRow[]): SummaryStore {
  const workspaces = [...new Set(rows.map(({ workspace }) => workspace))];
  return { read: readRows(rows), workspaces: () => Promise.resolve(workspaces) };
}

const sortedLines = (report: ShadowCountReport) =>
  Object.fromEntries(
    Object.entries(report).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map((line) => JSON.stringify(line)).toSorted() : value,
    ]),
  );

describe("the report of a revision in shadow", () => {
  it("equals a count of the records, by constraint, route and workspace", async () => {
    let judged = 0;
    let folded = 0;
    await fc.assert(
      fc.asyncProperty(
        recordedRequests(60),
        fc.constantFrom("eu-residency", "no-training"),
        fc.constantFrom(1, 2, 12),
        fc.constantFrom(...WORKSPACES),
        fc.boolean(),
        async (requests, policy, revision, workspace, seesAll) => {
          const found = await shadowCountReport(
            sourceOf(rowsOf(requests)),
            { policy, revision, firstSeen: SINCE },
            { workspace, seesAll },
            NOW,
          );
          const counted = countShadowReport(
            requests,
            policy,
            `r${revision}`,
            seesAll ? null : workspace,
          );
          expect(sortedLines(found)).toEqual(sortedLines(counted));
          expect(found.judged_without_route).toBe(0);
          judged += found.judged;
          if (!seesAll && found.by_workspace.some((line) => line.workspace === null)) folded += 1;
        },
      ),
      { numRuns: 200 },
    );
    expect(judged).toBeGreaterThan(100);
    expect(folded).toBeGreaterThan(10);
  });

  it("is one line of figures for a promotion: the report's totals", async () => {
    await fc.assert(
      fc.asyncProperty(recordedRequests(60), fc.constantFrom(1, 2), async (requests, revision) => {
        const source = sourceOf(rowsOf(requests));
        const { judged, would_deny, newly_denied, would_narrow, indeterminate } = countShadowReport(
          requests,
          "eu-residency",
          `r${revision}`,
          null,
        );
        const since = SINCE + 50 * HOUR;
        expect(await shadowFigures(source, "eu-residency", revision, since, NOW, SINCE)).toEqual({
          since,
          judged,
          wouldDeny: would_deny,
          newlyDenied: newly_denied,
          wouldNarrow: would_narrow,
          indeterminate,
        });
      }),
      { numRuns: 100 },
    );
  });

  it("is read from the hour before the revision was first seen, and not from before that", async () => {
    const hours: string[] = [];
    const source: SummaryStore = {
      workspaces: () => Promise.resolve(["a"]),
      read: (query) => {
        hours.push(`${query.facet} ${query.from}-${query.until}`);
        return readRows([])(query);
      },
    };
    await shadowFigures(source, "p", 1, 500 * HOUR + 1, 700 * HOUR + 5, 500 * HOUR + 1);
    await shadowFigures(source, "p", 1, 0, 1, 0);
    await shadowCountReport(
      source,
      { policy: "p", revision: 1, firstSeen: 7 * HOUR },
      OWN,
      9 * HOUR,
    );
    expect(hours).toEqual(["shadow 499-702", "shadow 0-2", "shadow 6-11", "shadow_route 6-11"]);
  });

  it("separates revisions and policies with names that begin alike", async () => {
    const names = ["p", "p1", 'p","r1', "p\\", "constructor"];
    const requests = names.flatMap((policy) =>
      [1, 11, 2].map((revision) => ({ decision: judgedBy(policy, `r${revision}`, "route") })),
    );
    const source = sourceOf(rowsOf(requests));
    for (const policy of names) {
      for (const revision of [1, 11, 2]) {
        const found = await shadowCountReport(source, { policy, revision, firstSeen: 0 }, OWN, NOW);
        expect([found.judged, found.by_route.length, found.by_constraint.length]).toEqual([
          1, 1, 1,
        ]);
      }
    }
  });

  it("counts decisions from before routes were counted", async () => {
    const rows = rowsOf([
      { decision: judgedBy("p", "r1", "fast") },
      { decision: judgedBy("p", "r1", "large") },
    ]);
    const old = rows.filter(
      ({ facet, labels }) => facet !== "shadow_route" || labels.includes("fast"),
    );
    const found = await shadowCountReport(
      sourceOf(old),
      { policy: "p", revision: 1, firstSeen: 0 },
      OWN,
      NOW,
    );
    expect(found).toMatchObject({
      judged: 2,
      judged_without_route: 1,
      by_route: [{ route: "fast", judged: 1 }],
    });
  });

  it("begins every list with new denials, and adds up the rest of a long one under null", async () => {
    const rows = rowsOf(
      Array.from({ length: MAXIMUM_LINES + 7 }, (_, route) => [
        { decision: judgedBy("p", "r1", `route-${route}`) },
        ...(route === 400 ? [{ decision: judgedBy("p", "r1", `route-${route}`) }] : []),
      ]).flat(),
    );
    const found = await shadowCountReport(
      sourceOf(rows),
      { policy: "p", revision: 1, firstSeen: 0 },
      OWN,
      NOW,
    );
    expect(found.by_route).toHaveLength(MAXIMUM_LINES);
    expect(found.by_route[0]).toMatchObject({ route: null, judged: 8, newly_denied: 8 });
    expect(found.by_route[1]).toMatchObject({ route: "route-400", newly_denied: 2 });
    expect(found.judged_without_route).toBe(0);
  });
});

const OWN = { workspace: "acme-prod", seesAll: false };

function judgedBy(policy: string, revision: string, route: string) {
  const by = { policy: asIdentifier(policy), revision: asIdentifier(revision) };
  const verdict = {
    constraint: asIdentifier("c"),
    reason: null,
    verdict: "fail",
    effect: "would_deny",
  } as const;
  return decisionRecord("r", {
    route: asIdentifier(route),
    shadows: [by],
    wouldDeny: [{ ...by, ...verdict }],
  });
}

describe("the visibility of workspaces", () => {
  it.each<[string, readonly string[], readonly string[] | null, boolean]>([
    ["the only workspace", ["acme"], null, true],
    ["one of several, none named", ["acme", "beta"], null, false],
    ["one that manages", ["acme", "beta"], ["acme"], true],
    ["one that does not", ["acme", "beta"], ["beta"], false],
    ["the only one, another named", ["acme"], ["beta"], false],
    ["no workspace may manage", ["acme"], [], false],
  ])("%s", (_, workspaces, managedBy, seesAll) => {
    expect(shadowReader("acme", workspaces, managedBy)).toEqual({ workspace: "acme", seesAll });
  });
});
