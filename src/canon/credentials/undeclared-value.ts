import { nearestName } from "../nearest-name.ts";
import type { Vocabulary } from "../vocabulary.ts";

/** What of a new key policies compare with values that routes.yaml declares. Absent: the default, which needs no declaration. */
export interface DeclaredValues {
  readonly environment?: string;
  readonly workload?: string;
  readonly labels?: readonly string[];
}

/** The first value of a key that nothing declares, without repeating it. */
export interface UndeclaredValue {
  readonly field: keyof DeclaredValues;
  readonly fix: string;
}

/**
 * Why a key cannot have its environment, workload or labels: policies are compiled against `vocabulary` of routes.yaml, so a value outside it opens or
 * closes nothing.
 *
 * @returns `null` where all values are declared
 */
export function undeclaredValue(key: DeclaredValues, vocabulary: Vocabulary): UndeclaredValue | null {
  const { environment, workload = "", labels = [] } = key;
  const { environments, workloads } = vocabulary;
  // Where no list stands, no policy can name a value of it: teams that only report by workload declare none.
  return (
    undeclared(
      "environment",
      environment === undefined || environments.length === 0 ? [] : [environment],
      environments,
    ) ??
    undeclared("workload", workload === "" || workloads.length === 0 ? [] : [workload], workloads) ??
    undeclared("labels", labels, vocabulary.labels)
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
  const list = field === "labels" ? field : `${field}s`;
  const subject = field === "labels" ? "one of them" : "it";
  return { field, fix: `vocabulary.${list} of routes.yaml does not declare ${subject}; ${hint}` };
}
