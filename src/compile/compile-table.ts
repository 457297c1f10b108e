import type { Diagnostic, Source } from "../canon/diagnostic.ts";
import type { RoutingTable } from "../canon/table.ts";
import { DIALECTS } from "../dialects/table.ts";
import type { DialectFacts } from "../dialects/dialect-facts.ts";
import { declaredNames } from "./authored/declared.ts";
import type { ConfigNode } from "./authored/tree.ts";
import { type FurtherSources, readTree } from "./read-tree.ts";
import { readShape } from "./authored/shape.ts";
import { checkFeatures } from "./checks/features.ts";
import { checkModels } from "./checks/models.ts";
import { checkConsole } from "./checks/console.ts";
import { checkPromotion, checkRequirementsAgree } from "./checks/promotion.ts";
import { checkPlaceholders, checkProviders, checkSigning } from "./checks/providers.ts";
import { checkRegions } from "./checks/regions.ts";
import { checkRoutes } from "./checks/routes.ts";
import { checkTimes } from "./checks/times.ts";
import { checkUsage } from "./checks/usage.ts";
import { checkWorkspaces } from "./checks/workspaces.ts";
import type { RouteCode } from "./findings/codes.ts";
import { Findings } from "./findings/findings.ts";
import { resolveWorkloads } from "./resolve/workloads.ts";
import { normalise } from "./normalised/normalise.ts";
import { resolveEndpoints } from "./resolve/endpoints.ts";
import { reportUnknownNames } from "./resolve/names.ts";
import { resolveRoutes, type ResolvedContext } from "./resolve/routes.ts";
import type { CompileContext } from "./compile-context.ts";
import { buildTable } from "./table.ts";

export interface TableOptions extends FurtherSources {
  /**
   * Ids of the policies beside the file; without them `policies.initial_mode` and
   * `policies.promotion` are not checked against any.
   */
  readonly policies?: readonly string[];
  /** Wire protocols that may be named; those of this release unless given. */
  readonly dialects?: Readonly<Record<string, DialectFacts>>;
}

interface CompiledTable {
  /** `null` when there is an error. */
  readonly table: RoutingTable | null;
  /** Every finding, sorted. */
  readonly diagnostics: readonly Diagnostic<RouteCode>[];
  /** Provider id → the preset that its row names; absent where the file could not be judged. */
  readonly presets?: ReadonlyMap<string, string>;
}

/**
 * routes.yaml becomes one frozen table, or a list of everything that is wrong with it. Pure: the
 * same text gives the same result on any path and with any line endings. Never throws for bad
 * input.
 */
export function compileTable(source: Source, options: TableOptions = {}): CompiledTable {
  const findings = new Findings(source.path);
  const presets = new Map<string, string>();
  const tree = readTree(source, options, findings, presets);
  if (tree === null) return { table: null, diagnostics: findings.list() };
  const table = compileTree(tree, options, findings, options.keySets);
  if (table === undefined) return { table: null, diagnostics: findings.list() };
  return { table, presets, diagnostics: findings.list() };
}

/**
 * The table of a tree whose parts, overlay and presets are merged already. Takes out of the tree
 * what has no valid shape.
 *
 * @param findings gets everything that is wrong. @param keySets those of the issuers of workloads;
 * without them a table has none of their keys.
 * @returns `null` where there is an error; `undefined` where the tree has no shape to judge.
 */
export function compileTree(
  tree: ConfigNode,
  options: Omit<TableOptions, keyof FurtherSources>,
  findings: Findings,
  keySets: FurtherSources["keySets"] = new Map(),
): RoutingTable | null | undefined {
  const dialects: Readonly<Record<string, DialectFacts>> = options.dialects ?? DIALECTS;
  const declared = declaredNames(tree);
  const file = readShape(tree, Object.keys(dialects).toSorted(), findings);
  if (file === null) return undefined;
  const normalised = normalise(file);
  const context: CompileContext = {
    file,
    normalised,
    declared,
    policies: options.policies ?? null,
    dialect: (name) => (Object.hasOwn(dialects, name) ? dialects[name] : undefined),
    report: findings.on(tree),
  };
  reportUnknownNames(context);
  const endpoints = resolveEndpoints(context);
  const routes = resolveRoutes(context, endpoints);
  const resolved: ResolvedContext = { ...context, endpoints, routes };
  for (const check of CHECKS) check(resolved);
  const workloads = resolveWorkloads(context, keySets);
  if (!findings.failed) for (const check of CHECKS_OF_WHOLE_FILES) check(resolved);
  return findings.failed ? null : buildTable(normalised, endpoints, routes, workloads);
}

type Check = (context: ResolvedContext) => void;

/** What is looked at row by row, with the rows that fit the schema. */
const CHECKS: readonly Check[] = [
  checkProviders,
  checkPlaceholders,
  checkTimes,
  checkSigning,
  checkRegions,
  checkModels,
  checkFeatures,
  checkRoutes,
  checkWorkspaces,
  checkPromotion,
  checkConsole,
];

/** What could only repeat an error of a file that has one. */
const CHECKS_OF_WHOLE_FILES: readonly Check[] = [checkRequirementsAgree, checkUsage];
