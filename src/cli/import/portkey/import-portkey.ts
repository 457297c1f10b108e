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
import { Fields, type ImportedFile, type Item, parseMapping, type Origin } from "../source.ts";
import knownKeys from "./known-keys.json" with { type: "json" };
import { endpointOf, timeoutOf } from "./target.ts";

/** One import, with the routes that policies are about. */
interface PortkeyImport {
  readonly imported: ImportedConfiguration;
  readonly branching: Map<string, readonly Branch[]>;
  readonly guarded: Set<string>;
}

/**
 * Reads a config of Portkey's gateway, or several: `{ "configs": [{ "name": …, "config": … }] }`.
 */
export function importPortkey(file: ImportedFile, imported: ImportedConfiguration): void {
  const { findings, report, routes, policies } = imported;
  const tree = parseMapping(
    file,
    findings,
    "the file must be a config, an object",
    "begin it with `strategy` or `targets`",
  );
  if (tree === null) return;
  const root = new Fields(tree, [], imported);
  const run: PortkeyImport = { imported, branching: new Map(), guarded: new Set() };
  if (root.has("configs")) {
    for (const [index, row] of root.rows("configs").entries()) {
      const config = row.fields("config");
      const name = row.text("name") ?? row.text("slug") ?? `config-${index + 1}`;
      if (row.has("config")) addConfig(config, name, run);
      else row.missing("config", "write the config below it");
      row.noteRest(knownKeys.config);
    }
    root.noteRest();
  } else addConfig(root, basename(file.shown).replace(/\.[a-z]+$/i, ""), run);
  if (run.branching.size > 0) policies.push(branchPolicy(run.branching));
  imported.addGuardrailPolicy(run.guarded, root);
  report.addRest(tree);
  imported.addOnlyWorkspace(routes.filter(({ internal }) => internal !== true).map(({ id }) => id));
}

function addConfig(config: Fields, name: string, run: PortkeyImport) {
  const { report, routeNames } = run.imported;
  const id = routeNames.take(asName(name, "config"));
  const strategy = config.fields("strategy");
  if (strategy.text("mode") === "conditional") addConditional(config, strategy, id, run);
  else if (addGuarded(planOf(config, null, run.imported), id, config, run))
    report.add("carried", config, `route ${quote(id)}`);
}

/** Writes a route that callers name. @returns whether anything of the plan can be served. */
function addGuarded(plan: Plan, id: string, origin: Origin, run: PortkeyImport): boolean {
  if (addPlan(plan, id, false, origin, run.imported).length === 0) return false;
  guard(plan, id, run);
  return true;
}

function guard({ guardrails }: Plan, id: string, { guarded, imported }: PortkeyImport) {
  for (const origin of guardrails) {
    guarded.add(id);
    imported.report.add(
      "changed",
      origin,
      `Signalbox does not check content; policy \`imported-guardrails\` records requests of route ${quote(id)}, and denies them once it is promoted`,
      "whole",
    );
  }
}

/**
 * Conditions on metadata become labels of keys and a policy; conditions on the model become routes
 * of that name.
 */
function addConditional(config: Fields, strategy: Fields, id: string, run: PortkeyImport) {
  const { imported } = run;
  const { report, labels, routeNames } = imported;
  const plans = targetsOf(config, imported);
  const parts: { readonly plan: Plan; readonly when: Branch["when"] }[] = [];
  /** Routes of targets whose conditions labels cannot express. */
  const namedRoutes = new Map<Plan, string>();
  for (const row of strategy.rows("conditions")) {
    const then = row.text("then") ?? "";
    const query = row.fields("query");
    const plan = plans.get(then);
    if (plan === null || !row.has("query")) {
      report.add("decide", row, "its target is not among the targets", "whole");
      continue;
    }
    if (plan.tiers.length === 0) {
      const others = "is not carried over; the other conditions and the default apply";
      report.add("left_out", row, `its target ${quote(then)} ${others}`);
      continue;
    }
    const models = modelCondition(query);
    const when = models === null ? labelCondition(query) : null;
    if (models !== null) {
      for (const model of models) {
        const route = routeNames.take(asName(model, "model"));
        const carried = `route ${quote(route)}, which callers name as \`model\``;
        if (addGuarded(plan, route, row, run)) report.add("carried", row, carried, "whole");
      }
    } else if (when === null) {
      const earlier = namedRoutes.get(plan);
      const route = earlier ?? routeNames.take(`${id}/${asName(then, "branch")}`);
      const isAdded = earlier !== undefined || addGuarded(plan, route, row, run);
      if (isAdded) namedRoutes.set(plan, route);
      const others = isAdded
        ? `, or let callers name the route ${quote(route)}, which has its targets`
        : "";
      report.add(
        "decide",
        row,
        `labels of keys cannot express this condition: write a policy (docs/writing-a-policy.md)${others}`,
        "whole",
      );
    } else {
      const found = [...new Set(when.flat().map(({ label }) => label))];
      for (const label of found) labels.add(label);
      parts.push({ plan, when });
      const shown = found.map((label) => `\`${label}\``).join(", ");
      report.add(
        "changed",
        row,
        `policy \`conditional-routing\`: labels of the key or its workspace choose (${shown}), not metadata of the request`,
        "whole",
      );
    }
  }
  const fallback = plans.get(strategy.text("default") ?? "");
  const hasDefault = fallback !== null && fallback.tiers.length > 0;
  if (hasDefault) parts.push({ plan: fallback, when: null });
  else
    report.add(
      "decide",
      strategy.origin("default"),
      `${fallback === null ? "there is no default target" : "the default target is not carried over"}: callers without the labels are denied`,
    );
  const last = parts.at(-1);
  const branches: Branch[] = [];
  const further = parts.slice(0, -1).flatMap(({ plan, when }, index) => {
    const route = routeNames.take(`${id}/branch-${index + 1}`);
    const endpoints = addPlan(plan, route, true, config, imported);
    if (endpoints.length === 0) return [];
    branches.push({ when, endpoints });
    return [{ route }];
  });
  const endpoints =
    last === undefined ? [] : addPlan(last.plan, id, false, config, imported, further);
  if (last !== undefined && endpoints.length > 0) branches.push({ when: last.when, endpoints });
  if (branches.some(({ when }) => when !== null)) run.branching.set(id, branches);
  for (const { plan } of parts) guard(plan, id, run);
  plans.reportOthers();
  config.noteRest(knownKeys.target);
  const carried = hasDefault ? ["mode", "default"] : ["mode"];
  strategy.note("carried", carried, `route ${quote(id)} and its policy`);
  strategy.noteRest(knownKeys.strategy);
}

/**
 * Targets by name, read when a condition leads to them: endpoints without a route are not carried
 * over.
 */
function targetsOf(config: Fields, imported: ImportedConfiguration) {
  const timeout = timeoutOf(config, null);
  const outer = settingsOf(config);
  const rows = new Map<string, Fields>();
  for (const row of config.rows("targets")) {
    const name = row.text("name");
    if (name === null) row.missing("name", "conditions name their targets");
    else rows.set(name, row);
  }
  const plans = new Map<string, Plan>();
  return {
    get(name: string): Plan | null {
      const earlier = plans.get(name);
      const row = rows.get(name);
      if (earlier !== undefined || row === undefined) return earlier ?? null;
      const inner = planOf(row, timeout, imported, 1);
      const plan = { ...inner, ...settingsOfAll([outer, inner]) };
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

/** More groups of terms make a condition unreadable. */
const MOST_GROUPS = 32;

/** A condition on metadata, as labels of the key; `null` for any other condition. */
function labelCondition(query: Fields): LabelCondition | null {
  let found: LabelCondition | null = [[]];
  for (const [name, item] of query.entries()) {
    const part =
      name === "$and" || name === "$or" ? joined(query, name, item) : ofMetadata(query, name, item);
    found = and(found, part);
  }
  return found !== null && found.length <= MOST_GROUPS ? found : null;
}

/** Models that a condition on `params.model` names; `null` for any other condition. */
function modelCondition(query: Fields) {
  const [[name, item] = [], second] = query.entries();
  if (item === undefined || second !== undefined || name !== "params.model") return null;
  return valuesOf(query, item, ["$eq", "$in"]);
}

function joined(query: Fields, name: "$and" | "$or", item: Item): LabelCondition | null {
  const parts = query.itemsOf(item).map((one) => labelCondition(query.fieldsOf(one)));
  if (name === "$and") return parts.reduce(and, [[]]);
  const expressed = parts.filter((part) => part !== null);
  return expressed.length < parts.length ? null : expressed.flat();
}

function and(left: LabelCondition | null, right: LabelCondition | null): LabelCondition | null {
  if (left === null || right === null || left.length * right.length > MOST_GROUPS) return null;
  return left.flatMap((one) => right.map((other) => [...one, ...other]));
}

function ofMetadata(query: Fields, name: string, item: Item): LabelCondition | null {
  const key = /^metadata\.(.+)$/.exec(name)?.[1];
  if (key === undefined) return null;
  const terms = (holds: boolean, operators: readonly string[]) =>
    valuesOf(query, item, operators)?.map((value) => ({
      label: asId(`${key}-${value}`, "label"),
      holds,
    }));
  const negative = terms(false, ["$ne", "$nin"]);
  return (
    terms(true, ["$eq", "$in"])?.map((term) => [term]) ??
    (negative === undefined ? null : [negative])
  );
}

/** Texts of the only operator of a term, if it is one of these; a value alone is `$eq`. */
function valuesOf(query: Fields, { node, ...origin }: Item, operators: readonly string[]) {
  if (node.kind === "scalar") return operators.includes("$eq") ? [String(node.value)] : null;
  if (node.kind !== "map" || node.members.size !== 1) return null;
  const [[operator = "", member] = []] = node.members;
  if (member === undefined || member.node.kind === "map" || !operators.includes(operator))
    return null;
  // `String` keeps a null as a value.
  return member.node.kind === "scalar"
    ? [String(member.node.value)]
    : query.textsOf({ ...origin, node: member.node }).map(({ text }) => text);
}

/** Endpoints of one rank, with their shares. */
type Tier = readonly { readonly endpoint: PlannedEndpoint; readonly weight: number }[];

/** A tree of targets as tiers, in the order in which they are tried. */
interface Plan {
  readonly tiers: readonly Tier[];
  readonly attempts: number;
  /** Hooks that check content. */
  readonly guardrails: readonly Origin[];
}

const HOOKS = [
  "input_guardrails",
  "output_guardrails",
  "before_request_hooks",
  "after_request_hooks",
];

const DEEPEST = 8;

type Settings = Omit<Plan, "tiers">;

/** Settings of all calls below a configuration or a target. */
function settingsOf(fields: Fields): Settings {
  const guardrails = HOOKS.flatMap((name) => fields.item(name) ?? []);
  const retry = fields.fields("retry");
  const attempts = retry.number("attempts") ?? 0;
  const text = "what a failure leads to is fixed by its kind (docs/dispatch.md)";
  retry.noteRest([], { outcome: "left_out", text });
  return { attempts, guardrails };
}

function settingsOfAll(all: readonly Settings[]): Settings {
  return {
    attempts: Math.max(...all.map(({ attempts }) => attempts)),
    guardrails: all.flatMap(({ guardrails }) => guardrails),
  };
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
    if (endpoint === null) return { tiers: [], ...settings };
    fields.noteRest(knownKeys.target);
    return { tiers: [[{ endpoint, weight: 1 }]], ...settings };
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
  const plans = chooseTargets(mode, rows, strategy, fields, imported).map((row) => {
    const weight = Math.max(0, row.number("weight") ?? 1);
    if (isBalanced) row.note("carried", "weight", "`weights` of the route");
    return { ...planOf(row, timeout, imported, depth + 1), weight };
  });
  fields.noteRest(knownKeys.target);
  strategy.noteRest(knownKeys.strategy);
  const all = settingsOfAll([settings, ...plans]);
  if (!isBalanced) return { tiers: plans.flatMap(({ tiers }) => tiers), ...all };
  const later = plans.flatMap(({ tiers }) => tiers.slice(1));
  if (later.length > 0)
    report.add(
      "changed",
      fields.origin("strategy"),
      "fallbacks of single targets are fallbacks of the whole load-balanced group",
    );
  // A member's share is that of its target among the others.
  const first = plans.flatMap(({ tiers: [tier = []], weight }) => {
    const sum = tier.reduce((total, row) => total + row.weight, 0);
    return tier.map((row) => ({ ...row, weight: sum === 0 ? 0 : (weight * row.weight) / sum }));
  });
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
  const origin = fields.origin("strategy");
  if (mode === "fallback" || mode === "loadbalance") {
    const members = mode === "fallback" ? "`fallbacks`" : "`peers` and `balance: weighted`";
    report.add("carried", origin, `${members} of the route`);
    return rows;
  }
  const isConditional = mode === "conditional";
  const name = strategy.text("default");
  const target =
    (isConditional ? rows.find((row) => row.text("name") === name) : undefined) ?? rows[0];
  const why = isConditional
    ? "only the default target is written"
    : "`single` uses the first target only";
  for (const row of rows) if (row !== target) report.add("left_out", row, why);
  if (isConditional) {
    strategy.item("conditions");
    report.add(
      "decide",
      origin,
      "a condition inside another strategy: only its default target is written; write routes for the others",
      "whole",
    );
  } else if (mode !== "single") {
    findings.add(
      "WRONG_VALUE",
      origin.at,
      "there is no such mode",
      "write single, fallback, loadbalance or conditional",
    );
  }
  return target === undefined ? [] : [target];
}

/**
 * Writes a route of a plan, and routes for its load-balanced fallbacks. @returns endpoints of the
 * route; none where nothing can be served.
 */
function addPlan(
  plan: Plan,
  id: string,
  internal: boolean,
  origin: Origin,
  { report, routeNames, routes }: ImportedConfiguration,
  further: readonly PlannedFallback[] = [],
): readonly string[] {
  const [first] = plan.tiers.flat();
  if (first === undefined) return [];
  const fits = ({ endpoint }: Tier[number]): boolean => {
    const isReplaceable = canReplace(endpoint, first.endpoint);
    if (!isReplaceable)
      report.add(
        "left_out",
        endpoint.origin,
        "cannot stand in for the first target: another kind of call, or other vectors",
      );
    return isReplaceable;
  };
  const add = (
    tier: Tier,
    row: Pick<(typeof routes)[number], "id" | "fallbacks" | "maxAttempts" | "internal">,
  ) => {
    const [primary, ...peers] = tier;
    if (primary === undefined) return;
    const isWeighted =
      tier.some(({ weight }) => weight > 0) &&
      peers.some(({ weight }) => weight !== primary.weight);
    routes.push({
      ...row,
      endpoints: [primary.endpoint, ...peers.map(({ endpoint }) => endpoint)],
      ...(isWeighted && { weights: weightsOf(tier) }),
      origins: [origin],
    });
  };
  const tiers = plan.tiers.map((tier) => tier.filter(fits)).filter((tier) => tier.length > 0);
  const [head = [], ...rest] = tiers;
  const fallbacks = rest.map((tier, index): PlannedFallback => {
    const [only, second] = tier;
    if (only !== undefined && second === undefined) return only.endpoint;
    const route = routeNames.take(`${id}/${index + 2}`);
    add(tier, { id: route, internal: true });
    return { route };
  });
  const attempts = Math.min(10, Math.floor(plan.attempts) + head.length + rest.length);
  add(head, {
    id,
    fallbacks: [...fallbacks, ...further],
    maxAttempts: plan.attempts > 0 ? attempts : null,
    internal,
  });
  return tiers.flat().map(({ endpoint }) => endpoint.id);
}
