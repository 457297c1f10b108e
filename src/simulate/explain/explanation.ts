import type {
  Candidate,
  ConstraintTrace,
  Decision,
  RequestEdits,
  RouteDecision,
} from "../../canon/decision.ts";
import type { Denial, ServiceError } from "../../canon/error.ts";
import { noHealthyEndpoint } from "../../canon/error-codes.ts";
import type { Identity } from "../../canon/identity.ts";
import type { JsonObject } from "../../canon/json.ts";
import {
  formatRevision,
  parseRevision,
  type PolicySet,
  type PolicyTime,
} from "../../canon/policy.ts";
import type { ProviderPreferences, RequestShape } from "../../canon/request.ts";
import { denialError, withContact } from "../../canon/reasons.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import type { Question } from "../../decide/decide.ts";
import { isCeilingConstraint } from "../../decide/approvals.ts";
import { orderCandidates } from "../../decide/narrow.ts";
import { keyInput, windowIn } from "../../decide/policy-input.ts";

/** Inputs of a decision: everything that its explanation may name. */
interface ExplainedQuestion {
  readonly table: RoutingTable;
  readonly policies: PolicySet;
  readonly identity: Identity;
  readonly question: Question;
  /** Capability or feature → the member that requires it, where a whole request was read. */
  readonly paths: ReadonlyMap<string, string> | null;
  /** Milliseconds since the epoch, or the requested window; `null`: the current one. */
  readonly time: number | PolicyTime | null;
  /** Whether candidates were decided with as if they were promoted. */
  readonly promoted: boolean;
}

export function timeFacts({ local, ...utc }: PolicyTime): JsonObject {
  return local === undefined
    ? utc
    : {
        ...utc,
        local: Object.fromEntries(Object.entries(local).map(([zone, at]) => [zone, { ...at }])),
      };
}

/** The current status; calls depend on it, decisions do not. */
interface AsOfNow {
  /** Whether this server can reach a provider. */
  readonly isAvailable: (provider: string) => boolean;
  /** Status of an endpoint from its calls. */
  readonly statusOf: (endpointId: string) => JsonObject;
  /**
   * The order in which a call would try the plan now; `null` where the table no longer has the
   * route.
   */
  readonly arrangementOf: (decision: RouteDecision) => {
    readonly order: readonly Candidate[];
    /** `order` is one draw of several. */
    readonly isRandom: boolean;
  } | null;
}

/**
 * The revision of a rule: `r7`, the table's for requirements of table or caller, `null` where no
 * store has numbered the policy's content. Evidence has the beginning of the content's digest
 * there; here `policy_revisions` has the whole of it.
 */
type ShowRevision = (decided: { readonly revision: string }) => string | null;

/** A line of the trace with its revision as it is shown. */
type ShownTrace = Omit<ConstraintTrace, "revision"> & { readonly revision: string | null };

/**
 * A decision for readers: the plan, and every candidate with every constraint's verdict. The body
 * of `POST /v1/route/simulate`, and the output of `signalbox explain`.
 *
 * @param now `null` where unknown, as with files alone.
 */
export function explain(
  explained: ExplainedQuestion,
  decision: Decision,
  now: AsOfNow | null,
): JsonObject {
  const { table, policies, identity, question } = explained;
  const route = decision.route === "" ? undefined : table.routes[decision.route];
  const candidates = route === undefined ? [] : routeCandidates(table, route);
  const routed = decision.outcome === "route" ? decision : null;
  const plannedIds = routed?.plan.map(({ endpoint }) => endpoint.id) ?? [];
  const arranged = routed === null ? null : (now?.arrangementOf(routed) ?? null);
  const denial = decision.outcome === "deny" ? withContact(decision.denial, table, policies) : null;
  const revisionOf: ShowRevision = ({ revision }) =>
    revision === decision.tableRevision || parseRevision(revision) !== null ? revision : null;
  const trace = decision.trace.map((entry) => ({ ...entry, revision: revisionOf(entry) }));
  const lookedAt = policyCandidates(question.preferences, candidates, decision.trace);
  return {
    object: "route.simulation",
    operation: question.shape.operation,
    model: question.model,
    workspace: identity.workspace,
    key: { ...keyInput(table, identity) },
    shape: shapeFacts(question.shape),
    budget: policies.readsBudget ? (question.budget ?? null) : null,
    time: explained.time === null ? null : timeFacts(windowIn(policies.zones, explained.time)),
    promoted: explained.promoted,
    outcome: decision.outcome,
    route: decision.route === "" ? null : decision.route,
    plan: (arranged?.order ?? routed?.plan ?? []).map((candidate) => plannedFacts(candidate, now)),
    arrangement: arranged && { decided: plannedIds, by_chance: arranged.isRandom },
    max_candidates: routed?.maxCandidates ?? null,
    denial: denialFacts(denial, revisionOf),
    error:
      denial === null
        ? unreachable(routed?.plan ?? [], now)
        : errorFacts(denialError(denial, explained.paths ?? undefined)),
    candidates: candidates.map((candidate) => ({
      ...candidateFacts(candidate),
      in_plan: plannedIds.includes(candidate.endpoint.id),
      constraints: trace.map((entry, index) =>
        candidateVerdict(
          entry,
          candidate.endpoint.id,
          lookedAt[index]?.has(candidate.endpoint.id) === true,
        ),
      ),
    })),
    constraints: trace.map((entry) => ({
      ...verdictFacts(entry),
      failing: entry.failing,
      effect: entry.effect,
    })),
    obligations: decision.obligations.map((obligation) => ({
      ...obligation,
      revision: revisionOf(obligation),
    })),
    edits: editFacts(routed?.edits ?? null),
    if_promoted: decision.ifPromoted && {
      outcome: decision.ifPromoted.outcome,
      plan: decision.ifPromoted.plan,
      denial: denialFacts(decision.ifPromoted.denial, revisionOf),
      edits: editFacts(decision.ifPromoted.edits),
    },
    table_revision: decision.tableRevision,
    policy_set: policies.id,
    policy_revisions: policyRevisions(policies),
  };
}

/** Policy id → revision of each slot; `null` where no store has numbered it. */
export function policyRevisions({ policies }: Pick<PolicySet, "policies">): JsonObject {
  const revisions: Record<string, JsonObject> = {};
  for (const { identity } of policies) {
    const { id, slot, revision, digest } = identity;
    const content = { revision: formatRevision(revision), digest };
    revisions[id] = { ...revisions[id], [slot]: content };
  }
  return revisions;
}

/**
 * For each entry of a trace the candidates that it judged. Candidates excluded by a preference or
 * an approval are not checked later, and to report that they passed would be a guess. All policies
 * are evaluated for the same candidates.
 */
function policyCandidates(
  preferences: ProviderPreferences | null,
  candidates: readonly Candidate[],
  trace: readonly ConstraintTrace[],
): readonly ReadonlySet<string>[] {
  let remaining = candidates;
  let isOrdered = false;
  return trace.map(({ policy, constraint, effect, failing }) => {
    if (policy !== "preferences" && !isCeilingConstraint(constraint) && !isOrdered) {
      isOrdered = true;
      // The caller may exclude fallbacks: then they are not evaluated further.
      remaining = orderCandidates(preferences, remaining);
    }
    const evaluated = new Set(remaining.map(({ endpoint }) => endpoint.id));
    const excludes = effect === "narrowed" && (policy === "preferences" || policy === "approvals");
    if (excludes) remaining = remaining.filter(({ endpoint }) => !failing.includes(endpoint.id));
    return evaluated;
  });
}

function shapeFacts(shape: RequestShape): JsonObject {
  return {
    needs: shape.needs,
    features: shape.features,
    stream: shape.stream,
    context: shape.context,
    max_output: shape.maxOutput,
    reasoning_effort: shape.reasoningEffort,
    signature_families: shape.signatureFamilies,
    dimensions: shape.dimensions,
  };
}

/** Changes to a real call's body on its way to the provider. */
function editFacts(edits: RequestEdits | null): JsonObject | null {
  return edits && { max_output_tokens: edits.maxOutputTokens, strip_fields: edits.stripFields };
}

/** An endpoint of the plan, and whether this server can reach it now. */
function plannedFacts(candidate: Candidate, now: AsOfNow | null): JsonObject {
  const { endpoint, tier, balance, weight } = candidate;
  return {
    ...candidateFacts(candidate),
    tier,
    balance,
    weight,
    available: now?.isAvailable(endpoint.provider) ?? null,
    status: now?.statusOf(endpoint.id) ?? null,
  };
}

/** The error of a call where no endpoint of the plan can be reached. */
function unreachable(plan: readonly Candidate[], now: AsOfNow | null) {
  return now === null ||
    plan.some(({ endpoint }) => now.isAvailable(endpoint.provider)) ||
    plan.length === 0
    ? null
    : errorFacts(noHealthyEndpoint());
}

function candidateFacts({ endpoint, rank }: Candidate): JsonObject {
  const { id, model, provider, region, dialect, price, capabilities } = endpoint;
  const prices = price && { input: price.input, output: price.output, request: price.request };
  return { endpoint: id, rank, model, provider, region, dialect, capabilities, price: prices };
}

function candidateVerdict(entry: ShownTrace, endpoint: string, wasEvaluated: boolean): JsonObject {
  if (!wasEvaluated) return { ...verdictFacts(entry), verdict: "not_asked", reason: null };
  const whole = entry.verdict !== "fail" || entry.failing.length === 0;
  const verdict = whole ? entry.verdict : entry.failing.includes(endpoint) ? "fail" : "pass";
  // A reason beside "pass" is a remark on the whole request, such as that its order is found at
  // dispatch.
  return {
    ...verdictFacts(entry),
    verdict,
    reason: verdict === "pass" && !whole ? null : entry.reason,
  };
}

function verdictFacts({
  policy,
  revision,
  slot,
  constraint,
  verdict,
  reason,
}: ShownTrace): JsonObject {
  return { policy, revision, slot, constraint, verdict, reason };
}

function denialFacts(denial: Denial | null, revisionOf: ShowRevision): JsonObject | null {
  if (denial === null) return null;
  const { policy, mode, constraint, reason, subject, failing, contact } = denial;
  return {
    policy: { id: policy, revision: revisionOf(denial), mode, ...(contact && { ...contact }) },
    failed_constraint: constraint,
    reason_code: reason,
    subject,
    failing,
  };
}

function errorFacts({ status, code, message, param }: ServiceError): JsonObject {
  return { status, code, message, param };
}
