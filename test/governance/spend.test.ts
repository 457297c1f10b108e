import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Budget, KeyLimits, LimitMeasure } from "../../src/canon/limits.ts";
import { cellOf } from "./cell-of.ts";
import { spendCsv, type SpendAnswer } from "../../src/governance/summary-answer.ts";
import { spendMeasures } from "../../src/governance/measures.ts";
import type { LimitUsage } from "../../src/limits/limit-store.ts";
import { budgetLines, type BudgetLine } from "../../src/limits/usage.ts";

const NONE = {
  requests: 0,
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  reasoning_tokens: 0,
  cost_usd: null,
  unpriced_requests: 0,
};

function answerOf(groups: SpendAnswer["groups"], names: SpendAnswer["group_by"]): SpendAnswer {
  const window = { start: "2026-11-23T00:00:00Z", end: "2026-11-24T00:00:00Z" };
  const common = {
    object: "spend",
    workspace: "w",
    workspaces: ["w"],
    budgets: [],
    estimate: true,
    truncated: false,
  } as const;
  return { ...common, window, group_by: names, groups, total: { ...NONE, requests: 3 } };
}

describe("spend of a cell", () => {
  it("of requests that an older version counted is unknown, and not 0", () => {
    expect(spendMeasures(cellOf({ requests: 3, metered: 2 }))).toMatchObject({
      requests: 3,
      cost_usd: null,
      unpriced_requests: 2,
    });
  });

  it("of requests at a price of 0 is 0", () => {
    expect(spendMeasures(cellOf({ metered: 1, priced: 1 }))).toMatchObject({
      cost_usd: 0,
      unpriced_requests: 0,
    });
  });
});

describe("spend as CSV", () => {
  it("has a header, a line for each group, and an empty cell for an unknown cost", () => {
    const groups = [
      { group: { route: "chat", day: "2026-11-23" }, ...NONE, requests: 2, cost_usd: 0.00000014 },
      { group: { route: null, day: "2026-11-23" }, ...NONE, unpriced_requests: 1 },
    ];
    expect(spendCsv(answerOf(groups, ["route", "day"]))).toBe(
      "route,day,requests,input_tokens,output_tokens,cache_read_tokens,reasoning_tokens,cost_usd,unpriced_requests\r\n" +
        "chat,2026-11-23,2,0,0,0,0,0.00000014,0\r\n" +
        ",2026-11-23,0,0,0,0,0,,1\r\n",
    );
  });

  it("has the total where nothing is grouped", () => {
    expect(spendCsv(answerOf([], [])).split("\r\n")[1]).toBe("3,0,0,0,0,,0");
  });

  it.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])(
    "shows %j as text, and not as a formula",
    (name) => {
      const [, line = ""] = spendCsv(
        answerOf([{ group: { route: name }, ...NONE }], ["route"]),
      ).split("\r\n");
      expect(line.replace(/^"/, "").startsWith("'")).toBe(true);
    },
  );

  it("is read back unchanged, for all names", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (name) => {
        const csv = spendCsv(answerOf([{ group: { key: name }, ...NONE }], ["key"]));
        const body = csv.slice(csv.indexOf("\r\n") + 2);
        const cell = body.startsWith('"')
          ? (/^"((?:[^"]|"")*)",/.exec(body)?.[1] ?? "")
          : body.slice(0, body.indexOf(","));
        expect(cell.replaceAll('""', '"').replace(/^'(?=[=+\-@\t\r])/, "")).toBe(name);
      }),
    );
  });
});

describe("a budget's projection", () => {
  const at = Date.UTC(2026, 10, 24, 6);

  function lines(budget: Budget, used: number, now: number): readonly BudgetLine[] {
    const limits = {
      requestsPerMinute: 5,
      tokensPerMinute: null,
      concurrency: 1,
      perKey: null,
      budget,
    };
    const start = Date.UTC(2026, 10, 24);
    const counter = {
      subject: "workspace:w",
      measure: "micro_usd",
      window: "day",
      start,
      used,
    } as const;
    return budgetLines([{ id: "w", limits }], [], { counters: [counter], slots: [] }, now);
  }

  it("is the spend divided by the elapsed share of the window", () => {
    expect(lines({ usd: 50, per: "day" }, 3_000_000, at)).toEqual([
      {
        name: "usd/day",
        workspace: "w",
        key: null,
        limit_usd: 50,
        spent_usd: 3,
        window_start: "2026-11-24T00:00:00Z",
        window_end: "2026-11-25T00:00:00Z",
        projected_usd: 12,
      },
    ]);
  });

  it("is unknown in the first 5 % of the window", () => {
    const minute = 60_000;
    expect(
      lines({ usd: 50, per: "day" }, 1, at - 6 * 60 * minute + 71 * minute)[0]?.projected_usd,
    ).toBeNull();
    expect(
      lines({ usd: 50, per: "day" }, 1, at - 6 * 60 * minute + 72 * minute)[0]?.projected_usd,
    ).not.toBeNull();
  });

  it("is of money only", () => {
    expect(lines({ tokens: 50, per: "day" }, 1, at)).toEqual([]);
  });
});

describe("budgets of keys", () => {
  const now = Date.UTC(2026, 10, 24, 6);
  const start = Date.UTC(2026, 10, 24);
  const none = { requestsPerMinute: 5, tokensPerMinute: null, concurrency: 1, budget: null };
  const budget = { ...none, budget: { usd: 10, per: "day" } } as const;
  const used = (id: string, usd: number, measure: LimitMeasure = "micro_usd") =>
    ({ subject: `key:${id}`, measure, window: "day", start, used: usd * 1_000_000 }) as const;
  const named = (
    keys: Parameters<typeof budgetLines>[1],
    counters: LimitUsage["counters"],
    perKey: KeyLimits | null = null,
  ): readonly string[] =>
    budgetLines([{ id: "w", limits: { ...none, perKey } }], keys, { counters, slots: [] }, now).map(
      ({ key, spent_usd, limit_usd }) => `${key} ${spent_usd}/${limit_usd}`,
    );

  it("are listed where they are used, the largest share first", () => {
    const keys = ["a", "b", "c", "d"].map((id) => ({ id, workspace: "w", limits: budget }));
    const counters = [used("a", 1), used("b", 9), used("c", 0), used("d", 5, "tokens")];
    expect(named(keys, counters)).toEqual(["b 9/10", "a 1/10"]);
  });

  it("include those that the workspace sets for each key", () => {
    expect(named([{ id: "a", workspace: "w" }], [used("a", 2)], budget)).toEqual(["a 2/10"]);
  });

  it("count the usage of the keys before a rotation", () => {
    const rotated = { id: "new", lineage: "old", workspace: "w", limits: budget };
    expect(named([rotated], [used("old", 3), used("new", 1)])).toEqual(["new 3/10"]);
  });

  it("are at most a hundred", () => {
    const ids = Array.from({ length: 130 }, (_, at) => `k${at}`);
    const keys = ids.map((id) => ({ id, workspace: "w", limits: budget }));
    const lines = named(
      keys,
      ids.map((id, at) => used(id, 1 + at / 100)),
    );
    expect([lines.length, lines[0], lines.at(-1)]).toEqual([100, "k129 2.29/10", "k30 1.3/10"]);
  });
});
