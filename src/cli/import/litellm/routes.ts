import type { JsonObject } from "../../../canon/json.ts";
import type { Balance } from "../../../canon/table.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import {
  asName,
  canReplace,
  weightsOf,
  type PlannedEndpoint,
  type PlannedFallback,
} from "../configuration/rows.ts";
import type { Deployment } from "./deployments.ts";
import { limitsOf } from "./tenants.ts";
import { duration } from "../routes-file.ts";
import type { Fields, Reading, SourceText, Spot } from "../source.ts";
import { quote } from "../../../compile/authored/literal-secrets.ts";

/** The three sections of settings. */
interface Settings {
  readonly router: Fields;
  readonly litellm: Fields;
  readonly general: Fields;
}

const BY_USAGE = [
  "least_in_flight",
  "Signalbox does not balance by tokens per minute: `least_in_flight` comes closest",
] as const;
/** LiteLLM's strategy → ours, with a note where it differs. */
const STRATEGIES: Readonly<Record<string, readonly [Balance, string?]>> = {
  "simple-shuffle": ["weighted"],
  "least-busy": ["least_in_flight"],
  "latency-based-routing": [
    "latency",
    "`balance: latency`: by the time to the first token, the better of two at random",
  ],
  "cost-based-routing": ["price", "`balance: price`, by `price` of the endpoints"],
  "usage-based-routing": BY_USAGE,
  "usage-based-routing-v2": BY_USAGE,
};

/** Settings of routes. Fallbacks may be in either section. */
export function routeSettings({ router, litellm }: Settings, { report }: Reading): RouteSettings {
  const fallbacks = new Map<string, readonly SourceText[]>();
  for (const section of [litellm, router]) readFallbacks(section, fallbacks, report);
  const attempts =
    "`max_attempts` of each route, at most 10: it counts the first call, retries and fallbacks together";
  const names = ["num_retries", "max_retries"];
  const retries = [router, litellm].flatMap((section) =>
    names.flatMap((name) => section.number(name) ?? []),
  );
  for (const section of [router, litellm]) section.note("changed", names, attempts);
  return {
    balance: balanceOf(router),
    retries: retries[0] ?? null,
    fallbacks,
    defaultFallbacks: [litellm, router].flatMap((section) => section.texts("default_fallbacks")),
    aliases: aliasesOf(router, report),
  };
}

function balanceOf(router: Fields): Balance {
  const text = router.text("routing_strategy");
  if (text === null) return "weighted";
  const [balance, changed] = (Object.hasOwn(STRATEGIES, text) ? STRATEGIES[text] : undefined) ?? [
    null,
  ];
  if (balance === null) {
    const unknown =
      "there is no such balance: `weighted` is written; docs/dispatch.md has the others";
    router.note("decide", "routing_strategy", unknown);
    return "weighted";
  }
  const same = `\`balance: ${balance}\` of routes with several endpoints`;
  router.note(changed === undefined ? "carried" : "changed", "routing_strategy", changed ?? same);
  return balance;
}

/** A list of mappings from a name to the names after it. */
function readFallbacks(
  section: Fields,
  into: Map<string, readonly SourceText[]>,
  report: Reading["report"],
): void {
  for (const row of section.rows("fallbacks")) {
    for (const [name, item] of row.entries()) {
      const listed = section.itemsOf(item).flatMap((one) => {
        if (one.node.kind === "scalar") return [{ text: String(one.node.value), spot: one }];
        report.add(
          "decide",
          one,
          "a fallback with parameters of its own: write a route for it",
          "whole",
        );
        return [];
      });
      into.set(name, listed);
    }
  }
}

function aliasesOf(router: Fields, report: Reading["report"]): RouteSettings["aliases"] {
  const group = router.fields("model_group_alias");
  return group.entries().flatMap(([alias, item]) => {
    const inner = item.node.kind === "map" ? group.fieldsOf(item) : null;
    const name =
      item.node.kind === "scalar" ? String(item.node.value) : (inner?.text("model") ?? null);
    if (inner?.flag("hidden") === true)
      inner.note("left_out", "hidden", "every route that a key may use is in its list of models");
    if (name !== null) return [{ alias, name, spot: item }];
    const what =
      "an alias stands for one name, as text or as `model` of a mapping: write a route for it";
    report.add("decide", item, what, "whole");
    return [];
  });
}

/** Settings of every provider: times, concurrency, and the failures that eject an endpoint. */
export function applyProviderSettings(
  { router, litellm, general }: Settings,
  imported: ImportedConfiguration,
): void {
  const total = [timeOf(router, "timeout"), timeOf(litellm, "request_timeout")].find(
    (time) => time !== null,
  );
  const first = timeOf(router, "stream_timeout");
  for (const { totals, firstTokens } of imported.providers) {
    if (total !== undefined && (totals.size === 0 || totals.delete(null))) totals.add(total);
    if (firstTokens.size === 0 && first !== null) firstTokens.add(first);
  }
  const health: Record<string, string | number> = {};
  const fails = router.number("allowed_fails") ?? litellm.number("allowed_fails");
  const cooldown = router.number("cooldown_time") ?? litellm.number("cooldown_time");
  const counted =
    "`health` of each provider: it counts consecutive failures, LiteLLM those of a minute";
  for (const section of [router, litellm])
    section.note("changed", ["allowed_fails", "cooldown_time"], counted);
  if (fails !== null && fails >= 0)
    health.consecutive_failures = Math.min(10_000, Math.floor(fails) + 1);
  if (cooldown !== null && cooldown > 0) {
    health.ejection = duration(cooldown);
    if (cooldown > 300) health.longest_ejection = duration(cooldown);
  }
  if (router.flag("disable_cooldowns") === true) {
    const what = "`health: { consecutive_failures: 0, failure_ratio: 0 }`: no endpoint is left out";
    router.note("carried", "disable_cooldowns", what);
    health.consecutive_failures = 0;
    health.failure_ratio = 0;
  }
  imported.health = health;
  const each =
    router.number("default_max_parallel_requests") ?? general.number("max_parallel_requests");
  const what = "`max_concurrency` of endpoints that have none, in each process";
  router.note("changed", "default_max_parallel_requests", what);
  general.note("changed", "max_parallel_requests", what);
  if (each === null || each < 1) return;
  for (const endpoint of imported.endpoints)
    endpoint.maxConcurrency ??= Math.min(100_000, Math.floor(each));
}

function timeOf(section: Fields, name: string): number | null {
  const value = section.number(name);
  if (value === null || value <= 0) return null;
  section.note(
    "changed",
    name,
    "`timeouts` of each provider whose rows have none: for one call, not for all of a request",
  );
  return value;
}

/**
 * Limits of all workspaces and of every key. @param isPriced whether every endpoint has a price.
 */
export function applyTenantSettings(
  { litellm, general, router }: Settings,
  isPriced: boolean,
  { workspaces }: ImportedConfiguration,
): void {
  const isOnly = workspaces.length === 1;
  const isLimited = litellm.has("max_budget") || litellm.has("budget_duration");
  const { budget } = isLimited ? limitsOf(litellm, isPriced && isOnly) : {};
  const shared: Record<string, JsonObject[string]> =
    isOnly && budget !== undefined ? { budget } : {};
  const all = general.number("global_max_parallel_requests") ?? 0;
  const what = isOnly
    ? "`limits.concurrency` of the workspace"
    : "`limits.concurrency` of each workspace: there is no limit for all workspaces together";
  general.note("changed", "global_max_parallel_requests", what);
  if (all >= 1) shared.concurrency = Math.min(1_000_000, Math.floor(all));
  const perKey = perKeyLimits(litellm, isPriced);
  for (const [index, workspace] of workspaces.entries()) {
    const limits = {
      ...shared,
      ...workspace.limits,
      ...(Object.keys(perKey).length > 0 && { per_key: perKey }),
    };
    workspaces[index] = { ...workspace, limits };
  }
  const ofProviders = "budgets are of workspaces and keys (docs/limits.md), not of providers";
  router.fields("provider_budget_config").noteUnread({}, ["left_out", ofProviders]);
}

/** A key of the source may not have more than the upper bound, which becomes `per_key`. */
function perKeyLimits(litellm: Fields, isPriced: boolean): JsonObject {
  const expires = ["decide", "`--expires` of each key"] as const;
  const limits: JsonObject[] = [];
  for (const name of [
    "default_key_generate_params",
    "upperbound_key_generate_params",
    "default_team_params",
  ]) {
    const params = litellm.fields(name);
    limits.push(name === "default_team_params" ? {} : limitsOf(params, isPriced));
    params.noteUnread({ duration: expires, key_rotation_interval: expires }, [
      "decide",
      "write it at each key or workspace",
    ]);
  }
  return Object.assign({}, ...limits);
}

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
