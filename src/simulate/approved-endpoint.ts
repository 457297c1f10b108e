import { isWithinCeilings } from "../canon/ceiling.ts";
import type { EndpointRow, RoutingTable, WorkspaceRow } from "../canon/table.ts";

/** Whether a workspace approves where an endpoint is, whatever a request says: policies never see another one. */
export function isApprovedEndpoint(
  { providers }: RoutingTable,
  { approve }: WorkspaceRow,
  { provider, region }: Pick<EndpointRow, "provider" | "region">,
): boolean {
  return (
    approve.providers.includes(provider) &&
    approve.regions.includes(region) &&
    isWithinCeilings(approve, providers[provider])
  );
}
