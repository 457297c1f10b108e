import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, posix, relative, sep, win32 } from "node:path";
import { quote } from "../../../compile/authored/literal-secrets.ts";
import type { ConfigNode, MapNode } from "../../../compile/authored/tree.ts";
import { presetOf } from "../../../compile/presets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { asId, tagPolicy } from "../configuration/rows.ts";
import { Fields, type ImportedFile, parseMapping, readImportedText } from "../source.ts";
import { reserveVariables } from "./connection.ts";
import { type Deployment, knownKeys, readRow, type Wildcard } from "./deployments.ts";
import { splitModel } from "./provider-table.ts";
import {
  addRoutes,
  applyProviderSettings,
  applyTenantSettings,
  routeSettings,
  type RouteSettings,
} from "./routes.ts";
import { addTenants } from "./tenants.ts";

/** Reads config.yaml of LiteLLM's proxy, with the files that it includes. */
export async function importLiteLlm(
  file: ImportedFile,
  imported: ImportedConfiguration,
): Promise<void> {
  const { findings, report, endpoints } = imported;
  const rule = "the file must be a mapping of sections";
  const tree = parseMapping(file, findings, rule, "begin it with `model_list:`");
  const whole = tree === null ? null : await withIncludes(tree, file, imported);
  if (whole === null) return;
  reserveVariables(whole, imported.secrets);
  const root = new Fields(whole, [], imported);
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
    credentials: credentialsOf(root),
    environment: root.fields("environment_variables"),
    settings: settings.litellm,
  };
  const read = root.rows("model_list").flatMap((row) => readRow(row, surroundings, imported) ?? []);
  if (read.length === 0 && !findings.failed)
    findings.add(
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
  const isPriced = endpoints.every(({ price }) => price !== null);
  applyTenantSettings(settings, isPriced, imported);
  addTags(settings.router, groups, imported);
  addGuardrails(root, groups, routes, imported);
  for (const { finish } of read) finish();
  settings.router.noteUnread(knownKeys("router_settings"));
  settings.litellm.noteUnread(knownKeys("litellm_settings"));
  settings.general.noteUnread(knownKeys("general_settings"));
  const variables = "variables belong to the environment; keep files with their values out of git";
  surroundings.environment.noteUnread({}, ["left_out", variables]);
  root.item("include");
  root.noteUnread(knownKeys("file"));
  report.addRest(whole);
}

/** Included files have no includes of their own. */
const MOST_INCLUDES = 100;

/**
 * The file with those that it includes: lists are joined, other sections are replaced. `null` where
 * one cannot be read.
 */
async function withIncludes(
  tree: MapNode,
  file: ImportedFile,
  imported: ImportedConfiguration,
): Promise<MapNode | null> {
  const { findings, report } = imported;
  const fields = new Fields(tree, [], imported);
  const members = new Map(tree.members);
  for (const { text: name, spot } of fields.texts("include").slice(0, MOST_INCLUDES)) {
    const folder = dirname(file.path);
    const path = join(folder, name);
    // A file that somebody else wrote must not name what else is on this machine.
    if (isAbsolute(name) || win32.isAbsolute(name) || !(await isBelow(folder, path))) {
      const hint = "copy the file into the folder, and name it by its path from there";
      findings.add(
        "WRONG_VALUE",
        spot.at,
        "the included file is outside of the file's folder",
        hint,
      );
      continue;
    }
    const shown = posix.join(posix.dirname(file.shown), name);
    const text = await readImportedText(path, shown);
    if (typeof text === "string") {
      findings.add("WRONG_VALUE", spot.at, `the included file ${text}`, "");
      continue;
    }
    const part = parseMapping(text, findings, "an included file must be a mapping of sections");
    if (part === null) continue;
    report.add("carried", spot, "its sections are part of routes.yaml");
    for (const [key, member] of part.members) {
      const own = members.get(key)?.node;
      const node: ConfigNode =
        own?.kind === "list" && member.node.kind === "list"
          ? { ...own, items: [...own.items, ...member.node.items] }
          : member.node;
      members.set(key, { ...member, node });
    }
  }
  return findings.failed ? null : { ...tree, members };
}

/**
 * Whether a path leads below a folder, through links too; an absent file is reported when it is
 * read.
 */
async function isBelow(folder: string, path: string): Promise<boolean> {
  const real = await realpath(path).catch(() => null);
  const leads = real === null ? relative(folder, path) : relative(await realpath(folder), real);
  return leads !== ".." && !leads.startsWith(`..${sep}`) && !isAbsolute(leads);
}

function credentialsOf(root: Fields): ReadonlyMap<string, Fields> {
  const found = new Map<string, Fields>();
  for (const row of root.rows("credential_list")) {
    const name = row.text("credential_name");
    const values = row.fields("credential_values");
    if (name !== null && row.has("credential_values")) found.set(name, values);
    row.note("carried", "credential_name", "provider rows with these values");
    row.noteUnread({ credential_info: ["left_out", "describes the credential"] });
  }
  return found;
}

/**
 * Names that fallbacks, aliases, teams and keys use: models that a wildcard stands for at least.
 */
function namesUsed(
  root: Fields,
  { fallbacks, defaultFallbacks, aliases }: RouteSettings,
): ReadonlySet<string> {
  const names = new Set<string>(fallbacks.keys());
  for (const listed of [...fallbacks.values(), defaultFallbacks])
    for (const { text } of listed) names.add(text);
  for (const { name } of aliases) names.add(name);
  for (const section of ["teams", "keys", "virtual_keys"]) {
    if (root.item(section)?.node.kind !== "list") continue;
    for (const row of root.rows(section))
      for (const { text } of row.texts("models")) names.add(text);
  }
  return names;
}

/** Access group → names of models in it. */
function accessGroups(
  deployments: ReadonlyMap<string, readonly Deployment[]>,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [name, rows] of deployments) {
    for (const group of rows.flatMap(({ groups }) => groups))
      found.set(group, [...(found.get(group) ?? []), name]);
  }
  return found;
}

const NO_CONTENT_CHECKS = "Signalbox does not check the content of prompts and answers";

/**
 * The policy about routes whose guardrails were not carried over.
 *
 * @param routes name → id.
 */
function addGuardrails(
  root: Fields,
  deployments: ReadonlyMap<string, readonly Deployment[]>,
  routes: ReadonlyMap<string, string>,
  imported: ImportedConfiguration,
): void {
  const { report } = imported;
  const guarded = new Set<string>();
  const recorded = (which: string): string =>
    `${NO_CONTENT_CHECKS}; policy \`imported-guardrails\` records requests of ${which}, and denies them once it is promoted`;
  for (const [name, rows] of deployments) {
    for (const spot of rows.flatMap(({ guardrails }) => guardrails)) {
      guarded.add(routes.get(name) ?? name);
      report.add("changed", spot, recorded(`route ${quote(name)}`));
    }
  }
  for (const guardrail of root.rows("guardrails")) {
    const inner = guardrail.fields("litellm_params");
    const isAlways = [inner, guardrail].some((fields) => fields.flag("default_on") === true);
    if (isAlways) for (const id of routes.values()) guarded.add(id);
    if (isAlways) report.add("changed", guardrail, recorded("all routes"));
    else report.add("left_out", guardrail, NO_CONTENT_CHECKS);
  }
  imported.addGuardrailPolicy(guarded, root.spot("guardrails"));
}

/** The policy about tags of deployments. */
function addTags(
  router: Fields,
  deployments: ReadonlyMap<string, readonly Deployment[]>,
  imported: ImportedConfiguration,
): void {
  const groups = [...deployments.values()].filter((rows) =>
    rows.some(({ tags }) => tags.length > 0),
  );
  const isOn = router.flag("enable_tag_filtering") === true;
  const tagged = new Map<string, readonly string[]>();
  const usual = new Set<string>();
  for (const rows of groups) {
    const hasDefault = rows.some(({ tags }) => tags.includes("default"));
    for (const { endpoint, tags, params } of rows) {
      // Of a row that cannot replace the others of its name: a policy about it would not compile.
      if (!imported.endpoints.includes(endpoint)) continue;
      if (!isOn) {
        const without =
          "tags have no effect on routing without `enable_tag_filtering`; labels of keys separate spend";
        params.note("left_out", "tags", without);
        continue;
      }
      const labels = tags.filter((tag) => tag !== "default").map((tag) => asId(tag, "tag"));
      if (labels.length > 0) tagged.set(endpoint.id, labels);
      for (const label of labels) imported.labels.add(label);
      if (!hasDefault || tags.includes("default")) usual.add(endpoint.id);
      const chosen =
        "policy `tag-routing`: labels of the key or its workspace choose, not tags of the request";
      params.note("changed", "tags", chosen);
    }
  }
  if (!isOn || groups.length === 0) return;
  const labelled = "policy `tag-routing`; give keys the labels, `signalbox keys create --labels …`";
  router.note("changed", "enable_tag_filtering", labelled);
  if (router.flag("tag_filtering_match_any") === false) {
    const all = "`tag-routing` requires one label in common; LiteLLM requires all tags";
    router.note("decide", "tag_filtering_match_any", all);
  }
  if (tagged.size > 0) imported.policies.push(tagPolicy({ tags: tagged, usual }));
}

/**
 * Adds the models that rows with `*` stand for. A name counts where `--models` has it, or where
 * another part of the file names it; a row of routes.yaml is one model, so the others have to be
 * written.
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
    const rows =
      sample === null ? wanted : [[wildcard.pattern.replace("*", () => sample), sample] as const];
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

/** The text that the star matched; `null` where the name does not fit. */
function starOf(pattern: string, name: string): string | null {
  const [before = "", ...rest] = pattern.split("*");
  const after = rest.join("*");
  if (name.includes("*") || !name.startsWith(before) || !name.endsWith(after)) return null;
  const star = name.slice(before.length, name.length - after.length);
  return star === "" || name.length < before.length + after.length ? null : star;
}

/** The sample model of the provider's preset. */
function sampleOf({ model }: Wildcard): string | null {
  const { row } = splitModel(model, null);
  const upstream = presetOf(row?.preset ?? null)?.sample.upstream_model;
  return upstream === undefined || !model.includes("/*") || /[A-Z]{4}/.test(upstream)
    ? null
    : upstream;
}
