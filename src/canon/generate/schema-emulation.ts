import type { RequestShape } from "../request.ts";
import type { EndpointRow, RouteRow } from "../table.ts";

/**
 * Whether a response schema is asked for as a forced tool at this endpoint: only where the route declares it, the endpoint has tools and no schemas of its
 * own, and the request leaves the tool choice and the reasoning free (protocols.md §5: a forced tool excludes both).
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
