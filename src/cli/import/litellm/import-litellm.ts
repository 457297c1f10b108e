import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, posix, relative, sep, win32 } from "node:path";
import type { ConfigNode, MapNode } from "../../../compile/authored/tree.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { Fields } from "../fields.ts";
import type { ImportReport } from "../import-report.ts";
import { type ImportedFile, parseMapping, readImportedText } from "../read-source.ts";
import { type Deployment, readRow, type Wildcard } from "./deployments.ts";
import { addGuardrails, addTags } from "./guardrails.ts";
import { knownKeys } from "./known-keys.ts";
import { addRoutes, type RouteSettings } from "./routes.ts";
import { reserveVariables } from "./secret-fields.ts";
import { applyProviderSettings, applyTenantSettings, routeSettings } from "./settings.ts";
import { addTenants } from "./tenants.ts";
import { presetOf } from "../../../compile/presets.ts";
import { quote } from "../../../compile/authored/literal-secrets.ts";
import { PROVIDERS, splitModel } from "./provider-table.ts";

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
  const surroundings = {
    credentials: credentialsOf(root, imported.report),
    environment: root.fields("environment_variables"),
    settings: settings.litellm,
  };
  const read = root.rows("model_list").flatMap((row) => readRow(row, surroundings, imported) ?? []);
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
  for (const [, item] of surroundings.environment?.unread() ?? [])
    imported.report.add(
      "left_out",
      item,
      "variables belong to the environment; keep files with their values out of git",
    );
  root.item("include");
  imported.report.addUnread(root, knownKeys("file"));
  imported.report.addRest(whole);
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
    const folder = dirname(file.path);
    const path = join(folder, name);
    // A file that somebody else wrote must not name what else is on this machine.
    if (isAbsolute(name) || win32.isAbsolute(name) || !(await isBelow(folder, path))) {
      const hint = "copy the file into the folder, and name it by its path from there";
      imported.findings.add("WRONG_VALUE", spot.at, "the included file is outside of the file's folder", hint);
      continue;
    }
    const shown = posix.join(posix.dirname(file.shown), name);
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

/** Whether a path leads below a folder, through links too; an absent file is reported when it is read. */
async function isBelow(folder: string, path: string): Promise<boolean> {
  const real = await realpath(path).catch(() => null);
  const leads = real === null ? relative(folder, path) : relative(await realpath(folder), real);
  return leads !== ".." && !leads.startsWith(`..${sep}`) && !isAbsolute(leads);
}

function credentialsOf(root: Fields, report: ImportReport): ReadonlyMap<string, Fields> {
  const found = new Map<string, Fields>();
  for (const row of root.rows("credential_list")) {
    const name = row.text("credential_name");
    const values = row.fields("credential_values");
    if (name !== null && values !== null) found.set(name, values);
    report.addMembers("carried", row, ["credential_name"], "provider rows with these values");
    report.addUnread(row, { credential_info: ["left_out", "describes the credential"] });
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

/**
 * Adds the models that rows with `*` stand for. A name counts where `--models` has it, or where another part of the file names it; a row of
 * routes.yaml is one model, so the others have to be written.
 *
 * @param groups is added to.
 * @param named names that the file uses elsewhere.
 */
function expandWildcards(
  wildcards: readonly Wildcard[],
  groups: Map<string, Deployment[]>,
  named: ReadonlySet<string>,
  imported: ImportedConfiguration,
): void {
  const exact = new Set(groups.keys());
  for (const wildcard of wildcards) {
    const wanted = [...new Set([...imported.answers.models, ...named])].flatMap((name) => {
      const star = starOf(wildcard.pattern, name);
      return star === null ? [] : [[name, star] as const];
    });
    const sample = wanted.length === 0 ? sampleOf(wildcard) : null;
    const rows = sample === null ? wanted : [[wildcard.pattern.replace("*", () => sample), sample] as const];
    const added: string[] = [];
    for (const [name, star] of rows) {
      // A row of its own comes before a pattern.
      if (exact.has(name)) continue;
      const deployment = wildcard.row(star);
      if (deployment === null) continue;
      groups.set(name, [...(groups.get(name) ?? []), deployment]);
      added.push(name);
    }
    const spot = { path: [...wildcard.spot.path.slice(0, -1), "model_name"], at: wildcard.spot.at };
    const which =
      added.length === 0
        ? "no model of it is named, so nothing is written"
        : sample === null
          ? `written: ${added.slice(0, 8).map(quote).join(", ")}${added.length > 8 ? ` and ${added.length - 8} more` : ""}`
          : `${quote(added[0] ?? "")} is written as an example`;
    imported.report.add(
      "decide",
      spot,
      `LiteLLM allows any model of the provider; here every route is listed. ${which}. Import with \`--models FILE\` to write those that you use`,
    );
  }
}

/** What the star matched; `null` where the name does not fit. */
function starOf(pattern: string, name: string): string | null {
  const [before = "", ...rest] = pattern.split("*");
  const after = rest.join("*");
  if (name.includes("*") || !name.startsWith(before) || !name.endsWith(after)) return null;
  const star = name.slice(before.length, name.length - after.length);
  return star === "" || name.length < before.length + after.length ? null : star;
}

/** A model of the provider that its preset knows. */
function sampleOf({ model }: Wildcard): string | null {
  const { provider } = splitModel(model, null);
  const row = provider !== null && Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
  if (row?.preset === undefined || row.preset === null || !model.includes("/*")) return null;
  const upstream = presetOf(row.preset)?.sample.upstream_model ?? null;
  return upstream === null || /[A-Z]{4}/.test(upstream) ? null : upstream;
}
