import { quote, suggest } from "./authored/literal-secrets.ts";
import { nodeAt, textOf, type ConfigNode, type Path } from "./authored/tree.ts";
import type { Report } from "./findings/findings.ts";
import type { NormalisedRoutes } from "./normalised/normalise.ts";
import type { AuthoredProvider, AuthoredWorkspace, RoutesFile } from "./routes-schema.ts";
import type { DialectFacts } from "../dialects/dialect.ts";

/**
 * Reports every name that points nowhere, apart from those of endpoints and routes, which their own
 * files follow.
 */
export function reportUnknownNames(context: CompileContext): void {
  reportRegionNames(context);
  reportReservedNames(context);
  reportProviderNames(context);
  for (const [id, row] of Object.entries(context.file.workspaces))
    reportWorkspaceNames(context, id, row);
  reportPolicyNames(context, "initial_mode", "UNKNOWN_POLICY");
  // Removing a policy takes what its promotion took, so its row has to stay.
  reportPolicyNames(context, "promotion", "PROMOTION_WITHOUT_POLICY");
}

function reportPolicyNames(
  { policies, file, normalised, report }: CompileContext,
  key: "initial_mode" | "promotion",
  code: "UNKNOWN_POLICY" | "PROMOTION_WITHOUT_POLICY",
) {
  if (policies === null) return;
  for (const id of Object.keys(file.policies?.[key] ?? {})) {
    if (id === "*" || policies.includes(id)) continue;
    const message = `there is no policy ${quote(id)} in ${quote(normalised.policies.dir)}`;
    report.key(code, ["policies", key, id], message, suggest(id, policies));
  }
}

function reportRegionNames({ declared, file, report }: CompileContext) {
  for (const [group, regions] of Object.entries(file.regions)) {
    if (!declared.regions.has(group) || regions.includes(group)) continue;
    const message = `the region group ${quote(group)} has the name of a region that is not in it`;
    report.key("REGION_AMBIGUOUS", ["regions", group], message);
  }
}

/** The tree has refused such keys; these are the names that stand in lists. */
function reportReservedNames({ file, report }: CompileContext) {
  const refuse = (name: string, path: Path) => {
    if (Object.hasOwn(Object.prototype, name))
      report.value("RESERVED_NAME", path, `${quote(name)} is a reserved name`);
  };
  for (const [index, endpoint] of file.endpoints.entries())
    refuse(endpoint.id, ["endpoints", index, "id"]);
  for (const [group, regions] of Object.entries(file.regions)) {
    for (const [index, region] of regions.entries()) refuse(region, ["regions", group, index]);
  }
}

function reportProviderNames(context: CompileContext) {
  const { file } = context;
  for (const [id, provider] of Object.entries(file.providers)) {
    reportRegion(context, provider.region, ["providers", id, "region"]);
    reportFlags(context, id, provider);
  }
  for (const [index, endpoint] of file.endpoints.entries()) {
    if (endpoint.region !== undefined)
      reportRegion(context, endpoint.region, ["endpoints", index, "region"]);
  }
}

function reportFlags(
  context: CompileContext,
  id: string,
  { dialect, flags = [] }: AuthoredProvider,
) {
  const { report } = context;
  const facts = context.dialect(dialect)?.flags ?? {};
  const known = Object.keys(facts);
  const excludes = (flag: string, other: string) =>
    known.includes(flag) && (facts[flag]?.excludes?.includes(other) ?? false);
  for (const [index, flag] of flags.entries()) {
    const path = ["providers", id, "flags", index];
    if (!known.includes(flag)) {
      const message = `the dialect ${quote(dialect)} has no flag ${quote(flag)}`;
      report.value("UNKNOWN_FLAG", path, message, suggest(flag, known));
    }
    const other = flags
      .slice(0, index)
      .find((earlier) => excludes(flag, earlier) || excludes(earlier, flag));
    if (other === undefined) continue;
    const message = `provider ${quote(id)} has the flags ${quote(other)} and ${quote(flag)}, which exclude each other`;
    report.value("FLAGS_CONTRADICTED", path, message);
  }
}

/** Rows are in one region; only approvals may name a group. */
function reportRegion(
  { declared, normalised, report }: CompileContext,
  region: string,
  path: Path,
) {
  if (declared.regions.has(region)) return;
  const members = (normalised.regionGroups.get(region) ?? []).map(quote).join(", ");
  const [message, hint] = declared.regionGroups.has(region)
    ? [
        `${quote(region)} is a region group; a row is in one region`,
        members && `name one of its regions: ${members}`,
      ]
    : [`there is no region ${quote(region)}`, suggest(region, declared.regions)];
  report.value("UNKNOWN_REGION", path, message, hint);
}

function reportWorkspaceNames(
  context: CompileContext,
  id: string,
  { approve, labels = [], default_moderation_route: moderation }: AuthoredWorkspace,
) {
  const { declared, report } = context;
  const where = `workspace ${quote(id)}`;
  const path = ["workspaces", id, "approve"];
  for (const [noun, list] of [
    ["route", "routes"],
    ["provider", "providers"],
  ] as const) {
    for (const [index, name] of approve[list].entries())
      checkName(context, list, name, [...path, list, index], `${where} approves the ${noun}`);
  }
  const known = [...declared.regions, ...declared.regionGroups];
  for (const [index, name] of approve.regions.entries()) {
    if (known.includes(name)) continue;
    const message = `${where} approves ${quote(name)}, which is neither a region nor a region group`;
    report.value("UNKNOWN_REGION", [...path, "regions", index], message, suggest(name, known));
  }
  for (const [index, label] of labels.entries()) {
    checkLabel(context, label, ["workspaces", id, "labels", index], `${where} has the label`);
  }
  if (moderation === undefined) return;
  const moderationPath = ["workspaces", id, "default_moderation_route"];
  checkName(context, "routes", moderation, moderationPath, `${where} names the route`);
}

/**
 * Every name that the file declares, rows that the schema refused included: a reference to a broken
 * row is not a second mistake.
 */
interface Declared {
  readonly providers: ReadonlySet<string>;
  readonly models: ReadonlySet<string>;
  readonly endpoints: ReadonlySet<string>;
  readonly routes: ReadonlySet<string>;
  readonly regions: ReadonlySet<string>;
  readonly regionGroups: ReadonlySet<string>;
  readonly workspaces: ReadonlySet<string>;
  readonly labels: ReadonlySet<string>;
}

/** Reads the names off the tree before anything has been taken out of it. */
export function declaredNames(tree: ConfigNode): Declared {
  const groups = nodeAt(tree, ["regions"]);
  const regions =
    groups?.kind === "map" ? [...groups.members.values()].flatMap(({ node }) => texts(node)) : [];
  const endpoints = nodeAt(tree, ["endpoints"]);
  const ids =
    endpoints?.kind === "list"
      ? endpoints.items.flatMap((item) => texts(nodeAt(item, ["id"])))
      : [];
  return {
    providers: keys(nodeAt(tree, ["providers"])),
    models: keys(nodeAt(tree, ["models"])),
    endpoints: new Set(ids),
    routes: keys(nodeAt(tree, ["routes"])),
    regions: new Set(regions),
    regionGroups: keys(groups),
    workspaces: keys(nodeAt(tree, ["workspaces"])),
    labels: new Set(texts(nodeAt(tree, ["vocabulary", "labels"]))),
  };
}

function keys(node: ConfigNode | null): ReadonlySet<string> {
  return new Set(node?.kind === "map" ? node.members.keys() : []);
}

function texts(node: ConfigNode | null): readonly string[] {
  if (node?.kind === "list") return node.items.flatMap(texts);
  const text = textOf(node);
  return text === null ? [] : [text];
}

/** Input of every check. */
export interface CompileContext {
  /** Paths of findings are paths of this file. */
  readonly file: RoutesFile;
  readonly normalised: NormalisedRoutes;
  readonly declared: Declared;
  /** Ids of the policies beside the file; `null` where not read. */
  readonly policies: readonly string[] | null;
  /** Ids of endpoints whose price is that of the price list. */
  readonly listed: ReadonlySet<string>;
  dialect(name: string): DialectFacts | undefined;
  readonly report: Report;
}

/** The code of a name that no row of a list has. */
const UNKNOWN = {
  models: "UNKNOWN_MODEL",
  providers: "UNKNOWN_PROVIDER",
  routes: "UNKNOWN_ROUTE",
  workspaces: "UNKNOWN_WORKSPACE",
} as const;

/**
 * Reports a name that no row of the list has.
 *
 * @param clause of the message, up to the name: "workspace `shop` approves the route".
 * @returns whether there is such a row.
 */
export function checkName(
  { declared, report }: CompileContext,
  list: keyof typeof UNKNOWN,
  name: string,
  path: Path,
  clause: string,
): boolean {
  if (declared[list].has(name)) return true;
  report.value(
    UNKNOWN[list],
    path,
    `${clause} ${quote(name)}, which does not exist`,
    suggest(name, declared[list]),
  );
  return false;
}

/** Reports a label that the vocabulary does not have. @param clause as for {@link checkName}. */
export function checkLabel(
  { declared, report }: CompileContext,
  label: string,
  path: Path,
  clause: string,
): void {
  if (declared.labels.has(label)) return;
  const message = `${clause} ${quote(label)}, which \`vocabulary.labels\` does not list`;
  const hint = suggest(label, declared.labels) || "add it: `vocabulary: {labels: […]}`";
  report.value("UNKNOWN_LABEL", path, message, hint);
}
