import type { Wording } from "../member-table.ts";
import { invalid, type Problem } from "../problem.ts";

/** How responses speak of the members of the object at a path; the request itself is at the empty one. */
export function wordingAt(path: string): Wording {
  const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
  return {
    missing: (name) => missing(at(name)),
    unknown: (name) => invalid(at(name), `Unknown parameter: '${at(name)}'.`, "unknown_parameter"),
    wrong: (name, description) =>
      invalid(at(name), `Invalid value for '${at(name)}': expected ${description}.`, "invalid_value"),
    takesNull: true,
  };
}

export function missing(path: string): Problem {
  return invalid(path, `Missing required parameter: '${path}'.`, "missing_required_parameter");
}

/** A word that is none of those that the place takes. The word itself is not repeated. */
export function unsupported(path: string, words: Iterable<string>): Problem {
  const supported = [...words].map((word) => `'${word}'`).join(", ");
  return invalid(path, `Invalid value at '${path}'. Supported values are: ${supported}.`, "invalid_value");
}
