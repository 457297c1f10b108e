import type { JsonObject } from "../../../canon/json.ts";
import type { Balance } from "../../../canon/table.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import type { Fields, SourceText } from "../fields.ts";
import { duration } from "../routes-json.ts";
import { limitsOf } from "./limits.ts";
import type { RouteSettings } from "./routes.ts";

/** The three sections of settings; each may be absent. */
interface Settings {
  readonly router: Fields | null;
  readonly litellm: Fields | null;
  readonly general: Fields | null;
}

const BY_USAGE = [
  "least_in_flight",
  "Signalbox does not balance by tokens per minute: `least_in_flight` comes closest",
] as const;
/** Strategies there; the sentence where the meaning changes. */
const STRATEGIES: Readonly<Record<string, readonly [Balance, string | null]>> = {
  "simple-shuffle": ["weighted", null],
  "least-busy": ["least_in_flight", null],
  "latency-based-routing": [
    "latency",
    "`balance: latency`: by the time to the first token, the better of two at random",
  ],
  "cost-based-routing": ["price", "`balance: price`, by `price` of the endpoints"],
  "usage-based-routing": BY_USAGE,
  "usage-based-routing-v2": BY_USAGE,
};

/** Settings of routes. Fallbacks may stand in either section. */
export function routeSettings({ router, litellm }: Settings, imported: ImportedConfiguration): RouteSettings {
  const fallbacks = new Map<string, readonly SourceText[]>();
  for (const section of [litellm, router]) if (section !== null) readFallbacks(section, fallbacks, imported);
  return {
    balance: balanceOf(router, imported),
    retries: retriesOf([router, litellm], imported),
    fallbacks,
    defaultFallbacks: [litellm, router].flatMap((section) => section?.texts("default_fallbacks") ?? []),
    aliases: aliasesOf(router, imported),
  };
}

function balanceOf(router: Fields | null, { report }: ImportedConfiguration): Balance {
  const text = router?.text("routing_strategy") ?? null;
  if (router === null || text === null) return "weighted";
  const spot = router.spot("routing_strategy");
  const known = Object.hasOwn(STRATEGIES, text) ? STRATEGIES[text] : undefined;
  if (known === undefined) {
    report.add("decide", spot, "there is no such balance: `weighted` is written; docs/dispatch.md has the others");
    return "weighted";
  }
  const [balance, changed] = known;
  const what = changed ?? `\`balance: ${balance}\` of routes with several endpoints`;
  report.add(changed === null ? "carried" : "changed", spot, what);
  return balance;
}

function retriesOf(sections: readonly (Fields | null)[], { report }: ImportedConfiguration): number | null {
  let found: number | null = null;
  for (const section of sections) {
    for (const name of ["num_retries", "max_retries"]) {
      const value = section?.number(name) ?? null;
      if (section === null || value === null) continue;
      found ??= value;
      const what = "`max_attempts` of each route, at most 10: it counts the first call, retries and fallbacks together";
      report.add("changed", section.spot(name), what);
    }
  }
  return found;
}

/** A list of mappings from a name to the names after it. */
function readFallbacks(
  section: Fields,
  into: Map<string, readonly SourceText[]>,
  { report }: ImportedConfiguration,
): void {
  for (const row of section.rows("fallbacks")) {
    for (const [name, item] of row.entries()) {
      const listed = section.itemsOf(item).flatMap((one) => {
        if (one.node.kind === "scalar") return [{ text: String(one.node.value), spot: one }];
        report.add("decide", one, "a fallback with parameters of its own: write a route for it", "whole");
        return [];
      });
      into.set(name, listed);
    }
  }
}

function aliasesOf(router: Fields | null, { report }: ImportedConfiguration): RouteSettings["aliases"] {
  const group = router?.fields("model_group_alias") ?? null;
  return (group?.entries() ?? []).flatMap(([alias, item]) => {
    const inner = item.node.kind === "map" ? (group?.fieldsOf(item) ?? null) : null;
    const name = inner === null ? (item.node.kind === "scalar" ? String(item.node.value) : null) : inner.text("model");
    if (inner?.flag("hidden") === true)
      report.add("left_out", inner.spot("hidden"), "every route that a key may use is in its list of models");
    if (name !== null) return [{ alias, name, spot: item }];
    report.add(
      "decide",
      item,
      "an alias stands for one name, as text or as `model` of a mapping: write a route for it",
      "whole",
    );
    return [];
  });
}

/** Settings of every provider: times, and what takes an endpoint out of service. */
export function applyProviderSettings({ router, litellm, general }: Settings, imported: ImportedConfiguration): void {
  const { report } = imported;
  const total = timeOf(router, "timeout", imported) ?? timeOf(litellm, "request_timeout", imported);
  timeOf(litellm, "request_timeout", imported);
  const first = timeOf(router, "stream_timeout", imported);
  for (const provider of imported.providers) {
    if (total !== null && (provider.totals.size === 0 || provider.totals.delete(null))) provider.totals.add(total);
    if (provider.firstTokens.size === 0 && first !== null) provider.firstTokens.add(first);
  }
  const health: Record<string, string | number> = {};
  const fails = router?.number("allowed_fails") ?? litellm?.number("allowed_fails") ?? null;
  const cooldown = router?.number("cooldown_time") ?? litellm?.number("cooldown_time") ?? null;
  const counted = "`health` of each provider: it counts consecutive failures, LiteLLM those of a minute";
  for (const section of [router, litellm])
    report.addMembers("changed", section, ["allowed_fails", "cooldown_time"], counted);
  if (fails !== null && fails >= 0) health["consecutive_failures"] = Math.min(10_000, Math.floor(fails) + 1);
  if (cooldown !== null && cooldown > 0) {
    health["ejection"] = duration(cooldown);
    if (cooldown > 300) health["longest_ejection"] = duration(cooldown);
  }
  if (router?.flag("disable_cooldowns") === true) {
    const what = "`health: { consecutive_failures: 0, failure_ratio: 0 }`: no endpoint is left out";
    report.add("carried", router.spot("disable_cooldowns"), what);
    health["consecutive_failures"] = 0;
    health["failure_ratio"] = 0;
  }
  imported.health = health;
  applyConcurrency(router, general, imported);
}

function timeOf(section: Fields | null, name: string, { report }: ImportedConfiguration): number | null {
  const value = section?.number(name) ?? null;
  if (section === null || value === null || value <= 0) return null;
  const what = "`timeouts` of each provider whose rows have none: for one call, not for all of a request";
  report.add("changed", section.spot(name), what);
  return value;
}

function applyConcurrency(router: Fields | null, general: Fields | null, imported: ImportedConfiguration): void {
  const each = router?.number("default_max_parallel_requests") ?? general?.number("max_parallel_requests") ?? null;
  const what = "`max_concurrency` of endpoints that have none, in each process";
  imported.report.addMembers("changed", router, ["default_max_parallel_requests"], what);
  imported.report.addMembers("changed", general, ["max_parallel_requests"], what);
  if (each === null || each < 1) return;
  for (const endpoint of imported.endpoints) endpoint.maxConcurrency ??= Math.min(100_000, Math.floor(each));
}

/** Limits of everything and of every key. @param isPriced whether every endpoint has a price. */
export function applyTenantSettings(
  { litellm, general, router }: Settings,
  isPriced: boolean,
  imported: ImportedConfiguration,
): void {
  const { report, workspaces } = imported;
  const only = workspaces.length === 1 ? workspaces[0] : undefined;
  const shared: Record<string, JsonObject | number | string> = {};
  if (litellm?.has("max_budget") === true || litellm?.has("budget_duration") === true) {
    const limits = limitsOf(litellm, isPriced && only !== undefined, imported);
    if (only !== undefined) Object.assign(shared, limits["budget"] === undefined ? {} : { budget: limits["budget"] });
  }
  const all = general?.number("global_max_parallel_requests") ?? null;
  if (general !== null && all !== null) {
    const what =
      only === undefined
        ? "`limits.concurrency` of each workspace: there is no limit for all workspaces together"
        : "`limits.concurrency` of the workspace";
    report.add("changed", general.spot("global_max_parallel_requests"), what);
    if (all >= 1) shared["concurrency"] = Math.min(1_000_000, Math.floor(all));
  }
  const perKey = perKeyLimits(litellm, isPriced, imported);
  for (const [index, workspace] of workspaces.entries()) {
    const limits = { ...shared, ...workspace.limits, ...(Object.keys(perKey).length === 0 ? {} : { per_key: perKey }) };
    workspaces[index] = { ...workspace, limits };
  }
  const budgets = router?.fields("provider_budget_config") ?? null;
  for (const [, item] of budgets?.entries() ?? [])
    report.add("left_out", item, "budgets are of workspaces and keys (docs/limits.md), not of providers");
}

/** A key of the source may not have more than the upper bound, which is what `per_key` says. */
function perKeyLimits(litellm: Fields | null, isPriced: boolean, imported: ImportedConfiguration): JsonObject {
  const limits: JsonObject[] = [];
  for (const name of ["default_key_generate_params", "upperbound_key_generate_params", "default_team_params"]) {
    const params = litellm?.fields(name) ?? null;
    if (params === null) continue;
    limits.push(name === "default_team_params" ? {} : limitsOf(params, isPriced, imported));
    for (const [key, item] of params.unread()) {
      const what = /^(?:duration|key_rotation_interval)$/.test(key)
        ? "`--expires` of each key"
        : "write it at each key or workspace";
      imported.report.add("decide", item, what);
    }
  }
  return Object.assign({}, ...limits);
}
