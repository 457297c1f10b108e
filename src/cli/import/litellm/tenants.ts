import { isJsonObject, type JsonObject } from "../../../canon/json.ts";
import type { BUDGET_PERIODS } from "../../../canon/limits.ts";
import { quote } from "../../../compile/authored/literal-secrets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { asId, keyListPolicy } from "../configuration/rows.ts";
import { reachable } from "../routes-file.ts";
import type { Fields, Reading } from "../source.ts";
import { knownKeys } from "./deployments.ts";

/** Meaning of the names in a list of models. */
interface ModelNames {
  /** Name → id of its route. */
  readonly routes: ReadonlyMap<string, string>;
  /** Access group → names. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
}

const ALL: ReadonlySet<string> = new Set(["all-proxy-models", "all-team-models", "*"]);

/** Workspaces of the teams, or one for all; keys become commands. @param root the whole file. */
export function addTenants(root: Fields, names: ModelNames, imported: ImportedConfiguration): void {
  const teams = root.rows("teams");
  const ids = new Map<string, string>();
  for (const team of teams) addTeam(team, names, ids, imported);
  if (teams.length === 0) imported.addOnlyWorkspace([...new Set(names.routes.values())]);
  const lists = new Map<string, readonly string[]>();
  const section = root.has("virtual_keys") ? "virtual_keys" : "keys";
  for (const key of root.rows(section)) addKey(key, names, ids, lists, imported);
  if (lists.size > 0) imported.policies.push(keyListPolicy(lists));
}

function addTeam(
  team: Fields,
  names: ModelNames,
  ids: Map<string, string>,
  imported: ImportedConfiguration,
): void {
  const { report, workspaces, workspaceNames } = imported;
  const id = team.text("team_id");
  const label = team.text("team_alias") ?? id;
  if (label === null) {
    team.missing("team_id", "write `team_id` or `team_alias`");
    return;
  }
  if (team.flag("blocked") === true) {
    report.add("left_out", team, "the team is blocked");
    return;
  }
  const routes = listedRoutes(team, names, imported) ?? [...new Set(names.routes.values())];
  const workspace = workspaceNames.take(asId(label, "team"));
  if (id !== null) ids.set(id, workspace);
  const limits = limitsOf(team, isPriced(imported, routes));
  workspaces.push({
    id: workspace,
    routes,
    labels: regionLabels(team, imported),
    limits,
    spot: team,
  });
  report.add("carried", team, `workspace \`${workspace}\``);
  team.note("carried", ["team_id", "team_alias", "blocked"], `workspace \`${workspace}\``);
  team.noteUnread(knownKeys("teams_and_keys"));
}

function addKey(
  key: Fields,
  names: ModelNames,
  ids: ReadonlyMap<string, string>,
  lists: Map<string, readonly string[]>,
  imported: ImportedConfiguration,
): void {
  const { report, keyCommands, labels, workspaces, answers } = imported;
  const owner = asId(key.text("key_alias") ?? `key-${keyCommands.length + 1}`, "key");
  const team = key.text("team_id");
  const known = team === null ? undefined : ids.get(team);
  const workspace = known ?? workspaces[0]?.id ?? answers.workspace;
  if (known === undefined) key.note("decide", "team_id", "there is no such team in the file");
  if (key.flag("blocked") === true) {
    report.add("left_out", key, "the key is blocked");
    return;
  }
  const listed = listedRoutes(key, names, imported);
  const where =
    "regions are of workspaces: make the key in a workspace with the label of the region";
  key.note("decide", "allowed_model_region", where);
  const label = asId(`only-${owner}`, "only-key");
  if (listed !== null) {
    lists.set(label, listed);
    labels.add(label);
    report.add(
      "carried",
      key.spot("models"),
      `policy \`key-routes\`, for keys with the label \`${label}\``,
    );
  }
  const routes = listed ?? workspaces.find(({ id }) => id === workspace)?.routes ?? [];
  const limits = limitFlags(limitsOf(key, isPriced(imported, routes)));
  const flags = `${listed === null ? "" : ` --labels ${label}`}${limits}`;
  keyCommands.push(
    `signalbox keys create --workspace ${workspace} --scopes inference,catalogue:read --owner ${owner} --expires 90d${flags}`,
  );
  report.add(
    "decide",
    key,
    `make the key anew with the command below "Keys to make", for workspace \`${workspace}\``,
  );
  key.note("carried", ["key_alias", "team_id", "blocked"], "owner and workspace of the key");
  key.noteUnread(knownKeys("teams_and_keys"));
}

/** Ids of the routes that a list of models names; `null`: all. */
function listedRoutes(
  fields: Fields,
  { routes, groups }: ModelNames,
  { report }: Reading,
): readonly string[] | null {
  const listed = fields.texts("models");
  if (listed.length === 0 || listed.some(({ text }) => ALL.has(text))) {
    fields.note("carried", "models", "`approve.routes`: all");
    return null;
  }
  const found = new Set<string>();
  for (const { text, spot } of listed) {
    if (text === "no-default-models") {
      report.add("carried", spot, "`approve.routes`: none besides those that are listed");
      continue;
    }
    const group = groups.get(text) ?? [];
    const matches = (name: string): boolean =>
      name === text ||
      group.includes(name) ||
      (text.endsWith("*") && name.startsWith(text.slice(0, -1)));
    const ids = [...routes].flatMap(([name, id]) => (matches(name) ? [id] : []));
    for (const id of ids) found.add(id);
    if (ids.length === 0) report.add("decide", spot, `names ${quote(text)}, which is not a route`);
    else report.add("carried", spot, "`approve.routes`, or the policy `key-routes`");
  }
  return [...found];
}

/** `allowed_model_region` becomes the policy `eu-residency`. */
function regionLabels(
  fields: Fields,
  { labels, residency }: ImportedConfiguration,
): readonly string[] {
  const region = fields.text("allowed_model_region");
  if (region === null) return [];
  if (region.toLowerCase() !== "eu") {
    const other =
      "the imported policy covers `eu` only; write one for this region (docs/writing-a-policy.md)";
    fields.note("decide", "allowed_model_region", other);
    return [];
  }
  labels.add("eu");
  residency.add("eu");
  const what =
    "label `eu`, and the policy `eu-residency`: primary and fallbacks have to be in the group `eu`";
  fields.note("carried", "allowed_model_region", what);
  return ["eu"];
}

function isPriced(imported: ImportedConfiguration, routes: readonly string[]): boolean {
  return reachable(imported, routes).every(({ price }) => price !== null);
}

type Period = (typeof BUDGET_PERIODS)[number];

/** Calendar periods, by the periods of the source, which begin with the first request. */
const PERIODS: Readonly<Record<string, Period>> = {
  "1h": "hour",
  "60m": "hour",
  "3600s": "hour",
  "1d": "day",
  "24h": "day",
  "86400s": "day",
  "30d": "month",
  "31d": "month",
  "1mo": "month",
};

const COUNTS = [
  ["rpm_limit", "requests_per_minute", 1_000_000_000],
  ["tpm_limit", "tokens_per_minute", 1_000_000_000_000],
  ["max_parallel_requests", "concurrency", 1_000_000],
] as const;

/**
 * `limits` of a workspace or a key. @param priced whether every endpoint that it may use has a
 * price: a budget cannot be counted otherwise.
 */
export function limitsOf(fields: Fields, priced: boolean): JsonObject {
  const limits: Record<string, number | JsonObject> = {};
  for (const [name, key, most] of COUNTS) {
    const value = fields.number(name);
    if (value === null) continue;
    if (value < 1) {
      fields.note("decide", name, "allows nothing: leave the workspace out, or approve no route");
      continue;
    }
    limits[key] = Math.min(most, Math.floor(value));
    fields.note("carried", name, `\`limits.${key}\``);
  }
  const usd = fields.number("max_budget");
  const text = fields.text("budget_duration");
  if (usd === null) {
    fields.note("left_out", "budget_duration", "there is no `max_budget` beside it");
    return limits;
  }
  const per = text !== null && Object.hasOwn(PERIODS, text) ? PERIODS[text] : undefined;
  fields.note("changed", "budget_duration", "`limits.budget.per`, or the line of `max_budget`");
  const decide = (what: string): void => fields.note("decide", "max_budget", what);
  if (usd < 0.000_001) decide("a budget of 0: leave the workspace out, or approve no route");
  else if (per === undefined) {
    const why = text === null ? "this one is never renewed" : "this one has another period";
    decide(
      `budgets here are for a calendar hour, day or month, and ${why}: write \`limits.budget\``,
    );
  } else if (priced) {
    limits.budget = { usd: Math.min(1_000_000_000, usd), per };
    const what = `\`limits.budget\`, for a calendar ${per} in UTC instead of a time from the first request`;
    fields.note("changed", "max_budget", what);
  } else
    decide(
      `no budget can be counted without prices: add \`price\` to the endpoints, then \`limits: { budget: { usd: ${usd}, per: ${per} } }\``,
    );
  return limits;
}

/** The same limits as flags of `signalbox keys create`. */
function limitFlags({ budget, ...limits }: JsonObject): string {
  const { usd, per } = isJsonObject(budget) ? budget : {};
  return Object.entries({
    ...limits,
    ...(usd !== undefined && { "budget-usd": usd, "budget-per": per }),
  })
    .flatMap(([key, value]) =>
      typeof value === "object" ? [] : ` --${key.replaceAll("_", "-")} ${value}`,
    )
    .join("");
}
