import { allowsOperation, allowsRoute } from "../canon/credentials/narrowing.ts";
import { editDistance } from "../canon/nearest-name.ts";
import type { BudgetStep } from "../canon/limits.ts";
import type {
  Candidate,
  ConstraintTrace,
  Decision,
  IfPromoted,
  ObligationTrace,
  RequestEdits,
} from "../canon/decision.ts";
import type { Denial } from "../canon/error.ts";
import type { Identity } from "../canon/identity.ts";
import { deepFreeze } from "../canon/json.ts";
import { MODEL_OPERATION_OF, type Operation } from "../canon/operation.ts";
import {
  formatRevision,
  type PolicyEvaluation,
  type PolicyIdentity,
  type PolicyObligation,
  type PolicySet,
  type PolicyTime,
  type PolicyVerdict,
  type StrippableField,
} from "../canon/policy.ts";
import type { ProviderPreferences, RequestShape } from "../canon/request.ts";
import type { ReasonCode } from "../canon/reasons.ts";
import type { RouteRow, RoutingTable, WorkspaceRow } from "../canon/table.ts";
import { applyApprovals, applyCeilings } from "./approvals.ts";
import { endpointIds, planOf, tiersOf } from "./candidates.ts";
import { applyPreferences, orderCandidates, regionsNamed } from "./narrow.ts";
import { Trace } from "./trace.ts";
import { policyInput, policyTime } from "./policy-input.ts";

/** Input of a decision: all facts that may matter, and no content. */
export interface Question {
  readonly model: string;
  readonly shape: RequestShape;
  readonly preferences: ProviderPreferences | null;
  /**
   * Remainder of the caller's budgets. Ignored if no policy reads it; otherwise absent means
   * exhausted.
   */
  readonly budget?: BudgetStep | undefined;
}

/**
 * Where a request may go, or why it may not (docs/concepts.md#how-a-decision-is-made). Pure and
 * synchronous: the same arguments give the same decision, for a call and for a simulation.
 *
 * Order: the route must be approved for the workspace; the workspace's ceilings and the caller's
 * preferences narrow; the table's approvals must hold on every remaining candidate; then the
 * policies. Every constraint is evaluated, so that the trace is complete; the first failure is the
 * denial. Obligations apply last, to the remaining candidates.
 *
 * @example decide(table, policies, identity, { model: "chat-small", shape, preferences: null }, now)
 *
 * @param when milliseconds since the epoch, or a window; without effect where no policy reads the
 * time.
 */
export function decide(
  table: RoutingTable,
  policies: PolicySet,
  identity: Identity,
  question: Question,
  when: number | PolicyTime,
): Decision {
  const requested = requestedRoute(table, identity, question.model, question.shape.operation);
  if ("reason" in requested)
    return refusal(table, requested.route, requested.constraint, requested.reason);
  const { workspace, route } = requested;
  return decideRoute(table, policies, workspace, route, identity, question, when);
}

interface RequestedRoute {
  readonly workspace: WorkspaceRow;
  readonly route: RouteRow;
}

interface RouteRefusal {
  /** Empty if the name is no route that the workspace may see. */
  readonly route: string;
  readonly constraint: string;
  readonly reason: ReasonCode;
}

/**
 * The route of a name for a caller, or the reason for a refusal. Other requirements of the request
 * are not checked.
 *
 * @example requestedRoute(table, identity, "chat-small", "chat.completions")
 */
export function requestedRoute(
  table: RoutingTable,
  identity: Identity,
  model: string,
  operation: Operation,
): RequestedRoute | RouteRefusal {
  const workspace = rowUnder(table.workspaces, identity.workspace);
  const name = requestedModel(workspace, model, operation);
  if (name === null)
    return { route: "", constraint: "route_named", reason: "moderation_route_missing" };
  const route = rowUnder(table.routes, name);
  const isApproved = route !== null && workspace?.approve.routes.includes(route.id) === true;
  if (
    workspace === null ||
    route === null ||
    !isApproved ||
    !isGranted(identity, route, operation)
  ) {
    // One answer for "unknown" and "not yours": a difference would reveal which routes exist.
    return { route: "", constraint: "route_known", reason: "model_not_found" };
  }
  if (!route.operations.includes(MODEL_OPERATION_OF[operation])) {
    return {
      route: route.id,
      constraint: "operation_supported",
      reason: "operation_not_supported",
    };
  }
  return { workspace, route };
}

/**
 * Up to three routes that the caller may use, most similar names first. Other routes never appear:
 * that would reveal them.
 *
 * @example nearestRoutes(table, identity, "chat-smal")
 */
export function nearestRoutes(
  table: RoutingTable,
  identity: Identity,
  model: string,
): readonly string[] {
  const approved = rowUnder(table.workspaces, identity.workspace)?.approve.routes ?? [];
  // Bounds the work for a name and a table of any size.
  const name = model.slice(0, 64);
  return approved
    .slice(0, 256)
    .filter((id) => allowsRoute(identity, id))
    .map((id) => ({ id, distance: editDistance(name, id.slice(0, 64)) }))
    .toSorted((left, right) => left.distance - right.distance)
    .slice(0, 3)
    .map(({ id }) => id);
}

/** A token sees only the routes and operations that it was made for. */
function isGranted(identity: Identity, route: RouteRow, operation: Operation) {
  return allowsRoute(identity, route.id) && allowsOperation(identity, operation);
}

/**
 * The route's name in the request, or the workspace's default for moderations; `null` if there is
 * neither.
 */
function requestedModel(
  workspace: WorkspaceRow | null,
  model: string,
  operation: Operation,
): string | null {
  if (model !== "" || operation !== "moderations") return model;
  return workspace?.defaultModerationRoute ?? null;
}

function decideRoute(
  table: RoutingTable,
  policies: PolicySet,
  workspace: WorkspaceRow,
  route: RouteRow,
  identity: Identity,
  { shape, preferences, budget = "exhausted" }: Question,
  when: number | PolicyTime,
): Decision {
  const trace = new Trace();
  const admitted = applyCeilings(table, workspace, route, trace);
  const preferred = applyPreferences(table, workspace, preferences, admitted, trace);
  const eligible = orderCandidates(preferences, preferred);
  const approved = applyApprovals(table, workspace, route, shape, eligible, trace);
  const circumstances = {
    time: policyTime(policies, when),
    budget: policies.readsBudget ? budget : "unlimited",
  } as const;
  const input = policyInput(
    table,
    workspace,
    identity,
    route,
    shape,
    preferences,
    circumstances,
    approved,
  );
  const evaluation = policies.evaluate(input);
  const enforced = ofPolicies(evaluation, ({ slot }) => slot === "enforced");
  const applied = applyEvaluation(table, approved, enforced);
  const promoted = applyEvaluation(table, approved, evaluationIfPromoted(policies, evaluation));
  for (const verdict of evaluation.verdicts) {
    trace.record(traceOf(verdict, verdict.policy.slot === "enforced" ? applied : promoted));
  }
  const denial = trace.denial ?? applied.denial;
  const common = {
    tableRevision: table.revision,
    route: route.id,
    trace: trace.entries,
    obligations: evaluation.obligations.map((obligation) => {
      const outcome = obligation.policy.slot === "enforced" ? applied : promoted;
      const denied = trace.denial !== null || outcome.denial !== null;
      return obligationTraceOf(table, obligation, denied ? null : outcome);
    }),
    ifPromoted: ifPromoted(trace.denial, applied, promoted),
  };
  const [first, ...rest] = applied.candidates;
  if (denial !== null) return deepFreeze({ ...common, outcome: "deny", denial });
  // Filters that leave nothing deny above, and no other step empties the list.
  if (first === undefined) throw new Error("decide: an empty plan without a denial");
  const maxCandidates = preferences?.allow_fallbacks === false ? 1 : null;
  return deepFreeze({
    ...common,
    outcome: "route",
    plan: [first, ...rest],
    maxCandidates,
    edits: applied.edits,
  });
}

interface AppliedEvaluation extends AppliedObligations {
  readonly denial: Denial | null;
}

/** Verdicts first: an obligation cannot restore a candidate. */
function applyEvaluation(
  table: RoutingTable,
  approved: readonly Candidate[],
  { verdicts, obligations }: PolicyEvaluation,
): AppliedEvaluation {
  const { candidates, denial } = applyVerdicts(approved, verdicts);
  return { ...applyObligations(table, candidates, obligations), denial };
}

/** The part of an evaluation that comes from some of the policies. */
function ofPolicies(
  { verdicts, obligations }: PolicyEvaluation,
  includes: (policy: PolicyIdentity) => boolean,
): PolicyEvaluation {
  return {
    verdicts: verdicts.filter(({ policy }) => includes(policy)),
    obligations: obligations.filter(({ policy }) => includes(policy)),
  };
}

/**
 * The evaluation if every candidate slot were promoted: a candidate replaces the enforced slot of
 * its policy, also if it has no verdict, because it waives all obligations or does not apply to the
 * operation.
 */
function evaluationIfPromoted(policies: PolicySet, evaluation: PolicyEvaluation): PolicyEvaluation {
  const replaced = new Set<string>();
  for (const { identity } of policies.policies)
    if (identity.slot === "candidate") replaced.add(identity.id);
  return ofPolicies(evaluation, ({ id, slot }) => slot === "candidate" || !replaced.has(id));
}

function ifPromoted(
  earlier: Denial | null,
  now: AppliedEvaluation,
  then: AppliedEvaluation,
): IfPromoted | null {
  if (earlier !== null) return null;
  const nowPlan = now.denial === null ? now.candidates : [];
  const thenPlan = then.denial === null ? then.candidates : [];
  const same =
    sameDenial(now.denial, then.denial) &&
    samePlan(nowPlan, thenPlan) &&
    (now.denial !== null || sameEdits(now.edits, then.edits));
  if (same) return null;
  const { denial } = then;
  return {
    outcome: denial === null ? "route" : "deny",
    plan: endpointIds(thenPlan),
    denial,
    edits: denial === null ? then.edits : null,
  };
}

/** Candidates of other tiers are a difference, also in the same order. */
function samePlan(left: readonly Candidate[], right: readonly Candidate[]) {
  return (
    left.length === right.length &&
    left.every(
      ({ endpoint, tier }, index) =>
        endpoint.id === right[index]?.endpoint.id && tier === right[index].tier,
    )
  );
}

function sameDenial(left: Denial | null, right: Denial | null): boolean {
  if (left === null || right === null) return left === right;
  return (
    left.policy === right.policy &&
    left.constraint === right.constraint &&
    left.reason === right.reason
  );
}

function refusal(
  { revision }: RoutingTable,
  route: string,
  constraint: string,
  reason: ReasonCode,
): Decision {
  const trace = new Trace();
  const denial = { policy: "approvals", revision, constraint, reason, subject: null, failing: [] };
  trace.check(denial, true);
  return deepFreeze({
    outcome: "deny",
    tableRevision: revision,
    route,
    trace: trace.entries,
    obligations: [],
    ifPromoted: null,
    denial: trace.deny(denial),
  });
}

function rowUnder<Row>(rows: Readonly<Record<string, Row>>, id: string): Row | null {
  return Object.hasOwn(rows, id) ? (rows[id] ?? null) : null;
}

/** Result of applying obligations to the remaining candidates. */
interface AppliedObligations {
  readonly candidates: readonly Candidate[];
  readonly edits: RequestEdits;
}

/**
 * Of several limits the smallest wins, of several regions the one of the policy that comes first. A
 * preferred region goes before the order that the caller requested, which still holds within the
 * region and outside of it. Tiers come back numbered without holes.
 */
function applyObligations(
  table: RoutingTable,
  candidates: readonly Candidate[],
  obligations: readonly PolicyObligation[],
): AppliedObligations {
  let maxOutputTokens: number | null = null;
  const stripFields = new Set<StrippableField>();
  const preferred: (readonly string[])[] = [];
  for (const obligation of obligations) {
    switch (obligation.kind) {
      case "max_output_tokens":
        maxOutputTokens = Math.min(maxOutputTokens ?? Infinity, obligation.value);
        break;
      case "strip_field":
        stripFields.add(obligation.value);
        break;
      case "prefer_region":
        preferred.push(regionsNamed(table, obligation.value) ?? []);
        break;
    }
  }
  return {
    candidates: planOf(preferringRegions(tiersOf(candidates), preferred)),
    edits: { maxOutputTokens, stripFields: [...stripFields].toSorted() },
  };
}

/**
 * Stable. A tier of which only some candidates are in the region is split, because dispatch would
 * mix them again.
 */
function preferringRegions(
  tiers: readonly (readonly Candidate[])[],
  preferred: readonly (readonly string[])[],
): readonly (readonly Candidate[])[] {
  const rank = ({ endpoint }: Candidate): number => {
    const index = preferred.findIndex((regions) => regions.includes(endpoint.region));
    return index === -1 ? preferred.length : index;
  };
  const ranks = [...preferred.keys(), preferred.length];
  return ranks.flatMap((index) =>
    tiers.map((tier) => tier.filter((candidate) => rank(candidate) === index)),
  );
}

/**
 * An obligation as a line of the decision.
 *
 * @param outcome result of its slot's obligations: the actual one for an enforced slot, the
 * hypothetical one for a candidate; `null` if the request is denied.
 */
function obligationTraceOf(
  table: RoutingTable,
  { policy, name, kind, value }: PolicyObligation,
  outcome: AppliedObligations | null,
): ObligationTrace {
  const acts =
    outcome !== null &&
    (kind === "strip_field" ||
      (kind === "max_output_tokens" && outcome.edits.maxOutputTokens === value) ||
      (kind === "prefer_region" && hasRegion(table, outcome.candidates, value)));
  const { id, slot } = policy;
  const effect = !acts ? "none" : slot === "enforced" ? "applied" : "would_apply";
  return {
    policy: id,
    revision: revisionText(policy),
    slot,
    obligation: name,
    kind,
    value,
    effect,
  };
}

function hasRegion(table: RoutingTable, candidates: readonly Candidate[], name: string): boolean {
  const regions = regionsNamed(table, name) ?? [];
  return candidates.some(({ endpoint }) => regions.includes(endpoint.region));
}

function sameEdits(left: RequestEdits, right: RequestEdits): boolean {
  return (
    left.maxOutputTokens === right.maxOutputTokens &&
    left.stripFields.join() === right.stripFields.join()
  );
}

/** Result of applying verdicts to candidates. */
interface Applied {
  readonly candidates: readonly Candidate[];
  readonly denial: Denial | null;
}

/**
 * Filters first, all together; then gates and `require_all` over the remaining candidates. The
 * order of policies can therefore change which denial is named, and never whether there is one.
 * Every verdict but `pass` denies (docs/policies.md#a-policy).
 */
function applyVerdicts(
  candidates: readonly Candidate[],
  verdicts: readonly PolicyVerdict[],
): Applied {
  const filters = verdicts.filter(
    ({ effect, verdict }) => effect === "filter" && verdict === "fail",
  );
  const remaining = candidates.filter(
    ({ endpoint }) => !filters.some(({ failing }) => failing.includes(endpoint.id)),
  );
  const denying = verdicts.find((verdict) => denies(verdict, remaining));
  if (denying !== undefined) return { candidates: remaining, denial: denialOf(denying, remaining) };
  const [filter] = filters;
  const denial = remaining.length > 0 || filter === undefined ? null : denialOf(filter, candidates);
  return { candidates: remaining, denial };
}

function denies(
  { verdict, effect, failing }: PolicyVerdict,
  remaining: readonly Candidate[],
): boolean {
  if (verdict !== "fail") return verdict === "indeterminate";
  if (effect !== "require_all") return effect === "gate";
  return remaining.some(({ endpoint }) => failing.includes(endpoint.id));
}

function denialOf(verdict: PolicyVerdict, among: readonly Candidate[]): Denial {
  return {
    policy: verdict.policy.id,
    revision: revisionText(verdict.policy),
    mode: "enforce",
    constraint: verdict.constraint,
    reason: verdict.reason ?? "EVALUATION_INDETERMINATE",
    subject: null,
    failing: verdict.failing.filter((id) => among.some(({ endpoint }) => endpoint.id === id)),
  };
}

/** `r7`; before any store has numbered the content, the first twelve digits of its digest. */
function revisionText({ revision, digest }: PolicyIdentity) {
  return formatRevision(revision) ?? digest.slice(0, 12);
}

/** A verdict as a line of the decision's trace. */
function traceOf(policyVerdict: PolicyVerdict, applied: Applied): ConstraintTrace {
  const { policy, constraint, verdict, reason, failing } = policyVerdict;
  return {
    policy: policy.id,
    revision: revisionText(policy),
    slot: policy.slot,
    constraint,
    verdict,
    reason,
    failing,
    effect: effectOf(policyVerdict, applied),
  };
}

function effectOf(verdict: PolicyVerdict, applied: Applied): ConstraintTrace["effect"] {
  if (verdict.verdict === "pass") return "none";
  const { candidates } = applied;
  const enforced = verdict.policy.slot === "enforced";
  if (candidates.length === 0 || denies(verdict, candidates))
    return enforced ? "denied" : "would_deny";
  if (verdict.effect === "filter") return enforced ? "narrowed" : "would_narrow";
  return "none";
}
