import type { IncomingHttpHeaders } from "node:http";
import type { Candidate, RouteDecision } from "../canon/decision.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { RouteRow } from "../canon/table.ts";
import type { Runtime } from "./runtime.ts";

/** Headers by which clients name a conversation; the first that is there counts. */
const SESSION_HEADERS = ["x-session-id", "session_id", "session-id", "x-claude-code-session-id"];

/** A plan as it is tried. */
interface ArrangedPlan {
  /** In the order to try. */
  readonly plan: readonly Candidate[];
  /** How many of them, from the first, are in service. */
  readonly inService: number;
}

/** What the arrangement looks at in a request; `body` is empty where a simulation has only the shape of one. */
type ArrangedRequest = Pick<InferenceRequest, "preferences" | "body" | "reader">;

/**
 * The plan in the order in which to try it now: what was decided says where a request may go, what is measured says where it goes first. Call it
 * for requests that will be made only (`Candidates.arrange`).
 */
export function arrangedPlan(
  { endpoints, stickyKeyOf }: Pick<Runtime, "endpoints" | "stickyKeyOf">,
  decision: RouteDecision,
  route: RouteRow,
  request: ArrangedRequest,
  headers: IncomingHttpHeaders,
): ArrangedPlan {
  const { plan, maxCandidates } = decision;
  const stickyKey = stickyKeyFor(plan, stickyKeyOf, request, headers);
  const settings = { maxEjectedShare: route.maxEjectedShare, isOrdered: isOrdered(decision, request) };
  const { order, out } = endpoints.arrange(
    plan,
    settings,
    request.preferences,
    stickyKey,
    performance.now(),
    Math.random,
  );
  const inService = order.length - out.length;
  return { plan: maxCandidates === null ? order : order.slice(0, maxCandidates), inService };
}

/** The order in which a call that began now would try the plan. */
export interface ForeseenPlan {
  /** The whole plan; a call tries as many of it, from the first, as the decision allows. */
  readonly order: readonly Candidate[];
  /** `order` is one draw of several: the next call may draw another one. */
  readonly isByChance: boolean;
}

/** What {@link arrangedPlan} would give for a request that is not made: the same measurements and the same function, and nothing is reserved. */
export function foreseenPlan(
  { endpoints, stickyKeyOf }: Pick<Runtime, "endpoints" | "stickyKeyOf">,
  decision: RouteDecision,
  route: RouteRow,
  request: ArrangedRequest,
  headers: IncomingHttpHeaders,
): ForeseenPlan {
  const stickyKey = stickyKeyFor(decision.plan, stickyKeyOf, request, headers);
  const settings = { maxEjectedShare: route.maxEjectedShare, isOrdered: isOrdered(decision, request) };
  return endpoints.foresee(decision.plan, settings, request.preferences, stickyKey, performance.now(), Math.random);
}

function stickyKeyFor(
  plan: readonly Candidate[],
  stickyKeyOf: Runtime["stickyKeyOf"],
  request: ArrangedRequest,
  headers: IncomingHttpHeaders,
): string | null {
  return plan.some(({ balance }) => balance === "sticky") ? stickyKeyOf(request, sessionOf(headers)) : null;
}

/** A policy that prefers a region has spoken after the caller; so has the caller who gave an order. */
function isOrdered({ obligations }: RouteDecision, { preferences }: ArrangedRequest): boolean {
  return (
    preferences?.order !== undefined ||
    obligations.some(({ kind, effect }) => kind === "prefer_region" && effect === "applied")
  );
}

function sessionOf(headers: IncomingHttpHeaders): string | null {
  for (const name of SESSION_HEADERS) {
    const value = headers[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return null;
}
