import { nearestRoutes } from "../decide/decide.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServiceError } from "../canon/error.ts";
import { callKindOf } from "../canon/operation.ts";
import { denialError, withContact } from "../canon/reasons.ts";
import type { InferenceRequest } from "../canon/request.ts";
import { refusedKind } from "../dialects/request-reading.ts";
import { arrangedPlan } from "../dispatch/arrange.ts";
import { relayPlan } from "../dispatch/relay-plan.ts";
import { stopsOf } from "../dispatch/stop-order.ts";
import { NO_ROUTE, admitToLimits, callerBudget, type AdmittedRequest } from "./admission.ts";
import { answerUnary } from "./answer-unary.ts";
import { admit, takeFromToken } from "./authenticate.ts";
import {
  commonHeaders,
  readBounds,
  readClientRequestId,
  readProtocolHeaders,
  waitError,
} from "./heads.ts";
import {
  endOf,
  refusedEnd,
  type Arrival,
  type InferenceCall,
  type RequestEnd,
  type ServedInference,
} from "./inference-call.ts";
import { NodeAnswer, untilDelivered } from "./node-answer.ts";
import { readBody } from "./read-body.ts";
import { Recorder, mustPrecedeCalls, onDisk } from "./recorder.ts";
import { internalError, sendError } from "./send.ts";
import {
  exchangePlans,
  openUnary,
  prepareTranslations,
  type TranslatableDecision,
} from "./translation.ts";

/**
 * Handles one inference request from its first byte to its last: authenticates the caller, reads
 * and decides the request, calls providers, sends and records the answer. Start reading here.
 */
export async function handleInference(
  served: ServedInference,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { runtime, endpoint, vary } = served;
  const { snapshot, release } = runtime.snapshots.take();
  const requestId = runtime.newRequestId();
  const clientRequestId = readClientRequestId(incoming.headers["x-client-request-id"]);
  const common = commonHeaders(requestId, clientRequestId, vary);
  const recorder = new Recorder(
    runtime,
    snapshot,
    endpoint.operation,
    requestId,
    clientRequestId,
    incoming.headers,
  );
  const send = (error: ServiceError) =>
    sendError(
      response,
      endpoint.surface.family,
      error,
      requestId,
      common.concat(recorder.headers()),
    );
  try {
    const arrival = { incoming, response, snapshot, requestId, common, recorder };
    const end = await handleArrival(served, arrival);
    if (end.kind === "refused") recorder.recordRefusal(end.error, end.decided);
    if (end.kind === "aborted") recorder.aborted();
    if ("error" in end) {
      send(end.error);
      recorder.endWithError(end.error);
    }
  } catch {
    // A bug of ours. Its message may quote a body, so it ends here; the id finds the record.
    const error = internalError();
    recorder.crashed(error);
    if (response.headersSent) response.destroy();
    else send(error);
  } finally {
    recorder.close();
    release();
  }
}

/** Authenticates the caller, reads the request, and has it decided and answered. */
async function handleArrival(
  { runtime, endpoint, validate, capacity }: ServedInference,
  arrival: Arrival,
): Promise<RequestEnd> {
  const { incoming, response, snapshot, requestId, common, recorder } = arrival;
  const { error, identity } = await admit(runtime, incoming, response, endpoint);
  recorder.caller = identity;
  if (error !== null) return refusedEnd(error);
  const bounds = readBounds(incoming.headers, runtime.limits.requestTime);
  if ("code" in bounds) return refusedEnd(bounds);
  const stops = stopsOf(runtime, identity);
  const hold = capacity.hold(identity, snapshot.decider.table);
  try {
    const body = await readBody(incoming, runtime.limits, { stopOrder: stops, hold });
    if (body === "aborted") return { kind: "aborted" };
    if ("code" in body) return refusedEnd(body);
    recorder.read(body.bytes);
    const refusal = waitError(bounds.deadline, null) ?? hold.beginRunning() ?? validate(body.value);
    if (refusal !== null) return refusedEnd(refusal);
    const headers = readProtocolHeaders(endpoint.surface, incoming);
    const request = endpoint.surface.parse(body.value, body.bytes, headers);
    if ("code" in request) return refusedEnd(request);
    const exhausted = takeFromToken(runtime.tokens, identity);
    if (exhausted !== null) return refusedEnd(exhausted);
    const call: InferenceCall = {
      runtime,
      endpoint,
      incoming,
      response,
      snapshot,
      requestId,
      common,
      recorder,
      identity,
      bounds,
      stops,
    };
    return await decideAndAnswer(call, request, body.bytes);
  } finally {
    hold.releaseAll();
  }
}

/** @param bytes of the body */
async function decideAndAnswer(
  call: InferenceCall,
  parsed: InferenceRequest,
  bytes: number,
): Promise<RequestEnd> {
  const { runtime, endpoint, snapshot, recorder, identity, bounds } = call;
  const budget = await callerBudget(runtime, snapshot, identity, bounds.deadline);
  if (typeof budget === "object") return refusedEnd(budget);
  // Where no policy reads the budget, the request stays as it is.
  const request = budget === undefined ? parsed : { ...parsed, budget };
  const { table } = snapshot.decider;
  const decision = snapshot.decider.decideRequest(identity, request);
  const route = table.routes[decision.route];
  const strange = refusedKind(request, route);
  if (strange !== null) return refusedEnd(strange);
  if (decision.outcome === "deny") {
    const decided = { request, decision };
    if (decision.route === "") {
      const limited = await admitToLimits(call, request, NO_ROUTE, { bytes, calls: 1 });
      if ("code" in limited) return refusedEnd(limited, decided);
      limited.settleInFull();
    }
    const unrecorded = await onDisk(recorder.decided(decided, bounds.deadline));
    const isUnknown = decision.denial.reason === "model_not_found";
    const nearest = isUnknown ? nearestRoutes(table, identity, request.model) : [];
    const denial = withContact(decision.denial, table, snapshot.decider.policies);
    return endOf(unrecorded ?? denialError(denial, request.paths, nearest));
  }
  if (route === undefined)
    throw new Error("pipeline: a decision for a route that its table does not have");
  const { surface } = endpoint;
  const unknown = surface.refuseUnknown(request.body, route.unknownFields);
  if (unknown !== null) return refusedEnd(unknown);
  const opened =
    surface.kind === "unary"
      ? openUnary(table, surface, request, route, decision, bounds.maxBatchSize)
      : prepareTranslations(table, surface, request, route, decision);
  if ("code" in opened) return refusedEnd(opened);
  const decided = { request, decision: opened.decision };
  const calls = "task" in opened ? opened.task.parts.length : 1;
  // The request itself was counted before the number of its calls was known.
  const exhausted = calls === 1 ? null : takeFromToken(runtime.tokens, identity, calls - 1);
  if (exhausted !== null) return refusedEnd(exhausted, decided);
  const admission = await admitToLimits(call, request, opened.decision, { bytes, calls });
  if ("code" in admission) return refusedEnd(admission, decided);
  try {
    const recording = recorder.decided(decided, bounds.deadline);
    const unrecorded = mustPrecedeCalls(call) ? await onDisk(recording) : null;
    if (unrecorded !== null) {
      admission.releaseReservation();
      return endOf(unrecorded);
    }
    const endpoints = runtime.endpoints.of(callKindOf(endpoint.operation));
    const arranger = { endpoints, stickyKeyOf: runtime.stickyKeyOf };
    const { headers } = call.incoming;
    const arranged = arrangedPlan(arranger, opened.decision, route, request, headers);
    recorder.dispatched(route, opened.decision, arranged.setAside);
    const admitted = { request, route, recording, admission, endpoints, arranged };
    return "task" in opened
      ? await answerUnary(call, admitted, opened)
      : await relay(call, admitted, opened);
  } finally {
    admission.settleInFull();
  }
}

/** Relays or translates the answer of the first candidate that gives one. */
async function relay(
  call: InferenceCall,
  { request, route, recording, admission, endpoints, arranged }: AdmittedRequest,
  translatable: TranslatableDecision,
): Promise<RequestEnd> {
  const { runtime, snapshot, recorder, requestId, bounds } = call;
  const client = new NodeAnswer(call.response, call.common, runtime.limits.writeTime);
  const { plan, inService } = arranged;
  const relayed = await relayPlan(
    {
      request,
      plan,
      inService,
      endpoints,
      callTracer: recorder.callTracer,
      exchangePlans: exchangePlans(
        snapshot.decider.table,
        request,
        route,
        translatable,
        plan,
        requestId,
      ),
      connections: snapshot.connections,
      deadline: bounds.deadline,
      maxAttempts: Math.min(bounds.maxAttempts, route.maxAttempts),
      resends: route.resendAfterReset === true,
      random: Math.random,
      maxAnswerBytes: runtime.limits.answerBytes,
      stopOrder: call.stops,
      countsTokens: admission.countsTokens,
      recording,
      answerHeaders: (candidate, attempt, headers) =>
        recorder.answerHeaders(route.id, [candidate], attempt, headers),
    },
    client,
  );
  const outcome = await untilDelivered(relayed, client);
  const settlement = admission.relayed(outcome, request.shape);
  recorder.relayed({ ...outcome, usage: settlement.usage }, client.sent, settlement);
  return endOf(outcome.error);
}
