import { isJsonObject, type JsonObject } from "../../../canon/json.ts";
import type { BUDGET_PERIODS } from "../../../canon/limits.ts";
import type { Balance } from "../../../canon/table.ts";
import { quote } from "../../../compile/authored/literal-secrets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import {
  asId,
  asName,
  canReplace,
  keyListPolicy,
  type PlannedFallback,
  weightsOf,
} from "../configuration/rows.ts";
import { duration, reachable } from "../routes-file.ts";
import { type Fields, type Reading, rowOf, type SourceText } from "../source.ts";
import type { Deployment } from "./deployments.ts";
import knownKeys from "./known-keys.json" with { type: "json" };

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

function balanceOf(router: Fields): Balance {
  const text = router.text("routing_strategy");
  if (text === null) return "weighted";
  const [balance, difference] = rowOf(STRATEGIES, text) ?? [];
  if (balance === undefined)
    router.note(
      "decide",
      "routing_strategy",
      "there is no such balance: `weighted` is written; docs/dispatch.md has the others",
    );
  else
    router.note(
      difference === undefined ? "carried" : "changed",
      "routing_strategy",
      difference ?? `\`balance: ${balance}\` of routes with several endpoints`,
    );
  return balance ?? "weighted";
}

/** Settings of all routes. Fallbacks may be in either section. */
export function routeSettings({ router, litellm }: Settings, { report }: Reading) {
  /** Name → names tried after it. */
  const fallbacks = new Map<string, readonly SourceText[]>();
  const sections = [router, litellm];
  for (const section of sections.toReversed()) {
    for (const row of section.rows("fallbacks")) {
      for (const [name, item] of row.entries()) {
        const targets = section.itemsOf(item).filter((one) => {
          if (one.node.kind === "scalar") return true;
          const text = "a fallback with parameters of its own: write a route for it";
          report.add("decide", one, text, "whole");
          return false;
        });
        fallbacks.set(
          name,
          targets.flatMap((one) => section.textsOf(one)),
        );
      }
    }
  }
  const names = ["num_retries", "max_retries"];
  const [retries = null] = sections.flatMap((section) =>
    names.flatMap((name) => section.number(name) ?? []),
  );
  return {
    balance: balanceOf(router),
    retries,
    fallbacks,
    defaultFallbacks: [litellm, router].flatMap((section) => section.texts("default_fallbacks")),
    aliases: aliasesOf(router, report),
  };
}

export type RouteSettings = ReturnType<typeof routeSettings>;

function aliasesOf(router: Fields, report: Reading["report"]) {
  const group = router.fields("model_group_alias");
  return group.entries().flatMap(([alias, origin]) => {
    const inner = origin.node.kind === "map" ? group.fieldsOf(origin) : null;
    const name = origin.node.kind === "scalar" ? String(origin.node.value) : inner?.text("model");
    if (inner?.flag("hidden") === true)
      inner.note("left_out", "hidden", "every route that a key may use is in its list of models");
    if (typeof name === "string") return [{ alias, name, origin }];
    report.add(
      "decide",
      origin,
      "an alias stands for one name, as text or as `model` of a mapping: write a route for it",
      "whole",
    );
    return [];
  });
}

/** Applies timeouts, concurrency and ejection to every provider. */
export function applyProviderSettings(
  { router, litellm, general }: Settings,
  imported: ImportedConfiguration,
): void {
  const times = [timeOf(router, "timeout"), timeOf(litellm, "request_timeout")];
  const total = times[0] ?? times[1] ?? null;
  const first = timeOf(router, "stream_timeout");
  for (const { totals, firstTokens } of imported.providers) {
    if (total !== null && (totals.size === 0 || totals.delete(null))) totals.add(total);
    if (firstTokens.size === 0 && first !== null) firstTokens.add(first);
  }
  const fails = router.number("allowed_fails") ?? litellm.number("allowed_fails") ?? -1;
  const cooldown = router.number("cooldown_time") ?? litellm.number("cooldown_time") ?? 0;
  const isDisabled = router.flag("disable_cooldowns") === true;
  if (isDisabled)
    router.note(
      "carried",
      "disable_cooldowns",
      "`health: { consecutive_failures: 0, failure_ratio: 0 }`: no endpoint is left out",
    );
  imported.health = {
    ...(fails >= 0 && { consecutive_failures: Math.min(10_000, Math.floor(fails) + 1) }),
    ...(cooldown > 0 && { ejection: duration(cooldown) }),
    ...(cooldown > 300 && { longest_ejection: duration(cooldown) }),
    ...(isDisabled && { consecutive_failures: 0, failure_ratio: 0 }),
  };
  const each =
    router.number("default_max_parallel_requests") ?? general.number("max_parallel_requests") ?? 0;
  if (each >= 1)
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

/** Deployments of one name, at least one. */
export type Rows = readonly [...Deployment[], Deployment];

/** The endpoints of one name, in the order in which they are tried. */
interface Group {
  readonly name: string;
  readonly id: string;
  readonly first: readonly Deployment[];
  readonly later: readonly Deployment[];
}

const MOST_ATTEMPTS = 10;

/** Adds a route for each name. @returns name → id of its route. */
export function addRoutes(
  deployments: ReadonlyMap<string, Rows>,
  settings: RouteSettings,
  imported: ImportedConfiguration,
): ReadonlyMap<string, string> {
  const { report } = imported;
  const groups = new Map(
    [...deployments].map(([name, rows]) => [name, groupOf(name, rows, imported)]),
  );
  const ids = new Map([...groups].map(([name, { id }]) => [name, id]));
  for (const group of groups.values()) addRoute(group, group.id, groups, settings, imported);
  const { fallbacks, defaultFallbacks, aliases } = settings;
  for (const [name, targets] of fallbacks) {
    if (groups.has(name) || name === "*") continue;
    for (const { origin } of targets)
      report.add("decide", origin, `falls back from ${quote(name)}, which is not a route`);
  }
  if (fallbacks.has("*") || [...groups.keys()].every((name) => fallbacks.has(name)))
    for (const { origin } of defaultFallbacks)
      report.add("left_out", origin, "every route has fallbacks of its own");
  for (const { alias, name, origin } of aliases) {
    const group = groups.get(name);
    if (group === undefined) {
      report.add(
        "decide",
        origin,
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
      origin,
      `route ${quote(id)} with the endpoints of ${quote(group.id)}`,
      "whole",
    );
  }
  return ids;
}

/**
 * Groups deployments that can replace each other. Reports the others and removes their endpoints.
 */
function groupOf(
  name: string,
  rows: Rows,
  { endpoints, report, routeNames }: ImportedConfiguration,
): Group {
  const [head] = rows;
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
  const sorted = fitting.toSorted((left, right) => left.order - right.order);
  const first = sorted.filter(({ order }) => order === sorted[0]?.order);
  const later = sorted.slice(first.length);
  for (const { params } of later)
    params.note(
      "changed",
      "order",
      "fallback of the route; those of one order are tried one after another",
    );
  const id = routeNames.take(asName(name, "route"));
  if (id !== name)
    report.add(
      "changed",
      head.params,
      `the route is called ${quote(id)}: names have letters, digits, and . _ : / -`,
    );
  return { name, id, first, later };
}

function addRoute(
  group: Group,
  id: string,
  groups: ReadonlyMap<string, Group>,
  settings: RouteSettings,
  imported: ImportedConfiguration,
) {
  const { first, later } = group;
  const [head, ...peers] = first;
  if (head === undefined) return;
  const { balance, retries } = settings;
  const fallbacks = fallbacksOf(group, head, groups, settings, imported);
  const isWeighted = balance === "weighted";
  if (!isWeighted) omitWeights(first, `\`${balance}\` shares by what it measures, not by weights`);
  omitWeights(later, "a fallback has no share");
  const calls = 1 + Math.max(0, Math.floor(retries ?? 0)) + peers.length + fallbacks.length;
  imported.routes.push({
    id,
    endpoints: [head.endpoint, ...peers.map(({ endpoint }) => endpoint)],
    balance,
    ...(isWeighted && { weights: sharesOf(first) }),
    fallbacks,
    maxAttempts: retries === null ? null : Math.min(MOST_ATTEMPTS, calls),
    origins: [head.params],
  });
}

function omitWeights(rows: readonly Deployment[], why: string) {
  for (const { params, weight } of rows)
    if (weight !== null) params.note("left_out", "weight", why);
}

/** Shares by `weight`, else by `rpm`, else by `tpm`, as the source shuffles them. */
function sharesOf(rows: readonly Deployment[]) {
  const key = (["weight", "rpm", "tpm"] as const).find((one) =>
    rows.some((row) => (row[one] ?? 0) > 0),
  );
  if (key === undefined) return new Map();
  // A reference whose value is not known has no share.
  for (const { params, weight } of key === "weight" && rows.length > 1 ? rows : [])
    if (weight !== null) params.note("carried", "weight", "`weights` of the route");
  if (key === "weight" && rows.length === 1)
    omitWeights(rows, "the only endpoint of its route has no share");
  return weightsOf(rows.map((row) => ({ endpoint: row.endpoint, weight: row[key] ?? 0 })));
}

function listedAfter(name: string, { fallbacks, defaultFallbacks }: RouteSettings) {
  return fallbacks.get(name) ?? fallbacks.get("*") ?? defaultFallbacks;
}

function fallbacksOf(
  { name, first, later }: Group,
  head: Deployment,
  groups: ReadonlyMap<string, Group>,
  settings: RouteSettings,
  { report }: ImportedConfiguration,
): readonly PlannedFallback[] {
  const primary = new Set(first.map(({ endpoint }) => endpoint));
  const fallbacks = new Map<string, PlannedFallback>();
  const add = (rows: readonly Deployment[]) => {
    for (const { endpoint } of rows)
      if (!primary.has(endpoint)) fallbacks.set(endpoint.id, endpoint);
  };
  add(later);
  for (const { text, origin } of listedAfter(name, settings)) {
    const group = groups.get(text);
    const [other] = group?.first ?? [];
    if (text === name)
      report.add("changed", origin, `route ${quote(name)} does not fall back to itself`);
    else if (group === undefined)
      report.add("decide", origin, `names ${quote(text)}, which is not a route`);
    else if (other === undefined || !canReplace(other.endpoint, head.endpoint)) {
      if (settings.fallbacks.has(name))
        report.add(
          "left_out",
          origin,
          `${quote(text)} cannot stand in for ${quote(name)}: another kind of call, or other vectors`,
        );
    } else {
      report.add("carried", origin, `fallback of route ${quote(name)}`);
      if (group.first.length > 1 && listedAfter(text, settings).length === 0)
        fallbacks.set(`route ${group.id}`, { route: group.id });
      else add([...group.first, ...group.later]);
    }
  }
  return [...fallbacks.values()];
}

/** Resolves the names in a list of models. */
interface ModelNames {
  /** Name → id of its route. */
  readonly routes: ReadonlyMap<string, string>;
  /** Access group → names. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
}

/**
 * Adds a workspace for each team, or one for all, and a command for each key. @param root the file.
 */
export function addTenants(root: Fields, names: ModelNames, imported: ImportedConfiguration): void {
  const { report, keyCommands, labels, workspaces, answers } = imported;
  const all = [...new Set(names.routes.values())];
  const teams = root.rows("teams");
  if (teams.length === 0) imported.addOnlyWorkspace(all);
  /** Team → workspace. */
  const ids = new Map<string, string>();
  for (const team of teams) {
    const id = team.text("team_id");
    const label = team.text("team_alias") ?? id;
    if (label === null) {
      team.missing("team_id", "write `team_id` or `team_alias`");
      continue;
    }
    if (isBlocked(team, "team", imported)) continue;
    const routes = listedRoutes(team, names, imported) ?? all;
    const workspace = imported.workspaceNames.take(asId(label, "team"));
    if (id !== null) ids.set(id, workspace);
    const limits = limitsOf(team, isPriced(imported, routes));
    const inRegion = regionLabels(team, imported);
    workspaces.push({ id: workspace, routes, labels: inRegion, limits, origins: [team] });
    report.add("carried", team, `workspace \`${workspace}\``);
    team.note("carried", ["team_id", "team_alias", "blocked"], `workspace \`${workspace}\``);
    team.noteRest(knownKeys.teams_and_keys);
  }
  const lists = new Map<string, readonly string[]>();
  for (const key of root.rows(root.has("virtual_keys") ? "virtual_keys" : "keys")) {
    const owner = asId(key.text("key_alias") ?? `key-${keyCommands.length + 1}`, "key");
    const team = ids.get(key.text("team_id") ?? "");
    const workspace = team ?? workspaces[0]?.id ?? answers.workspace;
    if (team === undefined) key.note("decide", "team_id", "there is no such team in the file");
    if (isBlocked(key, "key", imported)) continue;
    const routeIds = listedRoutes(key, names, imported);
    const label = asId(`only-${owner}`, "only-key");
    if (routeIds !== null) {
      lists.set(label, routeIds);
      labels.add(label);
      report.add(
        "carried",
        key.origin("models"),
        `policy \`key-routes\`, for keys with the label \`${label}\``,
      );
    }
    const routes = routeIds ?? workspaces.find(({ id }) => id === workspace)?.routes ?? [];
    const limits = limitFlags(limitsOf(key, isPriced(imported, routes)));
    keyCommands.push(
      `signalbox keys create --workspace ${workspace} --scopes inference,catalogue:read --owner ${owner} --expires 90d${routeIds === null ? "" : ` --labels ${label}`}${limits}`,
    );
    report.add(
      "decide",
      key,
      `make the key anew with the command below "Keys to make", for workspace \`${workspace}\``,
    );
    key.note("carried", ["key_alias", "team_id", "blocked"], "owner and workspace of the key");
    key.noteRest(knownKeys.teams_and_keys);
  }
  if (lists.size > 0) imported.policies.push(keyListPolicy(lists));
}

function isBlocked(row: Fields, noun: string, { report }: Reading): boolean {
  if (row.flag("blocked") !== true) return false;
  report.add("left_out", row, `the ${noun} is blocked`);
  return true;
}

const ALL: ReadonlySet<string> = new Set(["all-proxy-models", "all-team-models", "*"]);

/** Ids of the routes that a list of models names; `null`: all. */
function listedRoutes(fields: Fields, { routes, groups }: ModelNames, { report }: Reading) {
  const models = fields.texts("models");
  if (models.length === 0 || models.some(({ text }) => ALL.has(text))) {
    fields.note("carried", "models", "`approve.routes`: all");
    return null;
  }
  const found = models.flatMap(({ text, origin }) => {
    if (text === "no-default-models") {
      report.add("carried", origin, "`approve.routes`: none besides those that are listed");
      return [];
    }
    const names = [text, ...(groups.get(text) ?? [])];
    const ids = [...routes].flatMap(([name, id]) =>
      names.includes(name) || (text.endsWith("*") && name.startsWith(text.slice(0, -1)))
        ? [id]
        : [],
    );
    if (ids.length === 0)
      report.add("decide", origin, `names ${quote(text)}, which is not a route`);
    else report.add("carried", origin, "`approve.routes`, or the policy `key-routes`");
    return ids;
  });
  return [...new Set(found)];
}

/** `allowed_model_region` becomes the policy `eu-residency`. */
function regionLabels(
  fields: Fields,
  { labels, residency }: ImportedConfiguration,
): readonly string[] {
  const region = fields.text("allowed_model_region")?.toLowerCase();
  if (region !== "eu") {
    fields.note(
      "decide",
      "allowed_model_region",
      "the imported policy covers `eu` only; write one for this region (docs/writing-a-policy.md)",
    );
    return [];
  }
  labels.add("eu");
  residency.add("eu");
  fields.note(
    "carried",
    "allowed_model_region",
    "label `eu`, and the policy `eu-residency`: primary and fallbacks have to be in the group `eu`",
  );
  return ["eu"];
}

/** A budget can be counted only if every endpoint has a price. */
function isPriced(imported: ImportedConfiguration, routes: readonly string[]) {
  return reachable(imported, routes).every(({ price }) => price !== null);
}

/** Calendar periods, by the periods of the source, which begin with the first request. */
const PERIODS: Readonly<Record<string, (typeof BUDGET_PERIODS)[number]>> = {
  "1h": "hour",
  "60m": "hour",
  "3600s": "hour",
  "1d": "day",
  "24h": "day",
  "86400s": "day",
  "7d": "week",
  "30d": "month",
  "31d": "month",
  "1mo": "month",
};

const COUNTS = [
  ["rpm_limit", "requests_per_minute", 1_000_000_000],
  ["tpm_limit", "tokens_per_minute", 1_000_000_000_000],
  ["max_parallel_requests", "concurrency", 1_000_000],
] as const;

/** `limits` of a workspace or a key. @param priced see {@link isPriced}. */
function limitsOf(fields: Fields, priced: boolean): JsonObject {
  const limits: Record<string, JsonObject[string]> = {};
  for (const [name, key, most] of COUNTS) {
    const value = fields.number(name);
    if (value === null) continue;
    if (value >= 1) limits[key] = Math.min(most, Math.floor(value));
    if (value >= 1) fields.note("carried", name, `\`limits.${key}\``);
    else
      fields.note("decide", name, "allows nothing: leave the workspace out, or approve no route");
  }
  const usd = fields.number("max_budget");
  const text = fields.text("budget_duration");
  if (usd === null) {
    fields.note("left_out", "budget_duration", "there is no `max_budget` beside it");
    return limits;
  }
  const per = rowOf(PERIODS, text);
  fields.note("changed", "budget_duration", "`limits.budget.per`, or the line of `max_budget`");
  const isEnforceable = usd >= 0.000_001 && per !== undefined && priced;
  if (isEnforceable) limits.budget = { usd: Math.min(1_000_000_000, usd), per };
  fields.note(
    isEnforceable ? "changed" : "decide",
    "max_budget",
    usd < 0.000_001
      ? "a budget of 0: leave the workspace out, or approve no route"
      : per === undefined
        ? `budgets here are for a calendar hour, day, week or month, and this one ${text === null ? "is never renewed" : "has another period"}: write \`limits.budget\``
        : priced
          ? `\`limits.budget\`, for a calendar ${per} in UTC instead of a time from the first request`
          : `no budget can be counted without prices: add \`price\` to the endpoints, then \`limits: { budget: { usd: ${usd}, per: ${per} } }\``,
  );
  return limits;
}

/** The same limits as flags of `signalbox keys create`. */
function limitFlags({ budget, ...limits }: JsonObject): string {
  const { usd = null, per = null } = isJsonObject(budget) ? budget : {};
  return Object.entries({ ...limits, "budget-usd": usd, "budget-per": per })
    .map(([key, value]) =>
      value === null || typeof value === "object" ? "" : ` --${key.replaceAll("_", "-")} ${value}`,
    )
    .join("");
}

/** Applies the limits that all workspaces and keys share. */
export function applyTenantSettings(
  { litellm, general, router }: Settings,
  { endpoints, workspaces }: ImportedConfiguration,
): void {
  const priced = endpoints.every(({ price }) => price !== null);
  const isSingleWorkspace = workspaces.length === 1;
  const isLimited = litellm.has("max_budget") || litellm.has("budget_duration");
  const { budget } = isLimited ? limitsOf(litellm, priced && isSingleWorkspace) : {};
  const all = general.number("global_max_parallel_requests") ?? 0;
  general.note(
    "changed",
    "global_max_parallel_requests",
    isSingleWorkspace
      ? "`limits.concurrency` of the workspace"
      : "`limits.concurrency` of each workspace: there is no limit for all workspaces together",
  );
  const perKey = perKeyLimits(litellm, priced);
  for (const [index, workspace] of workspaces.entries()) {
    const limits = {
      ...(isSingleWorkspace && budget !== undefined && { budget }),
      ...(all >= 1 && { concurrency: Math.min(1_000_000, Math.floor(all)) }),
      ...workspace.limits,
      ...(Object.keys(perKey).length > 0 && { per_key: perKey }),
    };
    workspaces[index] = { ...workspace, limits };
  }
  const text = "budgets are of workspaces and keys (docs/limits.md), not of providers";
  router.fields("provider_budget_config").noteRest([], { outcome: "left_out", text });
}

/** A key of the source may not have more than the upper bound, which becomes `per_key`. */
function perKeyLimits(litellm: Fields, priced: boolean): JsonObject {
  const sections = [
    "default_key_generate_params",
    "upperbound_key_generate_params",
    "default_team_params",
  ].map((name) => litellm.fields(name));
  const limits = sections.slice(0, 2).map((params) => limitsOf(params, priced));
  const others = { outcome: "decide", text: "write it at each key or workspace" };
  for (const params of sections) params.noteRest(knownKeys.default_params, others);
  return Object.assign({}, ...limits);
}
