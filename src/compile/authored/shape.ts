import type { ErrorObject } from "ajv/dist/2020.js";
import { Validator, type ValidatorOptions } from "../../validation/validator.ts";
import type { Findings } from "../findings/findings.ts";
import { routesSchema } from "../routes-schema.ts";
import type { RoutesFile } from "../routes-schema.ts";
import { pathOf, reportShapeError, ROUTE_COMPLAINTS } from "./shape-errors.ts";
import {
  type ConfigNode,
  type MapNode,
  nodeAt,
  type Path,
  plainValue,
  removeNode,
} from "./tree.ts";

/**
 * More rounds than a file of our depth can need: each removes at least the innermost value at
 * fault.
 */
const MOST_ROUNDS = 40;

const validators = new Map<string, Validator<RoutesFile>>();

/**
 * Compiling the schema takes some ten milliseconds; the set of dialects of one process never
 * changes.
 */
function validatorFor(dialects: readonly string[]): Validator<RoutesFile> {
  const key = dialects.join(" ");
  const known = validators.get(key);
  if (known !== undefined) return known;
  const validator = new Validator<RoutesFile>(() => routesCheck(dialects));
  validators.set(key, validator);
  return validator;
}

/** How the check of routes.yaml is compiled. */
export function routesCheck(dialects: readonly string[]): ValidatorOptions {
  return {
    schema: routesSchema(dialects),
    options: { allErrors: true, verbose: true },
    annotations: ["patternErrorMessage"],
  };
}

/**
 * The file in its authored type. What does not fit the schema is reported and taken out of `tree`,
 * so that the checks that follow can judge the rest and an author sees every mistake in one run.
 *
 * @returns `null` where nothing is left to judge.
 */
export function readShape(
  tree: ConfigNode,
  dialects: readonly string[],
  findings: Findings,
): RoutesFile | null {
  const validator = validatorFor(dialects);
  const original = plainValue(tree);
  if (!validator.accepts(original))
    for (const error of validator.errors) reportShapeError(error, tree, findings, ROUTE_COMPLAINTS);
  if (tree.kind !== "map") return null;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const value: unknown = plainValue(tree);
    if (validator.accepts(value)) return value;
    // One value can be at fault twice; taking it out twice would take its neighbour in a list as
    // well.
    const faults = new Map(
      validator.errors.map(faultPath).map((path) => [JSON.stringify(path), path]),
    );
    for (const path of [...faults.values()].toSorted(deepestLast).toReversed())
      removeFault(tree, path);
  }
  return null;
}

/** The innermost value without which the error would not exist. */
function faultPath(error: ErrorObject): Path {
  const path = pathOf(error);
  const parameters: Readonly<Record<string, unknown>> = error.params;
  if (error.propertyName !== undefined) return [...path, error.propertyName];
  if (error.keyword === "additionalProperties")
    return [...path, String(parameters["additionalProperty"])];
  if (error.keyword === "propertyNames") return [...path, String(parameters["propertyName"])];
  if (error.keyword === "uniqueItems")
    return [...path, Math.max(Number(parameters["i"]), Number(parameters["j"]))];
  return path;
}

/** A later item of a list is removed before an earlier one, whose removal would renumber it. */
function deepestLast(left: Path, right: Path): number {
  for (const [index, name] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (String(name) === String(other)) continue;
    const numeric = Number(name) - Number(other);
    return Number.isNaN(numeric) ? (String(name) < String(other) ? -1 : 1) : numeric;
  }
  return left.length - right.length;
}

function removeFault(tree: MapNode, path: Path): void {
  if (path.length > 0) {
    if (nodeAt(tree, path) !== null) removeNode(tree, path);
    return;
  }
  // Only a missing section has its fault at the root: an empty one lets the other sections be
  // judged.
  const at = tree.at;
  const empty = (node: ConfigNode) => ({ keyAt: at, node });
  const sections = new Map<string, ConfigNode>([
    ["version", { kind: "scalar", at, value: 1 }],
    ["endpoints", { kind: "list", at, items: [] }],
    ...["regions", "providers", "models", "routes", "workspaces"].map(
      (name): [string, ConfigNode] => [
        name,
        { kind: "map", at, members: new Map(), lost: new Set() },
      ],
    ),
  ]);
  for (const [name, node] of sections)
    if (!tree.members.has(name)) tree.members.set(name, empty(node));
}
