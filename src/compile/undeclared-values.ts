import type { Diagnostic } from "../canon/diagnostic.ts";
import type { RoutingTable } from "../canon/table.ts";
import { DIALECTS } from "../dialects/table.ts";
import { finding } from "../policy/codes.ts";
import { type ComparedValue, inputValues, shownParts, valuesOf } from "../policy/contract/comparisons.ts";
import { declaredInputSchema } from "../policy/input-schema.ts";
import type { ComparedPart } from "../policy/toolchain/protocol.ts";
import { quote } from "./authored/literal-secrets.ts";
import { suggest } from "./findings/suggest.ts";

/**
 * Finds values that policies compare with names of routes.yaml and that it does not declare. Such a comparison is always
 * false: what it should close would stay open where it is negated.
 */
export function undeclaredValues(table: RoutingTable, compared: readonly ComparedValue[]): readonly Diagnostic[] {
  const schema = declaredInputSchema(table, Object.keys(DIALECTS));
  return compared.flatMap(({ location, value, against }) => {
    const values = valuesOf(against, (part) => inputValues(schema, part) ?? dataValues(table, part));
    if (values === null || values.includes(value)) return [];
    const message = `${shownParts(against)} is compared with ${quote(value)}, which routes.yaml does not declare`;
    const suggestion = suggest(value, values);
    const hint = `${suggestion === "" ? "" : `${suggestion} `}For a value that comes later, write: # signalbox: later VALUE`;
    return [finding("POLICY_WORD_UNKNOWN", location, message, hint)];
  });
}

/** Names in `data.regions` and `data.approved`; `null` for what holds none. */
function dataValues(table: RoutingTable, { root, path, key }: ComparedPart): readonly string[] | null {
  if (root !== "data") return null;
  const [name, member] = path;
  if (name === "regions") return key ? Object.keys(table.regionGroups) : regionsOf(table);
  if (name !== "approved") return null;
  if (key) return Object.keys(table.workspaces);
  if (member === "regions") return regionsOf(table);
  if (member === "providers") return Object.keys(table.providers);
  return member === "routes" ? Object.keys(table.routes) : null;
}

function regionsOf({ regionGroups }: RoutingTable): readonly string[] {
  return [...new Set(Object.values(regionGroups).flat())];
}
