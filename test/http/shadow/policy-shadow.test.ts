import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type DecisionRecord, asIdentifier } from "../../../src/evidence/record.ts";
import { POLICY_SHADOW } from "../../../src/http/contract/policy-answers.ts";
import {
  policyShadow,
  type ShadowSource,
  type ShadowAnswer,
  type ShadowLine,
} from "../../../src/http/control/policy-shadow.ts";
import { SummaryTurns } from "../../../src/http/control/governance-summary.ts";
import type { Store } from "../../../src/store/port.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { recordedRequests } from "../../governance/random-records.ts";
import { decisionRecord, recordDecision } from "../../store/records.ts";
import { temporaryFolder } from "../../store/temporary-folder.ts";
import { refusedOrResolved } from "../../support/refusals.ts";

const isAnswer = new Ajv2020({ strict: false, formats: { "date-time": true } }).compile(
  POLICY_SHADOW,
);

const NOW = 1_795_000_000_000;
const LINE: ShadowLine = {
  policy: "eu",
  revision: 3,
  digest: "d".repeat(64),
  since: NOW - 1_000,
  firstSeen: 0,
  zones: [],
};
const MANAGER = { workspace: "acme", seesAll: true };

let store: Store;

const sourceOf = ({ summary, evidence }: Store): ShadowSource => ({
  read: (query) => summary.read(query),
  workspaces: () => summary.workspaces(),
  evidence,
  turns: new SummaryTurns(),
});

async function ask(more: Partial<Parameters<typeof options>[0]> = {}): Promise<ShadowAnswer> {
  const { source, line, reader, examples } = options(more);
  const answer = await policyShadow(source, line, reader, examples, NOW);
  const value: ShadowAnswer = JSON.parse(answer.text);
  expect(isAnswer(value), JSON.stringify(isAnswer.errors)).toBe(true);
  return value;
}

const options = (more: {
  readonly source?: ShadowSource;
  readonly line?: ShadowLine;
  readonly reader?: { readonly workspace: string; readonly seesAll: boolean };
  readonly examples?: number;
}) => ({ source: sourceOf(store), line: LINE, reader: MANAGER, examples: 20, ...more });

const BY = { policy: asIdentifier("eu"), revision: asIdentifier("r3") };
const SAID = {
  ...BY,
  constraint: asIdentifier("region"),
  reason: asIdentifier("REGION"),
  verdict: "fail",
  effect: "would_deny",
} as const;

function judged(
  id: string,
  workspace: string,
  route: string,
  more: Partial<DecisionRecord> = {},
): DecisionRecord {
  const members = { workspace: asIdentifier(workspace), route: asIdentifier(route) };
  return decisionRecord(id, { at: NOW - 5, ...members, shadows: [BY], wouldDeny: [SAID], ...more });
}

async function write(decisions: readonly DecisionRecord[]): Promise<void> {
  await Promise.all(decisions.map((decision) => recordDecision(store.evidence, decision)));
}

describe("the report of a revision in shadow", () => {
  beforeEach(async () => {
    store = await openSqliteStore({ path: join(temporaryFolder(), "signalbox.db") });
    return () => store.close();
  });

  it("contains requests to try, of every workspace for managers of policies", async () => {
    await write([
      judged("r1", "acme", "fast"),
      judged("r2", "beta", "large", { at: NOW - 3_600_000 }),
      judged("r3", "beta", "large", { wouldDeny: [] }),
      judged("r4", "beta", "large", {
        shadows: [{ ...BY, revision: asIdentifier("r2") }],
        wouldDeny: [],
      }),
    ]);
    const answer = await ask();
    expect(answer).toMatchObject({
      object: "policy.shadow",
      policy: "eu",
      revision: "r3",
      digest: LINE.digest,
      since: new Date(NOW - 1_000).toISOString(),
      until: new Date(NOW).toISOString(),
      judged: 3,
      would_deny: 2,
      newly_denied: 2,
      judged_without_route: 0,
      by_constraint: [{ constraint: "region", reason: "REGION", would_deny: 2 }],
      looked_at: { decisions: 4, complete: true },
    });
    expect(answer.by_route.map(({ route, judged: requested }) => [route, requested])).toEqual([
      ["large", 2],
      ["fast", 1],
    ]);
    expect(new Set(answer.by_workspace.map(({ workspace }) => workspace))).toEqual(
      new Set(["acme", "beta"]),
    );
    expect(answer.examples.map(({ request_id, class: { route } }) => [request_id, route])).toEqual([
      ["r1", "fast"],
      ["r2", "large"],
    ]);
    expect(answer.examples[0]?.explain).toMatch(
      /^explain --point '\{"workspace":"acme",.*\}' --promoted$/,
    );
  });

  it("names no other workspace, and none of its routes and requests, to other readers", async () => {
    await write([judged("r1", "acme", "fast"), judged("hidden", "beta", "secret-route")]);
    const answer = await ask({ reader: { workspace: "acme", seesAll: false } });
    expect(answer).toMatchObject({ judged: 2, looked_at: { decisions: 1 } });
    expect(
      answer.by_workspace.map(({ workspace, judged: requested }) => [workspace, requested]),
    ).toEqual([
      ["acme", 1],
      [null, 1],
    ]);
    expect(answer.by_route.map(({ route }) => route)).toEqual(["fast", null]);
    expect(JSON.stringify(answer)).not.toMatch(/beta|secret-route|hidden/);
  });

  it("leaks no name of another workspace, for all records", async () => {
    await fc.assert(
      fc.asyncProperty(recordedRequests(20), async (requests) => {
        const own = await openSqliteStore({ path: ":memory:" });
        try {
          const decisions = requests.map(({ decision }, index) => ({
            ...decision,
            // Texts of others are distinguished from the reader's.
            ...(decision.workspace === "acme"
              ? {}
              : { route: asIdentifier(`theirs-${index}`), environment: asIdentifier("theirs") }),
          }));
          await Promise.all(decisions.map((decision) => recordDecision(own.evidence, decision)));
          for (const id of ["eu-residency", "no-training"]) {
            const line = { ...LINE, id, revision: 1 };
            const answer = await ask({
              source: sourceOf(own),
              line,
              reader: { workspace: "acme", seesAll: false },
            });
            expect(JSON.stringify(answer)).not.toMatch(/theirs|beta|constructor/);
            const sum = answer.by_workspace.reduce((total, line_) => total + line_.judged, 0);
            expect(sum).toBe(answer.judged);
          }
        } finally {
          await own.close();
        }
      }),
      { numRuns: 10 },
    );
  });

  it("has no examples where none are requested, and as many classes as there are", async () => {
    await write(
      Array.from({ length: 5 }, (_, index) => judged(`r${index}`, "acme", `route-${index}`)),
    );
    const source = sourceOf(store);
    const unread = {
      head: () => Promise.reject(new Error("read")),
      log: () => Promise.reject(new Error("read")),
    };
    const none = await ask({ examples: 0, source: { ...source, evidence: unread } });
    expect(none).toMatchObject({
      judged: 5,
      examples: [],
      looked_at: { decisions: 0, since: null, complete: false },
    });
    expect((await ask({ examples: 3 })).examples).toHaveLength(3);
  });

  it("is empty for a revision that has not been evaluated", async () => {
    expect(await ask({ line: { ...LINE, policy: "constructor" } })).toMatchObject({
      judged: 0,
      by_constraint: [],
      by_route: [],
      by_workspace: [],
      examples: [],
      looked_at: { decisions: 0, complete: true },
    });
  });

  it("is a 503 where the store cannot be read, with our message", async () => {
    const broken = () => Promise.reject(new Error("secret path"));
    const source = sourceOf(store);
    for (const part of [{ workspaces: broken }, { evidence: { head: broken, log: broken } }]) {
      await write([]);
      const answer = await refusedOrResolved(
        policyShadow({ ...source, ...part }, LINE, MANAGER, 20, NOW),
      );
      expect(answer).toMatchObject({ status: 503, code: "summary_unavailable" });
      expect(JSON.stringify(answer)).not.toContain("secret");
    }
  });

  it("is made one at a time for a workspace, and refused to callers that request many at once", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let [running, most] = [0, 0];
    const workspaces = async (): Promise<[]> => {
      most = Math.max(most, (running += 1));
      await released;
      running -= 1;
      return [];
    };
    const source = { ...sourceOf(store), workspaces };
    const answers = Array.from({ length: 18 }, () =>
      refusedOrResolved(policyShadow(source, LINE, MANAGER, 0, NOW)),
    );
    expect(await answers[17]).toMatchObject({ status: 429, code: "summaries_waiting" });
    release();
    const all = await Promise.all(answers);
    expect(all.filter((answer) => "text" in answer)).toHaveLength(16);
    expect(most).toBe(1);
  });
});
