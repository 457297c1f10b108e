import {
  isWithinCeilings,
  type EndpointRow,
  type RouteRow,
  type RoutingTable,
  type WorkspaceRow,
} from "../canon/table.ts";
import type { Member } from "./sample-request.ts";

/** A row by its name, which may come from outside: `constructor` is a name too. */
export function rowOf<Row>(rows: Readonly<Record<string, Row>>, name: string): Row | undefined {
  return Object.hasOwn(rows, name) ? rows[name] : undefined;
}

/**
 * The name of the route that requests of a member take; empty where its workspace has none for
 * them.
 */
export function routeName({ workspaces }: RoutingTable, { workspace, model }: Member): string {
  return model === "" ? (rowOf(workspaces, workspace)?.defaultModerationRoute ?? "") : model;
}

/** The route that requests of a member take; `null` where the table has none. */
export function routeOf(table: RoutingTable, member: Member): RouteRow | null {
  return rowOf(table.routes, routeName(table, member)) ?? null;
}

/**
 * Whether a workspace approves where an endpoint is: policies never see another one, for any
 * request.
 */
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
