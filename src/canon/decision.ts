import type { Denial } from "./error.ts";
import type { Capability } from "./capability.ts";
import type { ObligationKind, PolicySlot, StrippableField, Verdict } from "./policy.ts";
import type { Balance, EndpointRow, RouteRow, ModelRow } from "./table.ts";
import type { RequestShape } from "./request.ts";

/** One endpoint that a request may go to. */
export interface Candidate {
  readonly endpoint: EndpointRow;
  /** `primary` is the route's first choice even where a preference put another one in front. */
  readonly rank: "primary" | "fallback";
  /**
   * Candidates of one tier are equals, and stand together in the plan: dispatch orders them by what
   * it measures. Ascending from 0.
   */
  readonly tier: number;
  /** How the tier is shared; the same for all its candidates. */
  readonly balance: Balance;
  /** The candidate's share where the tier is weighted. */
  readonly weight: number;
}

/** What one constraint said; approvals of the table and constraints of policies alike. */
export interface ConstraintTrace {
  /**
   * Policy id; `approvals` for what the table approves, `preferences` for what the caller
   * requested.
   */
  readonly policy: string;
  readonly revision: string;
  readonly slot: PolicySlot;
  readonly constraint: string;
  readonly verdict: Verdict;
  readonly reason: string | null;
  /** Endpoint ids that did not pass. */
  readonly failing: readonly string[];
  /**
   * What followed: nothing, candidates were left out, the request was denied, or (shadow) it would
   * have been.
   */
  readonly effect: "none" | "narrowed" | "denied" | "would_narrow" | "would_deny";
}

/** What one obligation did. */
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

/**
 * What the obligations in force change in a request on its way to a provider, whichever candidate
 * gets it.
 */
export interface RequestEdits {
  /** The most output that the request may have, in tokens; `null` where nothing limits it. */
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
  /** Every obligation that no slot has waived, candidate slots' included. */
  readonly obligations: readonly ObligationTrace[];
  /** What the shadow slots would have done: `null` where they would have changed nothing. */
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

/** Formats of answers that a forced tool can stand in for. */
export const EMULATED_FORMATS = [
  "json_schema",
  "json_object",
] as const satisfies readonly Capability[];

/**
 * Whether this endpoint gets a response format as a forced tool: only where the route declares it,
 * the endpoint has tools and not the format, and the request leaves tool choice and reasoning free,
 * which providers refuse together with a forced tool (docs/protocols.md#schemas-as-tools).
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
 * The most that a model makes, tokens, for a request that names no limit; an allowance where its
 * row does not state it.
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
