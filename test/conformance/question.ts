import type { BuildRequest } from "../../src/policy/toolchain/protocol.ts";
import type { ConformanceCase } from "./cases/case.ts";

/** The list of solutions: one object a solution, with the variables that the case names. */
export const BINDINGS = "conformance/bindings";

/** Every set that stands anywhere in a solution, as the list that JSON makes of it. */
export const SETS = "conformance/sets";

/**
 * What the compiler gets: the modules as they are, and a package that turns the query into rules. A
 * comprehension keeps "undefined" (an empty list) apart from every value.
 */
export function questionOf({ modules, query, wanted }: ConformanceCase): BuildRequest {
  const variables = wanted.kind === "bindings" ? wanted.variables : [];
  const solution = variables.map((name) => `${JSON.stringify(name)}: ${name}`).join(", ");
  const lines = ["package conformance", "", `bindings := [{${solution}} |`, query, "]"];
  const entrypoints = [BINDINGS];
  if (variables.length > 0) {
    // Without this rule nothing could distinguish a set from an array: both are lists in JSON.
    const values = variables.join(", ");
    lines.push(
      "",
      "sets := [member |",
      query,
      `walk([${values}], [_, member])`,
      "is_set(member)",
      "]",
    );
    entrypoints.push(SETS);
  }
  return {
    units: [],
    modules: [
      ...modules.map((text, index) => ({ path: `module-${index}.rego`, text })),
      { path: "conformance.rego", text: `${lines.join("\n")}\n` },
    ],
    entrypoints,
  };
}
