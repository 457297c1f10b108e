import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatHeader, formatRow } from "../../../src/evidence/export-line.ts";
import type { Price } from "../../../src/canon/table.ts";
import type { SimulationReport } from "../../../src/simulate/report/report.ts";
import { endpoint, route, table, workspace } from "../../support/table.ts";
import { sideOf, simulate } from "../small-sides.ts";

const LINK = { position: 0, hash: "0".repeat(64) };
const HEADER = formatHeader({ from: LINK, to: LINK, workspace: null });
const AT = Date.UTC(2026, 10, 1);

/** A decision as the server records it; only what a simulation reads. */
const DECISION = {
  at: AT,
  operation: "chat.completions",
  outcome: "route",
  workspace: "w",
  environment: "production",
  route: "r",
  stream: false,
  needs: [],
  features: [],
  context: "to_1k",
  maxOutput: "unspecified",
  reasoningEffort: "unspecified",
  plan: ["a"],
  reason: null,
};

function row(record: string, kind: "decision" | "outcome" = "decision"): string {
  return formatRow({ position: 1, kind, previous: "0".repeat(64), hash: "1".repeat(64), record });
}

const decision = (changes: object = {}): string => row(JSON.stringify({ ...DECISION, ...changes }));

/** Two workspaces and routes that nothing distinguishes; head has a fallback more. */
const same = (fallbacks: readonly string[], workspaces = ["v", "w"]) =>
  table({
    endpoints: ["a", "c"].flatMap((id) => [
      endpoint(id),
      endpoint(`${id}-us`, { provider: "q", region: "us-east" }),
    ]),
    routes: ["r", "t"].map((id, index) => {
      const primary = index === 0 ? "a" : "c";
      return route(
        id,
        primary,
        fallbacks.map((suffix) => primary + suffix),
      );
    }),
    workspaces: workspaces.map((id) => workspace(id, { routes: ["r", "t"] })),
  });

describe("the weight of changes by recorded requests", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "signalbox-evidence-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function weighed(
    lines: readonly string[],
    workspaces?: string[],
  ): Promise<SimulationReport> {
    const evidence = join(folder, "evidence.jsonl");
    await writeFile(evidence, lines.map((line) => `${line}\n`).join(""));
    return simulate(await sideOf(same([])), await sideOf(same(["-us"], workspaces)), { evidence });
  }

  it("counts decisions in the group of their own route, repeated ones as often as they came", async () => {
    const { declared, evidence } = await weighed([
      HEADER,
      decision({ repeated: 41 }),
      decision({ workspace: "v", route: "t", plan: ["c"] }),
      row("{}", "outcome"),
    ]);
    expect(evidence).toMatchObject({
      decisions: 42,
      not_reproduced: 0,
      unreadable: 0,
      unrepresentable: [],
    });
    expect(evidence?.declared).toMatchObject({ groups: 2, decisions: 42, costs: [] });
    expect(evidence?.declared.calls).toEqual([
      { workspace: "v", day: "2026-11-01", calls: 1, requests: [] },
      { workspace: "w", day: "2026-11-01", calls: 41, requests: [] },
    ]);
    expect(declared.groups.reduce((sum, { seen }) => sum + (seen ?? 0), 0)).toBe(42);
  });

  it("adds the tokens of answers and their price before and after, and shows seen groups first", async () => {
    const answer = (requestId: string, endpointId: string, changes: object = {}): string =>
      row(
        JSON.stringify({
          requestId,
          attempts: [{ endpoint: endpointId, failure: null }],
          inputTokens: 1_000_000,
          outputTokens: 500_000,
          ...changes,
        }),
        "outcome",
      );
    const priced = (price: Price | null) => {
      const sides = [[], ["-us"]].map((fallbacks) => {
        const whole = same(fallbacks);
        const endpoints = Object.entries(whole.endpoints).map(
          ([id, one]) => [id, { ...one, price }] as const,
        );
        return sideOf({ ...whole, endpoints: Object.fromEntries(endpoints) });
      });
      return Promise.all(sides);
    };
    const lines = [
      HEADER,
      decision({ route: "t", plan: ["c"], requestId: "r1" }),
      decision({ route: "t", plan: ["c"], requestId: "r2" }),
      answer("r1", "c"),
      answer("r2", "c", { outputTokens: null }),
      answer("r2", "c"),
      answer("r3", "c"),
    ];
    const path = join(folder, "usage.jsonl");
    await writeFile(path, lines.map((line) => `${line}\n`).join(""));
    const usage = async (price: Price | null) => {
      const [base, head] = await priced(price);
      if (base === undefined || head === undefined) throw new Error("two sides");
      const { declared } = await simulate(base, head, { evidence: path });
      return declared.groups.map(({ routes, seen, seen_usage: used }) => ({ routes, seen, used }));
    };
    const [first, ...others] = await usage({ input: 2, output: 10, request: 0 });
    expect(first).toMatchObject({ routes: ["t"], seen: 2 });
    expect(first?.used).toEqual({
      counted: 1,
      input_tokens: 2_000_000,
      output_tokens: 500_000,
      cost_before: null,
      cost_after: null,
      unpriced_before: 1,
      unpriced_after: 1,
      known_cost_before: 7,
      known_cost_after: 7,
    });
    expect(others.every(({ seen, used }) => seen === 0 && used === null)).toBe(true);
    lines.splice(4, 1);
    await writeFile(path, lines.map((line) => `${line}\n`).join(""));
    expect((await usage({ input: 2, output: 10, request: 0 }))[0]?.used).toEqual({
      counted: 2,
      input_tokens: 2_000_000,
      output_tokens: 1_000_000,
      cost_before: 14,
      cost_after: 14,
      unpriced_before: 0,
      unpriced_after: 0,
      known_cost_before: 14,
      known_cost_after: 14,
    });
    expect((await usage(null))[0]?.used?.cost_before).toBe(null);
  });

  it("lists changed calls by workspace and day with the first ids; the rest is one row", async () => {
    const day = (number: number, requestId?: string): string =>
      decision({ at: AT + number * 86_400_000, ...(requestId !== undefined && { requestId }) });
    const ids = ["a", "b", "c", "d"].map((id) => day(0, id));
    const others = Array.from({ length: 1_003 }, (_, number) => day(number + 1));
    const { evidence } = await weighed([HEADER, ...ids, ...others]);
    const calls = evidence?.declared.calls ?? [];
    expect(calls[0]).toEqual({
      workspace: "w",
      day: "2026-11-01",
      calls: 4,
      requests: ["a", "b", "c"],
    });
    expect(calls).toHaveLength(1_001);
    expect(calls.at(-1)).toEqual({ workspace: null, day: null, calls: 4, requests: [] });
    expect(calls.reduce((sum, each) => sum + each.calls, 0)).toBe(1_007);
  });

  describe("the cost of recorded answers by route and month", () => {
    interface Answer {
      readonly by: string;
      readonly plan?: readonly string[];
      readonly month?: number;
    }
    const PRICES = { a: 2, "a-us": 4, c: 1, "c-us": 3 };

    /** `a → a-us`, or the endpoints of a route; prices of a million input tokens by endpoint. */
    async function costsOf(
      [before, after]: readonly [
        base: readonly [fallbacks: readonly string[], prices: object],
        head: readonly [fallbacks: readonly string[], prices: object],
      ],
      answers: readonly Answer[],
    ) {
      const side = ([fallbacks, prices]: typeof before) => {
        const whole = same(fallbacks);
        const endpoints = Object.entries(whole.endpoints).map(([id, one]) => {
          const input = { ...PRICES, ...prices }[id] ?? null;
          return [
            id,
            { ...one, price: input === null ? null : { input, output: 0, request: 0 } },
          ] as const;
        });
        return sideOf({ ...whole, endpoints: Object.fromEntries(endpoints) });
      };
      const lines = answers.flatMap(({ by, plan = ["a"], month = 10 }, number) => [
        decision({ requestId: `r${number}`, plan, at: Date.UTC(2026, month, 1) }),
        row(
          JSON.stringify({
            requestId: `r${number}`,
            attempts: [{ endpoint: by, failure: null }],
            inputTokens: 1_000_000,
            outputTokens: 0,
          }),
          "outcome",
        ),
      ]);
      const path = join(folder, "costs.jsonl");
      await writeFile(path, [HEADER, ...lines].map((line) => `${line}\n`).join(""));
      const [base, head] = [await side(before), await side(after)];
      const { evidence } = await simulate(base, head, { evidence: path });
      return {
        changed: evidence?.declared.decisions,
        rows: evidence?.declared.costs.map(
          ({ route: id, month, calls, known_cost_before: was, known_cost_after: is }) =>
            `${id} ${month} ${calls}: ${was} → ${is}`,
        ),
      };
    }

    it("a price that changes no decision changes the cost of both months", async () => {
      const prices = [
        [[], {}],
        [[], { a: 20 }],
      ] as const;
      const { changed, rows } = await costsOf(prices, [
        { by: "a" },
        { by: "a" },
        { by: "a", month: 9 },
      ]);
      expect(changed).toBe(0);
      expect(rows).toEqual(["r 2026-10 1: 2 → 20", "r 2026-11 2: 4 → 40"]);
    });

    it.each<[string, readonly string[], readonly string[], Answer, readonly string[]]>([
      ["comes after the one that answered costs nothing", [], ["-us"], { by: "a" }, []],
      [
        "is gone costs nothing where it answered after all others had failed",
        ["-us"],
        [],
        { by: "a-us", plan: ["a", "a-us"] },
        ["r 2026-11 1: 4 → 0"],
      ],
      [
        "stays and answered costs the same",
        ["-us"],
        ["-us"],
        { by: "a-us", plan: ["a", "a-us"] },
        [],
      ],
    ])("a fallback that %s", async (_, before, after, answer, rows) => {
      const found = await costsOf(
        [
          [before, {}],
          [after, {}],
        ],
        [answer],
      );
      expect(found.rows).toEqual(rows);
    });

    it("an endpoint without a price in head is a row with an unknown cost after", async () => {
      const prices = [
        [[], {}],
        [[], { a: null }],
      ] as const;
      expect((await costsOf(prices, [{ by: "a" }])).rows).toEqual(["r 2026-11 1: 2 → 0"]);
    });
  });

  it("a record has the endpoint's name in base, and is reproduced where head has renamed it", async () => {
    const named = (text: string): string => text.replaceAll('"a"', '"first"');
    const renamed = (fallbacks: readonly string[]): ReturnType<typeof same> =>
      JSON.parse(named(JSON.stringify(same(fallbacks))));
    const path = join(folder, "renamed.jsonl");
    const lines = [HEADER, decision({ requestId: "r1" }), decision({ plan: ["gone"] })];
    await writeFile(path, lines.map((line) => `${line}\n`).join(""));
    const { evidence, declared } = await simulate(
      await sideOf(same([])),
      await sideOf(renamed(["-us"])),
      {
        evidence: path,
      },
    );
    expect(evidence).toMatchObject({ decisions: 2, not_reproduced: 1 });
    expect(declared.groups[0]?.base.plan.map((one) => one.endpoint)).toEqual(["first"]);
  });

  it("lists records that cannot be read, decided again, or reproduced", async () => {
    const { evidence } = await weighed(
      [
        HEADER,
        "no row",
        row("{no json"),
        row("[]"),
        decision({ plan: ["c"] }),
        decision({ route: null }),
        decision({ needs: ["telepathy"] }),
        decision({ features: ["x"] }),
        decision({ context: "to_9k" }),
        decision({ outcome: "refuse" }),
        decision({ operation: "models" }),
        decision({ workspace: "v" }),
        decision({ route: "gone", outcome: "deny", plan: [], reason: "model_not_found" }),
        decision({ at: 1e300 }),
        decision({ repeated: -5, at: AT + 1_000 }),
      ],
      ["w"],
    );
    expect(evidence).toMatchObject({
      decisions: 8,
      not_reproduced: 1,
      unreadable: 3,
      from: new Date(AT).toISOString(),
      to: new Date(AT + 1_000).toISOString(),
      unrepresentable: [
        { why: "a capability that this version does not support", decisions: 1 },
        { why: "a feature that this version does not support", decisions: 1 },
        { why: "a size that this version does not support", decisions: 1 },
        { why: "head has no such route", decisions: 1 },
        { why: "head has no such workspace", decisions: 1 },
        { why: "the request named no route of its workspace", decisions: 1 },
      ],
      declared: { groups: 2, decisions: 3 },
      promoted: { groups: 2, decisions: 3 },
    });
  });

  it.for([
    ["an empty file", []],
    ["no header", [decision()]],
  ] as const)("%s is refused", async ([, lines]) => {
    await expect(weighed(lines)).rejects.toThrow(/--evidence/);
  });
});
