import { CAPABILITIES, type Capability } from "../../canon/capability.ts";
import { isWithinCeilings, type RouteRow, type WorkspaceRow } from "../../canon/table.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import { checkDuration } from "./providers.ts";
import type { CompileContext } from "../compile-context.ts";
import type { ResolvedCandidate, ResolvedContext, ResolvedRoute } from "../resolve/routes.ts";

/**
 * Rows that nothing leads to. Only for files without errors: a misspelt reference would otherwise
 * be reported twice, once where it stands and once as an unused row.
 */
export function checkUsage({ endpoints, normalised, report, routes }: ResolvedContext): void {
  const approved = [...normalised.workspaces.values()].flatMap(({ approve }) => approve.routes);
  // A route may exist only to be part of another one.
  const included = [...normalised.routes.values()].flatMap(({ fallbacks }) =>
    fallbacks.flatMap((fallback) => (typeof fallback === "string" ? [] : fallback.route)),
  );
  const reachable = new Set([...approved, ...included]);
  const used = new Set([...routes.values()].flatMap(({ row }) => [row.primary, ...row.fallbacks]));
  const served = new Set<string>();
  const reached = new Set<string>();
  for (const [id, { index, row }] of endpoints) {
    served.add(row.model);
    reached.add(row.provider);
    if (!used.has(id))
      report.value(
        "UNUSED_ENDPOINT",
        ["endpoints", index, "id"],
        `no route uses endpoint ${quote(id)}`,
        "use it in a route, or remove it",
      );
  }
  for (const id of routes.keys())
    if (!reachable.has(id))
      report.key(
        "UNREACHABLE_ROUTE",
        ["routes", id],
        `no workspace approves route ${quote(id)}`,
        "add it to a workspace's `approve.routes`, or remove it",
      );
  const hint = "add an endpoint, or remove it";
  for (const id of normalised.models.keys())
    if (!served.has(id))
      report.key("UNUSED_MODEL", ["models", id], `no endpoint serves model ${quote(id)}`, hint);
  for (const id of normalised.providers.keys())
    if (!reached.has(id))
      report.key(
        "UNUSED_PROVIDER",
        ["providers", id],
        `no endpoint uses provider ${quote(id)}`,
        hint,
      );
}

/**
 * Checks routes against their endpoints: every endpoint of `peers` and `fallbacks` must have what
 * the primary has (docs/concepts.md#how-a-decision-is-made).
 */
export function checkRoutes(context: ResolvedContext): void {
  for (const route of context.routes.values()) {
    for (const fallback of route.fallbacks) checkFallback(context, route, fallback);
    checkPrices(context, route);
    checkBalance(context, route.row);
    checkHedging(context, route.row);
  }
}

function checkFallback(context: CompileContext, route: ResolvedRoute, fallback: ResolvedCandidate) {
  const { report } = context;
  const { endpoint, index, rank } = fallback;
  const { row, operations: able } = endpoint;
  const { id, onGap, operations } = route.row;
  const path = ["routes", id, rank === "peer" ? "peers" : "fallbacks", index];
  const subject = `${rank} ${quote(row.id)} of route ${quote(id)}`;
  const missing = operations.filter((operation) => !able.includes(operation));
  if (missing.length > 0)
    report.value(
      "FALLBACK_OPERATIONS",
      path,
      `${subject} cannot ${missing.join(", ")}`,
      `use another ${rank}, or narrow the route's \`operations\``,
    );
  const { model } = route.primary.row;
  if (operations.includes("embed") && row.model !== model)
    report.value(
      "FALLBACK_EMBED_MODEL",
      path,
      `${subject} embeds with the model ${quote(row.model)}, the primary with ${quote(model)}`,
      `vectors of two models cannot be compared: a ${rank} has to be an endpoint of the same model`,
    );
  if (onGap === "deny") reportGaps(context, route, fallback, path, subject);
}

/**
 * Only with `on_gap: deny`: a route that narrows expects gaps, and its decisions record it again.
 */
function reportGaps(
  { normalised, report }: CompileContext,
  { primary, row: { id: route } }: ResolvedRoute,
  { endpoint: { row }, rank }: ResolvedCandidate,
  path: Path,
  subject: string,
) {
  const provider = normalised.providers.get(row.provider);
  const approving = [...normalised.workspaces.values()].filter(
    ({ approve }) => approve.routes.includes(route) && isWithinCeilings(approve, provider),
  );
  const approves = ({ approve }: WorkspaceRow, capability: Capability) =>
    // Some capabilities need no approval.
    !CAPABILITIES[capability] || approve.capabilities.includes(capability);
  const gaps = primary.row.capabilities.filter(
    (capability) =>
      !row.capabilities.includes(capability) &&
      approving.some((workspace) => approves(workspace, capability)),
  );
  if (gaps.length > 0) {
    const concerned = approving.filter((workspace) =>
      gaps.some((capability) => approves(workspace, capability)),
    );
    report.value(
      "FALLBACK_CAPABILITY_GAP",
      path,
      `${subject} lacks ${gaps.join(", ")}; requests of ${concerned.map(({ id }) => quote(id)).join(", ")} that need it are denied`,
      `choose an equal ${rank}, approve less, or set \`on_gap: narrow\` on the route`,
    );
  }
  const familyOf = (model: string) => normalised.models.get(model)?.signatureFamily ?? null;
  const signs = familyOf(primary.row.model);
  if (signs !== null && signs !== familyOf(row.model) && approving.length > 0)
    report.value(
      "FALLBACK_SIGNATURE_GAP",
      path,
      `${subject} cannot read the reasoning that the primary signs (family ${quote(signs)})`,
      `choose a ${rank} of the same \`signature_family\`; otherwise it is skipped in turns that give reasoning back`,
    );
}

function checkPrices(context: CompileContext, route: ResolvedRoute) {
  const chain = route.chain.map(({ row }) => row);
  const unpriced = chain.filter(({ price }) => price === null).map(({ id }) => quote(id));
  // Prices of the list alone are no sign that the operator counts money, except to choose by it.
  const counts =
    context.file.routes[route.row.id]?.balance === "price" ||
    chain.some(({ id, price }) => price !== null && !context.listPriced.has(id));
  if (unpriced.length === 0 || unpriced.length === chain.length || !counts) return;
  context.report.key(
    "PRICE_GAP",
    ["routes", route.row.id],
    `route ${quote(route.row.id)} mixes endpoints with and without a price; without: ${unpriced.join(", ")}`,
    "add the missing prices; cost and price preferences are wrong otherwise",
  );
}

/** Keys about balance that change nothing: their author believes that requests are shared. */
function checkBalance({ normalised, report }: CompileContext, { id }: RouteRow) {
  const route = normalised.routes.get(id);
  if (route === undefined) return;
  const { peers, balance, weights } = route;
  const path = ["routes", id];
  if (peers.length === 0 && balance !== "order")
    report.value(
      "BALANCE_UNUSED",
      [...path, "balance"],
      `route ${quote(id)} has no \`peers\`, so its balance \`${balance}\` has no endpoints to choose from`,
    );
  if (weights.size > 0 && balance !== "weighted" && balance !== "sticky")
    report.key(
      "WEIGHTS_UNUSED",
      [...path, "weights"],
      `route ${quote(id)} has weights, which its balance \`${balance}\` does not read`,
    );
}

/**
 * Answers that are generated are never requested twice: the second would cost as much as the first.
 */
function checkHedging({ file, report }: CompileContext, { id, operations }: RouteRow) {
  const duration = file.routes[id]?.hedge_after;
  const path = ["routes", id, "hedge_after"];
  if (duration === undefined || !checkDuration(report, path, duration)) return;
  if (!operations.includes("embed") && !operations.includes("rerank"))
    report.key(
      "HEDGE_OPERATIONS",
      path,
      `route ${quote(id)} has \`hedge_after\`, but neither embeds nor reranks`,
    );
}
