import fc from "fast-check";
import { expect, it } from "vitest";
import { asIdentifier } from "../../src/evidence/record.ts";
import { KEPT_MINUTES } from "../../src/governance/increments.ts";
import { HOUR, MINUTE, formatStart, windowOf } from "../../src/governance/roll-up.ts";
import { shadowCountReport } from "../../src/governance/shadow-report.ts";
import { summarise, type Summary } from "../../src/governance/summarise.ts";
import { DuplicateDecisionError } from "../../src/evidence/evidence-store.ts";
import type { Store } from "../../src/store/port.ts";
import { expectAgreement, groupingOf } from "../governance/agreement.ts";
import { countAll, countShadowReport } from "../governance/brute-force.ts";
import {
  FIRST_HOUR,
  groupings,
  HOURS,
  recordedRequests,
  windows,
  WORKSPACES,
  type RecordedRequest,
} from "../governance/random-records.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "./records.ts";

const NOON = 1_795_000_000_000;
const DAY = { from: Math.floor(NOON / HOUR) - 12, until: Math.floor(NOON / HOUR) + 13 };

/** What every engine's counts must do. */
export function summaryLaws(store: () => Store, open: () => Promise<Store>): void {
  const summaryOf = (
    workspace: string | null,
    names: readonly string[] = [],
    window = DAY,
  ): Promise<Summary> =>
    summarise((facet) => store().summary.read({ workspace, facet, ...window }), groupingOf(names));

  it("each record on disk is counted once, equal to a count one by one", async () => {
    await fc.assert(
      fc.asyncProperty(
        recordedRequests(40),
        fc.infiniteStream(fc.tuple(fc.constantFrom(...WORKSPACES, null), windows, groupings)),
        async (requests, questions) => {
          const own = await open();
          try {
            await writeAll(own, requests);
            for (const [workspace, window, names] of questions.take(12)) {
              const read = own.summary.read.bind(own.summary);
              const summary = await summarise(
                (facet) => read({ workspace, facet, ...window }),
                groupingOf(names),
              );
              expectAgreement(summary, countAll(requests, workspace, window, names));
            }
            const requested = { policy: "eu-residency", revision: 1, firstSeen: FIRST_HOUR * HOUR };
            const reader = { workspace: "acme", seesAll: true };
            const { judged, by_route } = await shadowCountReport(
              own.summary,
              requested,
              reader,
              (FIRST_HOUR + HOURS) * HOUR,
            );
            const counted = countShadowReport(requests, requested.policy, "r1", null);
            expect([judged, new Set(by_route)]).toEqual([
              counted.judged,
              new Set(counted.by_route),
            ]);
            const present = new Set(requests.map(({ decision }) => decision.workspace));
            expect(new Set(await own.summary.workspaces())).toEqual(present);
          } finally {
            await own.close();
          }
        },
      ),
      { numRuns: 6 },
    );
  }, 30_000);

  it("a decision is counted at once and its outcome when written, both in the decision's hour", async () => {
    await recordDecision(store().evidence, decisionRecord("r1", { at: NOON }));
    expect((await summaryOf("acme-prod")).totals).toMatchObject({ requests: 1, running: 1 });
    store().evidence.settle({ ...outcomeRecord("r1"), at: NOON + 30 * HOUR });
    await store().evidence.flush();
    const { totals, groups } = await summaryOf("acme-prod", ["hour"]);
    expect(totals).toMatchObject({
      requests: 1,
      running: 0,
      ended: { terminals: { completed: 1 } },
    });
    expect(groups).toHaveLength(1);
  });

  it("duplicates and outcomes without a decision are not counted", async () => {
    await recordDecision(store().evidence, decisionRecord("r1", { at: NOON }));
    await expect(
      recordDecision(store().evidence, decisionRecord("r1", { at: NOON })),
    ).rejects.toThrow(DuplicateDecisionError);
    store().evidence.settle(outcomeRecord("r1"));
    store().evidence.settle(outcomeRecord("r1"));
    store().evidence.settle(outcomeRecord("nobody"));
    await store().evidence.flush();
    expect((await summaryOf("acme-prod")).totals).toMatchObject({
      requests: 1,
      ended: { terminals: { completed: 1 }, tokens: { input: 1234 } },
    });
  });

  it("a workspace reads only its own numbers, with any requests of others", async () => {
    await fc.assert(
      fc.asyncProperty(recordedRequests(15), async (requests) => {
        const own = await open();
        try {
          const read = own.summary.read.bind(own.summary);
          const ask = (): Promise<Summary> =>
            summarise(
              (facet) => read({ workspace: "acme", facet, ...DAY_OF_RECORDS }),
              groupingOf(["key"]),
            );
          const mine = requests.filter(({ decision }) => decision.workspace === "acme");
          await writeAll(own, mine);
          const alone = await ask();
          await writeAll(
            own,
            requests.filter((request) => !mine.includes(request)),
          );
          expect(await ask()).toEqual(alone);
          for (const similar of ["acm", "acme ", "ACME", "acme%"]) {
            for await (const rows of read({
              workspace: similar,
              facet: "total",
              ...DAY_OF_RECORDS,
            })) {
              expect(rows).toEqual([]);
            }
          }
        } finally {
          await own.close();
        }
      }),
      { numRuns: 5 },
    );
  }, 30_000);

  const MINUTES = Math.floor(NOON / MINUTE);
  const minutesOf = (from: number, until: number): Promise<Summary> => {
    const window = { from, until, step: MINUTE } as const;
    return summarise(
      (facet) => store().summary.read({ workspace: "acme-prod", ...windowOf(facet, window) }),
      groupingOf(["minute"]),
    );
  };

  it("a spike of ten minutes has its beginning and its end in counts by minute", async () => {
    const { evidence } = store();
    for (let minute = 0; minute < 30; minute++) {
      for (let call = 0; call < (minute >= 10 && minute < 20 ? 5 : 1); call++) {
        await recordDecision(
          evidence,
          decisionRecord(`m${minute}-${call}`, { at: NOON + minute * MINUTE }),
        );
      }
    }
    await evidence.flush();
    const { groups, totals } = await minutesOf(MINUTES + 8, MINUTES + 22);
    expect(groups.map(({ measures }) => measures.requests)).toEqual([
      1, 1, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 1, 1,
    ]);
    expect(groups[0]?.group.minute).toBe(formatStart(MINUTES + 8, MINUTE));
    expect(totals.requests).toBe(54);
  });

  it("minutes are kept for three hours, and their hours longer", async () => {
    const { evidence } = store();
    await recordDecision(evidence, decisionRecord("old", { at: NOON }));
    await evidence.flush();
    expect((await minutesOf(MINUTES, MINUTES + 1)).totals.requests).toBe(1);
    await recordDecision(evidence, decisionRecord("kept", { at: NOON + 30 * MINUTE }));
    await recordDecision(
      evidence,
      decisionRecord("new", { at: NOON + (KEPT_MINUTES + 1) * MINUTE }),
    );
    await evidence.flush();
    expect((await minutesOf(MINUTES, MINUTES + 500)).totals.requests).toBe(2);
    expect((await minutesOf(MINUTES, MINUTES + 1)).groups).toEqual([]);
    expect((await summaryOf("acme-prod")).totals.requests).toBe(3);
  });

  it("answers of the router itself are counted by operation only", async () => {
    const { evidence } = store();
    await recordDecision(evidence, decisionRecord("chat", { at: NOON }));
    const control = { at: NOON, operation: "control", outcome: "refuse", route: null } as const;
    await recordDecision(evidence, decisionRecord("page", control));
    await evidence.flush();
    const summary = await summaryOf("acme-prod", ["route"]);
    expect([summary.totals.requests, summary.totals.refused]).toEqual([1, 0]);
    expect([summary.groups.length, summary.verdicts]).toEqual([1, []]);
    const byOperation = (await summaryOf("acme-prod", ["operation"])).groups;
    expect(new Set(byOperation.map(({ group }) => group.operation))).toEqual(
      new Set(["chat.completions", "control"]),
    );
  });

  it("each cell is returned once, the oldest hour first, for any number of cells", async () => {
    const decisions = Array.from({ length: 1_500 }, (_, index) =>
      recordDecision(
        store().evidence,
        decisionRecord(`r${index}`, {
          at: NOON + (index % 3) * HOUR,
          keyId: asIdentifier(`k${index}`),
        }),
      ),
    );
    await Promise.all(decisions);
    const seen: string[] = [];
    const hours: number[] = [];
    for await (const rows of store().summary.read({
      workspace: "acme-prod",
      facet: "key",
      ...DAY,
    })) {
      seen.push(...rows.map(({ labels }) => labels));
      hours.push(...rows.map(({ hour }) => hour));
    }
    expect(new Set(seen).size).toBe(1_500);
    expect(seen).toHaveLength(1_500);
    expect(hours).toEqual(hours.toSorted((left, right) => left - right));
  });
}

const DAY_OF_RECORDS = { from: 0, until: 1_000_000 };

async function writeAll({ evidence }: Store, requests: readonly RecordedRequest[]): Promise<void> {
  // Some outcomes share a batch with their decision, some come later.
  for (const { decision, outcome } of requests) {
    const decided = recordDecision(evidence, decision);
    if (outcome === null) continue;
    if (decision.at % 2 === 0) await decided;
    else await evidence.flush();
    evidence.settle(outcome);
    await decided;
  }
  await evidence.flush();
}
