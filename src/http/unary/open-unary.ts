import type { RouteDecision } from "../../canon/decision.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { RouteRow, RoutingTable } from "../../canon/table.ts";
import type { UnarySurface, UnaryTask } from "../../dialects/unary/surface.ts";
import { targetOf, withoutRefusing } from "../translation.ts";

/** A decision whose candidates can all express the request, and the request in parts. */
export interface OpenedUnary {
  readonly decision: RouteDecision;
  readonly task: UnaryTask;
}

/**
 * Translates a request for every candidate before anything is recorded or sent. Simulation calls
 * the same function.
 */
export function openUnary(
  table: RoutingTable,
  surface: UnarySurface,
  request: InferenceRequest,
  route: RouteRow,
  decision: RouteDecision,
  maxBatchSize: number | null,
): OpenedUnary | ServiceError {
  const open = (plan: RouteDecision["plan"]): UnaryTask | ServiceError => {
    const targets = plan.map(({ endpoint }) => targetOf(table, endpoint));
    const { unknownFields } = route;
    return surface.open(request, { unknownFields, edits: decision.edits, targets, maxBatchSize });
  };
  const task = open(decision.plan);
  if ("code" in task) return task;
  if (task.refusals.size === 0) return { decision, task };
  const narrowed = withoutRefusing(route, decision, task.refusals);
  if ("code" in narrowed) return narrowed;
  // A candidate that is left out must not make the others' parts smaller.
  const reopened = open(narrowed.plan);
  return "code" in reopened ? reopened : { decision: narrowed, task: reopened };
}
