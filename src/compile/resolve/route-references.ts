import { quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import { suggest } from "../findings/suggest.ts";
import type { NormalisedRoute } from "../normalised/normalise.ts";
import { checkName, type CompileContext } from "../compile-context.ts";

/** Reports every name of a route that points nowhere, or a second time to the same endpoint. */
export function reportRouteReferences(context: CompileContext, route: NormalisedRoute): void {
  reportEndpoint(context, route, route.primary, ["routes", route.id, "primary"]);
  reportPeers(context, route);
  reportWeights(context, route);
  reportFallbacks(context, route);
}

function reportEndpoint({ declared, report }: CompileContext, route: NormalisedRoute, name: string, path: Path): void {
  if (declared.endpoints.has(name)) return;
  const message = `route ${quote(route.id)} names the endpoint ${quote(name)}, which does not exist`;
  report.value("UNKNOWN_ENDPOINT", path, message, endpointHint(name, declared));
}

/** An endpoint that occurs twice has been refused by the shape. */
function reportPeers(context: CompileContext, route: NormalisedRoute): void {
  for (const [index, name] of route.peers.entries()) {
    const path = ["routes", route.id, "peers", index];
    if (name === route.primary) {
      const message = `route ${quote(route.id)} names its primary ${quote(name)} in its \`peers\``;
      context.report.value("PEER_IS_PRIMARY", path, message, "remove it: the primary has its share already");
    } else {
      reportEndpoint(context, route, name, path);
    }
  }
}

function reportWeights(context: CompileContext, { id, primary, peers, weights }: NormalisedRoute): void {
  const path = ["routes", id, "weights"];
  const equals = [primary, ...peers];
  for (const name of weights.keys()) {
    if (equals.includes(name)) continue;
    const message = `route ${quote(id)} gives a weight to ${quote(name)}, which is neither its primary nor in its \`peers\``;
    context.report.key("WEIGHT_UNKNOWN", [...path, name], message, suggest(name, equals));
  }
  if (equals.every((name) => weights.get(name) === 0)) {
    const message = `all weights of route ${quote(id)} are 0, so that no endpoint has a share`;
    context.report.value("WEIGHTS_ZERO", path, message);
  }
}

function reportFallbacks(context: CompileContext, route: NormalisedRoute): void {
  const { report } = context;
  const where = `route ${quote(route.id)}`;
  const seen = new Set<string>();
  for (const [index, fallback] of route.fallbacks.entries()) {
    const path = ["routes", route.id, "fallbacks", index];
    const name = typeof fallback === "string" ? fallback : fallback.route;
    const key = typeof fallback === "string" ? name : `route ${name}`;
    if (fallback === route.primary) {
      report.value("FALLBACK_IS_PRIMARY", path, `${where} falls back to its own primary ${quote(name)}`, "remove it");
    } else if (typeof fallback === "string" && route.peers.includes(fallback)) {
      const message = `${where} has ${quote(name)} in its \`peers\` and in its \`fallbacks\``;
      const hint = "keep it in one of the two; all of the load-balanced group are tried when one fails";
      report.value("FALLBACK_IS_PEER", path, message, hint);
    } else if (seen.has(key)) {
      report.value("FALLBACK_REPEATED", path, `${where} lists the fallback ${quote(name)} twice`, "remove one of them");
    } else if (typeof fallback === "string") {
      reportEndpoint(context, route, name, path);
    } else checkName(context, "routes", name, [...path, "route"], `${where} names the route`);
    seen.add(key);
  }
}

function endpointHint(name: string, declared: CompileContext["declared"]): string {
  if (declared.routes.has(name)) return `${quote(name)} is a route; as a fallback write \`{route: …}\``;
  if (declared.models.has(name)) return `${quote(name)} is a model; name one of its endpoints`;
  return suggest(name, declared.endpoints);
}
