import { isCapability } from "../../canon/capability.ts";
import type { Candidate, ConstraintTrace, Decision, Denial, RequestEdits } from "../../canon/decision.ts";
import { invalidRequest, noHealthyEndpoint, type ServiceError } from "../../canon/error.ts";
import type { Identity } from "../../canon/identity.ts";
import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import type { Operation } from "../../canon/operation.ts";
import { ALWAYS_USED, type InferenceRequest } from "../../canon/request.ts";
import { denialError } from "../../canon/reasons.ts";
import type { InferenceEndpoint } from "../contract/endpoint.ts";
import { parsePreferences } from "../../dialects/preferences.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import type { Decider } from "../../decide/decider.ts";
import type { Question } from "../../decide/decide.ts";
import type { BodyValidator } from "../contract/validate.ts";
import { prepareTranslations } from "../translation.ts";
import { openUnary } from "../unary/open-unary.ts";

/** What simulation needs of the operation it simulates: the same reader and the same checks as a real call. */
export interface SimulatedOperation {
  readonly operation: Operation;
  readonly surface: InferenceEndpoint["surface"];
  readonly validate: BodyValidator;
}

/** What would be asked, and the request that asks it where the simulation was given one. */
export interface SimulatedQuestion {
  readonly question: Question;
  readonly request: InferenceRequest | null;
}

/**
 * Makes the question that a real call would ask. With `request`, its body is validated and read by the operation's own surface; otherwise the
 * shape is a plain request with the `needs` given.
 */
export function simulationQuestion(body: JsonObject, operation: SimulatedOperation): SimulatedQuestion | ServiceError {
  const { request, model } = body;
  if (model === undefined && operation.operation !== "moderations" && !(isJsonObject(request) && "model" in request)) {
    return invalidRequest("missing_field", "model is required", "model");
  }
  if (!isJsonObject(request)) return { question: plainQuestion(body, operation.operation), request: null };
  const { provider } = body;
  const whole: JsonObject = {
    ...request,
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
  };
  const invalid = nested(operation.validate(whole));
  if (invalid !== null) return invalid;
  // The size that the call's body would have, not that of the simulation around it.
  const parsed = operation.surface.parse(whole, Buffer.byteLength(JSON.stringify(request)), NO_HEADERS);
  return "code" in parsed ? (nested(parsed) ?? parsed) : { question: parsed, request: parsed };
}

/** A simulated request has a body only; it speaks the protocol's oldest version. */
const NO_HEADERS = { version: null, betas: [] } as const;

/**
 * What a real call does between decision and dispatch: the 400 for members which the route does not take or another protocol cannot be told, or the
 * decision as it will be carried out.
 */
export function simulatedDecision(
  request: InferenceRequest | null,
  { surface }: SimulatedOperation,
  decider: Decider,
  decision: Decision,
): Decision | ServiceError {
  const route = decider.table.routes[decision.route];
  if (request === null || decision.outcome === "deny" || route === undefined) return decision;
  const unknown = nested(surface.refuseUnknown(request.body, route.unknownFields));
  if (unknown !== null) return unknown;
  const prepared =
    surface.kind === "unary"
      ? openUnary(decider.table, surface, request, route, decision, null)
      : prepareTranslations(decider.table, surface, request, route, decision);
  return "code" in prepared ? (nested(prepared) ?? prepared) : prepared.decision;
}

function plainQuestion(body: JsonObject, operation: Operation): Question {
  const needs = Array.isArray(body["needs"]) ? body["needs"] : [];
  return {
    model: typeof body["model"] === "string" ? body["model"] : "",
    preferences: parsePreferences(body["provider"]),
    shape: {
      operation,
      needs: needs
        .filter((need): need is string => typeof need === "string")
        .filter(isCapability)
        .toSorted(),
      features: ALWAYS_USED[operation] ?? [],
      stream: body["stream"] === true,
      context: "unspecified",
      maxOutput: "unspecified",
      reasoningEffort: "unspecified",
      signatureFamilies: [],
      dimensions: null,
    },
  };
}

/** An error inside `request` names its member from the outside. */
function nested(error: ServiceError | null): ServiceError | null {
  if (error === null) return null;
  const param = error.param === null ? "request" : `request.${error.param}`;
  return invalidRequest(error.code, error.message, param);
}

/** How things stand now; the decision does not depend on it, a call does. */
export interface AsOfNow {
  /** Whether this server can reach a provider. */
  readonly isAvailable: (provider: string) => boolean;
  /** What is known of an endpoint from its calls. */
  readonly standingOf: (endpointId: string) => JsonObject;
}

/** A decision as a reader wants it: the plan, and every candidate with every constraint's verdict. */
export function explain(
  decider: Decider,
  identity: Identity,
  { question, request }: SimulatedQuestion,
  decision: Decision,
  now: AsOfNow,
): JsonObject {
  const route = decision.route === "" ? undefined : decider.table.routes[decision.route];
  const candidates = route === undefined ? [] : routeCandidates(decider.table, route);
  const planned = decision.outcome === "route" ? decision.plan.map(({ endpoint }) => endpoint.id) : [];
  const denial = decision.outcome === "deny" ? decision.denial : null;
  return {
    object: "route.simulation",
    operation: question.shape.operation,
    model: question.model,
    workspace: identity.workspace,
    outcome: decision.outcome,
    route: decision.route === "" ? null : decision.route,
    plan: decision.outcome === "route" ? decision.plan.map((candidate) => placeFacts(candidate, now)) : [],
    max_places: decision.outcome === "route" ? decision.maxPlaces : null,
    denial: denial === null ? null : denialFacts(denial),
    error: denial === null ? unreachable(decision, now) : errorFacts(denialError(denial, request?.paths)),
    candidates: candidates.map((candidate) => ({
      ...candidateFacts(candidate),
      in_plan: planned.includes(candidate.endpoint.id),
      constraints: decision.trace.map((entry) => candidateVerdict(entry, candidate.endpoint.id)),
    })),
    constraints: decision.trace.map((entry) => ({
      ...verdictFacts(entry),
      failing: entry.failing,
      effect: entry.effect,
    })),
    obligations: decision.obligations.map((obligation) => ({ ...obligation })),
    edits: decision.outcome === "route" ? editFacts(decision.edits) : null,
    if_promoted:
      decision.ifPromoted === null
        ? null
        : {
            outcome: decision.ifPromoted.outcome,
            plan: decision.ifPromoted.plan,
            denial: decision.ifPromoted.denial === null ? null : denialFacts(decision.ifPromoted.denial),
            edits: decision.ifPromoted.edits === null ? null : editFacts(decision.ifPromoted.edits),
          },
    table_revision: decision.tableRevision,
    policy_revisions: policyRevisions(decider),
  };
}

/** Policy id → revision of each slot; the content's digest where no store has numbered it. */
export function policyRevisions(decider: Decider): JsonObject {
  const revisions: Record<string, JsonObject> = {};
  for (const { identity } of decider.policies.policies) {
    const slots = revisions[identity.id] ?? {};
    revisions[identity.id] = { ...slots, [identity.slot]: { revision: identity.revision, digest: identity.digest } };
  }
  return revisions;
}

/** What a real call's body would lose on its way to the provider. */
function editFacts({ maxOutputTokens, stripFields }: RequestEdits): JsonObject {
  return { max_output_tokens: maxOutputTokens, strip_fields: stripFields };
}

/** A place of the plan, and whether this server can reach it now. */
function placeFacts(candidate: Candidate, { isAvailable, standingOf }: AsOfNow): JsonObject {
  const { endpoint, tier, balance, weight } = candidate;
  return {
    ...candidateFacts(candidate),
    tier,
    balance,
    weight,
    available: isAvailable(endpoint.provider),
    standing: standingOf(endpoint.id),
  };
}

/** What a call would get where the plan is right and nothing of it can be reached. */
function unreachable(decision: Decision, { isAvailable }: AsOfNow): JsonObject | null {
  const plan = decision.outcome === "route" ? decision.plan : [];
  return plan.some(({ endpoint }) => isAvailable(endpoint.provider)) || plan.length === 0
    ? null
    : errorFacts(noHealthyEndpoint());
}

function candidateFacts({ endpoint, rank }: Candidate): JsonObject {
  const { id, model, provider, region, dialect, price, capabilities } = endpoint;
  const prices = price === null ? null : { input: price.input, output: price.output, request: price.request };
  return { endpoint: id, rank, model, provider, region, dialect, capabilities, price: prices };
}

function candidateVerdict(entry: ConstraintTrace, endpoint: string): JsonObject {
  const whole = entry.verdict !== "fail" || entry.failing.length === 0;
  const verdict = whole ? entry.verdict : entry.failing.includes(endpoint) ? "fail" : "pass";
  return { ...verdictFacts(entry), verdict, reason: verdict === "pass" ? null : entry.reason };
}

function verdictFacts({ policy, revision, slot, constraint, verdict, reason }: ConstraintTrace): JsonObject {
  return { policy, revision, slot, constraint, verdict, reason };
}

function denialFacts({ policy, revision, mode, constraint, reason, subject, failing }: Denial): JsonObject {
  return {
    policy: { id: policy, revision, mode },
    failed_constraint: constraint,
    reason_code: reason,
    subject,
    failing,
  };
}

function errorFacts({ status, code, message, param }: ServiceError): JsonObject {
  return { status, code, message, param };
}
