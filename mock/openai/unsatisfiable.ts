import type { Unsatisfiable } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";

/**
 * @param param the member to name where it is the answer's schema.
 * @param schema the path of that schema.
 */
export function unsatisfiableIn(
  { unsatisfiable }: Unsatisfiable,
  param: string,
  schema: string,
): Problem {
  const what =
    unsatisfiable === "answer"
      ? `'${schema}'`
      : `the parameters of the tool '${unsatisfiable.name}'`;
  return invalid(
    unsatisfiable === "answer" ? param : "tools",
    `The simulated provider cannot make a value for ${what}; use simpler keywords, or omit 'strict'.`,
  );
}
