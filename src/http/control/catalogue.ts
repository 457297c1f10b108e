import { CAPABILITIES, type Capability } from "../../canon/capability.ts";
import type { Identity } from "../../canon/identity.ts";
import { MODEL_OPERATION_OF, type Operation } from "../../canon/operation.ts";
import type { ModelRow, RouteRow, RoutingTable, WorkspaceRow } from "../../canon/table.ts";
import { routeCandidates } from "../../decide/candidates.ts";

/** One entry of GET /v1/models: a route as its workspace may use it, with what every one of its endpoints can do. */
export interface CatalogueEntry {
  readonly id: string;
  readonly object: "model";
  /** Required by clients of this shape; a route has no date of creation. */
  readonly created: 0;
  readonly owned_by: "signalbox";
  readonly capabilities: readonly Capability[];
  readonly operations: readonly string[];
  readonly regions: readonly string[];
  /** Tokens; `null` where an endpoint's is not declared. */
  readonly context_window: number | null;
  readonly max_output_tokens: number | null;
  readonly dimensions: readonly number[];
  readonly fallbacks: number;
}

/**
 * Routes that the key's workspace may use, sorted by id.
 *
 * @param served operations that this server has an endpoint for.
 */
export function catalogue(
  table: RoutingTable,
  identity: Identity,
  served: readonly Operation[],
): readonly CatalogueEntry[] {
  const workspace = Object.hasOwn(table.workspaces, identity.workspace)
    ? table.workspaces[identity.workspace]
    : undefined;
  if (workspace === undefined) return [];
  return workspace.approve.routes.toSorted().flatMap((id) => {
    const route = Object.hasOwn(table.routes, id) ? table.routes[id] : undefined;
    return route === undefined ? [] : [entry(table, workspace, route, served)];
  });
}

function entry(
  table: RoutingTable,
  workspace: WorkspaceRow,
  route: RouteRow,
  served: readonly Operation[],
): CatalogueEntry {
  const candidates = routeCandidates(table, route);
  const models = candidates.flatMap(({ endpoint }) => {
    const model = table.models[endpoint.model];
    return model === undefined ? [] : [model];
  });
  const shared = candidates
    .map(({ endpoint }) => endpoint.capabilities)
    .reduce((left, right) => left.filter((capability) => right.includes(capability)));
  return {
    id: route.id,
    object: "model",
    created: 0,
    owned_by: "signalbox",
    capabilities: shared.filter(
      (capability) => !CAPABILITIES[capability].approved || workspace.approve.capabilities.includes(capability),
    ),
    operations: served.filter((operation) => route.operations.includes(MODEL_OPERATION_OF[operation])),
    regions: [...new Set(candidates.map(({ endpoint }) => endpoint.region))].toSorted(),
    context_window: smallest(models, (model) => model.contextWindow),
    max_output_tokens: smallest(models, (model) => model.maxOutputTokens),
    dimensions: (models[0]?.dimensions ?? []).filter(
      (length) =>
        models.every((model) => model.dimensions.includes(length)) && workspace.approve.dimensions.includes(length),
    ),
    fallbacks: route.fallbacks.length,
  };
}

function smallest(models: readonly ModelRow[], read: (model: ModelRow) => number | null): number | null {
  const values = models.map(read);
  const known = values.filter((value): value is number => value !== null);
  return known.length === values.length && known.length > 0 ? Math.min(...known) : null;
}
