import { isJsonObject, type JsonValue } from "../../canon/json.ts";
import { finding, type PolicyDiagnostic } from "../codes.ts";
import { POLICY_INPUT_SCHEMA } from "../input-schema.ts";
import type { ComparisonFacts, ModuleFacts } from "../toolchain/protocol.ts";
import type { PolicyFile } from "./sources.ts";

/**
 * Finds comparisons of the input with values that it never has. Only lists that every table shares are looked at: ids, labels
 * and tiers are those of a routes.yaml. Tests may compare with anything.
 */
export function checkComparisons(
  file: PolicyFile,
  { path: source, comparisons }: Pick<ModuleFacts, "path" | "comparisons">,
): readonly PolicyDiagnostic[] {
  if (file.kind === "test") return [];
  return comparisons.flatMap(({ row, col, path, value }) => {
    const values = enumAt(path);
    if (values === null || values.includes(value)) return [];
    const shown = `input${path.map((step) => (step === null ? "[_]" : `.${step}`)).join("")}`;
    const location = { file: source, line: Math.max(1, row), column: Math.max(1, col) };
    const message = `${shown} is compared with a value that it never has`;
    return [finding("POLICY_INPUT_WORD", location, message, `Its values are ${values.join(", ")}.`)];
  });
}

/** The closed list of the leaf; `null` where there is none, or no such leaf. */
function enumAt(path: ComparisonFacts["path"]): readonly string[] | null {
  let schema: JsonValue | undefined = POLICY_INPUT_SCHEMA;
  for (const step of path) {
    if (!isJsonObject(schema)) return null;
    const { properties, items }: { readonly [name: string]: JsonValue | undefined } = schema;
    if (step === null) schema = items;
    else schema = isJsonObject(properties) && Object.hasOwn(properties, step) ? properties[step] : undefined;
  }
  const listed = isJsonObject(schema) ? schema["enum"] : undefined;
  return Array.isArray(listed) && listed.every((step) => typeof step === "string") ? listed : null;
}
