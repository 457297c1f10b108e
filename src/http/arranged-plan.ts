import type { IncomingHttpHeaders } from "node:http";
import type { Candidate, RouteDecision } from "../canon/decision.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { RouteRow } from "../canon/table.ts";
import type { Runtime } from "./runtime.ts";

/** Headers by which clients name a conversation; the first that is there counts. */
const SESSION_HEADERS = ["x-session-id", "session_id", "session-id", "x-claude-code-session-id"];

/** A plan as it is tried. */
export interface ArrangedPlan {
  /** In the order to try. */
  readonly plan: readonly Candidate[];
  /** How many of them, from the first, are in service. */
  readonly inService: number;
}

/**
 * The plan in the order in which to try it now: what was decided says where a request may go, what is measured says where it goes first. Call it
 * for requests that will be made only (`Places.arrange`).
 */
export function arrangedPlan(
  { places, stickyKeyOf }: Pick<Runtime, "places" | "stickyKeyOf">,
  { plan, maxPlaces, obligations }: RouteDecision,
  route: RouteRow,
  request: InferenceRequest,
  headers: IncomingHttpHeaders,
): ArrangedPlan {
  const isSticky = plan.some(({ balance }) => balance === "sticky");
  const stickyKey = isSticky ? stickyKeyOf(request.body, sessionOf(headers)) : null;
  // A policy that prefers a region has spoken after the caller; so has the caller who gave an order.
  const isOrdered =
    request.preferences?.order !== undefined ||
    obligations.some(({ kind, effect }) => kind === "prefer_region" && effect === "applied");
  const now = performance.now();
  const { order, out } = places.arrange(
    plan,
    { ...route, isOrdered },
    request.preferences,
    stickyKey,
    now,
    Math.random,
  );
  const inService = order.length - out.length;
  return { plan: maxPlaces === null ? order : order.slice(0, maxPlaces), inService };
}

function sessionOf(headers: IncomingHttpHeaders): string | null {
  for (const name of SESSION_HEADERS) {
    const value = headers[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return null;
}
