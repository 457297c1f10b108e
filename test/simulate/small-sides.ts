import type { Source } from "../../src/canon/diagnostic.ts";
import type { RoutingTable } from "../../src/canon/table.ts";
import { compilePolicies, type CompiledPolicies } from "../../src/policy/compile-policies.ts";
import type { Assertion } from "../../src/simulate/assertions/schema.ts";
import type { ChangeGroup, SimulationReport } from "../../src/simulate/report/report.ts";
import type { Side, SimulationRequest, SimulationWatch } from "../../src/simulate/request.ts";
import { runSimulation } from "../../src/simulate/run-simulation.ts";
import { toolchain } from "../policy/samples.ts";

/** What was compiled once in this file of tests, by its sources. */
const compiled = new Map<string, Promise<CompiledPolicies>>();

export function compiledSources(sources: readonly Source[]): Promise<CompiledPolicies> {
  const key = JSON.stringify(sources);
  const made = compiled.get(key) ?? compileAll(sources);
  compiled.set(key, made);
  return made;
}

async function compileAll(sources: readonly Source[]): Promise<CompiledPolicies> {
  const made = await compilePolicies(sources, { cache: null, toolchain });
  const errors = made.diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(JSON.stringify(errors, null, 2));
  return made;
}

/** One side of a comparison; every policy is enforced unless it is said to be a candidate. */
export async function sideOf(
  table: RoutingTable,
  sources: readonly Source[] = [],
  candidates: readonly string[] = [],
): Promise<Side> {
  const initialMode = {
    "*": "enforce" as const,
    ...Object.fromEntries(candidates.map((id) => [id, "shadow" as const])),
  };
  return {
    name: ".",
    commit: null,
    table: { ...table, policies: { dir: "policies", initialMode } },
    policies: await compiledSources(sources),
    files: { routes: { path: "routes.yaml", text: "" }, policies: sources },
    warnings: [],
  };
}

export const REQUEST: SimulationRequest = {
  promote: null,
  fresh: false,
  timeLimit: Infinity,
  workers: 1,
  assertions: null,
  evidence: null,
  now: 0,
};

export const WATCH: SimulationWatch = {
  onProgress: () => {},
  signal: new AbortController().signal,
};

export function simulate(
  base: Side,
  head: Side,
  request: Partial<SimulationRequest> = {},
): Promise<SimulationReport> {
  return runSimulation(base, head, { ...REQUEST, ...request }, WATCH);
}

export function withAssertions(assertions: readonly Assertion[]): SimulationRequest["assertions"] {
  const coverage = { gates: [], except: [] };
  return { file: "policies/assertions.yaml", assertions: { assertions, coverage }, changes: [] };
}

/**
 * The part of a group that a reader looks at first: kinds, whose requests, under which conditions,
 * from where to where.
 */
export function shown({
  kinds,
  workspaces,
  routes,
  operations,
  conditions,
  base,
  head,
}: ChangeGroup) {
  const result = ({ plan, denial }: ChangeGroup["base"]): string =>
    denial === null
      ? plan.map(({ endpoint }) => endpoint).join(" ")
      : `${denial.policy}/${denial.constraint} ${denial.reason}`;
  return {
    kinds: kinds.join(" "),
    who: `${workspaces.join(" ")}: ${routes.join(" ")}`,
    operations: operations.join(" "),
    conditions: conditions.map(({ dimension, values }) => `${dimension}: ${values.join(" ")}`),
    base: result(base),
    head: result(head),
  };
}

/** `workspace operation → provider region (routes)` of each path. */
export function pathLines(
  paths: SimulationReport["declared"]["new_data_paths"],
): readonly string[] {
  return paths.map(
    ({ workspace, operation, provider, region, routes }) =>
      `${workspace} ${operation} → ${provider} ${region} (${routes.join(" ")})`,
  );
}
