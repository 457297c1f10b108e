import { callKindOf } from "../../canon/operation.ts";
import type { RouteDecision } from "../../canon/decision.ts";
import { editSet, NO_EDITS, type EditSet } from "../../canon/generate/edit.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { Identity } from "../../canon/identity.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { RouteRow } from "../../canon/table.ts";
import type { UnaryAnswer, UnarySurface } from "../../dialects/unary/surface.ts";
import { stoppedError } from "../../dispatch/failures.ts";
import type { Recording, RelayOutcome } from "../../dispatch/attempt.ts";
import { Gathering, type Gathered } from "../../dispatch/gather.ts";
import type { StopReason, StopSource } from "../../dispatch/stop-order.ts";
import { arrangedPlan } from "../../dispatch/arrange.ts";
import { GRACE } from "../deadline.ts";
import { OUT_OF_TIME, type Bounds } from "../heads.ts";
import type { InferenceCall } from "../inference-call.ts";
import { answerContext, targetOf } from "../translation.ts";
import { takeFromToken } from "../authenticate.ts";
import { admitToLimits, type Admission, type RelaySettlement } from "../admission.ts";
import { NodeAnswer, untilDelivered } from "../node-answer.ts";
import { mustPrecedeCalls, onDisk } from "../request-recording.ts";
import { openUnary, type OpenedUnary } from "./open-unary.ts";

/**
 * Carries out a decision whose answer is one JSON document: parts are gathered, checked and put
 * together before the first byte is sent. Gives the refusal to send, or `null` when the answer has
 * been sent.
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
  const { runtime, snapshot, recorder } = call;
  const opened = openUnary(
    snapshot.decider.table,
    surface,
    request,
    route,
    decision,
    bounds.maxBatchSize,
  );
  if ("code" in opened) return recorder.refuse(snapshot, identity, opened);
  const calls = opened.task.parts.length;
  // The pipeline has counted the request itself, before the number of its calls was known.
  const exhausted = calls === 1 ? null : takeFromToken(runtime.tokens, identity, calls - 1);
  if (exhausted !== null)
    return recorder.refuseDecided(snapshot, identity, request, opened.decision, exhausted);
  const taken = admitToLimits(call, identity, request, opened.decision, {
    bytes,
    calls,
    deadline: bounds.deadline,
  });
  const admission = taken instanceof Promise ? await taken : taken;
  if ("code" in admission)
    return recorder.refuseDecided(snapshot, identity, request, opened.decision, admission);
  let isCalled = false;
  try {
    const recording = recorder.decided(
      snapshot,
      identity,
      request,
      opened.decision,
      bounds.deadline,
    );
    const unrecorded = mustPrecedeCalls(call, identity) ? await onDisk(recording) : null;
    if (unrecorded !== null) return unrecorded;
    recorder.dispatched();
    isCalled = true;
    return await new UnaryExchange(
      call,
      request,
      opened,
      route,
      bounds,
      recording,
      admission,
    ).run();
  } finally {
    if (isCalled) admission.end();
    else admission.release();
  }
}

const MODEL_REPLACED = editSet("model_replaced");
const BATCH_SPLIT = editSet("batch_split");
const TRANSLATED = editSet("translated");

/** The answer to one request. */
interface UnaryWork {
  readonly gathered: Gathered;
  /** `null` where there is an error. */
  readonly answer: UnaryAnswer | null;
  /** Usage and cost of its calls. */
  readonly settlement: RelaySettlement;
}

/** How the wait for a request's calls ended. */
type WaitEnd = "answered" | "gone" | "deadline" | "unrecorded" | StopReason;

const CANCEL_CAUSES = {
  gone: "client_closed",
  deadline: "client_closed",
  unrecorded: "abandoned",
  server_stopping: "server_stopping",
  key_revoked: "key_revoked",
} as const;

/** One opened request on its way to its answer. */
class UnaryExchange {
  readonly #call: InferenceCall;
  readonly #request: InferenceRequest;
  readonly #opened: OpenedUnary;
  readonly #route: RouteRow;
  readonly #bounds: Bounds;
  readonly #recording: Recording;
  readonly #admission: Admission;
  readonly #client: NodeAnswer;

  constructor(
    call: InferenceCall,
    request: InferenceRequest,
    opened: OpenedUnary,
    route: RouteRow,
    bounds: Bounds,
    recording: Recording,
    admission: Admission,
  ) {
    this.#call = call;
    this.#request = request;
    this.#opened = opened;
    this.#route = route;
    this.#bounds = bounds;
    this.#recording = recording;
    this.#admission = admission;
    this.#client = new NodeAnswer(call.response, call.common, call.runtime.limits.writeTime);
  }

  async run(): Promise<ServiceError | null> {
    const { recorder, snapshot } = this.#call;
    const { end, work } = await this.#wait();
    const { gathered, settlement } = work;
    const unrecorded = await onDisk(this.#recording);
    const isGone = end === "gone" || this.#client.closed;
    const stop = end === "server_stopping" || end === "key_revoked" ? end : null;
    const isWithheld = unrecorded !== null || end === "deadline" || stop !== null;
    const terminal = isGone ? "client_closed" : isWithheld ? "failed" : terminalOf(work);
    const answer = isGone || isWithheld ? null : work.answer;
    const ended = stop ?? gathered.ended;
    const outcome: RelayOutcome = {
      ...outcomeOf(
        work,
        terminal,
        this.#opened,
        this.#editsOf(work),
        answer === null ? null : performance.now(),
      ),
      stripped: [...this.#opened.task.stripped, ...(this.#request.headers.unsent ?? [])],
      ...(ended !== null && { ended }),
    };
    if (unrecorded !== null && !isGone) {
      // The calls that were made meanwhile stand in the evidence, which is written late.
      recorder.relayed({ ...outcome, error: unrecorded }, 0, settlement);
      return unrecorded;
    }
    if (answer === null) {
      recorder.relayed(outcome, 0, settlement);
      if (isGone) return null;
      if (stop !== null) return stoppedError(stop);
      return end === "deadline" ? OUT_OF_TIME : outcome.error;
    }
    const { answeredBy, calls } = gathered;
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
        calls,
        outcome,
      ),
    ]);
    this.#client.endWith(answer.bytes);
    recorder.relayed(await untilDelivered(outcome, this.#client), this.#client.sent, settlement);
    if (this.#client.isDelivered) freeAnswers(gathered.ends, answer);
    return null;
  }

  /**
   * Makes the calls. They are cancelled when the client leaves, the deadline passes, the decision
   * cannot be recorded, or the server or the key ends, whichever is first.
   */
  async #wait(): Promise<{ readonly end: WaitEnd; readonly work: UnaryWork }> {
    const gathering = this.#gathering();
    const working = this.#work(gathering);
    let end: WaitEnd = "answered";
    let isSettled = false;
    const giveUp = (why: Exclude<WaitEnd, "answered">): void => {
      if (end !== "answered" || isSettled) return;
      end = why;
      gathering.cancel(CANCEL_CAUSES[why]);
    };
    const timer = setTimeout(
      () => giveUp("deadline"),
      Math.max(this.#bounds.deadline - performance.now(), 0) + GRACE,
    );
    this.#client.onClose(() => giveUp("gone"));
    void this.#recording.result.then((error) => {
      if (error !== null) giveUp("unrecorded");
    });
    const stops: StopSource | undefined = this.#call.stops;
    const forget = stops?.onGiven(({ reason, running }) => {
      if (running === "end") giveUp(reason);
    });
    try {
      return { work: await working, end };
    } finally {
      isSettled = true;
      clearTimeout(timer);
      forget?.();
    }
  }

  /** What was changed in the calls that were made. */
  #editsOf(work: UnaryWork): EditSet {
    let edits = this.#opened.task.parts.length > 1 ? BATCH_SPLIT : NO_EDITS;
    for (const { candidate } of work.gathered.attempts) {
      if (candidate.endpoint.upstreamModel !== this.#request.model) edits |= MODEL_REPLACED;
      if (candidate.endpoint.dialect !== this.#call.endpoint.surface.dialect) edits |= TRANSLATED;
    }
    return edits;
  }

  #gathering(): Gathering {
    const { runtime, snapshot, endpoint, incoming, recorder } = this.#call;
    const { decision, task } = this.#opened;
    const { stickyKeyOf } = runtime;
    const endpoints = runtime.endpoints.of(callKindOf(endpoint.operation));
    return new Gathering({
      task,
      callersBody: this.#request.body,
      ...arrangedPlan(
        { endpoints, stickyKeyOf },
        decision,
        this.#route,
        this.#request,
        incoming.headers,
      ),
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
  }

  async #work(gathering: Gathering): Promise<UnaryWork> {
    const { decision, task } = this.#opened;
    const gathered = await gathering.run();
    const { ends, attempts, answered } = gathered;
    const answering = (gathered.answeredBy[0] ?? decision.plan[0]).endpoint;
    const context = answerContext(this.#request, this.#call.requestId, answering, null);
    const answer = ends === null ? null : task.answer(ends, context);
    return { gathered, answer, settlement: this.#admission.gathered(attempts, answered) };
  }
}

function freeAnswers(ends: Gathered["ends"], answer: UnaryAnswer): void {
  for (const end of ends ?? []) if ("bytes" in end) end.bytes.free();
  answer.bytes.free();
}

function terminalOf(work: UnaryWork): RelayOutcome["terminal"] {
  if (work.answer === null) return work.gathered.error === null ? "client_closed" : "failed";
  return work.answer.gaps > 0 ? "incomplete" : "completed";
}

function outcomeOf(
  { answer, gathered, settlement: { usage } }: UnaryWork,
  terminal: RelayOutcome["terminal"],
  { task }: OpenedUnary,
  edits: EditSet,
  firstByteAt: number | null,
): Omit<RelayOutcome, "stripped"> {
  return {
    terminal,
    error: gathered.error,
    attempts: gathered.attempts,
    finish: null,
    usage,
    outputCharacters: null,
    firstByteAt,
    edits,
    dropped: [...new Set([...task.dropped, ...gathered.dropped, ...(answer?.dropped ?? [])])],
  };
}
