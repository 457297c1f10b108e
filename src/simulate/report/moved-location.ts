import type { RoutingTable } from "../../canon/table.ts";
import type { Locations } from "../explain/positions.ts";
import type { PlannedEndpoint } from "../sample-request.ts";
import type { SourceLocation } from "./location.ts";

interface Tables {
  readonly base: RoutingTable;
  readonly head: RoutingTable;
}

/**
 * Where the first endpoint of a plan that both sides have became another destination: the provider's address or row, the endpoint's or the model's row.
 *
 * @returns `null` where no endpoint of the plan did, or head's files are not known.
 */
export function movedLocation(
  plan: readonly Pick<PlannedEndpoint, "endpoint">[],
  { base, head }: Tables,
  locations: Locations,
): SourceLocation | null {
  for (const { endpoint: id } of plan) {
    const [before, after] = [row(base.endpoints, id), row(head.endpoints, id)];
    if (before === undefined || after === undefined) continue;
    const [was, is] = [row(base.providers, before.provider), row(head.providers, after.provider)];
    if (was !== undefined && is?.id === was.id) {
      if (was.baseUrl !== is.baseUrl) return locations.providerAddress(is.id);
      const members = ["region", "network", "plaintext", "apiVersion", "retention", "trainsOnData", "dialect"] as const;
      if (members.some((member) => was[member] !== is[member])) return locations.provider(is.id);
    }
    const members = ["model", "provider", "region", "upstreamModel"] as const;
    if (members.some((member) => before[member] !== after[member])) return locations.endpoint(id);
    const [length, now] = [row(base.models, before.model), row(head.models, after.model)];
    if (length?.defaultDimensions !== now?.defaultDimensions) return locations.model(after.model);
  }
  return null;
}

function row<Row>(rows: Readonly<Record<string, Row>>, id: string): Row | undefined {
  return Object.hasOwn(rows, id) ? rows[id] : undefined;
}
