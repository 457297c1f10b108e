import { quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import type { CompileContext } from "../compile-context.ts";
import { suggest } from "../findings/suggest.ts";

/** Reports every name that points nowhere, apart from those of endpoints and routes, which their own files follow. */
export function reportUnknownNames(context: CompileContext): void {
  reportRegionNames(context);
  reportReservedNames(context);
  reportProviderNames(context);
  for (const id of Object.keys(context.file.workspaces)) reportWorkspaceNames(context, id);
  reportPolicyNames(context, "initial_mode", "UNKNOWN_POLICY");
  // Where the file of a policy is deleted, what its promotion required must go on holding for its end.
  reportPolicyNames(context, "promotion", "PROMOTION_WITHOUT_POLICY");
}

function reportPolicyNames(
  { policies, file, normalised, report }: CompileContext,
  key: "initial_mode" | "promotion",
  code: "UNKNOWN_POLICY" | "PROMOTION_WITHOUT_POLICY",
): void {
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

function reportRegionNames({ declared, file, report }: CompileContext): void {
  for (const [group, regions] of Object.entries(file.regions)) {
    if (!declared.regions.has(group) || regions.includes(group)) continue;
    const message = `the region group ${quote(group)} has the name of a region that is not in it`;
    report.key("REGION_AMBIGUOUS", ["regions", group], message, "rename the group, or list the region in it");
  }
}

/** The tree has refused such keys; these are the names that stand in lists. */
function reportReservedNames({ file, report }: CompileContext): void {
  const refuse = (name: string, path: Path): void => {
    if (Object.hasOwn(Object.prototype, name))
      report.value("RESERVED_NAME", path, `${quote(name)} is a reserved name`, "choose another name");
  };
  for (const [index, endpoint] of file.endpoints.entries()) refuse(endpoint.id, ["endpoints", index, "id"]);
  for (const [group, regions] of Object.entries(file.regions)) {
    for (const [index, region] of regions.entries()) refuse(region, ["regions", group, index]);
  }
}

function reportProviderNames(context: CompileContext): void {
  const { file } = context;
  for (const [id, provider] of Object.entries(file.providers)) {
    reportRegion(context, provider.region, ["providers", id, "region"]);
    reportFlags(context, id);
  }
  for (const [index, endpoint] of file.endpoints.entries()) {
    if (endpoint.region !== undefined) reportRegion(context, endpoint.region, ["endpoints", index, "region"]);
  }
}

function reportFlags(context: CompileContext, id: string): void {
  const { report } = context;
  const provider = context.file.providers[id];
  if (provider?.flags === undefined) return;
  const facts = context.dialect(provider.dialect)?.flags ?? {};
  const known = Object.keys(facts);
  const excludes = (flag: string, other: string): boolean =>
    known.includes(flag) && (facts[flag]?.excludes?.includes(other) ?? false);
  for (const [index, flag] of provider.flags.entries()) {
    const path = ["providers", id, "flags", index];
    if (!known.includes(flag)) {
      const message = `the dialect ${quote(provider.dialect)} has no flag ${quote(flag)}`;
      report.value("UNKNOWN_FLAG", path, message, suggest(flag, known));
    }
    const other = provider.flags.slice(0, index).find((earlier) => excludes(flag, earlier) || excludes(earlier, flag));
    if (other === undefined) continue;
    const message = `provider ${quote(id)} has the flags ${quote(other)} and ${quote(flag)}, which exclude each other`;
    report.value("FLAGS_CONTRADICTED", path, message, "keep the one that matches how the provider is called");
  }
}

/** Rows are in one region; only approvals may name a group. */
function reportRegion({ declared, normalised, report }: CompileContext, region: string, path: Path): void {
  if (declared.regions.has(region)) return;
  if (!declared.regionGroups.has(region)) {
    report.value("UNKNOWN_REGION", path, `there is no region ${quote(region)}`, suggest(region, declared.regions));
    return;
  }
  const members = (normalised.regionGroups.get(region) ?? []).map(quote).join(", ");
  report.value(
    "UNKNOWN_REGION",
    path,
    `${quote(region)} is a region group; a row is in one region`,
    members === "" ? "" : `name one of its regions: ${members}`,
  );
}

function reportWorkspaceNames({ declared, file, report }: CompileContext, id: string): void {
  const workspace = file.workspaces[id];
  if (workspace === undefined) return;
  const where = `workspace ${quote(id)}`;
  const approve = workspace.approve;
  const path = ["workspaces", id, "approve"];
  for (const [index, name] of approve.routes.entries()) {
    if (declared.routes.has(name)) continue;
    report.value(
      "UNKNOWN_ROUTE",
      [...path, "routes", index],
      `${where} approves the route ${quote(name)}, which does not exist`,
      suggest(name, declared.routes),
    );
  }
  for (const [index, name] of approve.providers.entries()) {
    if (declared.providers.has(name)) continue;
    const message = `${where} approves the provider ${quote(name)}, which does not exist`;
    report.value("UNKNOWN_PROVIDER", [...path, "providers", index], message, suggest(name, declared.providers));
  }
  for (const [index, name] of approve.regions.entries()) {
    if (declared.regions.has(name) || declared.regionGroups.has(name)) continue;
    const message = `${where} approves ${quote(name)}, which is neither a region nor a region group`;
    report.value(
      "UNKNOWN_REGION",
      [...path, "regions", index],
      message,
      suggest(name, [...declared.regions, ...declared.regionGroups]),
    );
  }
  for (const [index, label] of (workspace.labels ?? []).entries()) {
    if (declared.labels.has(label)) continue;
    const hint = declared.labels.size === 0 ? `add it: \`vocabulary: {labels: […]}\`` : suggest(label, declared.labels);
    report.value(
      "UNKNOWN_LABEL",
      ["workspaces", id, "labels", index],
      `${where} has the label ${quote(label)}, which \`vocabulary.labels\` does not list`,
      hint,
    );
  }
  const moderation = workspace.default_moderation_route;
  if (moderation !== undefined && !declared.routes.has(moderation)) {
    const message = `${where} names the route ${quote(moderation)}, which does not exist`;
    report.value(
      "UNKNOWN_ROUTE",
      ["workspaces", id, "default_moderation_route"],
      message,
      suggest(moderation, declared.routes),
    );
  }
}
