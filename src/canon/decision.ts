import type { Denial } from "./error.ts";
import type { Capability } from "./capability.ts";
import type { ObligationKind, PolicySlot, StrippableField, Verdict } from "./policy.ts";
import type { Balance, EndpointRow, RouteRow, ModelRow } from "./table.ts";
import type { RequestShape } from "./request.ts";

/** One endpoint that a request may go to. */
export interface Candidate {
  readonly endpoint: EndpointRow;
  /** `primary` is the route's first choice, also if a preference puts another one first. */
  readonly rank: "primary" | "fallback";
  /**
   * Candidates of one tier are equal and adjacent in the plan: dispatch orders them by its
   * measurements. Ascending from 0.
   */
  readonly tier: number;
  /** How the tier is shared; the same for all its candidates. */
  readonly balance: Balance;
  /** The candidate's share where the tier is weighted. */
  readonly weight: number;
}

/**
 * Result of one constraint: an approval of the table, a preference, or a constraint of a policy.
 */
export interface ConstraintTrace {
  /** Policy id; `approvals` for the table, `preferences` for the caller's. */
  readonly policy: string;
  readonly revision: string;
  readonly slot: PolicySlot;
  readonly constraint: string;
  readonly verdict: Verdict;
  readonly reason: string | null;
  /** Endpoint ids that did not pass. */
  readonly failing: readonly string[];
  /**
   * Consequence: none, candidates were left out, the request was denied, or (shadow) it would have
   * been.
   */
  readonly effect: "none" | "narrowed" | "denied" | "would_narrow" | "would_deny";
}

/** Effect of one obligation. */
export interface ObligationTrace {
  readonly policy: string;
  readonly revision: string;
  readonly slot: PolicySlot;
  /** Its name in the policy. */
  readonly obligation: string;
  readonly kind: ObligationKind;
  readonly value: string | number;
  /**
   * `applied`: it acts on the request or on the order of the plan; `would_apply`: a shadow slot's,
   * which only is recorded. `none`: there is nothing for it to act on: a denied request, a smaller
   * limit in force, no candidate in the region.
   */
  readonly effect: "applied" | "would_apply" | "none";
}

/** Changes that the obligations in force make to a request, for every candidate. */
export interface RequestEdits {
  /** Output limit, tokens; `null`: none. */
  readonly maxOutputTokens: number | null;
  /** Members to take out; sorted, each once. */
  readonly stripFields: readonly StrippableField[];
}

interface DecisionEvidence {
  readonly tableRevision: string;
  /**
   * Route id; the empty string where the requested name is not a route that this workspace may see.
   */
  readonly route: string;
  readonly trace: readonly ConstraintTrace[];
  /** All obligations that are not waived, those of candidate slots too. */
  readonly obligations: readonly ObligationTrace[];
  /** The decision if the shadow slots were promoted; `null` if it would be the same. */
  readonly ifPromoted: IfPromoted | null;
}

export interface IfPromoted {
  readonly outcome: "route" | "deny";
  readonly plan: readonly string[];
  readonly denial: Denial | null;
  /** `null` where the request would be denied. */
  readonly edits: RequestEdits | null;
}

export interface RouteDecision extends DecisionEvidence {
  readonly outcome: "route";
  /** Tiers are numbered without holes. */
  readonly plan: readonly [Candidate, ...Candidate[]];
  /**
   * How many candidates of the plan may be tried, from the first in dispatch's order: 1 if the
   * caller wants no fallbacks; `null`: all.
   */
  readonly maxCandidates: number | null;
  readonly edits: RequestEdits;
}

interface DenyDecision extends DecisionEvidence {
  readonly outcome: "deny";
  readonly denial: Denial;
}

export type Decision = RouteDecision | DenyDecision;

/** Formats of answers that a forced tool can emulate. */
export const EMULATED_FORMATS = [
  "json_schema",
  "json_object",
] as const satisfies readonly Capability[];

/**
 * Whether this endpoint gets a response format as a forced tool: only where the route declares it,
 * the endpoint has tools and not the format, and the request leaves tool choice and reasoning free,
 * which providers refuse together with a forced tool (docs/protocols.md#schemas-as-tools).
 *
 * @example emulatesFormat(route, shape, endpoint)
 */
export function emulatesFormat(
  route: Pick<RouteRow, "emulateSchema">,
  shape: Pick<RequestShape, "needs" | "features">,
  endpoint: EndpointRow,
): boolean {
  return (
    route.emulateSchema &&
    EMULATED_FORMATS.some(
      (format) => shape.needs.includes(format) && !endpoint.capabilities.includes(format),
    ) &&
    endpoint.capabilities.includes("tools") &&
    endpoint.features.includes("tool_choice_named") &&
    endpoint.features.includes("tool_choice_required") &&
    !shape.features.includes("constrained_schema")
  );
}

/** Tokens of output where neither the request nor the model's row has a limit. */
const UNKNOWN_OUTPUT = 16_384;

/**
 * The largest output of a model, tokens, for a request without a limit; a default if its row has
 * none.
 *
 * @example largestOutput(undefined) // 16384
 */
export function largestOutput(model: ModelRow | undefined): number {
  const stated = model?.maxOutputTokens ?? model?.contextWindow;
  return stated ?? Math.max(UNKNOWN_OUTPUT, model?.defaultMaxOutputTokens ?? 0);
}

/**
 * A decision has the id of its request: one request, one decision.
 *
 * @example decisionId("req_7f3a") // "dec_7f3a"
 */
export function decisionId(requestId: string): string {
  return requestId.startsWith("req_") ? `dec_${requestId.slice(4)}` : requestId;
}
