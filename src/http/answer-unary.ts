import { editSet, NO_EDITS, type EditSet } from "../canon/generate/edit.ts";
import type { UnaryAnswer } from "../dialects/unary/surface.ts";
import { stoppedError } from "../dispatch/failures.ts";
import type { RelayOutcome } from "../dispatch/attempt.ts";
import { Gathering, type Gathered } from "../dispatch/gather.ts";
import type { StopReason } from "../dispatch/stop-order.ts";
import { GRACE, OUT_OF_TIME } from "./heads.ts";
import { endOf, type InferenceCall, type RequestEnd } from "./inference-call.ts";
import { answerContext, type OpenedUnary } from "./translation.ts";
import type { AdmittedRequest, RelaySettlement } from "./admission.ts";
import { NodeAnswer, untilDelivered } from "./node-answer.ts";
import { onDisk } from "./recorder.ts";

/**
 * Answers with one JSON document: parts are gathered, checked and put together before the first
 * byte is sent.
 */
export function answerUnary(
  call: InferenceCall,
  admitted: AdmittedRequest,
  opened: OpenedUnary,
): Promise<RequestEnd> {
  return new UnaryExchange(call, admitted, opened).run();
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
  readonly #admitted: AdmittedRequest;
  readonly #opened: OpenedUnary;
  readonly #client: NodeAnswer;

  constructor(call: InferenceCall, admitted: AdmittedRequest, opened: OpenedUnary) {
    this.#call = call;
    this.#admitted = admitted;
    this.#opened = opened;
    this.#client = new NodeAnswer(call.response, call.common, call.runtime.limits.writeTime);
  }

  async run(): Promise<RequestEnd> {
    const { recorder } = this.#call;
    const { request, route, recording } = this.#admitted;
    const { end, work } = await this.#wait();
    const { gathered, settlement } = work;
    const unrecorded = await onDisk(recording);
    const isClientGone = end === "gone" || this.#client.closed;
    const stop = end === "server_stopping" || end === "key_revoked" ? end : null;
    const isWithheld = unrecorded !== null || end === "deadline" || stop !== null;
    const terminal = isClientGone ? "client_closed" : isWithheld ? "failed" : terminalOf(work);
    const answer = isClientGone || isWithheld ? null : work.answer;
    const ended = stop ?? gathered.ended;
    const outcome: RelayOutcome = {
      ...outcomeOf(
        work,
        terminal,
        this.#opened,
        this.#editsOf(work),
        answer === null ? null : performance.now(),
      ),
      stripped: [...this.#opened.task.stripped, ...(request.headers.unsent ?? [])],
      ...(ended !== null && { ended }),
    };
    if (unrecorded !== null && !isClientGone) {
      // The calls that were made meanwhile stand in the evidence, which is written late.
      recorder.relayed({ ...outcome, error: unrecorded }, 0, settlement);
      return endOf(unrecorded);
    }
    if (answer === null) {
      recorder.relayed(outcome, 0, settlement);
      if (isClientGone) return endOf(null);
      if (stop !== null) return endOf(stoppedError(stop));
      return endOf(end === "deadline" ? OUT_OF_TIME : outcome.error);
    }
    const { answeredBy, calls } = gathered;
    const [first] = this.#opened.decision.plan;
    this.#client.start(200, [
      "content-type",
      "application/json",
      "content-length",
      String(answer.bytes.length),
      ...recorder.answerHeaders(
        route.id,
        answeredBy.length > 0 ? answeredBy : [first],
        calls,
        outcome,
      ),
    ]);
    this.#client.endWith(answer.bytes);
    recorder.relayed(await untilDelivered(outcome, this.#client), this.#client.sent, settlement);
    if (this.#client.isDelivered) freeAnswers(gathered.ends, answer);
    return endOf(null);
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
    const giveUp = (why: Exclude<WaitEnd, "answered">) => {
      if (end !== "answered" || isSettled) return;
      end = why;
      gathering.cancel(CANCEL_CAUSES[why]);
    };
    const timer = setTimeout(
      () => giveUp("deadline"),
      Math.max(this.#call.bounds.deadline - performance.now(), 0) + GRACE,
    );
    this.#client.onClose(() => giveUp("gone"));
    void this.#admitted.recording.result.then((error) => {
      if (error !== null) giveUp("unrecorded");
    });
    const forget = this.#call.stops.onGiven(({ reason, running }) => {
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

  /** Edits of the calls that were made. */
  #editsOf(work: UnaryWork): EditSet {
    let edits = this.#opened.task.parts.length > 1 ? BATCH_SPLIT : NO_EDITS;
    for (const { candidate } of work.gathered.attempts) {
      if (candidate.endpoint.upstreamModel !== this.#admitted.request.model)
        edits |= MODEL_REPLACED;
      if (candidate.endpoint.dialect !== this.#call.endpoint.surface.dialect) edits |= TRANSLATED;
    }
    return edits;
  }

  #gathering(): Gathering {
    const { runtime, snapshot, endpoint, recorder, bounds } = this.#call;
    const { task, targets } = this.#opened;
    const { request, route, endpoints, arranged } = this.#admitted;
    const { plan, inService } = arranged;
    return new Gathering({
      task,
      callersBody: request.body,
      plan,
      inService,
      endpoints,
      callTracer: recorder.callTracer,
      ownDialect: endpoint.surface.dialect,
      targets,
      connections: snapshot.connections,
      deadline: bounds.deadline,
      maxAttempts: Math.min(bounds.maxAttempts, route.maxAttempts),
      resends: route.resendAfterReset === true,
      maxAnswerBytes: runtime.limits.answerBytes,
      hedgeAfter: route.hedgeAfter,
      random: Math.random,
      stopOrder: this.#call.stops,
    });
  }

  async #work(gathering: Gathering): Promise<UnaryWork> {
    const { decision, task } = this.#opened;
    const { request, admission } = this.#admitted;
    const gathered = await gathering.run();
    const { ends, attempts, answeredParts } = gathered;
    const answering = (gathered.answeredBy[0] ?? decision.plan[0]).endpoint;
    const context = answerContext(request, this.#call.requestId, answering, null);
    const answer = ends === null ? null : task.answer(ends, context);
    return { gathered, answer, settlement: admission.gathered(attempts, answeredParts) };
  }
}

function freeAnswers(ends: Gathered["ends"], answer: UnaryAnswer) {
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
