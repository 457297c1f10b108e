import {
  CEILINGS,
  isWithinCeiling,
  isWithinCeilings,
  type Approvals,
  type Ceiling,
  type RouteRow,
  type RoutingTable,
  type WorkspaceRow,
} from "../canon/table.ts";
import { type Candidate, emulatesFormat, EMULATED_FORMATS } from "../canon/decision.ts";
import {
  CAPABILITIES,
  ROUTER_FEATURES,
  type Capability,
  type Feature,
} from "../canon/capability.ts";
import { NO_FAMILY } from "../canon/generate/signature.ts";
import { SURFACE_DIALECT_OF, type Operation } from "../canon/operation.ts";
import type { ReasonCode } from "../canon/reasons.ts";
import type { RequestShape } from "../canon/request.ts";
import { routeCandidates } from "./candidates.ts";
import type { Trace } from "./trace.ts";

/** An approval of the table that a request needs to use a candidate. */
export interface Approval {
  readonly constraint: string;
  readonly reason: ReasonCode;
  readonly subject: string | null;
  readonly passes: (candidate: Candidate) => boolean;
  /**
   * It makes candidates ineligible, the primary too, independent of `on_gap`; it denies only if no
   * candidate remains.
   */
  readonly filters?: true;
}

/**
 * The table's approvals, on the primary and on every eligible fallback
 * (docs/concepts.md#how-a-decision-is-made). A fallback that lacks something denies the request, or
 * is left out if the route has `on_gap: narrow`.
 *
 * @example applyApprovals(table, workspace, route, shape, candidates, trace)
 *
 * @returns the candidates that passed all approvals; on a denial, those that were checked.
 */
export function applyApprovals(
  table: RoutingTable,
  workspace: WorkspaceRow,
  route: RouteRow,
  shape: RequestShape,
  candidates: readonly Candidate[],
  trace: Trace,
): readonly Candidate[] {
  let remaining = candidates;
  for (const approval of approvalsFor(table, workspace, route, shape)) {
    remaining = applyTraced(table, route, approval, remaining, trace);
  }
  return remaining;
}

function applyTraced(
  { revision }: RoutingTable,
  route: RouteRow,
  approval: Approval,
  candidates: readonly Candidate[],
  trace: Trace,
): readonly Candidate[] {
  const { failing, denied, remaining } = applyApproval(route, approval, candidates);
  const { constraint, reason, subject } = approval;
  trace.check({ policy: "approvals", revision, constraint, reason, subject, failing }, denied);
  return denied ? candidates : remaining;
}

/** Result of one approval for the candidates that passed the earlier ones. */
interface AppliedApproval {
  /** Endpoint ids. */
  readonly failing: readonly string[];
  readonly denied: boolean;
  /** Those that pass; none only where the request is denied. */
  readonly remaining: readonly Candidate[];
}

/**
 * Result of one approval for the candidates that passed the earlier ones.
 *
 * @example applyApproval(route, approval, candidates).remaining
 */
export function applyApproval(
  route: RouteRow,
  approval: Approval,
  candidates: readonly Candidate[],
): AppliedApproval {
  const failing = candidates.filter((candidate) => !approval.passes(candidate));
  if (failing.length === 0) return { failing: [], denied: false, remaining: candidates };
  const mayNarrow =
    approval.filters === true ||
    (route.onGap === "narrow" && failing.every((candidate) => candidate.rank === "fallback"));
  const remaining = candidates.filter((candidate) => !failing.includes(candidate));
  return {
    failing: failing.map((candidate) => candidate.endpoint.id),
    denied: !mayNarrow || remaining.length === 0,
    remaining,
  };
}

function approvalsFor(
  table: RoutingTable,
  workspace: WorkspaceRow,
  route: RouteRow,
  shape: RequestShape,
): readonly Approval[] {
  return [
    ...shape.needs.flatMap((capability) =>
      capabilityApprovals(workspace, route, shape, capability),
    ),
    ...shape.features.map((feature) => featureApproval(shape.operation, feature)),
    ...endpointApprovals(table, workspace, shape),
  ];
}

/**
 * Approvals of every request, checked after its needs and features, in this order.
 *
 * @example endpointApprovals(table, workspace, shape)
 */
export function endpointApprovals(
  table: RoutingTable,
  { approve }: WorkspaceRow,
  shape: Pick<RequestShape, "operation" | "dimensions" | "signatureFamilies">,
): readonly Approval[] {
  return [
    {
      constraint: "provider_approved",
      reason: "PROVIDER_NOT_APPROVED",
      subject: null,
      passes: ({ endpoint }) => approve.providers.includes(endpoint.provider),
    },
    {
      constraint: "region_approved",
      reason: "REGION_NOT_APPROVED",
      subject: null,
      passes: ({ endpoint }) => approve.regions.includes(endpoint.region),
    },
    ...embeddingApprovals(table, approve, shape),
    ...signatureApprovals(table, shape),
  ];
}

/**
 * Approvals of one capability that the request needs.
 *
 * @example capabilityApprovals(workspace, route, shape, "tools")
 *
 * @param shape of the request; decides whether a response format may be emulated.
 */
export function capabilityApprovals(
  workspace: WorkspaceRow,
  route: RouteRow,
  shape: Pick<RequestShape, "needs" | "features">,
  capability: Capability,
): readonly Approval[] {
  const supported: Approval = {
    constraint: `capability_supported:${capability}`,
    reason: "capability_not_supported",
    subject: capability,
    passes: ({ endpoint }) =>
      endpoint.capabilities.includes(capability) ||
      (EMULATED_FORMATS.some((format) => format === capability) &&
        emulatesFormat(route, shape, endpoint)),
  };
  if (!CAPABILITIES[capability]) return [supported];
  const isApproved = workspace.approve.capabilities.includes(capability);
  return [
    supported,
    {
      constraint: `capability_approved:${capability}`,
      reason: "CAPABILITY_NOT_APPROVED",
      subject: capability,
      passes: () => isApproved,
    },
  ];
}

/**
 * A candidate's protocol must carry everything that the request uses of its own protocol, so that
 * nothing is dropped without a record (docs/translation.md#nothing-disappears). Requests in the
 * endpoint's own protocol may also use features that only some of its models take.
 *
 * @example featureApproval("messages", "seed").constraint // "feature_expressed:seed"
 */
export function featureApproval(operation: Operation, feature: Feature): Approval {
  const callersDialect = SURFACE_DIALECT_OF[operation];
  return {
    constraint: `feature_expressed:${feature}`,
    reason: "feature_not_supported",
    subject: feature,
    passes: ({ endpoint }) =>
      ROUTER_FEATURES.has(feature) ||
      (endpoint.dialect === callersDialect ? endpoint.nativeFeatures : endpoint.features).includes(
        feature,
      ),
    // All candidates count alike, so one that cannot count is left out.
    ...(feature === "signed_reasoning" || feature === "count_tokens" ? { filters: true } : {}),
  };
}

/**
 * A workspace approves the length of vectors and the context window of the model that makes them
 * (docs/unary.md#embeddings).
 */
function embeddingApprovals(
  table: RoutingTable,
  { dimensions, contextWindow: largest }: Approvals,
  shape: Pick<RequestShape, "operation" | "dimensions">,
): readonly Approval[] {
  if (shape.operation !== "embeddings") return [];
  return [
    {
      constraint: "dimensions_approved",
      reason: "DIMENSIONS_NOT_APPROVED",
      subject: null,
      passes: ({ endpoint }) => {
        const model = table.models[endpoint.model];
        const length = shape.dimensions ?? model?.defaultDimensions ?? null;
        return (
          length !== null &&
          model?.dimensions.includes(length) === true &&
          dimensions.includes(length)
        );
      },
    },
    {
      constraint: "context_window_approved",
      reason: "CONTEXT_NOT_APPROVED",
      subject: null,
      passes: ({ endpoint }) => {
        const window = table.models[endpoint.model]?.contextWindow ?? null;
        return window !== null && largest !== null && window <= largest;
      },
    },
  ];
}

/**
 * Only its own family can read signed reasoning in the history
 * (docs/protocols.md#signed-reasoning-of-other-families). A fallback that answered the last turn is
 * then the only one that can take the next, so this constraint chooses among candidates and does
 * not refuse.
 */
function signatureApprovals(
  table: RoutingTable,
  shape: Pick<RequestShape, "operation" | "signatureFamilies">,
): readonly Approval[] {
  if (shape.signatureFamilies.length === 0) return [];
  const callersDialect = SURFACE_DIALECT_OF[shape.operation];
  return [
    {
      constraint: "signature_family",
      filters: true,
      reason: "SIGNATURE_FAMILY_MISMATCH",
      subject: null,
      passes: ({ endpoint }) => {
        const family = table.models[endpoint.model]?.signatureFamily ?? null;
        // Signatures of models without a family come from relays only: an endpoint of another
        // protocol cannot have signed them.
        if (family === null && endpoint.dialect !== callersDialect) return false;
        return shape.signatureFamilies.every((signed) => signed === (family ?? NO_FAMILY));
      },
    },
  ];
}

/**
 * Constraints that are checked before the caller's preferences.
 *
 * @example isCeilingConstraint("retention_approved") // true
 */
export function isCeilingConstraint(constraint: string): boolean {
  return CEILINGS.some((ceiling) => CEILING_APPROVALS[ceiling].constraint === constraint);
}

const CEILING_APPROVALS: Readonly<Record<Ceiling, Pick<Approval, "constraint" | "reason">>> = {
  data_collection: {
    constraint: "data_collection_approved",
    reason: "DATA_COLLECTION_NOT_APPROVED",
  },
  retention: { constraint: "retention_approved", reason: "RETENTION_NOT_APPROVED" },
};

/**
 * Leaves out the candidates whose provider's contract exceeds the workspace's ceilings. It runs
 * before the caller's preferences, so that no preference changes its result. If no candidate
 * remains, the request is denied and all candidates are returned, so that the trace is complete.
 *
 * @example applyCeilings(table, workspace, route, trace)
 */
export function applyCeilings(
  table: RoutingTable,
  { approve }: WorkspaceRow,
  route: RouteRow,
  trace: Trace,
): readonly Candidate[] {
  const candidates = routeCandidates(table, route);
  let remaining = candidates;
  for (const ceiling of CEILINGS) {
    if ((ceiling === "data_collection" ? approve.dataCollection : approve.retention) === undefined)
      continue;
    const approval: Approval = {
      ...CEILING_APPROVALS[ceiling],
      subject: null,
      filters: true,
      passes: ({ endpoint }) =>
        isWithinCeiling(ceiling, approve, table.providers[endpoint.provider]),
    };
    remaining = applyTraced(table, route, approval, remaining, trace);
    if (trace.denial !== null) return candidates;
  }
  return remaining;
}

/**
 * The candidates of a route within a workspace's ceilings; empty if its requests are denied for
 * them.
 *
 * @example candidatesWithin(table, workspace, table.routes["chat-small"])
 */
export function candidatesWithin(
  table: RoutingTable,
  { approve }: WorkspaceRow,
  route: RouteRow,
): readonly Candidate[] {
  return routeCandidates(table, route).filter(({ endpoint }) =>
    isWithinCeilings(approve, table.providers[endpoint.provider]),
  );
}
