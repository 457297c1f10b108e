import type { Assertion } from "../assertions/assertion.ts";
import { distinctionsOf } from "../assertions/distinctions.ts";
import { concernTest } from "../assertions/select.ts";
import { isScalarName, perScalar, SCALAR_NAMES } from "../request-scalars.ts";
import { planSpace, type PlannedSpace } from "../space/make-space.ts";
import type { Universe } from "../space/universe.ts";
import type { CompiledSides } from "../side-contents.ts";

/** Everything that a thread needs to enumerate and decide jobs. Plain data. */
export interface JobInput extends CompiledSides {
  /** Policies of head that are taken for promoted, and none of base's; `null`: every candidate of both sides. */
  readonly promoted: readonly string[] | null;
  readonly assertions: readonly Assertion[];
  /** Dimensions of which only the first value is decided. */
  readonly cut: readonly CutDimension[];
}

/** Dimensions that can be left out where there are too many classes, as the report names them. */
export const CUT_DIMENSIONS = [
  "needs",
  "key_labels",
  ...SCALAR_NAMES.filter((name) => name !== "stream"),
  "time",
  "workload",
  "environment",
  "preferences",
  "features",
  "stream",
] as const;
export type CutDimension = (typeof CUT_DIMENSIONS)[number];

export function planJobs({ base, head, assertions, cut }: JobInput): PlannedSpace {
  const tables = { base: base.table, head: head.table };
  const distinctions = assertions.map((assertion) => ({
    ...distinctionsOf([assertion], tables),
    concerns: concernTest(assertion, tables),
  }));
  return planSpace(base, head, distinctions, (universe) => cut.reduce(without, universe));
}

/** The universe with the first value of a dimension only; of sets, the empty one. */
function without(universe: Universe, dimension: CutDimension): Universe {
  if (isScalarName(dimension)) {
    const plain = perScalar((member, scalar) => (scalar.name === dimension ? [[member, [scalar.plain]]] : [])).flat();
    return ofOperations(universe, Object.fromEntries(plain));
  }
  switch (dimension) {
    case "key_labels":
      return { ...universe, labels: [] };
    case "workload":
      return { ...universe, workloads: universe.workloads.slice(0, 1) };
    case "environment":
      return { ...universe, environments: universe.environments.slice(0, 1) };
    case "time":
      return { ...universe, times: universe.times.slice(0, 1) };
    case "preferences":
      return {
        ...universe,
        preferences: {
          allowFallbacks: [true],
          dataCollection: ["deny"],
          zdr: [false],
          narrowing: [],
          orders: false,
        },
      };
    case "needs":
    case "features":
      return ofOperations(universe, { [dimension]: [] });
  }
}

function ofOperations(universe: Universe, changes: object): Universe {
  return {
    ...universe,
    operations: new Map([...universe.operations].map(([operation, own]) => [operation, { ...own, ...changes }])),
  };
}
