import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { canReplace, weightsOf, type PlannedEndpoint, type PlannedFallback } from "../configuration/rows.ts";
import type { Fields, Spot } from "../fields.ts";
import { endpointOf, FIXED_BY_KIND, type Inherited, TARGET_KEYS, timeoutOf } from "./target.ts";

/** Endpoints of one rank, with their shares. */
type Tier = readonly { readonly endpoint: PlannedEndpoint; readonly weight: number }[];

/** A tree of targets as tiers, the first of which is tried first. */
export interface Plan {
  readonly tiers: readonly Tier[];
  readonly attempts: number;
  /** Hooks that check content. */
  readonly guardrails: readonly Spot[];
}

const HOOKS = ["input_guardrails", "output_guardrails", "before_request_hooks", "after_request_hooks"];

const DEEPEST = 8;

/** What a configuration or a target says of all calls below it. */
export function settingsOf(fields: Fields, { report }: ImportedConfiguration): Pick<Plan, "attempts" | "guardrails"> {
  const guardrails = HOOKS.flatMap((name) => fields.item(name) ?? []);
  const retry = fields.fields("retry");
  const attempts = retry?.number("attempts") ?? 0;
  for (const [, item] of retry?.unread() ?? []) report.add("left_out", item, FIXED_BY_KIND);
  const what = "`max_attempts` of the route: the first call, retries and fallbacks together";
  report.addMembers("changed", fields, ["retry"], what);
  report.addMembers("left_out", fields, ["name"], "names a target for conditions; routes have names of their own");
  return { attempts, guardrails };
}

export function planOf(fields: Fields, inherited: Inherited, imported: ImportedConfiguration, depth = 0): Plan {
  const { report, findings } = imported;
  const { attempts, guardrails } = settingsOf(fields, imported);
  const strategy = fields.fields("strategy");
  if (strategy === null && !fields.has("targets")) {
    const endpoint = endpointOf(fields, inherited, imported);
    report.addUnread(fields, TARGET_KEYS);
    return { tiers: endpoint === null ? [] : [[{ endpoint, weight: 1 }]], attempts, guardrails };
  }
  const timeout = timeoutOf(fields, inherited, imported);
  if (depth > DEEPEST)
    findings.add("WRONG_VALUE", fields.at, "targets are nested too deep", "write a flatter configuration");
  const rows = depth > DEEPEST ? [] : fields.rows("targets");
  if (rows.length === 0 && !findings.failed) fields.missing("targets", "write at least one target");
  const mode = strategy?.text("mode") ?? "single";
  const chosen = chooseTargets(mode, rows, strategy, fields, imported);
  const weights = chosen.map((row) => Math.max(0, row.number("weight") ?? 1));
  const plans = chosen.map((row) => planOf(row, { timeout }, imported, depth + 1));
  for (const row of chosen) {
    if (mode === "loadbalance") report.addMembers("carried", row, ["weight"], "`weights` of the route");
    else report.addMembers("left_out", row, ["weight"], "only load-balanced targets have shares");
  }
  report.addUnread(fields, TARGET_KEYS);
  report.addMembers("carried", strategy, ["mode"], "order and shares of the route's endpoints");
  report.addUnread(strategy, { on_status_codes: ["left_out", FIXED_BY_KIND] });
  const all = {
    attempts: Math.max(attempts, ...plans.map((plan) => plan.attempts)),
    guardrails: [...guardrails, ...plans.flatMap((plan) => plan.guardrails)],
  };
  const served = plans.filter(({ tiers }) => tiers.length > 0);
  if (mode !== "loadbalance") return { tiers: served.flatMap(({ tiers }) => tiers), ...all };
  if (served.some(({ tiers }) => tiers.length > 1))
    report.add(
      "changed",
      fields.spot("strategy"),
      "fallbacks of single targets are fallbacks of the whole load-balanced group",
    );
  const first = plans.flatMap(({ tiers }, index) => spread(tiers[0] ?? [], weights[index] ?? 1));
  return { tiers: [...(first.length === 0 ? [] : [first]), ...served.flatMap(({ tiers }) => tiers.slice(1))], ...all };
}

/** Targets that a strategy uses; a condition below another strategy has no counterpart. */
function chooseTargets(
  mode: string,
  rows: readonly Fields[],
  strategy: Fields | null,
  fields: Fields,
  { report, findings }: ImportedConfiguration,
): readonly Fields[] {
  if (mode === "fallback" || mode === "loadbalance") {
    report.add(
      "carried",
      fields.spot("strategy"),
      mode === "fallback" ? "`fallbacks` of the route" : "`peers` and `balance: weighted` of the route",
    );
    return rows;
  }
  if (mode === "conditional") {
    const name = strategy?.text("default") ?? null;
    strategy?.item("conditions");
    const found = rows.filter((row) => row.text("name") === name).slice(0, 1);
    report.add(
      "decide",
      fields.spot("strategy"),
      "a condition inside another strategy: only its default target is written; write routes for the others",
      "whole",
    );
    const chosen = found.length > 0 ? found : rows.slice(0, 1);
    for (const row of rows)
      if (!chosen.includes(row)) report.add("left_out", row, "only the default target is written");
    return chosen;
  }
  if (mode !== "single")
    findings.add(
      "WRONG_VALUE",
      fields.spot("strategy").at,
      "there is no such mode",
      "write single, fallback, loadbalance or conditional",
    );
  for (const row of rows.slice(1)) report.add("left_out", row, "`single` uses the first target only");
  return rows.slice(0, 1);
}

/** A member's share is that of its target among the others. */
function spread(tier: Tier, weight: number): Tier {
  const sum = tier.reduce((total, row) => total + row.weight, 0);
  return tier.map(({ endpoint, weight: own }) => ({ endpoint, weight: sum === 0 ? 0 : (weight * own) / sum }));
}

/** Writes a route of a plan, and routes for its load-balanced fallbacks. @returns endpoints of the route; none where nothing can be served. */
export function addPlan(
  plan: Plan,
  id: string,
  internal: boolean,
  spot: Spot,
  imported: ImportedConfiguration,
  further: readonly PlannedFallback[] = [],
): readonly string[] {
  const [first] = plan.tiers.flat();
  if (first === undefined) return [];
  const fits = ({ endpoint }: Tier[number]): boolean => {
    const isFit = canReplace(endpoint, first.endpoint);
    if (!isFit)
      imported.report.add(
        "left_out",
        endpoint.spot,
        "cannot stand in for the first target: another kind of call, or other vectors",
      );
    return isFit;
  };
  const tiers = plan.tiers.map((tier) => tier.filter(fits)).filter((tier) => tier.length > 0);
  const [head = [], ...rest] = tiers;
  const fallbacks = rest.map((tier, index): PlannedFallback => {
    const [only] = tier;
    if (tier.length === 1 && only !== undefined) return only.endpoint;
    const route = imported.routeNames.take(`${id}/${index + 2}`);
    addTier(tier, route, [], null, true, spot, imported);
    return { route };
  });
  const attempts =
    plan.attempts > 0 ? Math.min(10, 1 + Math.floor(plan.attempts) + head.length - 1 + rest.length) : null;
  addTier(head, id, [...fallbacks, ...further], attempts, internal, spot, imported);
  return tiers.flat().map(({ endpoint }) => endpoint.id);
}

function addTier(
  tier: Tier,
  id: string,
  fallbacks: readonly PlannedFallback[],
  maxAttempts: number | null,
  internal: boolean,
  spot: Spot,
  { routes }: ImportedConfiguration,
): void {
  const [primary, ...peers] = tier;
  if (primary === undefined) return;
  const isShared = tier.some(({ weight }) => weight > 0) && tier.some(({ weight }) => weight !== tier[0]?.weight);
  routes.push({
    id,
    primary: primary.endpoint,
    peers: peers.map(({ endpoint }) => endpoint),
    balance: "weighted",
    weights: isShared ? weightsOf(tier) : new Map(),
    fallbacks,
    maxAttempts,
    internal,
    spot,
  });
}
