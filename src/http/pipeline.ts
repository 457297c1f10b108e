import { callKindOf } from "../canon/operation.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServiceError } from "../canon/error.ts";
import type { Identity } from "../canon/identity.ts";
import { denialError } from "../canon/reasons.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { RouteRow } from "../canon/table.ts";
import type { Surface } from "../dialects/dialect.ts";
import { planExchange, upstreamFor } from "../dialects/exchange-plan.ts";
import { refusedKind } from "../dialects/fields.ts";
import type { Recording } from "../dispatch/attempt.ts";
import { relayPlan } from "../dispatch/relay-plan.ts";
import { arrangedPlan } from "../dispatch/arrange.ts";
import { admit, takeFromToken } from "./authenticate.ts";
import {
  readBounds,
  type Bounds,
  commonHeaders,
  readClientRequestId,
  readProtocolHeaders,
  waitError,
} from "./heads.ts";
import { stopsOf } from "../dispatch/stop-order.ts";
import { admitToLimits, callerBudget, NO_ROUTE, type Admission } from "./admission.ts";
import { NodeAnswer, untilDelivered } from "./node-answer.ts";
import { readBody } from "./read-body.ts";
import { Recorder } from "./recorder.ts";
import { mustPrecedeCalls, onDisk } from "./request-recording.ts";
import { internalError, sendError } from "./send.ts";
import {
  answerContext,
  prepareTranslations,
  targetOf,
  type TranslatableDecision,
} from "./translation.ts";
import { answerUnary } from "./unary/answer-unary.ts";
import type { InferenceCall, ServedInference } from "./inference-call.ts";

/**
 * One inference request, from its first byte to its last: who calls, what it requests, where it may
 * go, what came back, what is recorded. Start reading here.
 */
export async function handleInference(
  { runtime, endpoint, validate, capacity, vary }: ServedInference,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { snapshot, done } = runtime.snapshots.take();
  const requestId = runtime.newRequestId();
  const clientRequestId = readClientRequestId(incoming.headers["x-client-request-id"]);
  const common = commonHeaders(requestId, clientRequestId, vary);
  const recorder = new Recorder(
    runtime,
    endpoint.operation,
    requestId,
    clientRequestId,
    incoming.headers,
  );
  try {
    const refusal = await handle({
      runtime,
      endpoint,
      validate,
      capacity,
      incoming,
      response,
      snapshot,
      requestId,
      common,
      recorder,
    });
    if (refusal === null) return;
    sendError(response, endpoint.surface.family, refusal, requestId, [
      ...common,
      ...recorder.headers(snapshot),
    ]);
    recorder.refused(refusal);
  } catch {
    // A bug of ours. What it says may quote a body, so it ends here; the id finds the record.
    const error = internalError();
    recorder.crashed(snapshot, error);
    if (response.headersSent) response.destroy();
    else
      sendError(response, endpoint.surface.family, error, requestId, [
        ...common,
        ...recorder.headers(snapshot),
      ]);
  } finally {
    recorder.close();
    done();
  }
}

/** Gives the refusal to send, or `null` when the answer has been sent. */
async function handle(call: InferenceCall): Promise<ServiceError | null> {
  const { runtime, endpoint, incoming, snapshot, recorder } = call;
  const admitted = admit(runtime, incoming, call.response, endpoint);
  const { error, identity } = admitted instanceof Promise ? await admitted : admitted;
  if (error !== null) return recorder.refuse(snapshot, identity, error);
  recorder.caller = identity;
  const bounds = readBounds(incoming.headers, runtime.limits.requestTime);
  if ("code" in bounds) return recorder.refuse(snapshot, identity, bounds);
  const hold = call.capacity.hold(identity, snapshot.decider.table);
  call.stops = stopsOf(runtime, identity);
  try {
    const body = await readBody(incoming, runtime.limits, { stopOrder: call.stops, hold });
    if (body === "aborted") {
      recorder.aborted(snapshot, identity);
      return null;
    }
    if ("code" in body) return recorder.refuse(snapshot, identity, body);
    recorder.read(body.bytes);
    const refusal =
      waitError(bounds.deadline, null) ?? hold.beginRunning() ?? call.validate(body.value);
    if (refusal !== null) return recorder.refuse(snapshot, identity, refusal);
    const request = endpoint.surface.parse(
      body.value,
      body.bytes,
      readProtocolHeaders(endpoint.surface, incoming),
    );
    if ("code" in request) return recorder.refuse(snapshot, identity, request);
    const exhausted = takeFromToken(runtime.tokens, identity);
    if (exhausted !== null) return recorder.refuse(snapshot, identity, exhausted);
    return await decideAndAnswer(call, identity, request, body.bytes, bounds);
  } finally {
    hold.end();
  }
}

async function decideAndAnswer(
  call: InferenceCall,
  identity: Identity,
  parsed: InferenceRequest,
  bytes: number,
  bounds: Bounds,
): Promise<ServiceError | null> {
  const { endpoint, snapshot, recorder } = call;
  const { deadline } = bounds;
  const left = callerBudget(call.runtime, snapshot, identity, deadline);
  const budget = left instanceof Promise ? await left : left;
  if (typeof budget === "object") return recorder.refuse(snapshot, identity, budget);
  // Where no policy reads the budget, the request stays as it is.
  const request = budget === undefined ? parsed : { ...parsed, budget };
  const decision = snapshot.decider.decide(identity, request);
  const route = snapshot.decider.table.routes[decision.route];
  const strange = refusedKind(request, route);
  if (strange !== null) return recorder.refuse(snapshot, identity, strange);
  if (decision.outcome === "deny") {
    const error = denialError(decision.denial, request.paths);
    if (decision.route === "") {
      const counted = await admitToLimits(call, identity, request, NO_ROUTE, {
        bytes,
        calls: 1,
        deadline,
      });
      if ("code" in counted)
        return recorder.refuseDecided(snapshot, identity, request, decision, counted);
      counted.end();
    }
    return (
      (await onDisk(recorder.decided(snapshot, identity, request, decision, deadline))) ?? error
    );
  }
  if (route === undefined)
    throw new Error("pipeline: a decision for a route that its table does not have");
  const unknown = endpoint.surface.refuseUnknown(request.body, route.unknownFields);
  if (unknown !== null) return recorder.refuse(snapshot, identity, unknown);
  const { surface } = endpoint;
  if (surface.kind === "unary")
    return answerUnary(call, surface, identity, request, bytes, route, decision, bounds);
  const prepared = prepareTranslations(snapshot.decider.table, surface, request, route, decision);
  if ("code" in prepared) return recorder.refuse(snapshot, identity, prepared);
  const taken = admitToLimits(call, identity, request, prepared.decision, {
    bytes,
    calls: 1,
    deadline,
  });
  const admission = taken instanceof Promise ? await taken : taken;
  if ("code" in admission)
    return recorder.refuseDecided(snapshot, identity, request, prepared.decision, admission);
  try {
    const recording = recorder.decided(snapshot, identity, request, prepared.decision, deadline);
    const unrecorded = mustPrecedeCalls(call, identity) ? await onDisk(recording) : null;
    if (unrecorded !== null) {
      admission.release();
      return unrecorded;
    }
    return await relay(call, surface, request, prepared, route, bounds, recording, admission);
  } finally {
    admission.end();
  }
}

async function relay(
  call: InferenceCall,
  surface: Surface,
  request: InferenceRequest,
  { decision, prepared }: TranslatableDecision,
  route: RouteRow,
  bounds: Bounds,
  recording: Recording,
  admission: Admission,
): Promise<ServiceError | null> {
  const { snapshot, recorder, requestId } = call;
  const client = new NodeAnswer(call.response, call.common, call.runtime.limits.writeTime);
  const { table } = snapshot.decider;
  recorder.dispatched();
  const { stickyKeyOf } = call.runtime;
  const endpoints = call.runtime.endpoints.of(callKindOf(request.shape.operation));
  const { plan, inService } = arrangedPlan(
    { endpoints, stickyKeyOf },
    decision,
    route,
    request,
    call.incoming.headers,
  );
  const relayed = await relayPlan(
    {
      request,
      plan,
      inService,
      endpoints,
      callTracer: recorder.callTracer,
      exchangePlanFor: (candidate) => {
        const target = targetOf(table, candidate.endpoint);
        const context = answerContext(
          request,
          requestId,
          candidate.endpoint,
          target.model.signatureFamily,
        );
        const translation = prepared.get(candidate.endpoint.id) ?? null;
        const options = {
          surface,
          request,
          prepared: translation,
          route,
          edits: decision.edits,
          context,
        };
        return planExchange(options, target, upstreamFor("generate", candidate.endpoint.dialect));
      },
      connections: snapshot.connections,
      deadline: bounds.deadline,
      maxAttempts: Math.min(bounds.maxAttempts, route.maxAttempts),
      resends: route.resendAfterReset === true,
      random: Math.random,
      maxAnswerBytes: call.runtime.limits.answerBytes,
      stopOrder: call.stops,
      countsTokens: admission.countsTokens,
      recording,
      answerHeaders: (candidate, attempt, known) =>
        recorder.answerHeaders(snapshot, route.id, [candidate], attempt, known),
    },
    client,
  );
  // What a provider has seen meanwhile stands in the evidence, which is written late.
  const isUnrecorded =
    relayed.terminal === "failed" && relayed.error === null && relayed.firstByteAt === null;
  const delivered = isUnrecorded
    ? recording.result.then((error) => ({ ...relayed, error }))
    : untilDelivered(relayed, client);
  const outcome = delivered instanceof Promise ? await delivered : delivered;
  const settlement = admission.relayed(outcome, request.shape);
  recorder.relayed({ ...outcome, usage: settlement.usage }, client.sent, settlement);
  return outcome.error;
}
