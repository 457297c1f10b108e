import type { IncomingHttpHeaders } from "node:http";
import type { Candidate, RouteDecision } from "../canon/decision.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { RouteRow } from "../canon/table.ts";
import type { Runtime } from "./runtime.ts";

/** Headers by which clients name a conversation; the first that is there counts. */
const SESSION_HEADERS = ["x-session-id", "session_id", "session-id", "x-claude-code-session-id"];

/**
 * The plan in the order in which to try it now: what was decided says where a request may go, what is measured says where it goes first. Call it
 * for requests that will be made only (`Places.arrange`).
 */
export function arrangedPlan(
  { places, stickyKeyOf }: Pick<Runtime, "places" | "stickyKeyOf">,
  { plan, maxPlaces }: RouteDecision,
  route: RouteRow,
  request: InferenceRequest,
  headers: IncomingHttpHeaders,
): readonly Candidate[] {
  const isSticky = plan.some(({ balance }) => balance === "sticky");
  const stickyKey = isSticky ? stickyKeyOf(request.body, sessionOf(headers)) : null;
  const { order } = places.arrange(plan, route, request.preferences, stickyKey, performance.now(), Math.random);
  return maxPlaces === null ? order : order.slice(0, maxPlaces);
}

function sessionOf(headers: IncomingHttpHeaders): string | null {
  for (const name of SESSION_HEADERS) {
    const value = headers[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return null;
}
