import { readFileSync } from "node:fs";
import type { PolicyContract } from "../../../src/canon/policy.ts";
import type { RoutingTable } from "../../../src/canon/table.ts";
import { compileTable } from "../../../src/compile/compile-table.ts";
import type { Assertion, AssertionSide } from "../../../src/simulate/assertions/schema.ts";
import { parseAssertions } from "../../../src/simulate/assertions/parse.ts";
import { runAssertions } from "../../../src/simulate/assertions/run.ts";
import { assertionResults } from "../../../src/simulate/assertions/run.ts";
import type { ChangeKind } from "../../../src/simulate/change-kind.ts";
import type {
  ClassComparison,
  Outcome,
  OutcomePair,
  SampleRequest,
} from "../../../src/simulate/sample-request.ts";
import type { AssertionResult } from "../../../src/simulate/report/report.ts";

export function readText(path: string): string {
  return readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
}

const ROUTES = readText("routes.yaml");

/** The table of the repository, with parts of its text replaced. */
export function tableWith(...changes: readonly (readonly [string, string])[]): RoutingTable {
  let text = ROUTES;
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`routes.yaml does not hold ${from}`);
    text = text.replace(from, to);
  }
  const { table, diagnostics } = compileTable(
    { path: "routes.yaml", text },
    { policies: ["eu-residency", "data-retention"] },
  );
  if (table === null) throw new Error(JSON.stringify(diagnostics));
  return table;
}

export const TABLE: RoutingTable = tableWith();

export const CONTRACT: PolicyContract = {
  contract: 1,
  id: "eu-residency",
  title: "In the EU",
  owners: [],
  operations: ["chat.completions"],
  constraints: [
    { name: "processed_in_eu", effect: "require_all", reasons: ["REGION_NOT_IN_EU", "EU_UNKNOWN"] },
  ],
  obligations: [],
};

export const SIDE: AssertionSide = { table: TABLE, contracts: [CONTRACT] };

/** One assertion of a file, from the lines under its dash; id and title are added. */
export function fileWith(lines: string): string {
  const indented = lines
    .trim()
    .split("\n")
    .map((line) => `    ${line}`);
  return `version: 1\nassertions:\n  - id: sample\n    title: Sample\n${indented.join("\n")}\n`;
}

export function parse(text: string, base: AssertionSide = SIDE, head: AssertionSide = SIDE) {
  return parseAssertions({ path: "policies/assertions.yaml", text }, { base, head });
}

/** The assertions of a file that must be without findings. */
export function assertionsOf(
  text: string,
  base?: AssertionSide,
  head?: AssertionSide,
): readonly Assertion[] {
  const { assertions, diagnostics } = parse(text, base, head);
  if (assertions === null) throw new Error(JSON.stringify(diagnostics, null, 2));
  return assertions.assertions;
}

export function pointWith(changes: Partial<SampleRequest> = {}): SampleRequest {
  return {
    workspace: "demo",
    model: "chat-large",
    operation: "chat.completions",
    key: { environment: "production", workload: "other", labels: [] },
    needs: [],
    features: [],
    signatureFamilies: [],
    stream: false,
    context: "to_1k",
    maxOutput: "unspecified",
    reasoningEffort: "unspecified",
    dimensions: null,
    preferences: null,
    time: { day: "weekday", hour: "morning" },
    ...changes,
  };
}

/** A plan of these endpoints as a table has them. */
export function routed(
  endpoints: readonly string[],
  table: RoutingTable = TABLE,
  maxCandidates: number | null = null,
): Outcome {
  const plan = endpoints.map((endpoint, tier) => {
    const row = table.endpoints[endpoint];
    if (row === undefined) throw new Error(`no endpoint ${endpoint}`);
    return {
      endpoint,
      model: row.model,
      provider: row.provider,
      region: row.region,
      tier,
      balance: "order" as const,
      weight: 1,
    };
  });
  return {
    plan,
    maxCandidates,
    denial: null,
    edits: { maxOutputTokens: null, stripFields: [] },
    indeterminate: false,
  };
}

export function denied(
  policy = "approvals",
  constraint = "route_known",
  reason = "model_not_found",
): Outcome {
  return {
    plan: [],
    maxCandidates: null,
    denial: { policy, constraint, reason },
    edits: null,
    indeterminate: false,
  };
}

export function pairOf(base: Outcome, head: Outcome, ...kinds: readonly ChangeKind[]): OutcomePair {
  return { base, head, kinds };
}

export function comparisonOf(
  declared: OutcomePair,
  point: SampleRequest = pointWith(),
  promoted: OutcomePair = declared,
): ClassComparison {
  return {
    sample: point,
    members: [{ workspace: point.workspace, model: point.model }],
    shapes: 1n,
    declared,
    promoted,
    reaching: null,
  };
}

export const NOW = new Date("2026-11-22T12:00:00Z");

/** What becomes of the only assertion of a file over some classes. */
export function resultOf(
  lines: string,
  comparisons: readonly ClassComparison[],
  base: RoutingTable = TABLE,
  head: RoutingTable = TABLE,
): AssertionResult {
  const sides = {
    base: { table: base, contracts: [CONTRACT] },
    head: { table: head, contracts: [CONTRACT] },
  };
  const assertions = assertionsOf(fileWith(lines), sides.base, sides.head);
  const run = runAssertions(assertions, { base, head });
  for (const comparison of comparisons) run.visit(comparison);
  const [result] = assertionResults(assertions, run.snapshot(), [], NOW, () => []);
  if (result === undefined) throw new Error("no result");
  return result;
}
