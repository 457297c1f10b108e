import { largestOutput } from "../../canon/decision.ts";
import { isTimeZone } from "../../canon/local-time.ts";
import type { KeyLimits } from "../../canon/limits.ts";
import { isWithinCeilings, type EndpointRow, type WorkspaceRow } from "../../canon/table.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import type { CompileContext } from "../compile-context.ts";
import type { ResolvedEndpoint } from "../resolve/endpoints.ts";
import type { ResolvedContext, ResolvedRoute } from "../resolve/routes.ts";

/**
 * A workspace's ceilings, or those of its keys, against each other and against what one request on
 * its routes may use.
 */
function checkCeilings(
  { normalised, report, routes }: ResolvedContext,
  { approve }: WorkspaceRow,
  { requestsPerMinute: requests, tokensPerMinute: tokens, budget }: KeyLimits,
  where: string,
  path: Path,
) {
  if (requests !== null && tokens !== null && tokens < requests)
    report.value(
      "LIMITS_IMPLAUSIBLE",
      [...path, "tokens_per_minute"],
      `${where} may use fewer tokens (${tokens}) than requests (${requests}) a minute`,
      "raise tokens_per_minute",
    );
  if (budget?.timeZone !== undefined && !isTimeZone(budget.timeZone))
    report.value(
      "WRONG_VALUE",
      [...path, "budget", "time_zone"],
      `no time zone is called ${quote(budget.timeZone)}`,
      "use a name of the IANA database, such as `Europe/Berlin`",
    );
  const ofBudget = { usd: null, tokens: null, ...budget };
  /** Output tokens reserved for a request without a limit; 0 for models without output. */
  const outputOf = ({ model }: EndpointRow) => {
    const row = normalised.models.get(model);
    return row?.operations.includes("generate") === true ? largestOutput(row) : 0;
  };
  for (const id of approve.routes) {
    // Endpoints that the workspace does not approve can never cost it anything.
    const usable = (routes.get(id)?.chain ?? [])
      .map(({ row }) => row)
      .filter(
        ({ provider, region }) =>
          isWithinCeilings(approve, normalised.providers.get(provider)) &&
          approve.providers.includes(provider) &&
          approve.regions.includes(region),
      );
    const single = `a single request on route ${quote(id)} without a limit of its own`;
    const most = Math.max(0, ...usable.map(outputOf));
    for (const [allowed, ...member] of [
      [tokens, "tokens_per_minute"],
      [ofBudget.tokens, "budget", "tokens"],
    ] as const)
      if (allowed !== null && most > allowed)
        report.value(
          "LIMITS_IMPLAUSIBLE",
          [...path, ...member],
          `${where} may use ${allowed} tokens, but ${single} reserves ${most} for its output`,
          `raise ${member.join(".")}, or lower the model's max_output_tokens`,
        );
    const { usd } = ofBudget;
    if (usd === null) continue;
    const unpriced = usable.filter(({ price }) => price === null);
    if (unpriced.length > 0)
      report.value(
        "BUDGET_UNPRICED",
        [...path, "budget"],
        `the budget of ${where} cannot count route ${quote(id)}: no price for ${unpriced.map((endpoint) => quote(endpoint.id)).join(", ")}`,
      );
    for (const endpoint of usable) {
      const output = outputOf(endpoint);
      if (endpoint.price === null || output === 0) continue;
      const cost = (output * endpoint.price.output) / 1_000_000 + endpoint.price.request;
      if (cost > usd)
        report.value(
          "LIMITS_IMPLAUSIBLE",
          [...path, "budget"],
          `${where} may spend ${usd} USD, but ${single} reserves up to ${Number(cost.toFixed(6))} USD for the output of ${quote(endpoint.id)}`,
          "raise the budget, or lower the model's max_output_tokens",
        );
    }
  }
}

/** Checks each workspace's approvals against its routes' needs, and its limits against both. */
export function checkWorkspaces(context: ResolvedContext): void {
  const { file, normalised, report, routes } = context;
  for (const workspace of normalised.workspaces.values()) {
    const { approve, id, limits } = workspace;
    const where = `workspace ${quote(id)}`;
    if (approve.routes.length === 0)
      report.value(
        "APPROVAL_EMPTY",
        ["workspaces", id, "approve", "routes"],
        `${where} approves no route, so its keys cannot send any request`,
      );
    for (const [index, name] of (file.workspaces[id]?.approve.routes ?? []).entries()) {
      const route = routes.get(name);
      if (route === undefined) continue;
      const path = ["workspaces", id, "approve", "routes", index];
      checkApproval(context, workspace, route, path);
      checkEmbedding(context, workspace, route, path);
    }
    checkApprovedLengths(context, workspace);
    checkModeration(context, workspace);
    const path = ["workspaces", id, "limits"];
    checkCeilings(context, workspace, limits, where, path);
    if (limits.perKey !== null) {
      const ofKeys = [...path, "per_key"];
      checkCeilings(context, workspace, limits.perKey, `each key of ${where}`, ofKeys);
    }
  }
}

/**
 * A route that embeds against the vector lengths and the context window that a workspace approves.
 */
function checkEmbedding(
  context: CompileContext,
  { id, approve }: WorkspaceRow,
  route: ResolvedRoute,
  path: Path,
) {
  if (!route.row.operations.includes("embed")) return;
  const model = context.normalised.models.get(route.primary.row.model);
  if (model === undefined) return;
  const approves = `workspace ${quote(id)} approves route ${quote(route.row.id)}`;
  const { dimensions, contextWindow } = model;
  if (dimensions.length > 0 && !dimensions.some((length) => approve.dimensions.includes(length))) {
    context.report.value(
      "DIMENSIONS_NOT_APPROVED",
      path,
      `${approves} but none of its vector lengths: ${dimensions.join(", ")}`,
      "add one to `approve.dimensions`",
    );
  }
  if (
    contextWindow !== null &&
    (approve.contextWindow === null || approve.contextWindow < contextWindow)
  ) {
    context.report.value(
      "CONTEXT_NOT_APPROVED",
      path,
      `${approves} but not the context window of its model, ${contextWindow} tokens: every embedding would be denied`,
      `set \`approve.context_window\` to ${contextWindow} or more`,
    );
  }
}

/** Approved vector lengths that no model produces. */
function checkApprovedLengths({ file, normalised, report }: CompileContext, { id }: WorkspaceRow) {
  const possible = new Set([...normalised.models.values()].flatMap(({ dimensions }) => dimensions));
  for (const [index, length] of (file.workspaces[id]?.approve.dimensions ?? []).entries()) {
    if (possible.has(length)) continue;
    const hint =
      possible.size === 0
        ? "no model embeds: remove it"
        : `models make: ${[...possible].toSorted((left, right) => left - right).join(", ")}`;
    report.value(
      "UNKNOWN_DIMENSION",
      ["workspaces", id, "approve", "dimensions", index],
      `workspace ${quote(id)} approves vectors of length ${length}, which no model makes`,
      hint,
    );
  }
}

function checkApproval(
  { declared, normalised, report }: CompileContext,
  { approve, id }: WorkspaceRow,
  { row, chain, primary, fallbacks }: ResolvedRoute,
  path: Path,
) {
  const approves = `workspace ${quote(id)} approves route ${quote(row.id)}`;
  const isWithinCeiling = (endpoint: ResolvedEndpoint) =>
    isWithinCeilings(approve, normalised.providers.get(endpoint.row.provider));
  if (!chain.some(isWithinCeiling))
    return report.value(
      "CEILING_LEAVES_NONE",
      path,
      `${approves}, but its \`data_collection\` and \`retention\` leave no endpoint of it: every request would be denied`,
      "withdraw the route, or add an endpoint whose provider fits",
    );
  const narrows = row.onGap === "narrow";
  for (const { endpoint, rank } of [
    { endpoint: primary, rank: "primary" as const },
    ...(narrows ? [] : fallbacks),
  ]) {
    const { id: name, provider, region } = endpoint.row;
    // Endpoints above the ceilings are no candidates, so that nothing is missing for them. A region
    // that does not exist at all is another finding.
    const missing = [
      ...(approve.providers.includes(provider) ? [] : [`the provider ${quote(provider)}`]),
      ...(approve.regions.includes(region) || !declared.regions.has(region)
        ? []
        : [`the region ${quote(region)}`]),
    ];
    if (!isWithinCeiling(endpoint) || missing.length === 0) continue;
    report.value(
      rank === "primary" ? "PRIMARY_NOT_APPROVED" : "FALLBACK_NOT_APPROVED",
      path,
      `${approves} but not ${missing.join(" and ")} of its ${rank} ${quote(name)}: every request would be denied`,
      rank === "primary"
        ? "approve it, or withdraw the route"
        : "approve it, withdraw the route, or set `on_gap: narrow` on the route",
    );
  }
}

function checkModeration(
  { report, routes }: ResolvedContext,
  { id, approve, defaultModerationRoute: name }: WorkspaceRow,
) {
  const route = name === null ? undefined : routes.get(name);
  if (name === null || route === undefined) return;
  const path = ["workspaces", id, "default_moderation_route"];
  if (!approve.routes.includes(name))
    report.value(
      "MODERATION_ROUTE",
      path,
      `workspace ${quote(id)} does not approve its default moderation route ${quote(name)}`,
      "add it to `approve.routes`",
    );
  if (!route.row.operations.includes("moderate"))
    report.value(
      "MODERATION_ROUTE",
      path,
      `the default moderation route ${quote(name)} of workspace ${quote(id)} does not moderate`,
      "name a route whose primary's model does `moderate`",
    );
}
