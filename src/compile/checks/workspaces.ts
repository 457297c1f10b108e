import { largestOutput } from "../../canon/decision.ts";
import { isTimeZone } from "../../canon/local-time.ts";
import { type KeyLimits } from "../../canon/limits.ts";
import {
  isWithinCeilings,
  type EndpointRow,
  type ModelRow,
  type WorkspaceRow,
} from "../../canon/table.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import { checkApprovedLengths, checkEmbedding } from "./models.ts";
import type { CompileContext } from "../compile-context.ts";
import type { ResolvedContext, ResolvedRoute } from "../resolve/routes.ts";

/**
 * A workspace's ceilings, and those of its keys, against each other and against what one request on
 * its routes may use.
 */
function checkLimits(context: ResolvedContext, workspace: WorkspaceRow) {
  const path = ["workspaces", workspace.id, "limits"];
  const { perKey } = workspace.limits;
  const where = `workspace ${quote(workspace.id)}`;
  checkCeilings(context, workspace, workspace.limits, where, path);
  if (perKey !== null)
    checkCeilings(context, workspace, perKey, `each key of ${where}`, [...path, "per_key"]);
}

function checkCeilings(
  context: ResolvedContext,
  workspace: WorkspaceRow,
  limits: KeyLimits,
  where: string,
  path: Path,
) {
  const { normalised, report } = context;
  const { requestsPerMinute: requests, tokensPerMinute: tokens, budget } = limits;
  if (requests !== null && tokens !== null && tokens < requests) {
    report.value(
      "LIMITS_IMPLAUSIBLE",
      [...path, "tokens_per_minute"],
      `${where} may use fewer tokens (${tokens}) than requests (${requests}) a minute`,
      "raise tokens_per_minute",
    );
  }
  if (budget?.timeZone !== undefined && !isTimeZone(budget.timeZone)) {
    report.value(
      "WRONG_VALUE",
      [...path, "budget", "time_zone"],
      `no time zone is called ${quote(budget.timeZone)}`,
      "use a name of the IANA database, such as `Europe/Berlin`",
    );
  }
  const mostOf = ({ model }: EndpointRow) => mostOutput(normalised.models.get(model));
  const checkTokens = (
    allowed: number,
    member: readonly string[],
    route: string,
    usable: readonly EndpointRow[],
  ) => {
    const most = Math.max(0, ...usable.map((endpoint) => mostOf(endpoint) ?? 0));
    if (most <= allowed) return;
    report.value(
      "LIMITS_IMPLAUSIBLE",
      [...path, ...member],
      `${where} may use ${allowed} tokens, but a single request on route ${quote(route)} without a limit of its own reserves ${most} for its output`,
      `raise ${member.join(".")}, or lower the model's max_output_tokens`,
    );
  };
  const checkDollars = (usd: number, route: string, usable: readonly EndpointRow[]) => {
    const unpriced = usable.filter(({ price }) => price === null).map(({ id }) => quote(id));
    if (unpriced.length > 0) {
      report.value(
        "BUDGET_UNPRICED",
        [...path, "budget"],
        `the budget of ${where} cannot count route ${quote(route)}: no price for ${unpriced.join(", ")}`,
      );
    }
    for (const endpoint of usable) {
      const output = mostOf(endpoint);
      if (endpoint.price === null || output === null) continue;
      const cost = (output * endpoint.price.output) / 1_000_000 + endpoint.price.request;
      if (cost <= usd) continue;
      report.value(
        "LIMITS_IMPLAUSIBLE",
        [...path, "budget"],
        `${where} may spend ${usd} USD, but a single request on route ${quote(route)} without a limit of its own reserves up to ${Number(cost.toFixed(6))} USD for the output of ${quote(endpoint.id)}`,
        "raise the budget, or lower the model's max_output_tokens",
      );
    }
  };
  for (const id of workspace.approve.routes) {
    const route = context.routes.get(id);
    if (route === undefined) continue;
    const usable = usableEndpoints(context, workspace, route);
    if (tokens !== null) checkTokens(tokens, ["tokens_per_minute"], id, usable);
    if (budget !== null && "tokens" in budget)
      checkTokens(budget.tokens, ["budget", "tokens"], id, usable);
    else if (budget !== null) checkDollars(budget.usd, id, usable);
  }
}

/** Endpoints of the route that the workspace approves: only they can ever cost it anything. */
function usableEndpoints(
  { normalised }: CompileContext,
  { approve }: WorkspaceRow,
  route: ResolvedRoute,
): readonly EndpointRow[] {
  return [route.primary, ...route.fallbacks.map(({ endpoint }) => endpoint)]
    .map(({ row }) => row)
    .filter(({ provider }) => isWithinCeilings(approve, normalised.providers.get(provider)))
    .filter(
      ({ provider, region }) =>
        approve.providers.includes(provider) && approve.regions.includes(region),
    );
}

/** Output tokens reserved for a request without a limit; `null` for models without output. */
function mostOutput(model: ModelRow | undefined): number | null {
  if (model === undefined || !model.operations.includes("generate")) return null;
  return largestOutput(model);
}

/** Checks each workspace's approvals against its routes' needs, and its limits against both. */
export function checkWorkspaces(context: ResolvedContext): void {
  for (const workspace of context.normalised.workspaces.values()) {
    if (workspace.approve.routes.length === 0) {
      context.report.value(
        "APPROVAL_EMPTY",
        ["workspaces", workspace.id, "approve", "routes"],
        `workspace ${quote(workspace.id)} approves no route, so its keys cannot send any request`,
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
) {
  const { report, normalised } = context;
  const approves = `workspace ${quote(workspace.id)} approves route ${quote(route.row.id)}`;
  const isOpen = ({ row }: ResolvedRoute["primary"]) =>
    isWithinCeilings(workspace.approve, normalised.providers.get(row.provider));
  if (![route.primary, ...route.fallbacks.map(({ endpoint }) => endpoint)].some(isOpen)) {
    report.value(
      "CEILING_LEAVES_NONE",
      path,
      `${approves}, but its \`data_collection\` and \`retention\` leave no endpoint of it: every request would be denied`,
      "withdraw the route, or add an endpoint whose provider fits",
    );
    return;
  }
  // Endpoints above the ceilings are no candidates, so that nothing is missing for them.
  const primary = isOpen(route.primary)
    ? missingApprovals(context, workspace, route.primary.row)
    : "";
  if (primary !== "") {
    report.value(
      "PRIMARY_NOT_APPROVED",
      path,
      `${approves} but not ${primary} of its primary ${quote(route.primary.row.id)}: every request would be denied`,
      "approve it, or withdraw the route",
    );
  }
  for (const { endpoint, rank } of route.row.onGap === "deny" ? route.fallbacks : []) {
    if (!isOpen(endpoint)) continue;
    const missing = missingApprovals(context, workspace, endpoint.row);
    if (missing === "") continue;
    report.value(
      "FALLBACK_NOT_APPROVED",
      path,
      `${approves} but not ${missing} of its ${rank} ${quote(endpoint.row.id)}: every request would be denied`,
      "approve it, withdraw the route, or set `on_gap: narrow` on the route",
    );
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

function checkModeration({ report, routes }: ResolvedContext, workspace: WorkspaceRow) {
  const { id, approve, defaultModerationRoute: name } = workspace;
  const route = name === null ? undefined : routes.get(name);
  if (name === null || route === undefined) return;
  const path = ["workspaces", id, "default_moderation_route"];
  if (!approve.routes.includes(name)) {
    report.value(
      "MODERATION_ROUTE",
      path,
      `workspace ${quote(id)} does not approve its default moderation route ${quote(name)}`,
      "add it to `approve.routes`",
    );
  }
  if (!route.row.operations.includes("moderate")) {
    report.value(
      "MODERATION_ROUTE",
      path,
      `the default moderation route ${quote(name)} of workspace ${quote(id)} does not moderate`,
      "name a route whose primary's model does `moderate`",
    );
  }
}
