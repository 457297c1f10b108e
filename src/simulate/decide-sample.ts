import type { Candidate, Decision } from "../canon/decision.ts";
import type { Identity } from "../canon/identity.ts";
import type { PolicyInput, PolicySet } from "../canon/policy.ts";
import type { RoutingTable } from "../canon/table.ts";
import { decide, requestedRoute, type Question } from "../decide/decide.ts";
import { keyInput, policyInput, policyTime, requestInput } from "../decide/policy-input.ts";
import { namedProviders } from "./renamed-table.ts";
import type { Outcome, PlannedEndpoint, SampleRequest } from "./sample-request.ts";
import type { LoadedViews, SideViews } from "./views.ts";

/** A request decided on one side. */
export interface SideOutcomes {
  readonly declared: Outcome;
  readonly promoted: Outcome;
}

export type SideDecider = ReturnType<typeof sideDecider>;

/** Decides single requests for one side, as a server would. */
export function sideDecider(table: RoutingTable, { declared, promoted }: SideViews) {
  const outcome = (policies: PolicySet, sample: SampleRequest) =>
    outcomeOf(decideSample(table, policies, sample));
  const budgetOf = ({ budget = "unlimited" }: SampleRequest) =>
    declared.readsBudget ? budget : "unlimited";
  return {
    table,

    /**
     * The policies' input for a request, without narrowing its candidates anew.
     *
     * @param candidates that the table leaves the request.
     */
    inputOf(sample: SampleRequest, candidates: readonly Candidate[]): PolicyInput {
      const identity = identityOf(sample);
      const requested = requestedRoute(table, identity, sample.model, sample.operation);
      if ("reason" in requested)
        throw new Error("simulation: the table refuses the route of a request that it let through");
      const { workspace, route } = requested;
      return policyInput(
        table,
        workspace,
        identity,
        route,
        sample,
        sample.preferences,
        { time: policyTime(declared, sample.time), budget: budgetOf(sample) },
        candidates,
      );
    },

    /**
     * The input of a request that differs only in members that policies alone read, such as key and
     * time, without narrowing its candidates anew.
     */
    inputLike(input: PolicyInput, sample: SampleRequest): PolicyInput {
      const { local = {}, ...time } = policyTime(declared, sample.time);
      return {
        ...input,
        key: keyInput(table, identityOf(sample)),
        request: { ...input.request, ...requestInput(sample) },
        budget: { remaining: budgetOf(sample) },
        time,
        local_time: local,
      };
    },

    decideSample(sample: SampleRequest): SideOutcomes {
      const now = outcome(declared, sample);
      return {
        declared: now,
        promoted: promoted === declared ? now : outcome(promoted, sample),
      };
    },
  };
}

/** A side that is ready to decide. */
export interface LoadedSide {
  readonly decider: SideDecider;
  readonly views: LoadedViews;
}

/** The identity of a sample's key. Members without effect on decisions are made up. */
export function identityOf({ workspace, key }: SampleRequest): Identity {
  return {
    workspace,
    keyId: "simulated",
    scopes: new Set(["inference"]),
    environment: key.environment,
    workload: key.workload,
    ...(key.owner !== undefined && { owner: key.owner }),
    labels: key.labels,
    expiresAt: Number.MAX_SAFE_INTEGER,
  };
}

/** The arguments of `decide` for a sample. */
export function sampleQuestionOf(sample: SampleRequest): {
  identity: Identity;
  question: Question;
} {
  const {
    workspace: _workspace,
    model,
    key: _key,
    preferences,
    time: _time,
    budget = "unlimited",
    ...shape
  } = sample;
  return { identity: identityOf(sample), question: { model, preferences, shape, budget } };
}

/**
 * The decision that a call of this shape gets: it is the same function
 * (docs/concepts.md#how-a-decision-is-made).
 */
export function decideSample(
  table: RoutingTable,
  policies: PolicySet,
  sample: SampleRequest,
): Decision {
  const currentSample = { ...sample, preferences: namedProviders(table, sample.preferences) };
  const { identity, question } = sampleQuestionOf(currentSample);
  return decide(table, policies, identity, question, sample.time);
}

/** The parts of a decision that are compared. */
export function outcomeOf(decision: Decision): Outcome {
  if (decision.outcome === "deny") {
    const { policy, constraint, reason } = decision.denial;
    // Where the table denies, policies do not matter.
    const isTableDenial = policy === "approvals" || policy === "preferences";
    return {
      plan: [],
      maxCandidates: null,
      denial: { policy, constraint, reason },
      edits: null,
      indeterminate: !isTableDenial && isIndeterminate(decision),
    };
  }
  const { plan, maxCandidates, edits } = decision;
  const { maxOutputTokens, stripFields } = edits;
  return {
    plan: plan.map((candidate) => plannedEndpoint(candidate, plan)),
    // The limit of attempts has no effect on a plan of one endpoint.
    maxCandidates: plan.length === 1 ? null : maxCandidates,
    denial: null,
    edits: { maxOutputTokens, stripFields },
    indeterminate: isIndeterminate(decision),
  };
}

/**
 * Balancing matters only where a tier has several endpoints, and weights only where they are used.
 */
function plannedEndpoint(
  { endpoint, tier, balance, weight }: Candidate,
  plan: readonly Candidate[],
): PlannedEndpoint {
  const { id, model, provider, region } = endpoint;
  const isOnlyInTier = plan.filter((other) => other.tier === tier).length === 1;
  const shared = isOnlyInTier ? "order" : balance;
  return {
    endpoint: id,
    model,
    provider,
    region,
    tier,
    balance: shared,
    weight: shared === "weighted" ? weight : 1,
  };
}

function isIndeterminate({ trace }: Decision) {
  return trace.some(({ slot, verdict }) => slot === "enforced" && verdict === "indeterminate");
}
