import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatHeader, formatRow } from "../../../src/evidence/export-line.ts";
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

/** Two workspaces and routes that nothing tells apart; head has a fallback more. */
const same = (fallbacks: readonly string[], workspaces = ["v", "w"]) =>
  table({
    endpoints: ["a", "c"].flatMap((id) => [endpoint(id), endpoint(`${id}-us`, { provider: "q", region: "us-east" })]),
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

describe("what changes is weighed by what was asked", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "signalbox-evidence-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function weighed(lines: readonly string[], workspaces?: string[]): Promise<SimulationReport> {
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
    expect(evidence).toMatchObject({ decisions: 42, not_reproduced: 0, unreadable: 0, unrepresentable: [] });
    expect(evidence?.declared).toEqual({ groups: 2, decisions: 42 });
    expect(declared.groups.reduce((sum, { seen }) => sum + (seen ?? 0), 0)).toBe(42);
    const seen = declared.new_data_paths.filter(({ operation }) => operation === "chat.completions");
    expect(seen.map(({ workspace: whose, seen: often }) => [whose, often])).toEqual([
      ["v", 1],
      ["w", 41],
    ]);
  });

  it("says what cannot be read, asked again, or made again", async () => {
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
    expect(evidence).toEqual({
      decisions: 8,
      not_reproduced: 1,
      unreadable: 3,
      from: new Date(AT).toISOString(),
      to: new Date(AT + 1_000).toISOString(),
      unrepresentable: [
        { why: "a capability that this version does not know", decisions: 1 },
        { why: "a feature that this version does not know", decisions: 1 },
        { why: "a size that this version does not know", decisions: 1 },
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
