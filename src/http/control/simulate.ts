import { isCapability, isFeature } from "../../canon/capability.ts";
import type { Decision } from "../../canon/decision.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { Identity } from "../../canon/identity.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { Operation } from "../../canon/operation.ts";
import type { PolicySet, PolicyTime } from "../../canon/policy.ts";
import { ALWAYS_USED, NO_HEADERS, type InferenceRequest } from "../../canon/request.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { decide, type Question } from "../../decide/decide.ts";
import type { Decider } from "../../decide/decider.ts";
import { parsePreferences } from "../../dialects/body-reader.ts";
import { refusedKind } from "../../dialects/request-reading.ts";
import type { InferenceEndpoint } from "../contract/endpoint.ts";
import { badRequest, isServiceError, refusal } from "../refusal.ts";
import type { BodyValidator } from "../validate-body.ts";
import { openUnary, prepareTranslations } from "../translation.ts";
import { promotedPolicies } from "../../simulate/explain/promoted.ts";
import { PLAIN_SCALARS, readScalars } from "../../simulate/request-scalars.ts";

/** Simulations a minute for each workspace, unless routes.yaml sets another number. */
const DEFAULT_SIMULATIONS_PER_MINUTE = 120;

/** Milliseconds. */
const MINUTE = 60_000;

/**
 * Counts the simulations of each workspace in the running minute, in this process. A simulation
 * calls no provider and uses up no limit of inference, but it evaluates policies and is recorded:
 * without a bound one key could keep a process and its log busy.
 */
export class SimulationRate {
  #minute = 0;
  #counts = new Map<string, number>();

  /**
   * Counts one more simulation of the workspace.
   * @param now milliseconds since the epoch. Windows are minutes of UTC, as for all limits.
   * @throws {RefusalError} where the minute's simulations are used up.
   */
  take(workspace: string, perMinute: number, now: number): void {
    const minute = Math.floor(now / MINUTE);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#counts = new Map();
    }
    const count = this.#counts.get(workspace) ?? 0;
    if (count >= perMinute) {
      throw refusal(
        "requests_per_minute",
        "Limit of the workspace (simulations_per_minute): the simulations of this minute are used up. Try again after the seconds in retry-after.",
        { retryAfter: (minute + 1) * MINUTE - now },
      );
    }
    this.#counts.set(workspace, count + 1);
  }
}

/**
 * Counts a simulation against the workspace's limit. @throws {RefusalError} where none is left in
 * this minute.
 */
export function takeSimulation(
  rate: SimulationRate,
  { workspaces }: Pick<RoutingTable, "workspaces">,
  workspace: string,
): void {
  const perMinute =
    workspaces[workspace]?.limits.simulationsPerMinute ?? DEFAULT_SIMULATIONS_PER_MINUTE;
  rate.take(workspace, perMinute, Date.now());
}

/**
 * The simulated operation, with the same reader and the same checks as a real call.
 */
export interface SimulatedOperation {
  readonly operation: Operation;
  readonly surface: InferenceEndpoint["surface"];
  readonly validate: BodyValidator;
}

/** The request's shape, and the request itself where the simulation was given one. */
interface SimulatedQuestion {
  readonly question: Question;
  readonly request: InferenceRequest | null;
}

/**
 * Makes the question that a real call would ask. With `request`, its body is validated and read by
 * the operation's own surface; otherwise the body names properties, and the others are those of
 * a plain request.
 *
 * @throws {RefusalError}
 */
export function simulationQuestion(
  body: JsonObject,
  operation: SimulatedOperation,
): SimulatedQuestion {
  const { request, model } = body;
  if (
    model === undefined &&
    operation.operation !== "moderations" &&
    !(isJsonObject(request) && "model" in request)
  ) {
    throw badRequest("missing_field", "model is required", "model");
  }
  if (!isJsonObject(request))
    return { question: plainQuestion(body, operation.operation), request: null };
  const { provider } = body;
  const whole: JsonObject = {
    ...request,
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
  };
  orNested(operation.validate(whole));
  // A simulated request has a body only, and speaks the protocol's oldest version.
  // The size that the call's body would have, not that of the simulation around it.
  const parsed = operation.surface.parse(
    whole,
    Buffer.byteLength(JSON.stringify(request)),
    NO_HEADERS,
  );
  const question = orNested(parsed);
  return { question, request: question };
}

/**
 * The step of a real call between decision and dispatch: the 400 for members which the route does
 * not take or another protocol cannot express, or the decision as it will be carried out.
 *
 * @throws {RefusalError} with that 400.
 */
export function simulatedDecision(
  request: InferenceRequest | null,
  { surface }: SimulatedOperation,
  table: RoutingTable,
  decision: Decision,
): Decision {
  const route = table.routes[decision.route];
  if (request !== null) orNested(refusedKind(request, route));
  if (request === null || decision.outcome === "deny" || route === undefined) return decision;
  orNested(surface.refuseUnknown(request.body, route.unknownFields));
  const prepared =
    surface.kind === "unary"
      ? openUnary(table, surface, request, route, decision, null)
      : prepareTranslations(table, surface, request, route, decision);
  return orNested(prepared).decision;
}

function plainQuestion(body: JsonObject, operation: Operation): Question {
  const { model, dimensions } = body;
  return {
    model: typeof model === "string" ? model : "",
    preferences: parsePreferences(body.provider),
    shape: {
      operation,
      needs: wordsOf(body.needs).filter(isCapability).toSorted(),
      features: [
        ...new Set([
          ...wordsOf(body.features).filter(isFeature),
          ...(ALWAYS_USED[operation] ?? []),
        ]),
      ].toSorted(),
      ...(readScalars((member, name) => body[name] ?? PLAIN_SCALARS[member]) ?? PLAIN_SCALARS),
      signatureFamilies: [...new Set(wordsOf(body.signature_families))].toSorted(),
      dimensions: typeof dimensions === "number" ? dimensions : null,
    },
  };
}

function wordsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value)
    ? value.filter((item): item is string => typeof item === "string")
    : [];
}

/** When and with which slots the question is decided. */
interface SimulatedView {
  /** Milliseconds since the epoch, or a window; `null`: now. */
  readonly time: number | PolicyTime | null;
  readonly promoted: boolean;
}

/** @param body validated. */
export function simulationView({ time, promoted }: JsonObject): SimulatedView {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- SIMULATE_SCHEMA describes it
  const window = (time ?? null) as PolicyTime | null;
  return { time: window, promoted: promoted === true };
}

/**
 * Decides from where the caller wants to look; from here and now by the memo that real calls use.
 */
export function decideFrom(
  decider: Decider,
  identity: Identity,
  question: Question,
  { time, promoted }: SimulatedView,
  now: () => number,
): { readonly policies: PolicySet; readonly decision: Decision } {
  const { table, policies } = decider;
  if (time === null && !promoted)
    return { policies, decision: decider.decideRequest(identity, question) };
  const acting = promoted ? promotedPolicies(policies) : policies;
  const decision = decide(table, acting, identity, question, time ?? now());
  return { policies: acting, decision };
}

/** As `orRefuse`; an error inside `request` names its member from the outside. */
function orNested<Value>(value: Value | ServiceError): Value {
  if (!isServiceError(value)) return value;
  const param = value.param === null ? "request" : `request.${value.param}`;
  throw badRequest(value.code, value.message, param);
}
