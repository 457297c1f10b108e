import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, posix, relative, sep, win32 } from "node:path";
import { quote } from "../../../compile/authored/literal-secrets.ts";
import { type ConfigNode, type MapNode, scalars } from "../../../compile/authored/tree.ts";
import { presetOf } from "../../../compile/presets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { asId, tagPolicy } from "../configuration/rows.ts";
import {
  Fields,
  type ImportedFile,
  isReference,
  parseMapping,
  readImportedText,
  type Reading,
  REFERENCE,
} from "../source.ts";
import { type Deployment, readRow, type Row } from "./deployments.ts";
import knownKeys from "./known-keys.json" with { type: "json" };
import { splitModel } from "./providers.ts";
import {
  addRoutes,
  addTenants,
  applyProviderSettings,
  applyTenantSettings,
  type RouteSettings,
  type Rows,
  routeSettings,
} from "./routes.ts";

/** Reads config.yaml of LiteLLM's proxy, with the files that it includes. */
export async function importLiteLlm(
  file: ImportedFile,
  imported: ImportedConfiguration,
): Promise<void> {
  const { findings, secrets } = imported;
  const tree = parseMapping(
    file,
    findings,
    "the file must be a mapping of sections",
    "begin it with `model_list:`",
  );
  const whole = tree === null ? null : await withIncludes(tree, file, imported);
  if (whole === null) return;
  // No literal key may get the name of a variable that the source reads.
  for (const { node } of scalars(whole))
    if (isReference(node)) secrets.names.reserve(String(node.value).slice(REFERENCE.length));
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
  const environment = root.fields("environment_variables");
  const surroundings = {
    credentials: credentialsOf(root),
    environment,
    settings: settings.litellm,
  };
  const rows = root.rows("model_list").flatMap((row) => readRow(row, surroundings, imported) ?? []);
  if (rows.length === 0 && !findings.failed)
    findings.add(
      "MISSING_KEY",
      root.origin("model_list").at,
      "model_list has no row",
      "write at least one model",
    );
  const groups: Groups = new Map();
  for (const { name, isWildcard, deploy } of rows)
    if (!isWildcard) addTo(groups, name, deploy(null));
  const routing = routeSettings(settings, imported);
  expandWildcards(
    rows.filter(({ isWildcard }) => isWildcard),
    groups,
    namesUsed(root, routing),
    imported,
  );
  const routes = addRoutes(groups, routing, imported);
  applyProviderSettings(settings, imported);
  addTenants(root, { routes, groups: accessGroups(groups) }, imported);
  applyTenantSettings(settings, imported);
  addTags(settings.router, groups, imported);
  addGuardrails(root, groups, routes, imported);
  for (const { finish } of rows) finish();
  settings.router.noteRest(knownKeys.router_settings);
  settings.litellm.noteRest(knownKeys.litellm_settings);
  settings.general.noteRest(knownKeys.general_settings);
  const text = "variables belong to the environment; keep files with their values out of git";
  environment.noteRest([], { outcome: "left_out", text });
  root.item("include");
  root.noteRest(knownKeys.file);
  imported.report.addRest(whole);
}

/** Included files have no includes of their own. */
const MOST_INCLUDES = 100;

/**
 * The file with those that it includes: lists are joined, other sections are replaced. `null` where
 * one cannot be read.
 */
async function withIncludes(tree: MapNode, file: ImportedFile, reading: Reading) {
  const { findings, report } = reading;
  const members = new Map(tree.members);
  const includes = new Fields(tree, [], reading).texts("include").slice(0, MOST_INCLUDES);
  for (const { text: name, origin } of includes) {
    const folder = dirname(file.path);
    const path = join(folder, name);
    // A configuration of another author must not show which files this machine has.
    if (isAbsolute(name) || win32.isAbsolute(name) || !(await isInFolder(folder, path))) {
      findings.add(
        "WRONG_VALUE",
        origin.at,
        "the included file is outside of the file's folder",
        "copy the file into the folder, and name it by its path from there",
      );
      continue;
    }
    const text = await readImportedText(path, posix.join(posix.dirname(file.shown), name));
    if (typeof text === "string") {
      findings.add("WRONG_VALUE", origin.at, `the included file ${text}`, "");
      continue;
    }
    const part = parseMapping(text, findings, "an included file must be a mapping of sections");
    if (part === null) continue;
    report.add("carried", origin, "its sections are part of routes.yaml");
    for (const [key, member] of part.members) {
      const before = members.get(key)?.node;
      const node: ConfigNode =
        before?.kind === "list" && member.node.kind === "list"
          ? { ...before, items: [...before.items, ...member.node.items] }
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
async function isInFolder(folder: string, path: string): Promise<boolean> {
  const real = await realpath(path).catch(() => null);
  const leads = real === null ? relative(folder, path) : relative(await realpath(folder), real);
  return leads !== ".." && !leads.startsWith(`..${sep}`) && !isAbsolute(leads);
}

function credentialsOf(root: Fields) {
  const found = new Map<string, Fields>();
  for (const row of root.rows("credential_list")) {
    const name = row.text("credential_name");
    const values = row.fields("credential_values");
    if (name !== null && row.has("credential_values")) found.set(name, values);
    row.noteRest(knownKeys.credential_list);
  }
  return found;
}

/** Deployments by `model_name`. */
type Groups = Map<string, Rows>;

/** @returns whether there is a deployment. */
function addTo(groups: Groups, name: string, deployment: Deployment | null): boolean {
  if (deployment === null) return false;
  groups.set(name, [...(groups.get(name) ?? []), deployment]);
  return true;
}

/**
 * Names that fallbacks, aliases, teams and keys use. Wildcards are expanded to these models.
 */
function namesUsed(
  root: Fields,
  { fallbacks, defaultFallbacks, aliases }: RouteSettings,
): ReadonlySet<string> {
  const tenants = ["teams", "keys", "virtual_keys"].filter(
    (section) => root.item(section)?.node.kind === "list",
  );
  const references = [
    ...fallbacks.values(),
    defaultFallbacks,
    ...tenants.flatMap((section) => root.rows(section).map((row) => row.texts("models"))),
  ];
  return new Set([
    ...fallbacks.keys(),
    ...references.flat().map(({ text }) => text),
    ...aliases.map(({ name }) => name),
  ]);
}

/** Access group → names of models in it. */
function accessGroups(groups: Groups) {
  const found = new Map<string, string[]>();
  for (const [name, rows] of groups)
    for (const group of rows.flatMap((row) => row.groups))
      found.set(group, [...(found.get(group) ?? []), name]);
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
  groups: Groups,
  routes: ReadonlyMap<string, string>,
  imported: ImportedConfiguration,
) {
  const { report } = imported;
  const guarded = new Set<string>();
  const recorded = (which: string) =>
    `${NO_CONTENT_CHECKS}; policy \`imported-guardrails\` records requests of ${which}, and denies them once it is promoted`;
  for (const [name, rows] of groups) {
    for (const origin of rows.flatMap(({ guardrails }) => guardrails)) {
      guarded.add(routes.get(name) ?? name);
      report.add("changed", origin, recorded(`route ${quote(name)}`));
    }
  }
  for (const guardrail of root.rows("guardrails")) {
    const inner = guardrail.fields("litellm_params");
    if ([inner, guardrail].some((fields) => fields.flag("default_on") === true)) {
      for (const id of routes.values()) guarded.add(id);
      report.add("changed", guardrail, recorded("all routes"));
    } else report.add("left_out", guardrail, NO_CONTENT_CHECKS);
  }
  imported.addGuardrailPolicy(guarded, root.origin("guardrails"));
}

/** The policy about tags of deployments. */
function addTags(router: Fields, groups: Groups, imported: ImportedConfiguration) {
  const tagged = [...groups.values()].filter((rows) => rows.some(({ tags }) => tags.length > 0));
  if (router.flag("enable_tag_filtering") !== true || tagged.length === 0) return;
  const labelled = new Map<string, readonly string[]>();
  const untagged = new Set<string>();
  for (const rows of tagged) {
    const hasDefault = rows.some(({ tags }) => tags.includes("default"));
    for (const { endpoint, tags, params } of rows) {
      // Endpoints that were removed from their route: a policy about them would not compile.
      if (!imported.endpoints.includes(endpoint)) continue;
      params.note(
        "changed",
        "tags",
        "policy `tag-routing`: labels of the key or its workspace choose, not tags of the request",
      );
      const labels = tags.filter((tag) => tag !== "default").map((tag) => asId(tag, "tag"));
      if (labels.length > 0) labelled.set(endpoint.id, labels);
      for (const label of labels) imported.labels.add(label);
      if (!hasDefault || tags.includes("default")) untagged.add(endpoint.id);
    }
  }
  router.note(
    "changed",
    "enable_tag_filtering",
    "policy `tag-routing`; give keys the labels, `signalbox keys create --labels …`",
  );
  if (router.flag("tag_filtering_match_any") === false)
    router.note(
      "decide",
      "tag_filtering_match_any",
      "`tag-routing` requires one label in common; LiteLLM requires all tags",
    );
  if (labelled.size > 0) imported.policies.push(tagPolicy(labelled, untagged));
}

/**
 * Expands rows with `*` to the models of `--models` and those that other parts of the file name. A
 * row of routes.yaml is one model, so the user has to name the others.
 *
 * @param groups is added to.
 * @param requestedNames names that the file uses elsewhere.
 */
function expandWildcards(
  wildcards: readonly Row[],
  groups: Groups,
  requestedNames: ReadonlySet<string>,
  imported: ImportedConfiguration,
) {
  const exact = new Set(groups.keys());
  for (const { name: pattern, model, params, deploy } of wildcards) {
    const matches = [...new Set([...imported.answers.models, ...requestedNames])].flatMap(
      (name) => {
        const star = starOf(pattern, name);
        return star === null ? [] : [[name, star] as const];
      },
    );
    const sample = matches.length === 0 ? sampleOf(model) : null;
    const rows =
      sample === null ? matches : [[pattern.replace("*", () => sample), sample] as const];
    // A row without a star comes before a pattern.
    const added = rows
      .filter(([name, star]) => !exact.has(name) && addTo(groups, name, deploy(star)))
      .map(([name]) => quote(name));
    const which =
      added.length === 0
        ? "no model of it is named, so nothing is written"
        : sample === null
          ? `written: ${added.slice(0, 8).join(", ")}${added.length > 8 ? ` and ${added.length - 8} more` : ""}`
          : `${added.join("")} is written as an example`;
    imported.report.add(
      "decide",
      { path: [...params.path.slice(0, -1), "model_name"], at: params.at },
      `LiteLLM allows any model of the provider; here every route is listed. ${which}. Import with \`--models FILE\` to write those that you use`,
    );
  }
}

/** The part of the name that the star matches; `null` without a match. */
function starOf(pattern: string, name: string): string | null {
  const [before = "", ...rest] = pattern.split("*");
  const after = rest.join("*");
  if (name.includes("*") || !name.startsWith(before) || !name.endsWith(after)) return null;
  const star = name.slice(before.length, name.length - after.length);
  return star === "" || name.length < before.length + after.length ? null : star;
}

/** The sample model of the provider's preset. */
function sampleOf(model: string): string | null {
  const { row } = splitModel(model, null);
  const upstream = presetOf(row?.preset ?? null)?.sample.upstream_model ?? null;
  return model.includes("/*") && !/[A-Z]{4}/.test(upstream ?? "") ? upstream : null;
}
