import { quote } from "../../../compile/authored/literal-secrets.ts";
import type { Balance } from "../../../canon/table.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { asName } from "../configuration/names.ts";
import { canReplace, weightsOf, type PlannedEndpoint, type PlannedFallback } from "../configuration/rows.ts";
import type { SourceText, Spot } from "../fields.ts";
import type { Deployment } from "./deployments.ts";

/** What the settings say of all routes. */
export interface RouteSettings {
  readonly balance: Balance;
  readonly retries: number | null;
  /** Name → names tried after it. */
  readonly fallbacks: ReadonlyMap<string, readonly SourceText[]>;
  readonly defaultFallbacks: readonly SourceText[];
  readonly aliases: readonly { readonly alias: string; readonly name: string; readonly spot: Spot }[];
}

/** The endpoints of one name, in the order in which they are tried. */
interface Group {
  readonly name: string;
  readonly id: string;
  readonly first: readonly Deployment[];
  readonly later: readonly Deployment[];
}

const MOST_ATTEMPTS = 10;

/** Makes a route of each name. @returns name → id of its route. */
export function addRoutes(
  deployments: ReadonlyMap<string, readonly Deployment[]>,
  settings: RouteSettings,
  imported: ImportedConfiguration,
): ReadonlyMap<string, string> {
  const groups = new Map<string, Group>();
  for (const [name, rows] of deployments) {
    const group = groupOf(name, rows, imported);
    if (group !== null) groups.set(name, group);
  }
  const ids = new Map([...groups].map(([name, { id }]) => [name, id]));
  for (const group of groups.values()) addRoute(group, group.id, groups, settings, imported);
  for (const [name, listed] of settings.fallbacks) {
    if (groups.has(name) || name === "*") continue;
    for (const { spot } of listed)
      imported.report.add("decide", spot, `falls back from ${quote(name)}, which is not a route`);
  }
  const { fallbacks, defaultFallbacks } = settings;
  if ([...groups.keys()].every((name) => fallbacks.has(name) || fallbacks.has("*")))
    for (const { spot } of defaultFallbacks)
      imported.report.add("left_out", spot, "every route has fallbacks of its own");
  for (const { alias, name, spot } of settings.aliases) {
    const group = groups.get(name);
    if (group === undefined) {
      imported.report.add("decide", spot, `the alias stands for ${quote(name)}, which is not a route`, "whole");
      continue;
    }
    const id = imported.routeNames.take(asName(alias, "alias"));
    addRoute(group, id, groups, settings, imported);
    ids.set(alias, id);
    imported.report.add("carried", spot, `route ${quote(id)} with the endpoints of ${quote(group.id)}`, "whole");
  }
  return ids;
}

/** Deployments that can stand in for each other; what cannot is reported. */
function groupOf(name: string, rows: readonly Deployment[], imported: ImportedConfiguration): Group | null {
  const [head] = rows;
  if (head === undefined) return null;
  const fitting = rows.filter((row) => {
    if (canReplace(row.endpoint, head.endpoint)) return true;
    const why =
      row.operation === "embed" ? "its vectors cannot be compared with those" : "its kind of call differs from that";
    imported.report.add("left_out", row.spot, `not part of route ${quote(name)}: ${why} of the first row of this name`);
    dropEndpoint(imported, row.endpoint);
    return false;
  });
  const orders = fitting.map(({ order }) => order);
  const lowest = Math.min(...orders);
  const later = fitting.filter(({ order }) => order !== lowest).toSorted((left, right) => left.order - right.order);
  for (const { order, spot } of fitting) {
    if (order === 0 && later.length === 0) continue;
    const at = spot.spot("order");
    if (order === lowest) imported.report.add("carried", at, "`primary` or `peers` of the route");
    else imported.report.add("changed", at, "fallback of the route; those of one order are tried one after another");
  }
  const id = imported.routeNames.take(asName(name, "route"));
  const renamed = `the route is called ${quote(id)}: names have letters, digits, and . _ : / -`;
  if (id !== name) imported.report.add("changed", head.spot, renamed);
  return { name, id, first: fitting.filter(({ order }) => order === lowest), later };
}

/** An endpoint that no route uses. */
function dropEndpoint(imported: ImportedConfiguration, endpoint: PlannedEndpoint): void {
  const index = imported.endpoints.indexOf(endpoint);
  if (index !== -1) imported.endpoints.splice(index, 1);
}

function addRoute(
  { name, first, later }: Group,
  id: string,
  groups: ReadonlyMap<string, Group>,
  settings: RouteSettings,
  imported: ImportedConfiguration,
): void {
  const [head, ...peers] = first;
  if (head === undefined) return;
  const fallbacks = fallbacksOf(name, head, first, later, groups, settings, imported);
  const count = peers.length + fallbacks.length;
  const isShared = settings.balance === "weighted";
  if (!isShared) leaveOutWeights(first, `\`${settings.balance}\` shares by what it measures, not by weights`, imported);
  leaveOutWeights(later, "a fallback has no share", imported);
  const attempts =
    settings.retries === null ? null : Math.min(MOST_ATTEMPTS, 1 + Math.max(0, Math.floor(settings.retries)) + count);
  imported.routes.push({
    id,
    primary: head.endpoint,
    peers: peers.map(({ endpoint }) => endpoint),
    balance: settings.balance,
    weights: isShared ? sharesOf(first, imported) : new Map(),
    fallbacks,
    maxAttempts: attempts,
    internal: false,
    spot: head.spot,
  });
}

function leaveOutWeights(rows: readonly Deployment[], why: string, { report }: ImportedConfiguration): void {
  for (const { spot, weight } of rows) if (weight !== null) report.addMembers("left_out", spot, ["weight"], why);
}

/** Shares by `weight`, else by `rpm`, else by `tpm`, as the source shuffles them. */
function sharesOf(rows: readonly Deployment[], { report }: ImportedConfiguration): ReadonlyMap<string, number> {
  for (const key of ["weight", "rpm", "tpm"] as const) {
    if (!rows.some((row) => (row[key] ?? 0) > 0)) continue;
    for (const { spot, weight } of key === "weight" ? rows : []) {
      // A reference whose value is not known has no share.
      if (weight === null) continue;
      if (rows.length > 1) report.addMembers("carried", spot, ["weight"], "`weights` of the route");
      else report.addMembers("left_out", spot, ["weight"], "the only endpoint of its route has no share");
    }
    return weightsOf(rows.map((row) => ({ endpoint: row.endpoint, weight: row[key] ?? 0 })));
  }
  return new Map();
}

function listedAfter(name: string, { fallbacks, defaultFallbacks }: RouteSettings): readonly SourceText[] {
  return fallbacks.get(name) ?? fallbacks.get("*") ?? defaultFallbacks;
}

function fallbacksOf(
  name: string,
  head: Deployment,
  first: readonly Deployment[],
  later: readonly Deployment[],
  groups: ReadonlyMap<string, Group>,
  settings: RouteSettings,
  imported: ImportedConfiguration,
): readonly PlannedFallback[] {
  const fallbacks: PlannedFallback[] = later.map(({ endpoint }) => endpoint);
  const own = new Set<string>(first.map(({ endpoint }) => endpoint.id));
  const seen = new Set<string>(later.map(({ endpoint }) => endpoint.id));
  const add = (endpoint: PlannedEndpoint): void => {
    if (own.has(endpoint.id) || seen.has(endpoint.id)) return;
    seen.add(endpoint.id);
    fallbacks.push(endpoint);
  };
  const routes = new Set<string>();
  for (const { text, spot } of listedAfter(name, settings)) {
    const group = groups.get(text);
    if (text === name) {
      imported.report.add("changed", spot, `route ${quote(name)} does not fall back to itself`);
      continue;
    }
    if (group === undefined) {
      imported.report.add("decide", spot, `names ${quote(text)}, which is not a route`);
      continue;
    }
    const [other] = group.first;
    if (other === undefined || !canReplace(other.endpoint, head.endpoint)) {
      const why = `${quote(text)} cannot stand in for ${quote(name)}: another kind of call, or other vectors`;
      if (settings.fallbacks.has(name)) imported.report.add("left_out", spot, why);
      continue;
    }
    const isLeaf = listedAfter(text, settings).length === 0;
    imported.report.add("carried", spot, `fallback of route ${quote(name)}`);
    if (isLeaf && group.first.length > 1) {
      if (!routes.has(group.id)) fallbacks.push({ route: group.id });
      routes.add(group.id);
    } else for (const { endpoint } of [...group.first, ...group.later]) add(endpoint);
  }
  return fallbacks;
}
