import type { RequestShape } from "../request.ts";
import type { EndpointRow, RouteRow } from "../table.ts";

/**
 * Whether this endpoint gets a response schema as a forced tool: only where the route declares it, the endpoint has tools and no schemas of its own, and the
 * request leaves tool choice and reasoning free, which providers refuse together with a forced tool (docs/protocols.md#schemas-as-tools).
 */
export function emulatesSchema(
  route: Pick<RouteRow, "emulateSchema">,
  shape: Pick<RequestShape, "needs" | "features">,
  endpoint: EndpointRow,
): boolean {
  return (
    route.emulateSchema &&
    shape.needs.includes("json_schema") &&
    !endpoint.capabilities.includes("json_schema") &&
    endpoint.capabilities.includes("tools") &&
    endpoint.features.includes("tool_choice_named") &&
    endpoint.features.includes("tool_choice_required") &&
    !shape.features.includes("constrained_schema")
  );
}
