import { basename } from "node:path";
import { quote } from "../../../compile/authored/literal-secrets.ts";
import type { Estate } from "../estate/estate.ts";
import { asName } from "../estate/names.ts";
import { type Branch, branchPolicy, guardrailPolicy } from "../estate/policies.ts";
import { reportOthers } from "../report/known-keys.ts";
import { Fields } from "../source/fields.ts";
import { type ImportedFile, parseImported } from "../source/read-source.ts";
import { labelCondition, modelCondition } from "./conditions.ts";
import { addPlan, type Plan, planOf } from "./plan.ts";
import { TARGET_KEYS, timeoutOf } from "./target.ts";

/** Label of keys whose callers check words themselves. */
const REPLACED = "guardrails-replaced";

/** Policies gather what they say of all configurations. */
interface Gathered {
  readonly branching: Map<string, readonly Branch[]>;
  readonly guarded: Set<string>;
}

/** Reads a config of Portkey's gateway, or several: `{ "configs": [{ "name": …, "config": … }] }`. */
export function importPortkey(file: ImportedFile, estate: Estate): void {
  const tree = parseImported(file, estate.findings);
  if (tree === null) return;
  if (tree.kind !== "map") {
    estate.findings.add(
      "WRONG_TYPE",
      tree.at,
      "the file must be a config, an object",
      "begin it with `strategy` or `targets`",
    );
    return;
  }
  const root = new Fields(tree, [], estate.findings);
  const gathered: Gathered = { branching: new Map(), guarded: new Set() };
  if (root.has("configs")) {
    for (const [index, row] of root.rows("configs").entries()) {
      const config = row.fields("config");
      const name = row.text("name") ?? row.text("slug") ?? `config-${index + 1}`;
      if (config === null) row.missing("config", "write the config below it");
      else addConfig(config, name, gathered, estate);
      reportOthers(row, {}, estate);
    }
    reportOthers(root, {}, estate);
  } else addConfig(root, basename(file.shown).replace(/\.[a-z]+$/i, ""), gathered, estate);
  addPolicies(root, gathered, estate);
  estate.workspaces.push({
    id: estate.workspaceNames.take(estate.answers.workspace),
    routes: estate.routes.filter(({ internal }) => !internal).map(({ id }) => id),
    labels: [],
    limits: {},
    spot: null,
  });
}

function addConfig(config: Fields, name: string, gathered: Gathered, estate: Estate): void {
  const id = estate.routeNames.take(asName(name, "config"));
  const strategy = config.has("strategy") ? config.fields("strategy") : null;
  if (strategy?.text("mode") === "conditional") {
    addConditional(config, strategy, id, gathered, estate);
    return;
  }
  const plan = planOf(config, { timeout: null }, estate);
  const endpoints = addPlan(plan, id, false, config, estate);
  if (endpoints.length > 0) estate.report.add("carried", config, `route ${quote(id)}`);
  guard(plan, id, gathered, estate);
}

function guard({ guardrails }: Plan, id: string, { guarded }: Gathered, { report }: Estate): void {
  for (const spot of guardrails) {
    guarded.add(id);
    report.add(
      "changed",
      spot,
      `nothing here looks at words; policy \`imported-guardrails\` records requests of route ${quote(id)}, and denies them once it is promoted`,
    );
  }
}

/** Conditions on metadata become labels of keys and a policy; conditions on the model become routes of that name. */
function addConditional(config: Fields, strategy: Fields, id: string, gathered: Gathered, estate: Estate): void {
  const { report, labels } = estate;
  const timeout = timeoutOf(config, { timeout: null }, estate);
  const plans = new Map<string, Plan>();
  for (const row of config.rows("targets")) {
    const name = row.text("name");
    if (name === null) row.missing("name", "conditions name their targets");
    else plans.set(name, planOf(row, { timeout }, estate, 1));
  }
  const branches: Branch[] = [];
  const parts: { readonly plan: Plan; readonly when: Branch["when"] }[] = [];
  for (const row of strategy.rows("conditions")) {
    const then = row.text("then");
    const query = row.fields("query");
    const plan = plans.get(then ?? "");
    if (plan === undefined || query === null) {
      report.add("decide", row, "its target is not among the targets");
      continue;
    }
    const models = modelCondition(query);
    const when = models === null ? labelCondition(query) : null;
    if (models !== null) {
      for (const model of models) addNamed(plan, model, row, gathered, estate);
    } else if (when === null) {
      report.add(
        "decide",
        row,
        "labels of keys cannot say this condition: write a policy (docs/writing-a-policy.md), or a route that callers name",
      );
    } else {
      for (const { label } of when.flat()) labels.add(label);
      parts.push({ plan, when });
      report.add(
        "changed",
        row,
        `policy \`conditional-routing\`: labels of the key or its workspace choose (${[...new Set(when.flat().map(({ label }) => `\`${label}\``))].join(", ")}), not metadata of the request`,
      );
    }
  }
  const usual = strategy.text("default");
  const plan = plans.get(usual ?? "");
  if (plan !== undefined) parts.push({ plan, when: null });
  else report.add("decide", strategy, "there is no default target: callers without the labels are denied");
  const [last] = parts.toReversed();
  const others = parts.filter((part) => part !== last);
  const further = others.flatMap(({ plan: one, when }, index) => {
    const inner = estate.routeNames.take(`${id}/branch-${index + 1}`);
    const endpoints = addPlan(one, inner, true, config, estate);
    if (endpoints.length === 0) return [];
    branches.push({ when, endpoints });
    return [{ route: inner }];
  });
  const own = last === undefined ? [] : addPlan(last.plan, id, false, config, estate, further);
  if (last !== undefined && own.length > 0) branches.push({ when: last.when, endpoints: own });
  if (branches.some(({ when }) => when !== null)) gathered.branching.set(id, branches);
  for (const one of parts) guard(one.plan, id, gathered, estate);
  reportOthers(config, TARGET_KEYS, estate);
  reportOthers(strategy, {}, estate);
}

function addNamed(plan: Plan, model: string, row: Fields, gathered: Gathered, estate: Estate): void {
  const id = estate.routeNames.take(asName(model, "model"));
  if (addPlan(plan, id, false, row, estate).length === 0) return;
  estate.report.add("carried", row, `route ${quote(id)}, which callers name as \`model\``);
  guard(plan, id, gathered, estate);
}

function addPolicies(root: Fields, { branching, guarded }: Gathered, estate: Estate): void {
  if (branching.size > 0) estate.policies.push(branchPolicy(branching));
  if (guarded.size === 0) return;
  estate.labels.add(REPLACED);
  estate.policies.push(guardrailPolicy(guarded, REPLACED));
  estate.report.add(
    "decide",
    root,
    `\`imported-guardrails\` is in shadow and denies nothing. Give callers that check words themselves the label \`${REPLACED}\`, then promote it (docs/policy-lifecycle.md)`,
  );
}
