import { quote, suggest } from "./authored/literal-secrets.ts";
import { nodeAt, scalars, textAt, textOf, type ConfigNode, type Path } from "./authored/tree.ts";
import type { Report } from "./findings/findings.ts";
import type { NormalisedRoutes } from "./normalised/normalise.ts";
import type { AuthoredProvider, AuthoredWorkspace, RoutesFile } from "./routes-schema.ts";
import type { DialectFacts } from "../dialects/dialect.ts";

/**
 * Reports every name that points nowhere, apart from those of endpoints and routes, which their own
 * files follow.
 */
export function reportUnknownNames(context: CompileContext): void {
  const { declared, file, report } = context;
  // The tree has refused such keys; these are the names that stand in lists.
  const refuseReserved = (name: string, path: Path) => {
    if (Object.hasOwn(Object.prototype, name))
      report.value("RESERVED_NAME", path, `${quote(name)} is a reserved name`);
  };
  for (const [group, regions] of Object.entries(file.regions)) {
    if (declared.regions.has(group) && !regions.includes(group))
      report.key(
        "REGION_AMBIGUOUS",
        ["regions", group],
        `the region group ${quote(group)} has the name of a region that is not in it`,
      );
    for (const [index, region] of regions.entries())
      refuseReserved(region, ["regions", group, index]);
  }
  for (const [id, provider] of Object.entries(file.providers)) {
    reportRegion(context, provider.region, ["providers", id, "region"]);
    reportFlags(context, id, provider);
  }
  for (const [index, { id, region }] of file.endpoints.entries()) {
    refuseReserved(id, ["endpoints", index, "id"]);
    if (region !== undefined) reportRegion(context, region, ["endpoints", index, "region"]);
  }
  for (const [id, row] of Object.entries(file.workspaces)) reportWorkspaceNames(context, id, row);
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
    report.key(
      code,
      ["policies", key, id],
      `there is no policy ${quote(id)} in ${quote(normalised.policies.dir)}`,
      suggest(id, policies),
    );
  }
}

function reportFlags(
  context: CompileContext,
  id: string,
  { dialect, flags = [] }: AuthoredProvider,
) {
  const { report } = context;
  const facts = new Map(Object.entries(context.dialect(dialect)?.flags ?? {}));
  const excludes = (flag: string, other: string) =>
    facts.get(flag)?.excludes?.includes(other) === true;
  for (const [index, flag] of flags.entries()) {
    const path = ["providers", id, "flags", index];
    if (!facts.has(flag)) {
      report.value(
        "UNKNOWN_FLAG",
        path,
        `the dialect ${quote(dialect)} has no flag ${quote(flag)}`,
        suggest(flag, facts.keys()),
      );
    }
    const other = flags
      .slice(0, index)
      .find((earlier) => excludes(flag, earlier) || excludes(earlier, flag));
    if (other === undefined) continue;
    report.value(
      "FLAGS_CONTRADICTED",
      path,
      `provider ${quote(id)} has the flags ${quote(other)} and ${quote(flag)}, which exclude each other`,
    );
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
  const regions = declared.regions.union(declared.regionGroups);
  for (const [index, name] of approve.regions.entries()) {
    if (regions.has(name)) continue;
    report.value(
      "UNKNOWN_REGION",
      [...path, "regions", index],
      `${where} approves ${quote(name)}, which is neither a region nor a region group`,
      suggest(name, regions),
    );
  }
  for (const [index, label] of labels.entries()) {
    checkLabel(context, label, ["workspaces", id, "labels", index], `${where} has the label`);
  }
  if (moderation === undefined) return;
  const moderationPath = ["workspaces", id, "default_moderation_route"];
  checkName(context, "routes", moderation, moderationPath, `${where} names the route`);
}

type Declared = ReturnType<typeof declaredNames>;

/**
 * Every name that the file declares, before anything has been taken out of its tree: a reference to
 * a row that the schema refuses is not a second mistake.
 */
export function declaredNames(tree: ConfigNode) {
  const keys = (section: string): ReadonlySet<string> => {
    const node = nodeAt(tree, [section]);
    return new Set(node?.kind === "map" ? node.members.keys() : []);
  };
  const texts = (...path: Path): ReadonlySet<string> => {
    const node = nodeAt(tree, path);
    const found = node === null ? [] : [...scalars(node)];
    return new Set(found.flatMap((scalar) => textOf(scalar.node) ?? []));
  };
  const endpoints = nodeAt(tree, ["endpoints"]);
  const items = endpoints?.kind === "list" ? endpoints.items : [];
  return {
    providers: keys("providers"),
    models: keys("models"),
    endpoints: new Set(items.flatMap((item) => textAt(item, "id") ?? [])),
    routes: keys("routes"),
    regions: texts("regions"),
    regionGroups: keys("regions"),
    workspaces: keys("workspaces"),
    labels: texts("vocabulary", "labels"),
  };
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
  readonly listPriced: ReadonlySet<string>;
  readonly dialect: (name: string) => DialectFacts | undefined;
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
  const hint = suggest(label, declared.labels) || "add it: `vocabulary: {labels: […]}`";
  report.value(
    "UNKNOWN_LABEL",
    path,
    `${clause} ${quote(label)}, which \`vocabulary.labels\` does not list`,
    hint,
  );
}
