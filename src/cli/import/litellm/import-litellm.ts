import { isAbsolute, join, dirname, posix } from "node:path";
import type { ConfigNode, MapNode } from "../../../compile/authored/tree.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { Fields } from "../fields.ts";
import { type ImportedFile, parseMapping, readImportedText } from "../read-source.ts";
import { type Deployment, readRow } from "./deployments.ts";
import { addGuardrails, addTags } from "./guardrails.ts";
import { knownKeys } from "./known-keys.ts";
import { addRoutes, type RouteSettings } from "./routes.ts";
import { reserveVariables } from "./secret-fields.ts";
import { applyProviderSettings, applyTenantSettings, routeSettings } from "./settings.ts";
import { addTenants } from "./tenants.ts";
import { expandWildcards } from "./wildcards.ts";

/** Reads config.yaml of LiteLLM's proxy, with the files that it includes. */
export async function importLiteLlm(file: ImportedFile, imported: ImportedConfiguration): Promise<void> {
  const tree = parseMapping(
    file,
    imported.findings,
    "the file must be a mapping of sections",
    "begin it with `model_list:`",
  );
  if (tree === null) return;
  const whole = await withIncludes(tree, file, imported);
  if (whole === null) return;
  reserveVariables(whole, imported.secrets);
  const root = new Fields(whole, [], imported.findings);
  if (!root.has("model_list")) {
    root.missing(
      "model_list",
      "is this the configuration of LiteLLM's proxy? Models that are in its database have to be written here",
    );
    return;
  }
  const settings = {
    router: root.fields("router_settings"),
    litellm: root.fields("litellm_settings"),
    general: root.fields("general_settings"),
  };
  const credentials = credentialsOf(root);
  const read = root.rows("model_list").flatMap((row) => readRow(row, credentials, imported) ?? []);
  if (read.length === 0 && !imported.findings.failed)
    imported.findings.add(
      "MISSING_KEY",
      root.spot("model_list").at,
      "model_list has no row",
      "write at least one model",
    );
  const groups = new Map<string, Deployment[]>();
  for (const { name, deployment } of read)
    if (deployment !== null) groups.set(name, [...(groups.get(name) ?? []), deployment]);
  const routing = routeSettings(settings, imported);
  const wildcards = read.flatMap(({ wildcard }) => wildcard ?? []);
  expandWildcards(wildcards, groups, namesUsed(root, routing), imported);
  const routes = addRoutes(groups, routing, imported);
  applyProviderSettings(settings, imported);
  addTenants(root, { routes, groups: accessGroups(groups) }, imported);
  applyTenantSettings(
    settings,
    imported.endpoints.every(({ price }) => price !== null),
    imported,
  );
  addTags(settings.router, groups, imported);
  addGuardrails(root, groups, routes, imported);
  for (const { finish } of read) finish();
  imported.report.addUnread(settings.router, knownKeys("router_settings"));
  imported.report.addUnread(settings.litellm, knownKeys("litellm_settings"));
  imported.report.addUnread(settings.general, knownKeys("general_settings"));
  root.item("include");
  imported.report.addUnread(root, knownKeys("file"));
}

/** Most files that one file may include; they include none themselves. */
const MOST_INCLUDES = 100;

/** The file with those that it includes: lists are joined, other sections are replaced. `null` where one cannot be read. */
async function withIncludes(
  tree: MapNode,
  file: ImportedFile,
  imported: ImportedConfiguration,
): Promise<MapNode | null> {
  const fields = new Fields(tree, [], imported.findings);
  const members = new Map(tree.members);
  for (const { text: name, spot } of fields.texts("include").slice(0, MOST_INCLUDES)) {
    const path = isAbsolute(name) ? name : join(dirname(file.path), name);
    const shown = isAbsolute(name) ? name : posix.join(posix.dirname(file.shown), name);
    const text = await readImportedText(path, shown);
    if (typeof text === "string") {
      imported.findings.add("WRONG_VALUE", spot.at, `the included file ${text}`, "");
      continue;
    }
    const part = parseMapping(text, imported.findings, "an included file must be a mapping of sections");
    if (part === null) continue;
    imported.report.add("carried", spot, "its sections are part of routes.yaml");
    for (const [key, member] of part.members) {
      const own = members.get(key)?.node;
      const node: ConfigNode =
        own?.kind === "list" && member.node.kind === "list"
          ? { ...own, items: [...own.items, ...member.node.items] }
          : member.node;
      members.set(key, { ...member, node });
    }
  }
  return imported.findings.failed ? null : { ...tree, members };
}

function credentialsOf(root: Fields): ReadonlyMap<string, Fields> {
  const found = new Map<string, Fields>();
  for (const row of root.rows("credential_list")) {
    const name = row.text("credential_name");
    const values = row.fields("credential_values");
    if (name !== null && values !== null) found.set(name, values);
  }
  return found;
}

/** Names that fallbacks, aliases, teams and keys use: what a wildcard stands for at least. */
function namesUsed(root: Fields, { fallbacks, defaultFallbacks, aliases }: RouteSettings): ReadonlySet<string> {
  const names = new Set<string>(fallbacks.keys());
  for (const listed of [...fallbacks.values(), defaultFallbacks]) for (const { text } of listed) names.add(text);
  for (const { name } of aliases) names.add(name);
  for (const section of ["teams", "keys", "virtual_keys"]) {
    if (root.item(section)?.node.kind !== "list") continue;
    for (const row of root.rows(section)) for (const { text } of row.texts("models")) names.add(text);
  }
  return names;
}

/** Access group → names of models in it. */
function accessGroups(groups: ReadonlyMap<string, readonly Deployment[]>): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [name, rows] of groups) {
    for (const group of rows.flatMap((row) => row.groups)) found.set(group, [...(found.get(group) ?? []), name]);
  }
  return found;
}
