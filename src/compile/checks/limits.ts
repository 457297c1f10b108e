import { isWithinCeilings } from "../../canon/ceiling.ts";
import { largestOutput } from "../../canon/decision.ts";
import type { EndpointRow, ModelRow, WorkspaceRow } from "../../canon/table.ts";
import type { Budget, KeyLimits } from "../../canon/limits.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import type { ResolvedRoute } from "../resolve/routes.ts";
import type { CompileContext } from "../compile-context.ts";

type Routes = ReadonlyMap<string, ResolvedRoute>;

/** A workspace's ceilings, and those of its keys, against each other and against what one request on its routes may use. */
export function checkLimits(context: CompileContext, workspace: WorkspaceRow, routes: Routes): void {
  const path = ["workspaces", workspace.id, "limits"];
  const { perKey } = workspace.limits;
  const where = `workspace ${quote(workspace.id)}`;
  checkCeilings(context, workspace, workspace.limits, where, path, routes);
  if (perKey !== null) {
    checkCeilings(context, workspace, perKey, `each key of ${where}`, [...path, "per_key"], routes);
  }
}

function checkCeilings(
  context: CompileContext,
  workspace: WorkspaceRow,
  limits: KeyLimits,
  where: string,
  path: Path,
  routes: Routes,
): void {
  const { requestsPerMinute: requests, tokensPerMinute: tokens, budget } = limits;
  if (requests !== null && tokens !== null && tokens < requests) {
    const message = `${where} may use fewer tokens (${tokens}) than requests (${requests}) a minute`;
    context.report.value("LIMITS_IMPLAUSIBLE", [...path, "tokens_per_minute"], message, "raise tokens_per_minute");
  }
  for (const id of workspace.approve.routes) {
    const route = routes.get(id);
    if (route === undefined) continue;
    const usable = usableEndpoints(context, workspace, route);
    if (tokens !== null)
      checkOneRequest(context, where, tokens, "tokens_per_minute", [...path, "tokens_per_minute"], id, usable);
    if (budget !== null) checkBudget(context, where, budget, path, id, usable);
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
    .filter(({ provider, region }) => approve.providers.includes(provider) && approve.regions.includes(region));
}

function checkBudget(
  context: CompileContext,
  where: string,
  budget: Budget,
  path: Path,
  route: string,
  usable: readonly EndpointRow[],
): void {
  if ("tokens" in budget) {
    checkOneRequest(context, where, budget.tokens, "budget.tokens", [...path, "budget", "tokens"], route, usable);
    return;
  }
  const unpriced = usable.filter(({ price }) => price === null);
  if (unpriced.length > 0) {
    context.report.value(
      "BUDGET_UNPRICED",
      [...path, "budget"],
      `the budget of ${where} cannot count route ${quote(route)}: no price for ${unpriced.map(({ id }) => quote(id)).join(", ")}`,
    );
  }
  for (const endpoint of usable) {
    const output = mostOutput(context.normalised.models.get(endpoint.model));
    if (endpoint.price === null || output === null) continue;
    const cost = (output * endpoint.price.output) / 1_000_000 + endpoint.price.request;
    if (cost <= budget.usd) continue;
    context.report.value(
      "LIMITS_IMPLAUSIBLE",
      [...path, "budget"],
      `${where} may spend ${budget.usd} USD, but a single request on route ${quote(route)} without a limit of its own reserves up to ${Number(cost.toFixed(6))} USD for the output of ${quote(endpoint.id)}`,
      "raise the budget, or lower the model's max_output_tokens",
    );
  }
}

function checkOneRequest(
  context: CompileContext,
  where: string,
  tokens: number,
  member: string,
  path: Path,
  route: string,
  usable: readonly EndpointRow[],
): void {
  const most = Math.max(0, ...usable.map(({ model }) => mostOutput(context.normalised.models.get(model)) ?? 0));
  if (most <= tokens) return;
  context.report.value(
    "LIMITS_IMPLAUSIBLE",
    path,
    `${where} may use ${tokens} tokens, but a single request on route ${quote(route)} without a limit of its own reserves ${most} for its output`,
    `raise ${member}, or lower the model's max_output_tokens`,
  );
}

/** What a request reserves for its output that names no limit; `null` for models that make none. */
function mostOutput(model: ModelRow | undefined): number | null {
  if (model === undefined || !model.operations.includes("generate")) return null;
  return largestOutput(model);
}
