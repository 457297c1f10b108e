import { isWithinCeilings, type EndpointRow, type WorkspaceRow } from "../../canon/table.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import type { ResolvedContext, ResolvedRoute } from "../resolve/routes.ts";
import type { CompileContext } from "../compile-context.ts";
import { checkApprovedLengths, checkEmbedding } from "./embeddings.ts";
import { checkLimits } from "./limits.ts";

/** What each workspace approves against what its routes need, and its limits against both. */
export function checkWorkspaces(context: ResolvedContext): void {
  for (const workspace of context.normalised.workspaces.values()) {
    if (workspace.approve.routes.length === 0) {
      const message = `workspace ${quote(workspace.id)} approves no route, so its keys cannot send any request`;
      context.report.value(
        "APPROVAL_EMPTY",
        ["workspaces", workspace.id, "approve", "routes"],
        message,
      );
    }
    for (const [index, id] of (
      context.file.workspaces[workspace.id]?.approve.routes ?? []
    ).entries()) {
      const route = context.routes.get(id);
      if (route === undefined) continue;
      const path = ["workspaces", workspace.id, "approve", "routes", index];
      checkApproval(context, workspace, route, path);
      checkEmbedding(context, workspace, route, path);
    }
    checkApprovedLengths(context, workspace);
    checkModeration(context, workspace);
    checkLimits(context, workspace);
  }
}

function checkApproval(
  context: CompileContext,
  workspace: WorkspaceRow,
  route: ResolvedRoute,
  path: Path,
): void {
  const { report, normalised } = context;
  const approves = `workspace ${quote(workspace.id)} approves route ${quote(route.row.id)}`;
  const isOpen = ({ row }: ResolvedRoute["primary"]): boolean =>
    isWithinCeilings(workspace.approve, normalised.providers.get(row.provider));
  if (![route.primary, ...route.fallbacks.map(({ endpoint }) => endpoint)].some(isOpen)) {
    const message = `${approves}, but its \`data_collection\` and \`retention\` leave no endpoint of it: every request would be denied`;
    report.value(
      "CEILING_LEAVES_NONE",
      path,
      message,
      "withdraw the route, or add an endpoint whose provider fits",
    );
    return;
  }
  // Endpoints above the ceilings are no candidates, so that nothing is missing for them.
  const primary = isOpen(route.primary)
    ? missingApprovals(context, workspace, route.primary.row)
    : "";
  if (primary !== "") {
    const message = `${approves} but not ${primary} of its primary ${quote(route.primary.row.id)}: every request would be denied`;
    report.value("PRIMARY_NOT_APPROVED", path, message, "approve it, or withdraw the route");
  }
  for (const { endpoint, rank } of route.row.onGap === "deny" ? route.fallbacks : []) {
    if (!isOpen(endpoint)) continue;
    const missing = missingApprovals(context, workspace, endpoint.row);
    if (missing === "") continue;
    const message = `${approves} but not ${missing} of its ${rank} ${quote(endpoint.row.id)}: every request would be denied`;
    const hint = "approve it, withdraw the route, or set `on_gap: narrow` on the route";
    report.value("FALLBACK_NOT_APPROVED", path, message, hint);
  }
}

/** A provider or region that does not exist at all is another finding. */
function missingApprovals(
  { declared }: CompileContext,
  { approve }: WorkspaceRow,
  row: EndpointRow,
): string {
  const missing: string[] = [];
  if (!approve.providers.includes(row.provider))
    missing.push(`the provider ${quote(row.provider)}`);
  if (declared.regions.has(row.region) && !approve.regions.includes(row.region))
    missing.push(`the region ${quote(row.region)}`);
  return missing.join(" and ");
}

function checkModeration({ report, routes }: ResolvedContext, workspace: WorkspaceRow): void {
  const { id, approve, defaultModerationRoute: name } = workspace;
  const route = name === null ? undefined : routes.get(name);
  if (name === null || route === undefined) return;
  const path = ["workspaces", id, "default_moderation_route"];
  if (!approve.routes.includes(name)) {
    const message = `workspace ${quote(id)} does not approve its default moderation route ${quote(name)}`;
    report.value("MODERATION_ROUTE", path, message, "add it to `approve.routes`");
  }
  if (!route.row.operations.includes("moderate")) {
    const message = `the default moderation route ${quote(name)} of workspace ${quote(id)} does not moderate`;
    report.value(
      "MODERATION_ROUTE",
      path,
      message,
      "name a route whose primary's model does `moderate`",
    );
  }
}
