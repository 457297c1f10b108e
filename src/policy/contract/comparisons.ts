import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { nearestName } from "../../canon/nearest-name.ts";
import { finding, locationOf, type Location, type PolicyDiagnostic } from "../codes.ts";
import { POLICY_INPUT_SCHEMA } from "../input-schema.ts";
import type { ComparedPart, ModuleFacts } from "../toolchain/protocol.ts";
import type { PolicyFile } from "./sources.ts";

/** A value in a policy or a library, and the parts of input and data that it is compared with. */
export interface ComparedValue {
  readonly location: Location;
  readonly value: string;
  readonly against: readonly ComparedPart[];
}

/** The comparisons of a file that no comment waives. Tests may compare with anything. */
export function comparedValues(
  file: PolicyFile,
  { path, comparisons }: Pick<ModuleFacts, "path" | "comparisons">,
  later: ReadonlySet<string>,
): readonly ComparedValue[] {
  if (file.kind === "test") return [];
  return comparisons
    .filter(({ value }) => !later.has(value))
    .map(({ value, against, ...position }) => ({
      location: locationOf(path, position),
      value,
      against,
    }));
}

/** Finds values that the input never has, with any routes.yaml. */
export function checkComparisons(compared: readonly ComparedValue[]): readonly PolicyDiagnostic[] {
  return compared.flatMap(({ location, value, against }) => {
    const values = closedValues(against);
    if (values === null || values.includes(value)) return [];
    const nearest = nearestName(value, values);
    const suggestion = nearest === null ? "" : `Did you mean ${nearest}? `;
    const message = `${shownParts(against)} is compared with a value that it never has`;
    return [
      finding(
        "POLICY_INPUT_WORD",
        location,
        message,
        `${suggestion}Its values are ${values.join(", ")}.`,
      ),
    ];
  });
}

/** Whether only a routes.yaml decides if there is such a value. */
export function dependsOnTable({ against }: ComparedValue): boolean {
  return closedValues(against) === null;
}

function closedValues(against: readonly ComparedPart[]) {
  return valuesOf(against, (part) => inputValues(POLICY_INPUT_SCHEMA, part));
}

/** All values that the parts can have; `null` where those of one are not known. */
export function valuesOf(
  parts: readonly ComparedPart[],
  valuesOfPart: (part: ComparedPart) => readonly string[] | null,
): readonly string[] | null {
  const all = new Set<string>();
  for (const part of parts) {
    const values = valuesOfPart(part);
    if (values === null) return null;
    for (const value of values) all.add(value);
  }
  return [...all];
}

/** Such as `input.workspace.labels[_]`; several joined by `or`. */
export function shownParts(parts: readonly ComparedPart[]): string {
  const shown = parts.map(({ root, path, key }) => {
    const steps = path.map((step) => (step === null ? "[_]" : `.${step}`)).join("");
    return `${key ? "a member of " : ""}${root}${steps}`;
  });
  return shown.join(" or ");
}

interface Members {
  readonly [name: string]: JsonValue | undefined;
}

/** The list of a leaf of the input; `null` where the schema has none, or no such leaf. */
export function inputValues(
  schemaOfInput: JsonObject,
  { root, path }: ComparedPart,
): readonly string[] | null {
  if (root !== "input") return null;
  let schema: JsonValue | undefined = schemaOfInput;
  for (const step of path) {
    if (!isJsonObject(schema)) return null;
    const { properties, items, additionalProperties: others }: Members = schema;
    if (step === null) schema = items ?? others;
    else
      schema =
        isJsonObject(properties) && Object.hasOwn(properties, step) ? properties[step] : others;
  }
  if (!isJsonObject(schema)) return null;
  // The schema of a table has `not: {}` for a member without values.
  if (schema.type === "string" && schema.not !== undefined) return [];
  const enumValues = schema.enum;
  return Array.isArray(enumValues) && enumValues.every((step) => typeof step === "string")
    ? enumValues
    : null;
}

/** `# signalbox: later eu-north, sensitive` */
const LATER = /^later\s+(?<words>\S.*)$/u;

interface Waivers {
  /** Values that the file may compare with although nothing has them yet. */
  readonly later: ReadonlySet<string>;
  readonly diagnostics: readonly PolicyDiagnostic[];
}

/**
 * Reads the comments that let a file name values which do not exist yet. They apply to their own
 * file.
 *
 * @param isComplete whether all comparisons are known: an error in any file leaves them out of all.
 */
export function readWaivers(
  file: PolicyFile,
  { path, comparisons, directives }: Pick<ModuleFacts, "path" | "comparisons" | "directives">,
  isComplete: boolean,
): Waivers {
  const later = new Set<string>();
  const diagnostics: PolicyDiagnostic[] = [];
  if (file.kind === "test") return { later, diagnostics };
  const compared = new Set(comparisons.map(({ value }) => value));
  for (const { text, ...position } of directives) {
    // Of warnings; `signalbox check` reads it.
    if (/^accept\b/.test(text)) continue;
    const location = locationOf(path, position);
    const list = LATER.exec(text)?.groups?.words;
    if (list === undefined) {
      diagnostics.push(
        finding(
          "POLICY_WAIVER",
          location,
          "the comment begins with `signalbox:` and names no values",
        ),
      );
      continue;
    }
    for (const value of list.split(",").map((one) => one.trim())) {
      later.add(value);
      if (compared.has(value) || !isComplete) continue;
      diagnostics.push(
        finding(
          "POLICY_WAIVER",
          location,
          "the comment names a value that the file compares with nothing",
        ),
      );
    }
  }
  return { later, diagnostics };
}
