import type { Capability } from "../canon/capability.ts";
import type { Candidate, RouteDecision } from "../canon/decision.ts";
import type { ServiceError } from "../canon/error.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { EndpointRow, RouteRow, RoutingTable } from "../canon/table.ts";
import { planOf, tiersOf } from "../decide/candidates.ts";
import type { AnswerContext, Surface, Target } from "../dialects/dialect.ts";
import { type ExchangePlan, planExchange, upstreamFor } from "../dialects/exchange-plan.ts";
import {
  needsTranslation,
  prepareTranslation,
  type PreparedTranslation,
} from "../dialects/translate-request.ts";
import type { UnarySurface, UnaryTask } from "../dialects/unary/surface.ts";

/** A decision whose candidates can all express the request, and the request in parts. */
export interface OpenedUnary {
  readonly decision: RouteDecision;
  readonly task: UnaryTask;
  /** By endpoint id. */
  readonly targets: ReadonlyMap<string, Target>;
}

/**
 * Translates a request for every candidate before anything is recorded or sent. Simulation calls
 * the same function.
 */
export function openUnary(
  table: RoutingTable,
  surface: UnarySurface,
  request: InferenceRequest,
  route: RouteRow,
  decision: RouteDecision,
  maxBatchSize: number | null,
): OpenedUnary | ServiceError {
  const open = (narrowed: RouteDecision): OpenedUnary | ServiceError => {
    const targets = new Map(
      narrowed.plan.map(({ endpoint }) => [endpoint.id, targetOf(table, endpoint)]),
    );
    const task = surface.open(request, {
      unknownFields: route.unknownFields,
      edits: decision.edits,
      targets: [...targets.values()],
      maxBatchSize,
    });
    return "code" in task ? task : { decision: narrowed, task, targets };
  };
  const opened = open(decision);
  if ("code" in opened || opened.task.refusals.size === 0) return opened;
  const narrowed = withoutRefusing(route, decision, opened.task.refusals);
  // A candidate that is left out must not make the others' parts smaller.
  return "code" in narrowed ? narrowed : open(narrowed);
}

/** A decision whose candidates can all express the request. */
export interface TranslatableDecision {
  readonly surface: Surface;
  readonly decision: RouteDecision;
  /**
   * Endpoint id → the request in its protocol; nothing for endpoints that the request is relayed
   * to.
   */
  readonly prepared: ReadonlyMap<string, PreparedTranslation>;
}

/**
 * Translates the request for every candidate of another dialect, or that the request needs changes
 * for, before anything is recorded or sent: whether a request can be served must not depend on
 * which provider is up. A member that a candidate cannot take denies the request, or leaves such
 * fallbacks out where the route has `on_gap: narrow`, as any other gap does
 * (docs/concepts.md#how-a-decision-is-made). Simulation calls the same function.
 */
export function prepareTranslations(
  table: RoutingTable,
  surface: Surface,
  request: InferenceRequest,
  route: RouteRow,
  decision: RouteDecision,
): TranslatableDecision | ServiceError {
  const foreign = decision.plan.filter(
    ({ endpoint }) =>
      endpoint.dialect !== surface.dialect || needsTranslation(route, request.shape, endpoint),
  );
  if (foreign.length === 0) return { surface, decision, prepared: NONE };
  const canonical = surface.translation.toCanon(request, route.unknownFields, decision.edits);
  const prepared = new Map<string, PreparedTranslation>();
  const refusals = new Map<string, ServiceError>();
  for (const { endpoint } of foreign) {
    const translated =
      "code" in canonical
        ? canonical
        : withParam(
            prepareTranslation(
              canonical,
              route,
              request.shape,
              targetOf(table, endpoint),
              upstreamFor("generate", endpoint.dialect),
            ),
            request,
          );
    if ("code" in translated) refusals.set(endpoint.id, translated);
    else prepared.set(endpoint.id, translated);
  }
  const narrowed = withoutRefusing(route, decision, refusals);
  return "code" in narrowed ? narrowed : { surface, decision: narrowed, prepared };
}

/**
 * Refusals of printers, and the capability whose member is the one to change: a printer does not
 * know its name in the caller's protocol.
 */
const CHANGED_BY: Readonly<Record<string, Capability>> = {
  invalid_reasoning_budget: "reasoning",
  unsupported_schema: "json_schema",
};

function withParam<Made extends object>(
  prepared: Made | ServiceError,
  { paths }: InferenceRequest,
): Made | ServiceError {
  if (!("code" in prepared) || prepared.param !== null) return prepared;
  const capability = Object.hasOwn(CHANGED_BY, prepared.code)
    ? CHANGED_BY[prepared.code]
    : undefined;
  return capability === undefined
    ? prepared
    : { ...prepared, param: paths.get(capability) ?? null };
}

/**
 * The decision without the candidates whose protocol cannot express the request; the first of their
 * refusals where the route does not leave fallbacks out for that (`on_gap: deny`), or where nothing
 * else is left.
 *
 * @param refusals endpoint id → its 400, in the order of the plan.
 */
function withoutRefusing(
  route: RouteRow,
  decision: RouteDecision,
  refusals: ReadonlyMap<string, ServiceError>,
): RouteDecision | ServiceError {
  const [refusal] = refusals.values();
  if (refusal === undefined) return decision;
  const isFailing = ({ endpoint }: Candidate) => refusals.has(endpoint.id);
  const remaining = decision.plan.filter((candidate) => !isFailing(candidate));
  const [first, ...rest] = planOf(tiersOf(remaining));
  const failing = decision.plan.filter(isFailing);
  const mayNarrow = route.onGap === "narrow" && failing.every(({ rank }) => rank === "fallback");
  if (first === undefined || !mayNarrow) return refusal;
  const entry = {
    policy: "approvals",
    revision: decision.tableRevision,
    slot: "enforced",
    constraint: "request_translatable",
    verdict: "fail",
    reason: refusal.code,
    failing: failing.map(({ endpoint }) => endpoint.id),
    effect: "narrowed",
  } as const;
  return { ...decision, plan: [first, ...rest], trace: [...decision.trace, entry] };
}

const NONE: ReadonlyMap<string, PreparedTranslation> = new Map();

/**
 * Plans the exchange with each of the candidates: the request to send, and the reader of its
 * answer.
 *
 * @param requestId of the request; answers are named after it.
 * @returns endpoint id → plan
 */
export function exchangePlans(
  table: RoutingTable,
  request: InferenceRequest,
  route: RouteRow,
  { surface, decision: { edits }, prepared }: TranslatableDecision,
  candidates: readonly Candidate[],
  requestId: string,
): ReadonlyMap<string, ExchangePlan> {
  const plans = new Map<string, ExchangePlan>();
  for (const { endpoint } of candidates) {
    const target = targetOf(table, endpoint);
    const context = answerContext(request, requestId, endpoint, target.model.signatureFamily);
    const translation = prepared.get(endpoint.id) ?? null;
    const options = { surface, request, prepared: translation, route, edits, context };
    const upstream = upstreamFor("generate", endpoint.dialect);
    plans.set(endpoint.id, planExchange(options, target, upstream));
  }
  return plans;
}

function targetOf(table: RoutingTable, endpoint: EndpointRow): Target {
  const model = table.models[endpoint.model];
  const provider = table.providers[endpoint.provider];
  if (model === undefined || provider === undefined)
    throw new Error("translation: an endpoint without its rows");
  return { endpoint, model, provider };
}

/**
 * Options for rendering an answer.
 *
 * @param signatureFamily of the endpoint's model; `null` where it names none.
 */
export function answerContext(
  request: InferenceRequest,
  requestId: string,
  endpoint: EndpointRow,
  signatureFamily: string | null,
): AnswerContext {
  return {
    request,
    requestId,
    answerId: requestId.startsWith("req_") ? requestId.slice(4) : requestId,
    model: endpoint.upstreamModel,
    signatureFamily,
    now: () => Math.floor(Date.now() / 1000),
  };
}
