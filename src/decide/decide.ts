import type { Candidate, Decision, Denial, IfPromoted } from "../canon/decision.ts";
import type { Identity } from "../canon/identity.ts";
import { deepFreeze } from "../canon/json.ts";
import { MODEL_OPERATION_OF } from "../canon/operation.ts";
import type { PolicySet, PolicyVerdict } from "../canon/policy.ts";
import type { ProviderPreferences } from "../canon/preferences.ts";
import type { ReasonCode } from "../canon/reasons.ts";
import type { RequestShape } from "../canon/request.ts";
import type { RouteRow, RoutingTable, WorkspaceRow } from "../canon/table.ts";
import { applyApprovals } from "./approvals.ts";
import { endpointIds, routeCandidates } from "./candidates.ts";
import { applyPreferences, orderCandidates } from "./narrow.ts";
import { policyInput } from "./policy-input.ts";
import { Trace } from "./trace.ts";
import { applyVerdicts, traceOf } from "./verdicts.ts";

/** What a decision is about: everything that may matter and nothing that was said. */
export interface Question {
  readonly model: string;
  readonly shape: RequestShape;
  readonly preferences: ProviderPreferences | null;
}

/**
 * Where a request may go, or why it may not. Pure and synchronous: the same four arguments give the same decision, whether a
 * request waits for it or a reviewer simulates it (decisions.md, rule 11).
 *
 * Order: the route must be approved for the workspace; the caller's preferences narrow; the table's approvals must hold on every
 * candidate left; then the policies. Every constraint is asked, so that the trace is whole; the first failure is the denial.
 */
export function decide(table: RoutingTable, policies: PolicySet, identity: Identity, question: Question): Decision {
  const workspace = ownRow(table.workspaces, identity.workspace);
  const route = ownRow(table.routes, question.model);
  if (workspace === null || route === null || !workspace.approve.routes.includes(route.id)) {
    // One answer for "unknown" and "not yours": a difference would tell which routes exist.
    return refusal(table, "", "route_known", "model_not_found");
  }
  if (!route.operations.includes(MODEL_OPERATION_OF[question.shape.operation])) {
    return refusal(table, route.id, "operation_supported", "operation_not_supported");
  }
  return decideRoute(table, policies, workspace, route, identity, question);
}

function decideRoute(
  table: RoutingTable,
  policies: PolicySet,
  workspace: WorkspaceRow,
  route: RouteRow,
  identity: Identity,
  { shape, preferences }: Question,
): Decision {
  const trace = new Trace();
  const wanted = applyPreferences(table, preferences, routeCandidates(table, route), trace);
  const eligible = orderCandidates(preferences, wanted);
  const approved = applyApprovals(table, workspace, route, shape, eligible, trace);
  const input = policyInput(table, workspace, identity, route, shape, preferences, approved);
  const verdicts = policies.evaluate(input);
  const enforced = verdicts.filter((verdict) => verdict.policy.slot === "enforced");
  const applied = applyVerdicts(approved, enforced);
  const promoted = applyVerdicts(approved, verdictsIfPromoted(verdicts));
  for (const verdict of verdicts) {
    trace.record(traceOf(verdict, verdict.policy.slot === "enforced" ? applied : promoted));
  }
  const denial = trace.denial ?? applied.denial;
  const common = {
    tableRevision: table.revision,
    route: route.id,
    trace: trace.entries,
    ifPromoted: ifPromoted(trace.denial, applied, promoted),
  };
  const [first, ...rest] = applied.candidates;
  if (denial !== null) return deepFreeze({ ...common, outcome: "deny", denial });
  // Filters that leave nothing deny above, and no other step empties the list.
  if (first === undefined) throw new Error("decide: an empty plan without a denial");
  return deepFreeze({ ...common, outcome: "route", plan: [first, ...rest] });
}

/** The verdicts that would act if every candidate slot were promoted: a candidate replaces the enforced slot of its policy. */
function verdictsIfPromoted(verdicts: readonly PolicyVerdict[]): readonly PolicyVerdict[] {
  const replaced = new Set(verdicts.filter(({ policy }) => policy.slot === "candidate").map(({ policy }) => policy.id));
  return verdicts.filter(({ policy }) => policy.slot === "candidate" || !replaced.has(policy.id));
}

interface AppliedPlan {
  readonly candidates: readonly Candidate[];
  readonly denial: Denial | null;
}

function ifPromoted(earlier: Denial | null, now: AppliedPlan, then: AppliedPlan): IfPromoted | null {
  if (earlier !== null) return null;
  const nowPlan = now.denial === null ? endpointIds(now.candidates) : [];
  const thenPlan = then.denial === null ? endpointIds(then.candidates) : [];
  const same =
    sameDenial(now.denial, then.denial) &&
    nowPlan.length === thenPlan.length &&
    nowPlan.every((id, index) => id === thenPlan[index]);
  if (same) return null;
  return { outcome: then.denial === null ? "route" : "deny", plan: thenPlan, denial: then.denial };
}

function sameDenial(left: Denial | null, right: Denial | null): boolean {
  if (left === null || right === null) return left === right;
  return left.policy === right.policy && left.constraint === right.constraint && left.reason === right.reason;
}

function refusal(table: RoutingTable, route: string, constraint: string, reason: ReasonCode): Decision {
  const denial: Denial = {
    policy: "approvals",
    revision: table.revision,
    mode: "enforce",
    constraint,
    reason,
    subject: null,
    failing: [],
  };
  const entry = {
    policy: "approvals",
    revision: table.revision,
    slot: "enforced",
    constraint,
    verdict: "fail",
    reason,
    failing: [],
    effect: "denied",
  } as const;
  return deepFreeze({
    outcome: "deny",
    tableRevision: table.revision,
    route,
    trace: [entry],
    ifPromoted: null,
    denial,
  });
}

function ownRow<Row>(rows: Readonly<Record<string, Row>>, id: string): Row | null {
  return Object.hasOwn(rows, id) ? (rows[id] ?? null) : null;
}
