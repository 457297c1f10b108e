import { CAPABILITY_NAMES } from "../canon/capability.ts";
import { OPERATIONS } from "../canon/operation.ts";
import type { PolicyInput, PolicySet } from "../canon/policy.ts";
import type { RoutingTable } from "../canon/table.ts";
import { zonesOf, type PolicyModule } from "../policy/compiled.ts";
import { EvaluationTimeoutError, serialise } from "../policy/evaluator.ts";
import { LoadedModules } from "../policy/loaded-modules.ts";
import { policyData } from "../policy/input-schema.ts";
import { decideSample } from "./decide-sample.ts";
import { PLAIN_SAMPLE, type SampleRequest } from "./sample-request.ts";

/** The dearest evaluation of one policy. */
interface EvaluationCost {
  readonly policy: string;
  /** Units of work, see `EVALUATION_FUEL`; `null`: more than an evaluation may take. */
  readonly units: number | null;
  readonly workspace: string;
  readonly route: string;
}

/**
 * Most inputs that are tried: a sample, not a proof. Each evaluation is counted, and may take its
 * bound.
 */
const MOST_INPUTS = 200;

/**
 * The dearest evaluation of each policy over sample requests: for every workspace, route that it
 * may use and operation a plain request and one that needs everything.
 *
 * @throws {PolicyModuleError} where a module cannot be loaded.
 */
export async function evaluationCosts(
  table: RoutingTable,
  modules: readonly PolicyModule[],
): Promise<readonly EvaluationCost[]> {
  const compiled = modules.flatMap(({ units }) => units.map(({ policy }) => policy));
  const inputs = sampleInputs(table, [...new Set(compiled.flatMap(zonesOf))]);
  const loaded = await LoadedModules.load(modules, policyData(table));
  const costs = new Map<string, EvaluationCost>();
  for (const { evaluator, units } of loaded.modules) {
    for (const { policy, entrypoint } of units) {
      for (const input of inputs) {
        const completes = evaluates(() => evaluator.evaluate(serialise(input), entrypoint));
        const cost = completes ? evaluator.used : null;
        const { id } = policy.contract;
        const highest = costs.get(id);
        if (highest !== undefined && (highest.units ?? Infinity) >= (cost ?? Infinity)) continue;
        const { workspace, request } = input;
        costs.set(id, { policy: id, units: cost, workspace: workspace.id, route: request.route });
        // Nothing is dearer, and each of the others may take as long.
        if (cost === null) break;
      }
    }
  }
  return [...costs.values()];
}

/** False where the evaluation was stopped at its bound. Other failures do not concern its cost. */
function evaluates(evaluate: () => unknown): boolean {
  try {
    evaluate();
  } catch (error) {
    return !(error instanceof EvaluationTimeoutError);
  }
  return true;
}

/** The policies' inputs for the sample requests. */
function sampleInputs(table: RoutingTable, zones: readonly string[]): readonly PolicyInput[] {
  const inputs = new Map<string, PolicyInput>();
  const recording: PolicySet = {
    id: "",
    policies: [],
    readsTime: true,
    readsBudget: true,
    zones,
    evaluate: (input) => {
      inputs.set(JSON.stringify(input), input);
      return { verdicts: [], obligations: [] };
    },
  };
  for (const [workspace, { approve }] of Object.entries(table.workspaces)) {
    for (const model of approve.routes) {
      for (const operation of OPERATIONS) {
        for (const needs of [[], CAPABILITY_NAMES.toSorted()]) {
          if (inputs.size >= MOST_INPUTS) return [...inputs.values()];
          decideSample(table, recording, { ...SAMPLE, workspace, model, operation, needs });
        }
      }
    }
  }
  return [...inputs.values()];
}

const SAMPLE: SampleRequest = {
  ...PLAIN_SAMPLE,
  key: { environment: "production", workload: "other", labels: [] },
  stream: true,
  context: "to_4k",
  maxOutput: "to_4k",
};
