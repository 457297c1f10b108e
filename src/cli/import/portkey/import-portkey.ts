import { basename } from "node:path";
import { quote } from "../../../compile/authored/literal-secrets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { asName, asId } from "../configuration/names.ts";
import { type Branch, branchPolicy, type LabelCondition } from "../configuration/policies.ts";
import { Fields, type Item } from "../fields.ts";
import { type ImportedFile, parseMapping } from "../read-source.ts";
import { addPlan, type Plan, planOf, settingsOf } from "./plan.ts";
import { TARGET_KEYS, timeoutOf } from "./target.ts";

/** Policies gather what they say of all configurations. */
interface Gathered {
  readonly branching: Map<string, readonly Branch[]>;
  readonly guarded: Set<string>;
}

/** Reads a config of Portkey's gateway, or several: `{ "configs": [{ "name": …, "config": … }] }`. */
export function importPortkey(file: ImportedFile, imported: ImportedConfiguration): void {
  const tree = parseMapping(
    file,
    imported.findings,
    "the file must be a config, an object",
    "begin it with `strategy` or `targets`",
  );
  if (tree === null) return;
  const root = new Fields(tree, [], imported.findings);
  const gathered: Gathered = { branching: new Map(), guarded: new Set() };
  if (root.has("configs")) {
    for (const [index, row] of root.rows("configs").entries()) {
      const config = row.fields("config");
      const name = row.text("name") ?? row.text("slug") ?? `config-${index + 1}`;
      if (config === null) row.missing("config", "write the config below it");
      else addConfig(config, name, gathered, imported);
      imported.report.addMembers("carried", row, ["name", "slug"], "name of the route");
      imported.report.addUnread(row, {});
    }
    imported.report.addUnread(root, {});
  } else addConfig(root, basename(file.shown).replace(/\.[a-z]+$/i, ""), gathered, imported);
  addPolicies(root, gathered, imported);
  imported.report.addRest(tree);
  imported.addOnlyWorkspace(imported.routes.filter(({ internal }) => !internal).map(({ id }) => id));
}

function addConfig(config: Fields, name: string, gathered: Gathered, imported: ImportedConfiguration): void {
  const id = imported.routeNames.take(asName(name, "config"));
  const strategy = config.has("strategy") ? config.fields("strategy") : null;
  if (strategy?.text("mode") === "conditional") {
    addConditional(config, strategy, id, gathered, imported);
    return;
  }
  const plan = planOf(config, { timeout: null }, imported);
  const endpoints = addPlan(plan, id, false, config, imported);
  if (endpoints.length > 0) imported.report.add("carried", config, `route ${quote(id)}`);
  guard(plan, id, gathered, imported);
}

function guard({ guardrails }: Plan, id: string, { guarded }: Gathered, { report }: ImportedConfiguration): void {
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

/** Conditions on metadata become labels of keys and a policy; conditions on the model become routes of that name. */
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
  /** Routes of targets whose conditions labels cannot say. */
  const named = new Map<Plan, string>();
  const parts: { readonly plan: Plan; readonly when: Branch["when"] }[] = [];
  for (const row of strategy.rows("conditions")) {
    const then = row.text("then");
    const query = row.fields("query");
    const plan = plans.get(then ?? "");
    if (plan === null || query === null) {
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
      const isWritten = known !== undefined || addPlan(plan, route, false, row, imported).length > 0;
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
    const lacks = plan === null ? "there is no default target" : "the default target is not carried over";
    report.add("decide", strategy.spot("default"), `${lacks}: callers without the labels are denied`);
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
  imported.report.addUnread(config, TARGET_KEYS);
  const carried = plan === null || plan.tiers.length === 0 ? ["mode"] : ["mode", "default"];
  report.addMembers("carried", strategy, carried, `route ${quote(id)} and its policy`);
  imported.report.addUnread(strategy, {});
}

/** Targets by name. They are read when a condition leads to them: an endpoint that no route has is not carried over. */
function targetsOf(config: Fields, imported: ImportedConfiguration) {
  const timeout = timeoutOf(config, { timeout: null }, imported);
  const { attempts, guardrails } = settingsOf(config, imported);
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
      const own = planOf(row, { timeout }, imported, 1);
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
        if (!plans.has(name)) imported.report.add("left_out", row, "no condition leads to this target");
    },
  };
}

function addNamed(plan: Plan, model: string, row: Fields, gathered: Gathered, imported: ImportedConfiguration): void {
  const id = imported.routeNames.take(asName(model, "model"));
  if (addPlan(plan, id, false, row, imported).length === 0) return;
  imported.report.add("carried", row, `route ${quote(id)}, which callers name as \`model\``, "whole");
  guard(plan, id, gathered, imported);
}

function addPolicies(root: Fields, { branching, guarded }: Gathered, imported: ImportedConfiguration): void {
  if (branching.size > 0) imported.policies.push(branchPolicy(branching));
  imported.addGuardrailPolicy(guarded, root);
}

/** Groups of terms above which a condition is nothing that a person reads. */
const MOST_GROUPS = 32;

/** What a condition requires of metadata, as labels of the key; `null` for what labels cannot say. */
function labelCondition(query: Fields): LabelCondition | null {
  let found: LabelCondition | null = [[]];
  for (const [name, item] of query.entries()) {
    const part = name === "$and" || name === "$or" ? joined(query, name, item) : ofMetadata(query, name, item);
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
  const parts = query.itemsOf(item).map((one) => {
    const fields = query.fieldsOf(one);
    return fields === null ? null : labelCondition(fields);
  });
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
  return negative === null ? null : [negative.map((value) => ({ label: label(value), holds: false }))];
}

/** Texts of the only operator of a term, if it is one of these; a value alone is `$eq`. */
function valuesOf(query: Fields, item: Item, operators: readonly [string, string]): readonly string[] | null {
  if (item.node.kind === "scalar") return operators[0] === "$eq" ? [String(item.node.value)] : null;
  if (item.node.kind !== "map" || item.node.members.size !== 1) return null;
  const [[operator, member] = [undefined, undefined]] = item.node.members;
  if (operator === undefined || member === undefined || !operators.includes(operator)) return null;
  const { node } = member;
  if (node.kind === "scalar") return [String(node.value)];
  return node.kind === "list" ? query.textsOf({ ...item, node }).map(({ text }) => text) : null;
}
