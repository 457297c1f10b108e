import { hash } from "node:crypto";
import type { Diagnostic, Source } from "../canon/diagnostic.ts";
import { canonicalJson, deepFreeze } from "../canon/json.ts";
import type { RoutingTable } from "../canon/table.ts";
import type { WorkloadIdentity } from "../canon/workload-identity.ts";
import { normaliseText, readDocument } from "./authored/document.ts";
import { reportLiteralSecrets } from "./authored/literal-secrets.ts";
import { readShape } from "./authored/shape.ts";
import type { ConfigNode } from "./authored/tree.ts";
import { checkModels } from "./checks/models.ts";
import { checkProviders } from "./checks/providers.ts";
import { checkRegions } from "./checks/regions.ts";
import { checkRoutes, checkUsage } from "./checks/routes.ts";
import { checkConsole, checkPromotion, checkRequirementsAgree } from "./checks/settings.ts";
import { checkWorkspaces } from "./checks/workspaces.ts";
import { declaredNames, reportUnknownNames, type CompileContext } from "./compile-context.ts";
import type { RouteCode } from "./findings/codes.ts";
import { Findings } from "./findings/findings.ts";
import { mergeOverlay, mergePart } from "./includes.ts";
import { normalise, type NormalisedRoutes } from "./normalised/normalise.ts";
import { expandPresets } from "./presets.ts";
import {
  expandPrices,
  NOTHING_EXPANDED,
  PRICE_LIST,
  type ExpandedPresets,
  type PriceList,
} from "./prices.ts";
import { resolveEndpoints, type ResolvedEndpoint } from "./resolve/endpoints.ts";
import { resolveRoutes, type ResolvedContext, type ResolvedRoute } from "./resolve/routes.ts";
import { resolveWorkloads } from "./resolve/workloads.ts";
import type { DialectFacts } from "../dialects/dialect.ts";
import { DIALECTS } from "../dialects/table.ts";

/**
 * The third stage: one frozen value, its members always in this order, its rows sorted by id, its
 * maps without a prototype. The same rows give the same bytes and the same revision, whatever the
 * file's order, comments or path.
 */
function buildTable(
  normalised: NormalisedRoutes,
  endpoints: ReadonlyMap<string, ResolvedEndpoint>,
  routes: ReadonlyMap<string, ResolvedRoute>,
  workloadIdentity: WorkloadIdentity | undefined,
): RoutingTable {
  const content = withoutPrototypes({
    version: 1 as const,
    regionGroups: Object.fromEntries(normalised.regionGroups),
    providers: Object.fromEntries(normalised.providers),
    models: Object.fromEntries(normalised.models),
    endpoints: Object.fromEntries([...endpoints].map(([id, { row }]) => [id, row])),
    routes: Object.fromEntries([...routes].map(([id, { row }]) => [id, row])),
    workspaces: Object.fromEntries(normalised.workspaces),
    policies: normalised.policies,
    vocabulary: normalised.vocabulary,
    // Absent sections are left out: a file without them keeps its revision.
    ...(normalised.console !== undefined && { console: normalised.console }),
    ...(workloadIdentity !== undefined && { workloadIdentity }),
    ...(normalised.alerts !== undefined && { alerts: normalised.alerts }),
  });
  const { version, ...rows } = content;
  return deepFreeze({ version, revision: hash("sha256", canonicalJson(content), "hex"), ...rows });
}

/** A table from another thread, which loses frozen objects and null prototypes. */
export function restoreTable(table: RoutingTable): RoutingTable {
  return deepFreeze(withoutPrototypes(table));
}

/** Rows by id become sorted objects without a prototype, so that only ids can be found in them. */
function withoutPrototypes<Table extends Omit<RoutingTable, "revision">>(table: Table): Table {
  const { promotion } = table.policies;
  const { workloadIdentity } = table;
  return {
    ...table,
    regionGroups: byId(table.regionGroups),
    providers: byId(table.providers),
    models: byId(table.models),
    endpoints: byId(table.endpoints),
    routes: byId(table.routes),
    workspaces: byId(table.workspaces),
    policies: {
      ...table.policies,
      initialMode: byId(table.policies.initialMode),
      ...(promotion !== undefined && { promotion: byId(promotion) }),
    },
    ...(workloadIdentity !== undefined && {
      workloadIdentity: {
        issuers: byId(workloadIdentity.issuers),
        rules: byId(workloadIdentity.rules),
      },
    }),
  };
}

function byId<Row>(rows: Readonly<Record<string, Row>>): Readonly<Record<string, Row>> {
  const sorted: Record<string, Row> = Object.create(null);
  for (const id of Object.keys(rows).toSorted()) {
    const row = rows[id];
    if (row !== undefined) sorted[id] = row;
  }
  return sorted;
}

/** Files of the table beside routes.yaml. */
export interface FurtherSources {
  /** Included files, sorted by path. */
  readonly parts?: readonly Source[];
  /** The overlay of the environment; `null` where none was requested. */
  readonly overlay?: Source | null;
  /**
   * Texts of the files with keys of issuers of workloads, by path from the folder of routes.yaml.
   */
  readonly keySets?: ReadonlyMap<string, string>;
  /** Default: the list of this release. */
  readonly prices?: PriceList;
}

/**
 * routes.yaml merged with its included files and the overlay into one tree; presets and list prices
 * are expanded. `null` where one of the texts cannot be read.
 */
export function readTree(
  source: Source,
  { parts = [], overlay = null, prices: list = PRICE_LIST }: FurtherSources,
  findings: Findings,
): { readonly tree: ConfigNode; readonly expanded: ExpandedPresets } | null {
  const read = (file: Source, name?: string) => {
    const text = normaliseText(file.text);
    const node = readDocument(text, findings, name);
    reportLiteralSecrets(text, node, findings, name);
    return node;
  };
  const tree = read(source);
  const partTrees = parts.map((part) => read(part, part.path));
  const overlayTree = overlay === null ? null : read(overlay, overlay.path);
  if (tree === null || partTrees.includes(null) || (overlay !== null && overlayTree === null))
    return null;
  if (tree.kind !== "map") return { tree, expanded: NOTHING_EXPANDED };
  for (const part of partTrees) if (part !== null) mergePart(tree, part, source.path, findings);
  if (overlayTree !== null) mergeOverlay(tree, overlayTree, findings);
  const presets = expandPresets(tree, findings);
  return { tree, expanded: { presets, listPriced: expandPrices(tree, presets, list), list } };
}

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
  readonly expanded: ExpandedPresets;
}

/**
 * routes.yaml becomes one frozen table, or a list of everything that is wrong with it. Pure: the
 * same text gives the same result on any path and with any line endings. Never throws for bad
 * input.
 */
export function compileTable(source: Source, options: TableOptions = {}): CompiledTable {
  const findings = new Findings(source.path);
  const { tree, expanded } = readTree(source, options, findings) ?? {
    tree: null,
    expanded: NOTHING_EXPANDED,
  };
  const table =
    tree === null
      ? null
      : compileTree(tree, options, findings, options.keySets, expanded.listPriced);
  return { table, expanded, diagnostics: findings.list() };
}

/**
 * The table of a tree whose parts, overlay and presets are merged already. Takes out of the tree
 * what has no valid shape.
 *
 * @param findings gets everything that is wrong. @param keySets those of the issuers of workloads;
 * without them a table has none of their keys. @param listPriced endpoints with a price of the
 * list.
 * @returns `null` where there is an error.
 */
export function compileTree(
  tree: ConfigNode,
  options: Omit<TableOptions, keyof FurtherSources>,
  findings: Findings,
  keySets: FurtherSources["keySets"] = new Map(),
  listPriced: ExpandedPresets["listPriced"] = new Set(),
): RoutingTable | null {
  const dialects: Readonly<Record<string, DialectFacts>> = options.dialects ?? DIALECTS;
  const declared = declaredNames(tree);
  const file = readShape(tree, Object.keys(dialects).toSorted(), findings);
  if (file === null) return null;
  const normalised = normalise(file);
  const context: CompileContext = {
    file,
    normalised,
    declared,
    policies: options.policies ?? null,
    listPriced,
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

/** Checks that run row by row, over the rows that fit the schema. */
const CHECKS: readonly Check[] = [
  checkProviders,
  checkRegions,
  checkModels,
  checkRoutes,
  checkWorkspaces,
  checkPromotion,
  checkConsole,
];

/** Checks that would repeat other errors of a faulty file. */
const CHECKS_OF_WHOLE_FILES: readonly Check[] = [checkRequirementsAgree, checkUsage];
