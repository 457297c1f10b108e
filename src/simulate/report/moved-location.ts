import type { RoutingTable } from "../../canon/table.ts";
import type { Locations } from "../explain/positions.ts";
import type { PlannedEndpoint, OfSides } from "../sample-request.ts";
import type { SourceLocation } from "./location.ts";
import { rowOf } from "../table-rows.ts";

/**
 * Where the first endpoint of a plan that both sides have became another destination: the provider's address or row, the endpoint's or the model's row.
 *
 * @returns `null` where no endpoint of the plan did, or head's files are not known.
 */
export function movedLocation(
  plan: readonly Pick<PlannedEndpoint, "endpoint">[],
  { base, head }: OfSides<RoutingTable>,
  locations: Locations,
): SourceLocation | null {
  for (const { endpoint: id } of plan) {
    const [before, after] = [rowOf(base.endpoints, id), rowOf(head.endpoints, id)];
    if (before === undefined || after === undefined) continue;
    const [was, is] = [rowOf(base.providers, before.provider), rowOf(head.providers, after.provider)];
    if (was !== undefined && is?.id === was.id) {
      if (was.baseUrl !== is.baseUrl) return locations.providerAddress(is.id);
      const members = ["region", "network", "plaintext", "apiVersion", "retention", "trainsOnData", "dialect"] as const;
      if (members.some((member) => was[member] !== is[member])) return locations.provider(is.id);
    }
    const members = ["model", "provider", "region", "upstreamModel"] as const;
    if (members.some((member) => before[member] !== after[member])) return locations.endpoint(id);
    const [length, now] = [rowOf(base.models, before.model), rowOf(head.models, after.model)];
    if (length?.defaultDimensions !== now?.defaultDimensions) return locations.model(after.model);
  }
  return null;
}
