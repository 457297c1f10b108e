import { quote } from "../../../compile/authored/literal-secrets.ts";
import type { Balance } from "../../../canon/table.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import {
  asName,
  canReplace,
  weightsOf,
  type PlannedEndpoint,
  type PlannedFallback,
} from "../configuration/rows.ts";
import type { SourceText, Spot } from "../source.ts";
import type { Deployment } from "./deployments.ts";

/** Settings of all routes. */
export interface RouteSettings {
  readonly balance: Balance;
  readonly retries: number | null;
  /** Name → names tried after it. */
  readonly fallbacks: ReadonlyMap<string, readonly SourceText[]>;
  readonly defaultFallbacks: readonly SourceText[];
  readonly aliases: readonly {
    readonly alias: string;
    readonly name: string;
    readonly spot: Spot;
  }[];
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
  const { report } = imported;
  const groups = new Map<string, Group>();
  for (const [name, rows] of deployments) {
    const group = groupOf(name, rows, imported);
    if (group !== null) groups.set(name, group);
  }
  const ids = new Map([...groups].map(([name, { id }]) => [name, id]));
  for (const group of groups.values()) addRoute(group, group.id, groups, settings, imported);
  const { fallbacks, defaultFallbacks, aliases } = settings;
  for (const [name, listed] of fallbacks) {
    if (groups.has(name) || name === "*") continue;
    for (const { spot } of listed)
      report.add("decide", spot, `falls back from ${quote(name)}, which is not a route`);
  }
  if ([...groups.keys()].every((name) => fallbacks.has(name) || fallbacks.has("*")))
    for (const { spot } of defaultFallbacks)
      report.add("left_out", spot, "every route has fallbacks of its own");
  for (const { alias, name, spot } of aliases) {
    const group = groups.get(name);
    if (group === undefined) {
      report.add(
        "decide",
        spot,
        `the alias stands for ${quote(name)}, which is not a route`,
        "whole",
      );
      continue;
    }
    const id = imported.routeNames.take(asName(alias, "alias"));
    addRoute(group, id, groups, settings, imported);
    ids.set(alias, id);
    report.add(
      "carried",
      spot,
      `route ${quote(id)} with the endpoints of ${quote(group.id)}`,
      "whole",
    );
  }
  return ids;
}

/**
 * Deployments that can replace each other; the others are reported, and their endpoints removed.
 */
function groupOf(
  name: string,
  rows: readonly Deployment[],
  imported: ImportedConfiguration,
): Group | null {
  const [head] = rows;
  if (head === undefined) return null;
  const { endpoints, report, routeNames } = imported;
  const fitting = rows.filter(({ endpoint, operation, params }) => {
    if (canReplace(endpoint, head.endpoint)) return true;
    const why =
      operation === "embed"
        ? "its vectors cannot be compared with those"
        : "its kind of call differs from that";
    report.add(
      "left_out",
      params,
      `not part of route ${quote(name)}: ${why} of the first row of this name`,
    );
    endpoints.splice(endpoints.indexOf(endpoint), 1);
    return false;
  });
  const lowest = Math.min(...fitting.map(({ order }) => order));
  const first = fitting.filter(({ order }) => order === lowest);
  const later = fitting
    .filter(({ order }) => order !== lowest)
    .toSorted((left, right) => left.order - right.order);
  for (const { params } of first)
    params.note("carried", "order", "`primary` or `peers` of the route");
  for (const { params } of later)
    params.note(
      "changed",
      "order",
      "fallback of the route; those of one order are tried one after another",
    );
  const id = routeNames.take(asName(name, "route"));
  const renamed = `the route is called ${quote(id)}: names have letters, digits, and . _ : / -`;
  if (id !== name) report.add("changed", head.params, renamed);
  return { name, id, first, later };
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
  const { balance, retries } = settings;
  const fallbacks = fallbacksOf(name, head, first, later, groups, settings, imported);
  const isShared = balance === "weighted";
  if (!isShared) omitWeights(first, `\`${balance}\` shares by what it measures, not by weights`);
  omitWeights(later, "a fallback has no share");
  const calls = 1 + Math.max(0, Math.floor(retries ?? 0)) + peers.length + fallbacks.length;
  imported.routes.push({
    id,
    primary: head.endpoint,
    peers: peers.map(({ endpoint }) => endpoint),
    balance,
    weights: isShared ? sharesOf(first) : new Map(),
    fallbacks,
    maxAttempts: retries === null ? null : Math.min(MOST_ATTEMPTS, calls),
    internal: false,
    spot: head.params,
  });
}

function omitWeights(rows: readonly Deployment[], why: string): void {
  for (const { params, weight } of rows)
    if (weight !== null) params.note("left_out", "weight", why);
}

/** Shares by `weight`, else by `rpm`, else by `tpm`, as the source shuffles them. */
function sharesOf(rows: readonly Deployment[]): ReadonlyMap<string, number> {
  const key = (["weight", "rpm", "tpm"] as const).find((one) =>
    rows.some((row) => (row[one] ?? 0) > 0),
  );
  if (key === undefined) return new Map();
  for (const { params, weight } of key === "weight" ? rows : []) {
    // A reference whose value is not known has no share.
    if (weight === null) continue;
    if (rows.length > 1) params.note("carried", "weight", "`weights` of the route");
    else params.note("left_out", "weight", "the only endpoint of its route has no share");
  }
  return weightsOf(rows.map((row) => ({ endpoint: row.endpoint, weight: row[key] ?? 0 })));
}

function listedAfter(
  name: string,
  { fallbacks, defaultFallbacks }: RouteSettings,
): readonly SourceText[] {
  return fallbacks.get(name) ?? fallbacks.get("*") ?? defaultFallbacks;
}

function fallbacksOf(
  name: string,
  head: Deployment,
  first: readonly Deployment[],
  later: readonly Deployment[],
  groups: ReadonlyMap<string, Group>,
  settings: RouteSettings,
  { report }: ImportedConfiguration,
): readonly PlannedFallback[] {
  /** By id of the endpoint or route. */
  const fallbacks = new Map<string, PlannedFallback>(
    later.map(({ endpoint }) => [endpoint.id, endpoint]),
  );
  const own = new Set<PlannedEndpoint>(first.map(({ endpoint }) => endpoint));
  for (const { text, spot } of listedAfter(name, settings)) {
    const group = groups.get(text);
    if (text === name) {
      report.add("changed", spot, `route ${quote(name)} does not fall back to itself`);
      continue;
    }
    if (group === undefined) {
      report.add("decide", spot, `names ${quote(text)}, which is not a route`);
      continue;
    }
    const [other] = group.first;
    if (other === undefined || !canReplace(other.endpoint, head.endpoint)) {
      const why = `${quote(text)} cannot stand in for ${quote(name)}: another kind of call, or other vectors`;
      if (settings.fallbacks.has(name)) report.add("left_out", spot, why);
      continue;
    }
    report.add("carried", spot, `fallback of route ${quote(name)}`);
    if (group.first.length > 1 && listedAfter(text, settings).length === 0)
      fallbacks.set(`route ${group.id}`, { route: group.id });
    else
      for (const { endpoint } of [...group.first, ...group.later])
        if (!own.has(endpoint)) fallbacks.set(endpoint.id, endpoint);
  }
  return [...fallbacks.values()];
}
