import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DecisionRecord, asIdentifier } from "../../../src/evidence/record.ts";
import {
  findExamples,
  EXAMPLE_BOUNDS,
  type ExampleQuestion,
} from "../../../src/simulate/evidence/find-examples.ts";
import { recordedRequests, WORKSPACES } from "../../governance/random-records.ts";
import { decisionRecord } from "../../store/records.ts";
import { memoryEvidence } from "./memory-evidence.ts";

const NOW = 1_795_000_000_000;
const MINUTE = 60_000;
const BY = { policy: asIdentifier("p"), revision: asIdentifier("r3") };
const SAID = {
  ...BY,
  constraint: asIdentifier("region"),
  reason: asIdentifier("REGION"),
  verdict: "fail",
  effect: "would_deny",
} as const;

const questionWith = (more: Partial<ExampleQuestion> = {}): ExampleQuestion => ({
  policy: "p",
  revision: 3,
  firstSeen: 0,
  zones: [],
  workspace: null,
  limit: 20,
  ...more,
});

function said(id: string, more: Partial<DecisionRecord> = {}): DecisionRecord {
  return decisionRecord(id, {
    at: NOW,
    shadows: [BY],
    wouldDeny: [SAID],
    features: ["seed"],
    ...more,
  });
}

const silent = (id: string, more: Partial<DecisionRecord> = {}): DecisionRecord =>
  said(id, { wouldDeny: [], ...more });

describe("examples", () => {
  it("are the visible records that a revision would deny or narrow, each in one class", async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(
        recordedRequests(60),
        fc.constantFrom("eu-residency", "no-training"),
        fc.constantFrom(1, 2),
        fc.constantFrom(...WORKSPACES, null),
        async (requests, policy, revision, workspace) => {
          const decisions = requests.map(({ decision }) => decision);
          const { examples, lookedAt } = await findExamples(memoryEvidence(decisions), {
            ...questionWith({ policy, revision, workspace, limit: 1_000 }),
          });
          const own = decisions.filter(
            (decision) => workspace === null || decision.workspace === workspace,
          );
          const lines = own.flatMap((decision) =>
            decision.wouldDeny
              .filter((one) => one.policy === policy && one.revision === `r${revision}`)
              .map((one) => ({ decision, one })),
          );
          const classes = Map.groupBy(lines, ({ decision, one }) =>
            JSON.stringify([
              one.constraint,
              one.reason,
              one.verdict,
              one.effect,
              whatIsRequested(decision),
            ]),
          );
          expect(examples).toHaveLength(classes.size);
          const expected = [...classes.values()].map((group) => ({
            requests: group.length,
            newly_denied: group.filter(
              ({ decision, one }) => one.effect === "would_deny" && decision.outcome === "route",
            ).length,
            request_id: group.at(-1)?.decision.requestId,
            first: new Date(Math.min(...group.map(({ decision }) => decision.at))).toISOString(),
            last: new Date(Math.max(...group.map(({ decision }) => decision.at))).toISOString(),
            constraint: group[0]?.one.constraint,
            route: group[0]?.decision.route,
          }));
          const shown = examples.map(
            ({
              requests: count,
              newly_denied,
              request_id,
              first,
              last,
              constraint,
              class: { route },
            }) => ({
              requests: count,
              newly_denied,
              request_id,
              first,
              last,
              constraint,
              route,
            }),
          );
          expect(new Set(shown)).toEqual(new Set(expected));
          expect(lookedAt).toEqual({
            decisions: own.length,
            since:
              own.length === 0
                ? null
                : new Date(Math.min(...own.map(({ at }) => at))).toISOString(),
            complete: true,
          });
          found += examples.length;
        },
      ),
      { numRuns: 200 },
    );
    expect(found).toBeGreaterThan(50);
  });

  it("are the classes with the most requests that promoting would deny, the newest request of each", async () => {
    const decisions = [
      said("a1"),
      said("b1", { stream: false, at: NOW + 1 }),
      said("a2", { at: NOW + 2 }),
      said("c1", { outcome: "deny", needs: [], at: NOW + 3 }),
      said("c2", { outcome: "deny", needs: [], at: NOW + 4 }),
      said("c3", { outcome: "deny", needs: [], at: NOW + 5 }),
    ];
    const { examples } = await findExamples(memoryEvidence(decisions), questionWith({ limit: 2 }));
    expect(
      examples.map(({ request_id, requests, newly_denied }) => [
        request_id,
        requests,
        newly_denied,
      ]),
    ).toEqual([
      ["a2", 2, 2],
      ["b1", 1, 1],
    ]);
    expect(examples[0]).toMatchObject({
      constraint: "region",
      reason: "REGION",
      verdict: "fail",
      effect: "would_deny",
      first: new Date(NOW).toISOString(),
      last: new Date(NOW + 2).toISOString(),
      not_explained: null,
      class: {
        workspace: "acme-prod",
        route: "chat-large",
        needs: ["json_schema", "tools"],
        features: ["seed"],
      },
    });
    expect(examples[0]?.explain).toBe(
      `explain --point '{"workspace":"acme-prod","operation":"chat.completions","model":"chat-large","needs":["json_schema","tools"],"features":["seed"],"stream":true,"context":"to_4k","maxOutput":"to_1k","time":{"day":"weekday","hour":"morning"}}' --promoted`,
    );
  });

  it("are separate where they differ in one dimension only", async () => {
    const others: Partial<DecisionRecord>[] = [
      {},
      { workspace: asIdentifier("other") },
      { route: asIdentifier("other") },
      { operation: "messages" },
      { environment: asIdentifier("test") },
      { needs: ["tools"] },
      { features: [] },
      { stream: false },
      { context: "to_1k" },
      { maxOutput: "to_4k" },
      { reasoningEffort: "high" },
      { at: NOW + 7 * 60 * MINUTE },
      { wouldDeny: [{ ...SAID, constraint: asIdentifier("other") }] },
      { wouldDeny: [{ ...SAID, reason: null }] },
      { wouldDeny: [{ ...SAID, verdict: "indeterminate" }] },
      { wouldDeny: [{ ...SAID, effect: "would_narrow" }] },
    ];
    const { examples } = await findExamples(
      memoryEvidence([...others, ...others].map((more, index) => said(`r${index}`, more))),
      questionWith(),
    );
    expect(examples.map(({ requests }) => requests)).toEqual(others.map(() => 2));
  });

  it("are joined where they differ only in members that the revision does not read, with the number of requests", async () => {
    const others: Partial<DecisionRecord>[] = [
      {},
      { environment: asIdentifier("test") },
      { features: [] },
      { stream: false },
      { context: "to_1k" },
      { at: NOW + 7 * 60 * MINUTE },
      { needs: ["tools"] },
      { route: asIdentifier("other") },
    ];
    const { examples } = await findExamples(
      memoryEvidence(others.map((more, index) => said(`r${index}`, more))),
      questionWith({ reads: ["input.request.needs", "input.candidates"] }),
    );
    expect(examples.map(({ requests, request_id }) => [requests, request_id])).toEqual([
      [6, "r5"],
      [1, "r7"],
      [1, "r6"],
    ]);
  });

  it.each<[string, object, string]>([
    ["route", { route: null }, "route"],
    ["capability that is gone", { needs: ["telepathy"] }, "need"],
    ["feature that is gone", { features: ["telepathy"] }, "feature"],
    ["size that is gone", { context: "to_9z" }, "size"],
    ["operation that is gone", { operation: "telepathy" }, "operation"],
  ])("without a %s have no command, and name the missing part", async (_, more, part) => {
    const record = { ...said("r1"), ...more };
    const log = memoryEvidence([]);
    const rows = [
      {
        position: 1,
        kind: "decision" as const,
        record: JSON.stringify(record),
      },
    ];
    const source = {
      ...log,
      head: () => Promise.resolve({ position: 1 }),
      log: () => Promise.resolve(rows),
    };
    const { examples } = await findExamples(source, questionWith());
    expect(examples).toMatchObject([{ request_id: "r1", explain: null, not_explained: part }]);
  });

  it("can be tried where limits refused the request after it was decided", async () => {
    const { examples } = await findExamples(
      memoryEvidence([said("r1", { outcome: "refuse" })]),
      questionWith(),
    );
    expect(examples).toMatchObject([
      { newly_denied: 0, not_explained: null, explain: expect.stringContaining("explain") },
    ]);
  });

  it("quote special characters for a shell", async () => {
    const route = asIdentifier("it's; $(reboot)");
    const { examples } = await findExamples(
      memoryEvidence([said("r1", { route })]),
      questionWith(),
    );
    expect(examples[0]?.explain).toContain(String.raw`"model":"it'\''s; $(reboot)"`);
  });

  it("are not made of records that cannot be read", async () => {
    const texts = [
      "",
      "null",
      '{"wouldDeny":7}',
      '{"requestId":"r","at":1e99,"wouldDeny":[{"policy":"p","revision":"r3","constraint":"c","verdict":"fail"}]}',
      '{"requestId":"r","at":1,"wouldDeny":[{"policy":"p","revision":"r3","constraint":7,"verdict":"fail"}]}',
      '{"requestId":"r","at":1,"wouldDeny":[null,{"policy":"p","revision":"r3","constraint":"c","verdict":"pass"}]}',
    ];
    const rows = texts.map((record, index) => ({
      position: index + 1,
      kind: "decision" as const,
      record,
    }));
    const source = {
      head: () => Promise.resolve({ position: rows.length }),
      log: () => Promise.resolve(rows),
    };
    expect(await findExamples(source, questionWith())).toMatchObject({
      examples: [],
      // The first three have no time.
      lookedAt: { decisions: 3, complete: true },
    });
  });
});

describe("the search depth for examples", () => {
  const many = (
    count: number,
    more: (index: number) => Partial<DecisionRecord>,
  ): readonly DecisionRecord[] =>
    Array.from({ length: count }, (_, index) => silent(`r${index}`, more(index)));

  it("goes back from the newest row in pages, each row once, to the log's beginning", async () => {
    const log = memoryEvidence([
      said("oldest"),
      ...many(2_500, () => ({})),
      said("newest", { stream: false }),
    ]);
    const { examples, lookedAt } = await findExamples(log, questionWith());
    expect(new Set(examples.map(({ request_id }) => request_id))).toEqual(
      new Set(["oldest", "newest"]),
    );
    expect(lookedAt).toMatchObject({ decisions: 2_502, complete: true });
    expect(log.reads).toEqual([
      { after: 3_004, limit: 2_000 },
      { after: 1_004, limit: 2_000 },
      { after: 0, limit: 1_004 },
    ]);
  });

  it("ends where the revision was first seen", async () => {
    const decisions = many(5_000, (index) => ({ at: NOW + index * 1_000 }));
    const log = memoryEvidence(decisions);
    const { lookedAt } = await findExamples(log, questionWith({ firstSeen: NOW + 4_500_000 }));
    expect(lookedAt.complete).toBe(true);
    expect(log.reads).toHaveLength(2);
    // What was written late, or by another clock, is not missed.
    const late = await findExamples(
      memoryEvidence(decisions),
      questionWith({ firstSeen: NOW + 4_100_000 }),
    );
    expect(late.lookedAt).toMatchObject({ decisions: 3_000, complete: true });
  });

  it("is ten thousand decisions, and reported when reached", async () => {
    const decisions = [said("old"), ...many(10_000, (index) => ({ at: NOW + index }))];
    const { examples, lookedAt } = await findExamples(memoryEvidence(decisions), questionWith());
    expect(examples).toEqual([]);
    expect(lookedAt).toEqual({
      decisions: 10_000,
      since: new Date(NOW).toISOString(),
      complete: false,
    });
    const whole = await findExamples(memoryEvidence(decisions.slice(0, 10_000)), questionWith());
    expect(whole).toMatchObject({
      examples: [{ request_id: "old" }],
      lookedAt: { complete: true },
    });
  });

  it("counts the decisions of others, and does not reveal how many there are", async () => {
    const decisions = [
      said("hidden"),
      ...many(10_000, (index) => ({ workspace: asIdentifier(index < 7 ? "mine" : "other") })),
    ];
    const { lookedAt, examples } = await findExamples(
      memoryEvidence(decisions),
      questionWith({ workspace: "mine" }),
    );
    expect(examples).toEqual([]);
    expect(lookedAt).toMatchObject({ decisions: 7, complete: false });
  });

  it("ends when its time is up, after at least one page", async () => {
    let now = 0;
    const clock = (): number => (now += 700);
    const log = memoryEvidence(many(5_000, () => ({})));
    const { lookedAt } = await findExamples(log, questionWith(), { ...EXAMPLE_BOUNDS, clock });
    expect(log.reads.length).toBeGreaterThan(0);
    expect(log.reads.length).toBeLessThan(5);
    expect(lookedAt.complete).toBe(false);
  });

  it("is reported as limited where rows are pruned", async () => {
    const decisions = many(3_000, (index) => ({ at: NOW + index }));
    for (const pruned of [1, 3_000, 4_500, 6_000]) {
      const log = memoryEvidence(decisions, pruned);
      const { lookedAt } = await findExamples(log, questionWith());
      expect(lookedAt).toMatchObject({
        decisions: Math.floor((6_000 - pruned) / 2),
        complete: false,
      });
    }
    expect((await findExamples(memoryEvidence([]), questionWith())).lookedAt).toEqual({
      decisions: 0,
      since: null,
      complete: true,
    });
  });
});

/** What of a record a class holds. */
function whatIsRequested(decision: DecisionRecord): unknown {
  const { workspace, route, operation, environment, at } = decision;
  const hour = Math.floor(at / 3_600_000);
  const day = Math.floor(hour / 24);
  const isWeekend = (day + 3) % 7 > 4;
  // The other members are the same in all random records; operations that decide nothing have no
  // value of their own.
  return [
    workspace,
    route,
    operation === "control" ? null : operation,
    environment,
    isWeekend,
    Math.floor((hour % 24) / 6),
  ];
}
