import { quote } from "../../../compile/authored/literal-secrets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { asId } from "../configuration/names.ts";
import { keyListPolicy } from "../configuration/policies.ts";
import type { Fields } from "../fields.ts";
import { reachable } from "../routes-json.ts";
import { knownKeys } from "./known-keys.ts";
import { limitFlags, limitsOf } from "./limits.ts";

/** What names of models in a list mean. */
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

function addTeam(team: Fields, names: ModelNames, ids: Map<string, string>, imported: ImportedConfiguration): void {
  const label = team.text("team_alias") ?? team.text("team_id");
  const id = team.text("team_id");
  if (label === null) {
    team.missing("team_id", "write `team_id` or `team_alias`");
    return;
  }
  if (team.flag("blocked") === true) {
    imported.report.add("left_out", team, "the team is blocked");
    return;
  }
  const routes = listedRoutes(team, names, imported) ?? [...new Set(names.routes.values())];
  const workspace = imported.workspaceNames.take(asId(label, "team"));
  if (id !== null) ids.set(id, workspace);
  const limits = limitsOf(team, isPriced(imported, routes), imported);
  const labels = regionLabels(team, imported);
  imported.workspaces.push({ id: workspace, routes, labels, limits, spot: team });
  imported.report.add("carried", team, `workspace \`${workspace}\``);
  imported.report.addMembers("carried", team, ["team_id", "team_alias", "blocked"], `workspace \`${workspace}\``);
  imported.report.addUnread(team, knownKeys("teams_and_keys"));
}

function addKey(
  key: Fields,
  names: ModelNames,
  ids: ReadonlyMap<string, string>,
  lists: Map<string, readonly string[]>,
  imported: ImportedConfiguration,
): void {
  const { report, keyCommands, labels } = imported;
  const owner = asId(key.text("key_alias") ?? `key-${keyCommands.length + 1}`, "key");
  const team = key.text("team_id");
  const workspace =
    (team === null ? undefined : ids.get(team)) ?? imported.workspaces[0]?.id ?? imported.answers.workspace;
  if (team !== null && !ids.has(team)) report.add("decide", key.spot("team_id"), "there is no such team in the file");
  if (key.flag("blocked") === true) {
    report.add("left_out", key, "the key is blocked");
    return;
  }
  const listed = listedRoutes(key, names, imported);
  const held: string[] = [];
  const region = key.item("allowed_model_region");
  if (region !== null)
    report.add("decide", region, "regions are of workspaces: make the key in a workspace with the label of the region");
  if (listed !== null) {
    const label = asId(`only-${owner}`, "only-key");
    lists.set(label, listed);
    labels.add(label);
    held.push(label);
    report.add("carried", key.spot("models"), `policy \`key-routes\`, for keys with the label \`${label}\``);
  }
  const limits = limitsOf(
    key,
    isPriced(imported, listed ?? imported.workspaces.find(({ id }) => id === workspace)?.routes ?? []),
    imported,
  );
  const flags = `${held.length === 0 ? "" : ` --labels ${held.join(",")}`}${limitFlags(limits)}`;
  keyCommands.push(
    `signalbox keys create --workspace ${workspace} --scopes inference,catalogue:read --owner ${owner} --expires 90d${flags}`,
  );
  report.add("decide", key, `make the key anew with the command below "Keys to make", for workspace \`${workspace}\``);
  report.addMembers("carried", key, ["key_alias", "team_id", "blocked"], "owner and workspace of the key");
  imported.report.addUnread(key, knownKeys("teams_and_keys"));
}

/** Ids of the routes that a list of models names; `null` where it means all. */
function listedRoutes(
  fields: Fields,
  { routes, groups }: ModelNames,
  { report }: ImportedConfiguration,
): readonly string[] | null {
  const listed = fields.texts("models");
  if (listed.length === 0 || listed.some(({ text }) => ALL.has(text))) {
    report.addMembers("carried", fields, ["models"], "`approve.routes`: all");
    return null;
  }
  const found = new Set<string>();
  for (const { text, spot } of listed) {
    if (text === "no-default-models") {
      report.add("carried", spot, "`approve.routes`: none besides those that are listed");
      continue;
    }
    const names = [...routes.keys()].filter(
      (name) => name === text || groups.get(text)?.includes(name) === true || fits(text, name),
    );
    for (const name of names) found.add(routes.get(name) ?? name);
    if (names.length === 0) report.add("decide", spot, `names ${quote(text)}, which is not a route`);
    else report.add("carried", spot, "`approve.routes`, or the policy `key-routes`");
  }
  return [...found];
}

function fits(pattern: string, name: string): boolean {
  return pattern.endsWith("*") && name.startsWith(pattern.slice(0, -1));
}

/** `allowed_model_region` is what the policy `eu-residency` does. */
function regionLabels(fields: Fields, { report, labels, residency }: ImportedConfiguration): readonly string[] {
  const region = fields.text("allowed_model_region");
  if (region === null) return [];
  if (region.toLowerCase() !== "eu") {
    report.add(
      "decide",
      fields.spot("allowed_model_region"),
      "the imported policy covers `eu` only; write one for this region (docs/writing-a-policy.md)",
    );
    return [];
  }
  labels.add("eu");
  residency.add("eu");
  report.add(
    "carried",
    fields.spot("allowed_model_region"),
    "label `eu`, and the policy `eu-residency`: primary and fallbacks have to be in the group `eu`",
  );
  return ["eu"];
}

function isPriced(imported: ImportedConfiguration, routes: readonly string[]): boolean {
  return reachable(imported, routes).every(({ price }) => price !== null);
}
