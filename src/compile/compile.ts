import { basename, dirname, join } from "node:path/posix";
import { compareDiagnostics, type Diagnostic, type Source } from "../canon/diagnostic.ts";
import type { RoutingTable } from "../canon/table.ts";
import { finding } from "../policy/codes.ts";
import { type CompiledPolicies, compilePolicies } from "../policy/compile-policies.ts";
import type { CompiledPolicy } from "../policy/compiled.ts";
import type { CompileCache } from "../policy/toolchain/compile-cache.ts";
import { compileTable } from "./compile-table.ts";
import { type ConfigurationFiles, furtherSources, policyDirectory } from "./load.ts";
import { DIALECTS } from "../dialects/table.ts";
import {
  type ComparedValue,
  inputValues,
  shownParts,
  valuesOf,
} from "../policy/contract/comparisons.ts";
import { declaredInputSchema } from "../policy/input-schema.ts";
import type { ComparedPart } from "../policy/toolchain/protocol.ts";
import { quote, suggest } from "./authored/literal-secrets.ts";
import type { ExpandedPresets } from "./prices.ts";

export interface CompileOptions {
  /** Where compiled policies are kept between runs; `null` for nowhere. */
  readonly cache: CompileCache | null;
  /**
   * Accepts undeclared values, for the base of a comparison, which will not run. Default: they are
   * reported.
   */
  readonly acceptUnknownValues?: boolean;
}

export interface CompiledConfiguration {
  /** `null` when routes.yaml has an error. */
  readonly table: RoutingTable | null;
  /** `null` when a policy has an error. */
  readonly policies: CompiledPolicies | null;
  /** Of all files, sorted. */
  readonly diagnostics: readonly Diagnostic[];
  /** Default: none. */
  readonly expanded?: ExpandedPresets;
}

/** The only way to compile: start, reload, `check` and `simulate` use it. */
export async function compileConfiguration(
  files: ConfigurationFiles,
  options: CompileOptions,
): Promise<CompiledConfiguration> {
  const unreadable = files.unreadable ?? [];
  if (unreadable.length > 0)
    return { table: null, policies: null, diagnostics: unreadable.toSorted(compareDiagnostics) };
  const compiled = await compilePolicies(files.policies, options);
  const { table, diagnostics, expanded } = compileTable(files.routes, {
    policies: policyIds(files),
    ...furtherSources(files),
  });
  const regions = table === null ? [] : unknownRegions(table, compiled.policies, files.policies);
  const undeclared =
    table === null || options.acceptUnknownValues === true
      ? []
      : undeclaredValues(table, compiled.compared);
  const failed = [...compiled.diagnostics, ...undeclared].some(
    ({ severity }) => severity === "error",
  );
  return {
    table,
    policies: failed ? null : compiled,
    expanded,
    diagnostics: [...diagnostics, ...compiled.diagnostics, ...regions, ...undeclared].toSorted(
      compareDiagnostics,
    ),
  };
}

/** Regions that obligations prefer and the table lacks: each file alone is valid. */
function unknownRegions(
  table: RoutingTable,
  policies: readonly CompiledPolicy[],
  sources: readonly Source[],
): readonly Diagnostic[] {
  const names = new Set([
    ...Object.entries(table.regionGroups).flatMap(([group, regions]) => [group, ...regions]),
    ...Object.values(table.providers).map(({ region }) => region),
  ]);
  return policies.flatMap(({ contract }) => {
    const source = sources.find(({ path }) => basename(path) === `${contract.id}.rego`);
    return contract.obligations.flatMap((obligation) => {
      if (
        obligation.kind !== "prefer_region" ||
        names.has(obligation.value) ||
        source === undefined
      )
        return [];
      const line =
        source.text.split("\n").findIndex((text) => text.includes(`${obligation.name}:`)) + 1;
      const location = { file: source.path, line: Math.max(line, 1), column: 1 };
      return [
        finding(
          "POLICY_REGION_UNKNOWN",
          location,
          `obligation ${obligation.name}: routes.yaml has no region ${obligation.value}`,
        ),
      ];
    });
  });
}

/**
 * The ids of policies, from the names of their files (docs/policies.md#files): a policy with an
 * error in it has a name too.
 */
function policyIds({ routes, policies }: ConfigurationFiles): readonly string[] {
  const folder = join(dirname(routes.path), policyDirectory(routes.text).directory, ".");
  return policies
    .map(({ path }) => path)
    .filter((path) => dirname(path) === folder && !path.endsWith("_test.rego"))
    .map((path) => basename(path, ".rego"));
}

/**
 * Finds values that policies compare with names of routes.yaml and that it does not declare. Such a
 * comparison is always false, so a negated one would always allow.
 */
function undeclaredValues(
  table: RoutingTable,
  compared: readonly ComparedValue[],
): readonly Diagnostic[] {
  const schema = declaredInputSchema(table, Object.keys(DIALECTS));
  return compared.flatMap(({ location, value, against }) => {
    const values = valuesOf(
      against,
      (part) => inputValues(schema, part) ?? dataValues(table, part),
    );
    if (values === null || values.includes(value)) return [];
    const suggestion = suggest(value, values);
    const hint = `${suggestion === "" ? "" : `${suggestion} `}For a value that comes later, write: # signalbox: later VALUE`;
    return [
      finding(
        "POLICY_WORD_UNKNOWN",
        location,
        `${shownParts(against)} is compared with ${quote(value)}, which routes.yaml does not declare`,
        hint,
      ),
    ];
  });
}

/** Names in `data.regions` and `data.approved`; `null` for what holds none. */
function dataValues(
  table: RoutingTable,
  { root, path, key }: ComparedPart,
): readonly string[] | null {
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
