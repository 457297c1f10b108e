import { nearestName } from "../nearest-name.ts";
import type { RoutingTable } from "../table.ts";

/**
 * What of a new key is compared with names that routes.yaml declares. Absent: the default, which
 * needs no declaration.
 */
export interface DeclaredValues {
  readonly environment?: string;
  readonly workload?: string;
  readonly labels?: readonly string[];
  readonly exchange?: { readonly routes: readonly string[] | null } | null;
}

/** The first value of a key that nothing declares, without repeating it. */
interface UndeclaredValue {
  readonly field: "environment" | "workload" | "labels" | "exchange.routes";
  readonly fix: string;
}

const LIST_OF = {
  environment: "vocabulary.environments",
  workload: "vocabulary.workloads",
  labels: "vocabulary.labels",
  "exchange.routes": "routes",
} as const satisfies Record<UndeclaredValue["field"], string>;

/**
 * Why a key cannot have its environment, workload, labels or routes: policies are compiled against
 * `vocabulary` of routes.yaml, so a value outside it opens or closes nothing, and tokens that may
 * use only a route that does not exist are refused everywhere.
 *
 * @returns `null` where all values are declared
 */
export function undeclaredValue(
  key: DeclaredValues,
  { vocabulary, routes }: Pick<RoutingTable, "vocabulary" | "routes">,
): UndeclaredValue | null {
  const { environment, workload = "", labels = [], exchange } = key;
  const { environments, workloads } = vocabulary;
  // Where no list stands, no policy can name a value of it: teams that only report by workload
  // declare none.
  return (
    undeclared(
      "environment",
      environment === undefined || environments.length === 0 ? [] : [environment],
      environments,
    ) ??
    undeclared(
      "workload",
      workload === "" || workloads.length === 0 ? [] : [workload],
      workloads,
    ) ??
    undeclared("labels", labels, vocabulary.labels) ??
    undeclared("exchange.routes", exchange?.routes ?? [], Object.keys(routes))
  );
}

function undeclared(
  field: UndeclaredValue["field"],
  values: readonly string[],
  declared: readonly string[],
): UndeclaredValue | null {
  const unknown = values.find((value) => !declared.includes(value));
  if (unknown === undefined) return null;
  const near = nearestName(unknown, declared);
  const hint = near === null ? "add it there first" : `did you mean ${near}?`;
  const subject = field === "labels" || field === "exchange.routes" ? "one of them" : "it";
  return { field, fix: `${LIST_OF[field]} of routes.yaml does not declare ${subject}; ${hint}` };
}
