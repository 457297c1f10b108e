import type { Capability } from "../../canon/capability.ts";
import { CAPABILITIES } from "../../canon/capability.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { ResolvedFallback, ResolvedRoute } from "../resolve/routes.ts";
import type { Scene } from "../scene.ts";

/** Routes against their own endpoints: what the primary can do, every fallback has to be able to do (decisions.md, rule 1). */
export function checkRoutes(scene: Scene, routes: ReadonlyMap<string, ResolvedRoute>): void {
  for (const route of routes.values()) {
    for (const fallback of route.fallbacks) {
      checkOperations(scene, route, fallback);
      if (route.row.onGap === "deny") reportGaps(scene, route, fallback);
    }
    checkPrices(scene, route);
  }
}

function itemPath(route: ResolvedRoute, fallback: ResolvedFallback) {
  return ["routes", route.row.id, "fallbacks", fallback.index];
}

function subject(route: ResolvedRoute, fallback: ResolvedFallback): string {
  return `fallback ${quote(fallback.endpoint.row.id)} of route ${quote(route.row.id)}`;
}

function checkOperations(scene: Scene, route: ResolvedRoute, fallback: ResolvedFallback): void {
  const able = fallback.endpoint.operations;
  const missing = route.row.operations.filter((operation) => !able.includes(operation));
  if (missing.length > 0) {
    const hint = "use another fallback, or narrow the route's `operations`";
    scene.report.value(
      "FALLBACK_OPERATIONS",
      itemPath(route, fallback),
      `${subject(route, fallback)} cannot ${missing.join(", ")}`,
      hint,
    );
  }
  const { model } = fallback.endpoint.row;
  if (route.row.operations.includes("embed") && model !== route.primary.row.model) {
    const message = `${subject(route, fallback)} embeds with the model ${quote(model)}, the primary with ${quote(route.primary.row.model)}`;
    scene.report.value(
      "FALLBACK_EMBED_MODEL",
      itemPath(route, fallback),
      message,
      "vectors of two models cannot be compared: fall back to endpoints of the same model",
    );
  }
}

/** Only with `on_gap: deny`: a route that narrows has said what is to happen, and its decisions say it again. */
function reportGaps(scene: Scene, route: ResolvedRoute, fallback: ResolvedFallback): void {
  const { normalised, report } = scene;
  const approving = [...normalised.workspaces.values()].filter(({ approve }) => approve.routes.includes(route.row.id));
  const lacking = route.primary.row.capabilities.filter(
    (capability) => !fallback.endpoint.row.capabilities.includes(capability),
  );
  const gaps = lacking.filter((capability) =>
    approving.some(({ approve }) => asksFor(approve.capabilities, capability)),
  );
  if (gaps.length > 0) {
    const concerned = approving.filter(({ approve }) =>
      gaps.some((capability) => asksFor(approve.capabilities, capability)),
    );
    const message = `${subject(route, fallback)} lacks ${gaps.join(", ")}; requests of ${concerned.map(({ id }) => quote(id)).join(", ")} that need it are denied`;
    report.value(
      "FALLBACK_CAPABILITY_GAP",
      itemPath(route, fallback),
      message,
      "choose an equal fallback, approve less, or set `on_gap: narrow` on the route",
    );
  }
  const signs = normalised.models.get(route.primary.row.model)?.signatureFamily ?? null;
  const reads = normalised.models.get(fallback.endpoint.row.model)?.signatureFamily ?? null;
  if (signs !== null && signs !== reads && approving.length > 0) {
    const message = `${subject(route, fallback)} cannot read the reasoning that the primary signs (family ${quote(signs)})`;
    report.value(
      "FALLBACK_SIGNATURE_GAP",
      itemPath(route, fallback),
      message,
      "choose a fallback of the same `signature_family`; otherwise it is passed over in turns that give reasoning back",
    );
  }
}

/** Capabilities that need no approval are anybody's to ask for. */
function asksFor(approved: readonly Capability[], capability: Capability): boolean {
  return !CAPABILITIES[capability].approved || approved.includes(capability);
}

function checkPrices(scene: Scene, route: ResolvedRoute): void {
  const chain = [route.primary, ...route.fallbacks.map(({ endpoint }) => endpoint)].map(({ row }) => row);
  const unpriced = chain.filter(({ price }) => price === null).map(({ id }) => quote(id));
  if (unpriced.length === 0 || unpriced.length === chain.length) return;
  const message = `route ${quote(route.row.id)} mixes endpoints with and without a price; without: ${unpriced.join(", ")}`;
  scene.report.key(
    "PRICE_GAP",
    ["routes", route.row.id],
    message,
    "add the missing prices; cost and price preferences are wrong otherwise",
  );
}
