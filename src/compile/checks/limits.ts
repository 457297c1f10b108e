import {
  isWithinCeilings,
  type EndpointRow,
  type ModelRow,
  type WorkspaceRow,
} from "../../canon/table.ts";
import { largestOutput } from "../../canon/decision.ts";
import type { KeyLimits } from "../../canon/limits.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import type { ResolvedContext, ResolvedRoute } from "../resolve/routes.ts";
import type { CompileContext } from "../compile-context.ts";

/**
 * A workspace's ceilings, and those of its keys, against each other and against what one request on
 * its routes may use.
 */
export function checkLimits(context: ResolvedContext, workspace: WorkspaceRow): void {
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
): void {
  const { normalised, report } = context;
  const { requestsPerMinute: requests, tokensPerMinute: tokens, budget } = limits;
  if (requests !== null && tokens !== null && tokens < requests) {
    const message = `${where} may use fewer tokens (${tokens}) than requests (${requests}) a minute`;
    report.value(
      "LIMITS_IMPLAUSIBLE",
      [...path, "tokens_per_minute"],
      message,
      "raise tokens_per_minute",
    );
  }
  const mostOf = ({ model }: EndpointRow): number | null =>
    mostOutput(normalised.models.get(model));
  const checkTokens = (
    allowed: number,
    member: readonly string[],
    route: string,
    usable: readonly EndpointRow[],
  ) => {
    const most = Math.max(0, ...usable.map((endpoint) => mostOf(endpoint) ?? 0));
    if (most <= allowed) return;
    const message = `${where} may use ${allowed} tokens, but a single request on route ${quote(route)} without a limit of its own reserves ${most} for its output`;
    const hint = `raise ${member.join(".")}, or lower the model's max_output_tokens`;
    report.value("LIMITS_IMPLAUSIBLE", [...path, ...member], message, hint);
  };
  const checkDollars = (usd: number, route: string, usable: readonly EndpointRow[]): void => {
    const unpriced = usable.filter(({ price }) => price === null).map(({ id }) => quote(id));
    if (unpriced.length > 0) {
      const message = `the budget of ${where} cannot count route ${quote(route)}: no price for ${unpriced.join(", ")}`;
      report.value("BUDGET_UNPRICED", [...path, "budget"], message);
    }
    for (const endpoint of usable) {
      const output = mostOf(endpoint);
      if (endpoint.price === null || output === null) continue;
      const cost = (output * endpoint.price.output) / 1_000_000 + endpoint.price.request;
      if (cost <= usd) continue;
      const message = `${where} may spend ${usd} USD, but a single request on route ${quote(route)} without a limit of its own reserves up to ${Number(cost.toFixed(6))} USD for the output of ${quote(endpoint.id)}`;
      const hint = "raise the budget, or lower the model's max_output_tokens";
      report.value("LIMITS_IMPLAUSIBLE", [...path, "budget"], message, hint);
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

/** What a request reserves for its output that names no limit; `null` for models that make none. */
function mostOutput(model: ModelRow | undefined): number | null {
  if (model === undefined || !model.operations.includes("generate")) return null;
  return largestOutput(model);
}
