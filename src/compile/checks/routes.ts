import { CAPABILITIES, type Capability } from "../../canon/capability.ts";
import { isWithinCeilings } from "../../canon/table.ts";
import { quote } from "../authored/literal-secrets.ts";
import { checkDuration } from "./providers.ts";
import type { CompileContext } from "../compile-context.ts";
import type { NormalisedRoute } from "../normalised/normalise.ts";
import type { ResolvedCandidate, ResolvedContext, ResolvedRoute } from "../resolve/routes.ts";

/**
 * Rows that nothing leads to. Only for files without errors: a misspelt reference would otherwise
 * be reported twice, once where it stands and once as an unused row.
 */
export function checkUsage({ endpoints, normalised, report, routes }: ResolvedContext): void {
  const approved = new Set(
    [...normalised.workspaces.values()].flatMap(({ approve }) => approve.routes),
  );
  const used = new Set([...routes.values()].flatMap(({ row }) => [row.primary, ...row.fallbacks]));
  const rows = [...endpoints.values()].map(({ row }) => row);
  const served = new Set(rows.map(({ model }) => model));
  const reached = new Set(rows.map(({ provider }) => provider));
  // A route may exist only to be part of another one.
  const included = new Set(
    [...normalised.routes.values()].flatMap(({ fallbacks }) =>
      fallbacks.map((fallback) => (typeof fallback === "string" ? "" : fallback.route)),
    ),
  );
  for (const id of routes.keys()) {
    if (approved.has(id) || included.has(id)) continue;
    report.key(
      "UNREACHABLE_ROUTE",
      ["routes", id],
      `no workspace approves route ${quote(id)}`,
      "add it to a workspace's `approve.routes`, or remove it",
    );
  }
  for (const [id, { index }] of endpoints) {
    if (used.has(id)) continue;
    report.value(
      "UNUSED_ENDPOINT",
      ["endpoints", index, "id"],
      `no route uses endpoint ${quote(id)}`,
      "use it in a route, or remove it",
    );
  }
  const hint = "add an endpoint, or remove it";
  for (const id of normalised.models.keys()) {
    if (!served.has(id))
      report.key("UNUSED_MODEL", ["models", id], `no endpoint serves model ${quote(id)}`, hint);
  }
  for (const id of normalised.providers.keys()) {
    if (reached.has(id)) continue;
    report.key(
      "UNUSED_PROVIDER",
      ["providers", id],
      `no endpoint uses provider ${quote(id)}`,
      hint,
    );
  }
}

/**
 * Checks routes against their endpoints: every endpoint of `peers` and `fallbacks` must have what
 * the primary has (docs/concepts.md#how-a-decision-is-made).
 */
export function checkRoutes(context: ResolvedContext): void {
  for (const route of context.routes.values()) {
    for (const fallback of route.fallbacks) {
      checkOperations(context, route, fallback);
      if (route.row.onGap === "deny") reportGaps(context, route, fallback);
    }
    checkPrices(context, route);
    const normalised = context.normalised.routes.get(route.row.id);
    if (normalised === undefined) continue;
    checkBalance(context, normalised);
    checkHedging(context, route);
  }
}

function itemPath(route: ResolvedRoute, { rank, index }: ResolvedCandidate) {
  return ["routes", route.row.id, rank === "peer" ? "peers" : "fallbacks", index];
}

function subject(route: ResolvedRoute, fallback: ResolvedCandidate) {
  return `${fallback.rank} ${quote(fallback.endpoint.row.id)} of route ${quote(route.row.id)}`;
}

function checkOperations(
  context: CompileContext,
  route: ResolvedRoute,
  fallback: ResolvedCandidate,
) {
  const able = fallback.endpoint.operations;
  const missing = route.row.operations.filter((operation) => !able.includes(operation));
  if (missing.length > 0) {
    context.report.value(
      "FALLBACK_OPERATIONS",
      itemPath(route, fallback),
      `${subject(route, fallback)} cannot ${missing.join(", ")}`,
      `use another ${fallback.rank}, or narrow the route's \`operations\``,
    );
  }
  const { model } = fallback.endpoint.row;
  if (route.row.operations.includes("embed") && model !== route.primary.row.model) {
    context.report.value(
      "FALLBACK_EMBED_MODEL",
      itemPath(route, fallback),
      `${subject(route, fallback)} embeds with the model ${quote(model)}, the primary with ${quote(route.primary.row.model)}`,
      `vectors of two models cannot be compared: a ${fallback.rank} has to be an endpoint of the same model`,
    );
  }
}

/**
 * Only with `on_gap: deny`: a route that narrows expects gaps, and its decisions record it again.
 */
function reportGaps(context: CompileContext, route: ResolvedRoute, fallback: ResolvedCandidate) {
  const { normalised, report } = context;
  const provider = normalised.providers.get(fallback.endpoint.row.provider);
  const approving = [...normalised.workspaces.values()].filter(
    ({ approve }) => approve.routes.includes(route.row.id) && isWithinCeilings(approve, provider),
  );
  const lacking = route.primary.row.capabilities.filter(
    (capability) => !fallback.endpoint.row.capabilities.includes(capability),
  );
  const gaps = lacking.filter((capability) =>
    approving.some(({ approve }) => isApproved(approve.capabilities, capability)),
  );
  if (gaps.length > 0) {
    const concerned = approving.filter(({ approve }) =>
      gaps.some((capability) => isApproved(approve.capabilities, capability)),
    );
    report.value(
      "FALLBACK_CAPABILITY_GAP",
      itemPath(route, fallback),
      `${subject(route, fallback)} lacks ${gaps.join(", ")}; requests of ${concerned.map(({ id }) => quote(id)).join(", ")} that need it are denied`,
      `choose an equal ${fallback.rank}, approve less, or set \`on_gap: narrow\` on the route`,
    );
  }
  const signs = normalised.models.get(route.primary.row.model)?.signatureFamily ?? null;
  const reads = normalised.models.get(fallback.endpoint.row.model)?.signatureFamily ?? null;
  if (signs !== null && signs !== reads && approving.length > 0) {
    report.value(
      "FALLBACK_SIGNATURE_GAP",
      itemPath(route, fallback),
      `${subject(route, fallback)} cannot read the reasoning that the primary signs (family ${quote(signs)})`,
      `choose a ${fallback.rank} of the same \`signature_family\`; otherwise it is skipped in turns that give reasoning back`,
    );
  }
}

/** Some capabilities need no approval. */
function isApproved(approved: readonly Capability[], capability: Capability) {
  return !CAPABILITIES[capability] || approved.includes(capability);
}

function checkPrices(context: CompileContext, route: ResolvedRoute) {
  const chain = [route.primary, ...route.fallbacks.map(({ endpoint }) => endpoint)].map(
    ({ row }) => row,
  );
  const unpriced = chain.filter(({ price }) => price === null).map(({ id }) => quote(id));
  // Prices of the list alone are no sign that the operator counts money, except to choose by it.
  const counts =
    context.file.routes[route.row.id]?.balance === "price" ||
    chain.some(({ id, price }) => price !== null && !context.listed.has(id));
  if (unpriced.length === 0 || unpriced.length === chain.length || !counts) return;
  context.report.key(
    "PRICE_GAP",
    ["routes", route.row.id],
    `route ${quote(route.row.id)} mixes endpoints with and without a price; without: ${unpriced.join(", ")}`,
    "add the missing prices; cost and price preferences are wrong otherwise",
  );
}

/** Keys about balance that change nothing: their author believes that requests are shared. */
function checkBalance(
  { file, report }: CompileContext,
  { id, peers, balance, weights }: NormalisedRoute,
) {
  const path = ["routes", id];
  if (peers.length === 0 && balance !== "order") {
    report.value(
      "BALANCE_UNUSED",
      [...path, "balance"],
      `route ${quote(id)} has no \`peers\`, so its balance \`${balance}\` has no endpoints to choose from`,
    );
  }
  const uses = balance === "weighted" || balance === "sticky";
  if (file.routes[id]?.weights === undefined || weights.size === 0 || uses) return;
  report.key(
    "WEIGHTS_UNUSED",
    [...path, "weights"],
    `route ${quote(id)} has weights, which its balance \`${balance}\` does not read`,
  );
}

/**
 * Answers that are generated are never requested twice: the second would cost as much as the first.
 */
function checkHedging({ file, report }: CompileContext, { row }: ResolvedRoute) {
  const duration = file.routes[row.id]?.hedge_after;
  const path = ["routes", row.id, "hedge_after"];
  if (duration === undefined || !checkDuration(report, path, duration)) return;
  if (row.operations.includes("embed") || row.operations.includes("rerank")) return;
  report.key(
    "HEDGE_OPERATIONS",
    path,
    `route ${quote(row.id)} has \`hedge_after\`, but neither embeds nor reranks`,
  );
}
