import { basename } from "node:path";
import { quote } from "../../../compile/authored/literal-secrets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import {
  asId,
  asName,
  branchPolicy,
  canReplace,
  weightsOf,
  type Branch,
  type LabelCondition,
  type PlannedEndpoint,
  type PlannedFallback,
} from "../configuration/rows.ts";
import { Fields, type ImportedFile, type Item, parseMapping, type Spot } from "../source.ts";
import { endpointOf, FIXED_BY_KIND, NAMES_TARGET, TARGET_KEYS, timeoutOf } from "./target.ts";

/** Routes of all configurations, for the policies about them. */
interface Gathered {
  readonly branching: Map<string, readonly Branch[]>;
  readonly guarded: Set<string>;
}

/**
 * Reads a config of Portkey's gateway, or several: `{ "configs": [{ "name": …, "config": … }] }`.
 */
export function importPortkey(file: ImportedFile, imported: ImportedConfiguration): void {
  const { findings, report, routes, policies } = imported;
  const rule = "the file must be a config, an object";
  const tree = parseMapping(file, findings, rule, "begin it with `strategy` or `targets`");
  if (tree === null) return;
  const root = new Fields(tree, [], imported);
  const gathered: Gathered = { branching: new Map(), guarded: new Set() };
  if (root.has("configs")) {
    for (const [index, row] of root.rows("configs").entries()) {
      const config = row.fields("config");
      const name = row.text("name") ?? row.text("slug") ?? `config-${index + 1}`;
      if (row.has("config")) addConfig(config, name, gathered, imported);
      else row.missing("config", "write the config below it");
      row.note("carried", ["name", "slug"], "name of the route");
      row.noteUnread({});
    }
    root.noteUnread({});
  } else addConfig(root, basename(file.shown).replace(/\.[a-z]+$/i, ""), gathered, imported);
  if (gathered.branching.size > 0) policies.push(branchPolicy(gathered.branching));
  imported.addGuardrailPolicy(gathered.guarded, root);
  report.addRest(tree);
  imported.addOnlyWorkspace(routes.filter(({ internal }) => !internal).map(({ id }) => id));
}

function addConfig(
  config: Fields,
  name: string,
  gathered: Gathered,
  imported: ImportedConfiguration,
): void {
  const id = imported.routeNames.take(asName(name, "config"));
  const strategy = config.fields("strategy");
  if (strategy.text("mode") === "conditional") {
    addConditional(config, strategy, id, gathered, imported);
    return;
  }
  const plan = planOf(config, null, imported);
  const endpoints = addPlan(plan, id, false, config, imported);
  if (endpoints.length > 0) imported.report.add("carried", config, `route ${quote(id)}`);
  guard(plan, id, gathered, imported);
}

function guard(
  { guardrails }: Plan,
  id: string,
  { guarded }: Gathered,
  { report }: ImportedConfiguration,
): void {
  for (const spot of guardrails) {
    guarded.add(id);
    report.add(
      "changed",
      spot,
      `Signalbox does not check content; policy \`imported-guardrails\` records requests of route ${quote(id)}, and denies them once it is promoted`,
      "whole",
    );
  }
}

/**
 * Conditions on metadata become labels of keys and a policy; conditions on the model become routes
 * of that name.
 */
function addConditional(
  config: Fields,
  strategy: Fields,
  id: string,
  gathered: Gathered,
  imported: ImportedConfiguration,
): void {
  const { report, labels } = imported;
  const plans = targetsOf(config, imported);
  const branches: Branch[] = [];
  /** Routes of targets whose conditions labels cannot express. */
  const named = new Map<Plan, string>();
  const parts: { readonly plan: Plan; readonly when: Branch["when"] }[] = [];
  for (const row of strategy.rows("conditions")) {
    const then = row.text("then");
    const query = row.fields("query");
    const plan = plans.get(then ?? "");
    if (plan === null || !row.has("query")) {
      report.add("decide", row, "its target is not among the targets", "whole");
      continue;
    }
    if (plan.tiers.length === 0) {
      report.add(
        "left_out",
        row,
        `its target ${quote(then ?? "")} is not carried over; the other conditions and the default apply`,
      );
      continue;
    }
    const models = modelCondition(query);
    const when = models === null ? labelCondition(query) : null;
    if (models !== null) {
      for (const model of models) addNamed(plan, model, row, gathered, imported);
    } else if (when === null) {
      const known = named.get(plan);
      const route = known ?? imported.routeNames.take(`${id}/${asName(then ?? "", "branch")}`);
      const isWritten =
        known !== undefined || addPlan(plan, route, false, row, imported).length > 0;
      if (isWritten && known === undefined) {
        named.set(plan, route);
        guard(plan, route, gathered, imported);
      }
      report.add(
        "decide",
        row,
        `labels of keys cannot express this condition: write a policy (docs/writing-a-policy.md)${isWritten ? `, or let callers name the route ${quote(route)}, which has its targets` : ""}`,
        "whole",
      );
    } else {
      for (const { label } of when.flat()) labels.add(label);
      parts.push({ plan, when });
      report.add(
        "changed",
        row,
        `policy \`conditional-routing\`: labels of the key or its workspace choose (${[...new Set(when.flat().map(({ label }) => `\`${label}\``))].join(", ")}), not metadata of the request`,
        "whole",
      );
    }
  }
  const usual = strategy.text("default");
  const plan = plans.get(usual ?? "");
  if (plan !== null && plan.tiers.length > 0) parts.push({ plan, when: null });
  else {
    const lacks =
      plan === null ? "there is no default target" : "the default target is not carried over";
    report.add(
      "decide",
      strategy.spot("default"),
      `${lacks}: callers without the labels are denied`,
    );
  }
  const [last] = parts.toReversed();
  const others = parts.filter((part) => part !== last);
  const further = others.flatMap(({ plan: one, when }, index) => {
    const inner = imported.routeNames.take(`${id}/branch-${index + 1}`);
    const endpoints = addPlan(one, inner, true, config, imported);
    if (endpoints.length === 0) return [];
    branches.push({ when, endpoints });
    return [{ route: inner }];
  });
  const own = last === undefined ? [] : addPlan(last.plan, id, false, config, imported, further);
  if (last !== undefined && own.length > 0) branches.push({ when: last.when, endpoints: own });
  if (branches.some(({ when }) => when !== null)) gathered.branching.set(id, branches);
  for (const one of parts) guard(one.plan, id, gathered, imported);
  plans.reportOthers();
  config.noteUnread(TARGET_KEYS);
  const carried = plan === null || plan.tiers.length === 0 ? ["mode"] : ["mode", "default"];
  strategy.note("carried", carried, `route ${quote(id)} and its policy`);
  strategy.noteUnread({});
}

/**
 * Targets by name. They are read when a condition leads to them: an endpoint that no route has is
 * not carried over.
 */
function targetsOf(config: Fields, imported: ImportedConfiguration) {
  const timeout = timeoutOf(config, null);
  const { attempts, guardrails } = settingsOf(config);
  const rows = new Map<string, Fields>();
  for (const row of config.rows("targets")) {
    const name = row.text("name");
    if (name === null) row.missing("name", "conditions name their targets");
    else rows.set(name, row);
  }
  const plans = new Map<string, Plan>();
  return {
    get(name: string): Plan | null {
      const known = plans.get(name);
      const row = rows.get(name);
      if (known !== undefined || row === undefined) return known ?? null;
      const own = planOf(row, timeout, imported, 1);
      const plan = {
        ...own,
        attempts: Math.max(own.attempts, attempts),
        guardrails: [...guardrails, ...own.guardrails],
      };
      plans.set(name, plan);
      return plan;
    },
    reportOthers(): void {
      for (const [name, row] of rows)
        if (!plans.has(name))
          imported.report.add("left_out", row, "no condition leads to this target");
    },
  };
}

function addNamed(
  plan: Plan,
  model: string,
  row: Fields,
  gathered: Gathered,
  imported: ImportedConfiguration,
): void {
  const id = imported.routeNames.take(asName(model, "model"));
  if (addPlan(plan, id, false, row, imported).length === 0) return;
  imported.report.add(
    "carried",
    row,
    `route ${quote(id)}, which callers name as \`model\``,
    "whole",
  );
  guard(plan, id, gathered, imported);
}

/** Groups of terms above which a condition is not readable. */
const MOST_GROUPS = 32;

/** A condition on metadata, as labels of the key; `null` for any other condition. */
function labelCondition(query: Fields): LabelCondition | null {
  let found: LabelCondition | null = [[]];
  for (const [name, item] of query.entries()) {
    const part =
      name === "$and" || name === "$or" ? joined(query, name, item) : ofMetadata(query, name, item);
    found = found === null || part === null ? null : and(found, part);
  }
  return found !== null && found.length <= MOST_GROUPS ? found : null;
}

/** Models that a condition on `params.model` names; `null` for any other condition. */
function modelCondition(query: Fields): readonly string[] | null {
  const entries = query.entries();
  const [first] = entries;
  if (first === undefined || entries.length > 1 || first[0] !== "params.model") return null;
  return valuesOf(query, first[1], ["$eq", "$in"]);
}

function joined(query: Fields, name: string, item: Item): LabelCondition | null {
  const parts = query.itemsOf(item).map((one) => labelCondition(query.fieldsOf(one)));
  return parts.reduce<LabelCondition | null>(
    (left, right) => {
      if (left === null || right === null) return null;
      return name === "$and" ? and(left, right) : [...left, ...right];
    },
    name === "$and" ? [[]] : [],
  );
}

function and(left: LabelCondition, right: LabelCondition): LabelCondition | null {
  if (left.length * right.length > MOST_GROUPS) return null;
  return left.flatMap((one) => right.map((other) => [...one, ...other]));
}

function ofMetadata(query: Fields, name: string, item: Item): LabelCondition | null {
  const key = /^metadata\.(.+)$/.exec(name)?.[1];
  if (key === undefined) return null;
  const label = (value: string): string => asId(`${key}-${value}`, "label");
  const positive = valuesOf(query, item, ["$eq", "$in"]);
  if (positive !== null) return positive.map((value) => [{ label: label(value), holds: true }]);
  const negative = valuesOf(query, item, ["$ne", "$nin"]);
  return negative === null
    ? null
    : [negative.map((value) => ({ label: label(value), holds: false }))];
}

/** Texts of the only operator of a term, if it is one of these; a value alone is `$eq`. */
function valuesOf(
  query: Fields,
  item: Item,
  operators: readonly [string, string],
): readonly string[] | null {
  if (item.node.kind === "scalar") return operators[0] === "$eq" ? [String(item.node.value)] : null;
  if (item.node.kind !== "map" || item.node.members.size !== 1) return null;
  const [[operator, member] = [undefined, undefined]] = item.node.members;
  if (operator === undefined || member === undefined || !operators.includes(operator)) return null;
  const { node } = member;
  if (node.kind === "scalar") return [String(node.value)];
  return node.kind === "list" ? query.textsOf({ ...item, node }).map(({ text }) => text) : null;
}

/** Endpoints of one rank, with their shares. */
type Tier = readonly { readonly endpoint: PlannedEndpoint; readonly weight: number }[];

/** A tree of targets as tiers, the first of which is tried first. */
interface Plan {
  readonly tiers: readonly Tier[];
  readonly attempts: number;
  /** Hooks that check content. */
  readonly guardrails: readonly Spot[];
}

const HOOKS = [
  "input_guardrails",
  "output_guardrails",
  "before_request_hooks",
  "after_request_hooks",
];

const DEEPEST = 8;

/** Settings of all calls below a configuration or a target. */
function settingsOf(fields: Fields): Pick<Plan, "attempts" | "guardrails"> {
  const guardrails = HOOKS.flatMap((name) => fields.item(name) ?? []);
  const retry = fields.fields("retry");
  const attempts = retry.number("attempts") ?? 0;
  retry.noteUnread({}, ["left_out", FIXED_BY_KIND]);
  fields.note(
    "changed",
    "retry",
    "`max_attempts` of the route: the first call, retries and fallbacks together",
  );
  fields.note(NAMES_TARGET[0], "name", NAMES_TARGET[1]);
  return { attempts, guardrails };
}

/** @param inherited timeout around it, milliseconds. */
function planOf(
  fields: Fields,
  inherited: number | null,
  imported: ImportedConfiguration,
  depth = 0,
): Plan {
  const { report, findings } = imported;
  const settings = settingsOf(fields);
  const strategy = fields.fields("strategy");
  if (!fields.has("strategy") && !fields.has("targets")) {
    const endpoint = endpointOf(fields, inherited, imported);
    fields.noteUnread(TARGET_KEYS);
    return { tiers: endpoint === null ? [] : [[{ endpoint, weight: 1 }]], ...settings };
  }
  const timeout = timeoutOf(fields, inherited);
  if (depth > DEEPEST)
    findings.add(
      "WRONG_VALUE",
      fields.at,
      "targets are nested too deep",
      "write a flatter configuration",
    );
  const rows = depth > DEEPEST ? [] : fields.rows("targets");
  if (rows.length === 0 && !findings.failed) fields.missing("targets", "write at least one target");
  const mode = strategy.text("mode") ?? "single";
  const isBalanced = mode === "loadbalance";
  const chosen = chooseTargets(mode, rows, strategy, fields, imported);
  const plans = chosen.map((row) => {
    const weight = Math.max(0, row.number("weight") ?? 1);
    if (isBalanced) row.note("carried", "weight", "`weights` of the route");
    else row.note("left_out", "weight", "only load-balanced targets have shares");
    return { ...planOf(row, timeout, imported, depth + 1), weight };
  });
  fields.noteUnread(TARGET_KEYS);
  strategy.note("carried", "mode", "order and shares of the route's endpoints");
  strategy.noteUnread({ on_status_codes: ["left_out", FIXED_BY_KIND] });
  const all = {
    attempts: Math.max(settings.attempts, ...plans.map(({ attempts }) => attempts)),
    guardrails: [settings, ...plans].flatMap(({ guardrails }) => guardrails),
  };
  const tiers = plans.flatMap((plan) => plan.tiers);
  if (!isBalanced) return { tiers, ...all };
  const later = plans.flatMap((plan) => plan.tiers.slice(1));
  const shared = "fallbacks of single targets are fallbacks of the whole load-balanced group";
  if (later.length > 0) report.add("changed", fields.spot("strategy"), shared);
  const first = plans.flatMap((plan) => spread(plan.tiers[0] ?? [], plan.weight));
  return { tiers: [...(first.length === 0 ? [] : [first]), ...later], ...all };
}

/** Targets that a strategy uses; a condition below another strategy has no counterpart. */
function chooseTargets(
  mode: string,
  rows: readonly Fields[],
  strategy: Fields,
  fields: Fields,
  { report, findings }: ImportedConfiguration,
): readonly Fields[] {
  const spot = fields.spot("strategy");
  if (mode === "fallback" || mode === "loadbalance") {
    const what =
      mode === "fallback"
        ? "`fallbacks` of the route"
        : "`peers` and `balance: weighted` of the route";
    report.add("carried", spot, what);
    return rows;
  }
  const [first] = rows;
  const name = strategy.text("default");
  const isConditional = mode === "conditional";
  const chosen = (isConditional ? rows.find((row) => row.text("name") === name) : first) ?? first;
  const why = isConditional
    ? "only the default target is written"
    : "`single` uses the first target only";
  for (const row of rows) if (row !== chosen) report.add("left_out", row, why);
  if (isConditional) {
    strategy.item("conditions");
    const inner =
      "a condition inside another strategy: only its default target is written; write routes for the others";
    report.add("decide", spot, inner, "whole");
  } else if (mode !== "single") {
    const hint = "write single, fallback, loadbalance or conditional";
    findings.add("WRONG_VALUE", spot.at, "there is no such mode", hint);
  }
  return chosen === undefined ? [] : [chosen];
}

/** A member's share is that of its target among the others. */
function spread(tier: Tier, weight: number): Tier {
  const sum = tier.reduce((total, row) => total + row.weight, 0);
  return tier.map(({ endpoint, weight: own }) => ({
    endpoint,
    weight: sum === 0 ? 0 : (weight * own) / sum,
  }));
}

/**
 * Writes a route of a plan, and routes for its load-balanced fallbacks. @returns endpoints of the
 * route; none where nothing can be served.
 */
function addPlan(
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
    const why = "cannot stand in for the first target: another kind of call, or other vectors";
    if (!isFit) imported.report.add("left_out", endpoint.spot, why);
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
    plan.attempts > 0
      ? Math.min(10, 1 + Math.floor(plan.attempts) + head.length - 1 + rest.length)
      : null;
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
  const isShared =
    tier.some(({ weight }) => weight > 0) && tier.some(({ weight }) => weight !== tier[0]?.weight);
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
