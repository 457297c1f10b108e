import { callKindOf } from "../../canon/operation.ts";
import type { RouteDecision } from "../../canon/decision.ts";
import { editSet, NO_EDITS, type EditSet } from "../../canon/generate/edit.ts";
import type { ServiceError } from "../../canon/error.ts";
import { codedError } from "../../canon/errors/coded-error.ts";
import type { Identity } from "../../canon/identity.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { RouteRow } from "../../canon/table.ts";
import type { UnaryAnswer, UnarySurface } from "../../dialects/unary/surface.ts";
import { stoppedError } from "../../dispatch/failures.ts";
import type { RelayOutcome } from "../../dispatch/attempt.ts";
import { Gathering, type Gathered } from "../../dispatch/gather.ts";
import { arrangedPlan } from "../../dispatch/arrange.ts";
import type { Bounds } from "../heads.ts";
import type { InferenceCall } from "../inference-call.ts";
import { answerContext, targetOf } from "../translation.ts";
import { takeFromToken } from "../authenticate.ts";
import { admitToLimits } from "../admission.ts";
import {
  idempotentCall,
  readIdempotencyKey,
  type IdempotentCall,
  type Share,
  type Work,
  type UnaryWork,
  waitFor,
  type Waited,
} from "./joined.ts";
import { UnaryAdmissions } from "./unary-admissions.ts";
import { NodeAnswer, untilDelivered } from "../node-answer.ts";
import { openUnary, type OpenedUnary } from "./open-unary.ts";

/**
 * Carries out a decision whose answer is one JSON document: parts are gathered, checked and put together before the first byte is sent. Gives
 * the refusal to send, or `null` when the answer has been sent.
 */
export async function answerUnary(
  call: InferenceCall,
  surface: UnarySurface,
  identity: Identity,
  request: InferenceRequest,
  bytes: number,
  route: RouteRow,
  decision: RouteDecision,
  bounds: Bounds,
): Promise<ServiceError | null> {
  const { runtime, snapshot, recorder, endpoint } = call;
  const idempotencyKey = readIdempotencyKey(call.incoming.headers);
  if (idempotencyKey !== null && typeof idempotencyKey !== "string") {
    return recorder.refuse(snapshot, identity, idempotencyKey);
  }
  const opened = openUnary(snapshot.decider.table, surface, request, route, decision, bounds.maxBatchSize);
  if ("code" in opened) return recorder.refuse(snapshot, identity, opened);
  const idempotent =
    idempotencyKey === null
      ? null
      : idempotentCall(callerOf(identity), idempotencyKey, endpoint.operation, request.body, opened.decision);
  const calls = opened.task.parts.length;
  const admit = (): ReturnType<typeof admitToLimits> =>
    admitToLimits(call, identity, request, opened.decision, { bytes, calls, deadline: bounds.deadline });
  const begun = await runtime.running.announce(idempotent, bounds.deadline);
  let admissions: UnaryAdmissions | null = null;
  try {
    // Who joins another's work uses nothing of its own.
    const joins = runtime.running.hasWorkFor(idempotent);
    // The pipeline has counted the request itself, before the number of its calls was known.
    const exhausted = joins || calls === 1 ? null : takeFromToken(runtime.tokens, identity, calls - 1);
    if (exhausted !== null) {
      return recorder.refuseDecided(snapshot, identity, request, opened.decision, exhausted);
    }
    const taken = joins ? null : admit();
    const admission = taken instanceof Promise ? await taken : taken;
    if (admission !== null && "code" in admission) {
      return recorder.refuseDecided(snapshot, identity, request, opened.decision, admission);
    }
    admissions = new UnaryAdmissions(admission, admit);
    const recorded = recorder.decided(snapshot, identity, request, opened.decision, bounds.deadline);
    // As for a stream (pipeline.ts).
    const unrecorded = runtime.evidenceStatus().state === "ok" ? null : await recorded;
    if (unrecorded !== null) return unrecorded;
    recorder.dispatched();
    const carrier = new UnaryCarrier(call, request, opened, route, bounds, idempotent, recorded, admissions);
    const answered = carrier.run();
    begun();
    return await answered;
  } finally {
    begun();
    admissions?.close();
  }
}

const MODEL_REPLACED = editSet("model_replaced");
const BATCH_SPLIT = editSet("batch_split");
const TRANSLATED = editSet("translated");

/** Holders of two tokens of one key are two callers: neither may join the other's request. */
function callerOf({ keyId, narrowed }: Identity): string {
  return narrowed === undefined || narrowed === null ? keyId : `${keyId}.${narrowed.tokenId}`;
}

/** One opened request on its way to its answer: alone, or with others that ask the same. */
class UnaryCarrier {
  readonly #call: InferenceCall;
  readonly #request: InferenceRequest;
  readonly #opened: OpenedUnary;
  readonly #route: RouteRow;
  readonly #bounds: Bounds;
  readonly #idempotent: IdempotentCall | null;
  readonly #recorded: Promise<ServiceError | null>;
  readonly #client: NodeAnswer;
  readonly #admissions: UnaryAdmissions;

  constructor(
    call: InferenceCall,
    request: InferenceRequest,
    opened: OpenedUnary,
    route: RouteRow,
    bounds: Bounds,
    idempotent: IdempotentCall | null,
    recorded: Promise<ServiceError | null>,
    admissions: UnaryAdmissions,
  ) {
    this.#admissions = admissions;
    this.#call = call;
    this.#request = request;
    this.#opened = opened;
    this.#route = route;
    this.#bounds = bounds;
    this.#idempotent = idempotent;
    this.#recorded = recorded;
    this.#client = new NodeAnswer(call.response, call.common, call.runtime.limits.writeTime);
  }

  async run(): Promise<ServiceError | null> {
    for (;;) {
      const share = this.#join();
      if ("code" in share) {
        return (await this.#recorded) ?? share;
      }
      const waited = await waitFor(share, this.#client, this.#bounds.deadline, this.#recorded, this.#call.stops);
      if (!this.#mayTryAlone(share, waited)) return this.#settle(share, waited);
    }
  }

  #join(): Share<UnaryWork> | ServiceError {
    const { runtime, requestId } = this.#call;
    return runtime.running.join(this.#idempotent, requestId, this.#bounds, () => this.#begin());
  }

  /** Work that failed within the bounds of another request has not failed within this one's. */
  #mayTryAlone({ joined, bounds }: Share<UnaryWork>, { end, work }: Waited<UnaryWork>): boolean {
    if (joined === null || end !== "answered" || work?.answer !== null) return false;
    const { deadline, maxAttempts } = this.#bounds;
    return performance.now() < deadline && (deadline > bounds.deadline || maxAttempts > bounds.maxAttempts);
  }

  async #settle(share: Share<UnaryWork>, { end, work }: Waited<UnaryWork>): Promise<ServiceError | null> {
    const { recorder, snapshot } = this.#call;
    const unrecorded = await this.#recorded;
    const isGone = end === "gone" || this.#client.closed;
    const stop = end === "server_stopping" || end === "key_revoked" ? end : null;
    const isWithheld = unrecorded !== null || end === "deadline" || stop !== null;
    const terminal = isGone ? "client_closed" : isWithheld ? "failed" : terminalOf(work);
    const answer = isGone || isWithheld ? null : (work?.answer ?? null);
    // The usage of the calls is reported once, by the caller or, if it has left, by the last call.
    const claims = work !== null && share.claim();
    const ended = stop ?? work?.gathered.ended ?? null;
    const outcome: RelayOutcome = {
      ...outcomeOf(
        work,
        claims,
        terminal,
        this.#opened,
        this.#editsOf(work),
        answer === null ? null : performance.now(),
      ),
      ...(ended !== null && { ended }),
    };
    const settlement = claims ? work.settlement : { estimated: false, cost: undefined, joined: share.joined };
    if (unrecorded !== null && !isGone) {
      // What a provider has seen meanwhile stands in the evidence, which is written late.
      recorder.relayed({ ...outcome, error: unrecorded }, 0, settlement);
      return unrecorded;
    }
    if (answer === null || work === null) {
      recorder.relayed(outcome, 0, settlement);
      if (isGone) return null;
      if (stop !== null) return stoppedError(stop);
      return end === "deadline" ? outOfTime() : outcome.error;
    }
    const { answeredBy, calls } = work.gathered;
    const [first] = this.#opened.decision.plan;
    this.#client.start(200, [
      "content-type",
      "application/json",
      "content-length",
      String(answer.bytes.length),
      ...recorder.answerHeaders(
        snapshot,
        this.#route.id,
        answeredBy.length > 0 ? answeredBy : [first],
        claims ? calls : 0,
        outcome,
      ),
    ]);
    this.#client.endWith(answer.bytes);
    recorder.relayed(await untilDelivered(outcome, this.#client), this.#client.sent, settlement);
    // A request that has joined this one may be sending the same bytes still.
    if (this.#idempotent === null && this.#client.isDelivered) freeAnswers(work.gathered.ends, answer);
    return null;
  }

  /** What was changed in the calls that were made. */
  #editsOf(work: UnaryWork | null): EditSet {
    if (work === null) return NO_EDITS;
    let edits = this.#opened.task.parts.length > 1 ? BATCH_SPLIT : NO_EDITS;
    for (const { candidate } of work.gathered.attempts) {
      if (candidate.endpoint.upstreamModel !== this.#request.model) edits |= MODEL_REPLACED;
      if (candidate.endpoint.dialect !== this.#call.endpoint.surface.dialect) edits |= TRANSLATED;
    }
    return edits;
  }

  #begin(): Work<UnaryWork> {
    const { runtime, snapshot, requestId, endpoint, incoming, recorder } = this.#call;
    const { decision, task } = this.#opened;
    const { stickyKeyOf } = runtime;
    const endpoints = runtime.endpoints.of(callKindOf(endpoint.operation));
    const gathering = new Gathering({
      task,
      callersBody: this.#request.body,
      ...arrangedPlan({ endpoints, stickyKeyOf }, decision, this.#route, this.#request, incoming.headers),
      endpoints,
      callTracer: recorder.callTracer,
      ownDialect: endpoint.surface.dialect,
      targetOf: (candidate) => targetOf(snapshot.decider.table, candidate.endpoint),
      connections: snapshot.connections,
      deadline: this.#bounds.deadline,
      maxAttempts: Math.min(this.#bounds.maxAttempts, this.#route.maxAttempts),
      resends: this.#route.resendAfterReset === true,
      maxAnswerBytes: runtime.limits.answerBytes,
      hedgeAfter: this.#route.hedgeAfter,
      random: Math.random,
      stopOrder: this.#call.stops,
    });
    const result = this.#admissions.carry(async () => {
      const gathered = await gathering.run();
      if (gathered.ends === null) return { gathered, answer: null };
      const answering = (gathered.answeredBy[0] ?? decision.plan[0]).endpoint;
      return { gathered, answer: task.answer(gathered.ends, answerContext(this.#request, requestId, answering, null)) };
    });
    return { result, cancel: (why) => gathering.cancel(why) };
  }
}

function freeAnswers(ends: Gathered["ends"], answer: UnaryAnswer): void {
  for (const end of ends ?? []) if ("bytes" in end) end.bytes.free();
  answer.bytes.free();
}

function outOfTime(): ServiceError {
  return codedError("upstream_timeout_total", "Upstream failure: the request's deadline passed.");
}

function terminalOf(work: UnaryWork | null): RelayOutcome["terminal"] {
  if (work === null) return "failed";
  if (work.answer === null) return work.gathered.error === null ? "client_closed" : "failed";
  return work.answer.gaps > 0 ? "incomplete" : "completed";
}

/** @param claims whether this request reports what the calls used. */
function outcomeOf(
  work: UnaryWork | null,
  claims: boolean,
  terminal: RelayOutcome["terminal"],
  { task }: OpenedUnary,
  edits: EditSet,
  firstByteAt: number | null,
): RelayOutcome {
  const inputTokens = claims ? (work?.answer?.inputTokens ?? work?.gathered.spentTokens ?? null) : null;
  return {
    terminal,
    error: work?.gathered.error ?? null,
    attempts: claims ? (work?.gathered.attempts ?? []) : [],
    finish: null,
    usage:
      inputTokens === null
        ? null
        : { input: inputTokens, output: null, cacheRead: null, cacheWrite: null, reasoning: null },
    outputCharacters: null,
    firstByteAt,
    stripped: task.stripped,
    edits,
    dropped: [...new Set([...task.dropped, ...(work?.gathered.dropped ?? []), ...(work?.answer?.dropped ?? [])])],
  };
}
