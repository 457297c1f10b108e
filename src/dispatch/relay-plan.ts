import type { Candidate } from "../canon/decision.ts";
import type { ServiceError } from "../canon/error.ts";
import { failureOf, type FailureKind, type UpstreamFailure } from "../canon/failure.ts";
import {
  NO_EDITS,
  type AnswerEdits,
  type DroppedField,
  type EditSet,
} from "../canon/generate/edit.ts";
import { INCOMPLETE_REASONS, type TokenUsage } from "../canon/generate/event.ts";
import type { AnswerStream, Ending } from "../dialects/dialect.ts";
import { readableAnswer, checkedEnd, type ExchangePlan } from "../dialects/exchange-plan.ts";
import type { AnswerBytes } from "../dialects/unary/answer-bytes.ts";
import type {
  AttemptReport,
  CallEnd,
  Calls,
  ClientAnswer,
  RelayJob,
  RelayOutcome,
} from "./attempt.ts";
import type { Connection } from "./connections.ts";
import { timeoutsFor, type ResponseHeaders } from "./exchange.ts";
import { failureError, hasCalledProvider, reportedFailure, stoppedError } from "./failures.ts";
import { Outbox, DrainAfterDisconnect } from "./outbox.ts";
import { PlanWalk, type WalkStop } from "./plan-walk.ts";
import { ProviderCall } from "./provider-call.ts";
import type { StopCause, StopReason } from "./stop-order.ts";

/**
 * A stream frames every few characters: it may have this many times the bytes of a whole answer.
 */
const STREAM_FACTOR = 8;

/** The first line of a server-sent event. */
const EVENT_BEGINS = /^\s*(?:data|event|id|retry)?:/;

const EVENT_STREAM = [
  "content-type",
  "text/event-stream; charset=utf-8",
  "cache-control",
  "no-cache",
];

/** Facts of an answer besides its end. */
interface RelayedAnswer {
  /** Dropped fields of the answer. */
  readonly dropped: readonly DroppedField[];
  /** Edits of the answer besides dropped fields. */
  readonly edits: EditSet;
  /** Output characters of a stream that were read; `null` for a whole answer and without any. */
  readonly outputCharacters: number | null;
}

/** Sends one candidate's answer to the client, relayed or translated, and reports its end. */
class RelayAttempt extends ProviderCall<RelayedAnswer> {
  readonly translated: boolean;
  readonly #job: RelayJob;
  readonly #candidate: Candidate;
  readonly #number: number;
  /** The decision is on disk. */
  #isDurable: boolean;
  readonly #exchangePlan: ExchangePlan;
  readonly #client: ClientAnswer;
  #stream: AnswerStream | null = null;
  /** A stream without its protocol's end mark may have been cut, unless its usage has come. */
  #mayBeCut = false;
  #collected = 0;
  /** Stream bytes on their way to the client; created with the stream. */
  #outbox: Outbox | null = null;
  readonly #startedAt = performance.now();
  /** Time of a stream's first output. */
  #firstOutputAt: number | null = null;
  /** Milliseconds to the whole answer that is no stream. */
  #wholeAnswer: number | undefined;
  #firstByteAt: number | null = null;
  /** A whole answer: its end, and how to send it. It waits until the decision is on disk. */
  #pendingAnswer: { readonly ending: Ending; readonly send: () => void } | null = null;
  #notSent = false;
  /** Drains a stream whose client has disconnected; `null` while the client is connected. */
  #drain: DrainAfterDisconnect | null = null;

  constructor(
    job: RelayJob,
    candidate: Candidate,
    connection: Connection,
    exchangePlan: ExchangePlan,
    number: number,
    client: ClientAnswer,
    isDurable: boolean,
  ) {
    super(connection, {
      path: `${connection.pathPrefix}${exchangePlan.path}`,
      headers:
        exchangePlan.headers.length === 0
          ? connection.headers
          : [...connection.headers, ...exchangePlan.headers],
      body: exchangePlan.body(),
      timeouts: timeoutsFor(connection.provider.timeouts, job.request.shape.stream),
      deadline: job.deadline,
      awaitsOutput: job.request.shape.stream,
      callers: job.request.body,
      readError: exchangePlan.readError,
    });
    this.translated = exchangePlan.translated;
    this.#job = job;
    this.#candidate = candidate;
    this.#number = number;
    this.#client = client;
    this.#exchangePlan = exchangePlan;
    this.#isDurable = isDurable;
  }

  /**
   * A begun answer ends in its own grammar; otherwise the client gets an error. A whole answer only
   * waits for the disk.
   */
  stop(cause: StopCause): void {
    if (cause === "client_closed") this.#clientLeft();
    else if (cause === "abandoned") this.#abandon();
    else if (this.#drain !== null) this.#drain.stop();
    else if (this.#pendingAnswer === null) this.break(cause);
  }

  #clientLeft(): void {
    const stream =
      this.#job.countsTokens && this.#pendingAnswer === null && !this.ended ? this.#stream : null;
    if (stream === null || !stream.hasOutput) return this.#giveUp("client_closed");
    this.#drain = new DrainAfterDisconnect(stream, (ending) =>
      this.#giveUp("client_closed", ending),
    );
    this.exchange.resume();
  }

  /**
   * The decision is not on disk in time: nothing may be sent. The provider's answer so far is still
   * reported.
   */
  #abandon(): void {
    if (this.ended) return;
    if (this.#drain !== null) return this.#drain.stop();
    this.#notSent = !this.exchange.begun;
    this.exchange.cancel();
    const pendingAnswer = this.#pendingAnswer;
    if (pendingAnswer === null)
      return this.#finish(failureOf("abandoned"), this.#stream?.usage ?? null);
    this.#finish(pendingAnswer.ending.failure, pendingAnswer.ending.usage, pendingAnswer.ending);
  }

  resume(): void {
    this.exchange.resume();
  }

  override headers(status: number, headers: ResponseHeaders, endsWithConnection: boolean): void {
    super.headers(status, headers, endsWithConnection);
    if (this.ended || status !== 200 || !this.#job.request.shape.stream) return;
    const type = String(headers["content-type"] ?? "").toLowerCase();
    this.#mayBeCut = this.#exchangePlan.expectsUsage && endsWithConnection;
    if (type.startsWith(this.#exchangePlan.streamType)) this.#begin(this.#exchangePlan.stream());
  }

  #begin(stream: AnswerStream) {
    this.#stream = stream;
    this.#outbox = new Outbox(this.#client, this.#job.recording, this.#isDurable, () =>
      this.#commit(EVENT_STREAM, stream),
    );
  }

  /**
   * Some providers send streams with another content type
   * (https://github.com/ollama/ollama/issues/8991).
   */
  #isUnnamedStream(chunk: Uint8Array): boolean {
    const { streamType } = this.#exchangePlan;
    const isExpected =
      this.status === 200 && this.#job.request.shape.stream && this.#collected === 0;
    if (!isExpected || streamType !== "text/event-stream") return false;
    return EVENT_BEGINS.test(
      Buffer.from(chunk.buffer, chunk.byteOffset, Math.min(chunk.length, 16)).toString("latin1"),
    );
  }

  protected mayCollect(count: number): boolean {
    this.#collected += count;
    return this.#collected <= this.#job.maxAnswerBytes;
  }

  protected override take(chunk: Uint8Array): void {
    if (this.#drain !== null) return this.#drain.take(chunk);
    if (this.#stream === null && this.#isUnnamedStream(chunk))
      this.#begin(this.#exchangePlan.stream());
    if (this.#stream === null) return super.take(chunk);
    this.#collected += chunk.length;
    if (this.#collected > this.#job.maxAnswerBytes * STREAM_FACTOR) return this.break("too_large");
    let events: readonly Uint8Array[];
    try {
      events = this.#stream.push(chunk);
    } catch {
      // A parser bug must fail this request only.
      return this.break("malformed");
    }
    this.#relayEvents(this.#stream, events);
  }

  protected override close(): void {
    if (this.#drain !== null) this.#drain.close();
    else if (this.#stream !== null) this.#endStream(this.#stream);
    else super.close();
  }

  protected whole(answer: AnswerBytes): void {
    if (!this.#job.request.shape.stream) return this.#endAnswer(answer.whole);
    // The provider answered a streaming request with whole JSON, which cannot have been cut.
    this.#mayBeCut = false;
    try {
      this.#begin(this.#exchangePlan.streamOfAnswer(answer.whole));
    } catch {
      return this.break("malformed");
    }
    this.close();
  }

  #endAnswer(received: Uint8Array): void {
    const { ending, bytes } = readableAnswer(this.#exchangePlan, received);
    if (ending.failure === null) this.#wholeAnswer = performance.now() - this.#startedAt;
    const failure = ending.failure && reportedFailure(ending.failure);
    if (!hasClientAnswer(failure, bytes)) return this.#finish(failure, ending.usage);
    this.#send({ ...ending, failure }, () => {
      this.#commit(
        ["content-type", "application/json", "content-length", String(bytes.length)],
        ending,
      );
      this.#client.end(bytes);
    });
  }

  #relayEvents(stream: AnswerStream, events: readonly Uint8Array[]): void {
    if (this.#outbox?.add(events) === false) this.exchange.pause();
    // Before any output is sent: if the failure came with it, another candidate may still answer.
    if (stream.failure !== null) {
      this.exchange.cancel();
      return this.fail(stream.failure);
    }
    if (stream.hasOutput) this.#outputBegins();
    if (stream.hasEnded) {
      // The client need not wait until the upstream closes, and later bytes are not part of the
      // answer.
      this.exchange.drain();
      this.#endStream(stream);
    }
  }

  #outputBegins() {
    if (this.#firstOutputAt !== null) return;
    this.#firstOutputAt = performance.now();
    this.#job.endpoints.answering(this.#candidate.endpoint.id, this.#firstOutputAt);
    this.exchange.outputBegan();
    if (this.#outbox?.releaseAnswer() === false) this.exchange.pause();
  }

  /** The decision is on disk. */
  becomeDurable(): void {
    this.#isDurable = true;
    if (this.ended || this.#drain !== null) return;
    if (this.#pendingAnswer !== null) return this.#sendAnswered(this.#pendingAnswer);
    // It may have been paused because too much was waiting.
    this.exchange.resume();
    if (this.#outbox?.becomeDurable() === false) this.exchange.pause();
  }

  /** Sends a whole answer, at once or when the decision is on disk. */
  #send(ending: Ending, send: () => void) {
    this.#pendingAnswer = { ending, send };
    if (this.#isDurable) this.#sendAnswered(this.#pendingAnswer);
    else this.#job.recording.needed();
  }

  #sendAnswered({ ending, send }: { readonly ending: Ending; readonly send: () => void }) {
    send();
    this.#finish(ending.failure, ending.usage, ending);
  }

  #endStream(stream: AnswerStream) {
    const end = checkedEnd(stream, this.#mayBeCut);
    if (end.ending.failure !== null) this.fail(end.ending.failure);
    else this.#sendEnd(end);
  }

  #sendEnd({ ending, events }: ReturnType<typeof checkedEnd>) {
    this.#send(ending, () => {
      this.#outbox?.becomeDurable();
      this.#outbox?.add(events);
      this.#outbox?.releaseAnswer();
      this.#client.end();
    });
  }

  #giveUp(kind: FailureKind, ending: Partial<Ending> = {}) {
    this.exchange.cancel();
    this.#finish(failureOf(kind), this.#stream?.usage ?? null, ending);
  }

  /**
   * After the first byte the failure is sent in the stream's own grammar; before it the next
   * candidate is tried.
   */
  fail(reported: UpstreamFailure): void {
    if (this.ended) return;
    if (this.#drain !== null) return this.#drain.stop();
    if (reported.kind === "timeout_idle" && this.#stream !== null) {
      // Some providers keep the connection open after the end where the protocol has no end mark;
      // the usage proves that the stream is complete.
      const end = checkedEnd(this.#stream, true);
      this.exchange.cancel();
      if (end.ending.failure === null) return this.#sendEnd(end);
    }
    const failure = reportedFailure(reported);
    if (this.#firstByteAt !== null && this.#stream !== null) {
      const error = failureError([{ endpoint: this.#candidate.endpoint.id, failure }]);
      this.#client.end(this.#stream.fail(error));
    }
    this.#finish(failure, this.#stream?.usage ?? null);
  }

  /** @param answer changes in the answer that are known so far. */
  #commit(headers: readonly string[], answer: Partial<Pick<Ending, "dropped" | "edits">> = {}) {
    this.#firstByteAt = performance.now();
    const changes = withAnswer(this.#exchangePlan, answer);
    this.#client.start(
      200,
      headers.concat(this.#job.answerHeaders(this.#candidate, this.#number, changes)),
    );
  }

  /** @param ending the end of a whole answer. */
  #finish(failure: UpstreamFailure | null, usage: TokenUsage | null, ending: Partial<Ending> = {}) {
    const outputCharacters = this.#stream?.outputCharacters ?? null;
    this.finish({
      failure,
      status: this.status,
      finish: ending.finish ?? null,
      usage,
      answer: {
        dropped: ending.dropped ?? [],
        edits: ending.edits ?? NO_EDITS,
        outputCharacters,
      },
      firstByteAt: this.#firstByteAt,
      firstToken: this.#firstOutputAt === null ? null : this.#firstOutputAt - this.#startedAt,
      wholeAnswer: this.#wholeAnswer,
      ...(this.#notSent ? { notSent: true } : {}),
    });
  }
}

/**
 * Whether a whole answer goes to the client. A failed one does where the failure is the answer.
 * @param bytes of the answer.
 */
function hasClientAnswer(failure: UpstreamFailure | null, bytes: Uint8Array) {
  return failure === null || (failure.final === true && bytes.length > 0);
}

/** The edits of a request joined with those of its answer, as far as they are known. */
function withAnswer(
  { edits, stripped, dropped }: AnswerEdits,
  answer: { readonly edits?: EditSet; readonly dropped?: readonly DroppedField[] },
): AnswerEdits {
  const more = answer.dropped ?? [];
  return {
    edits: edits | (answer.edits ?? NO_EDITS),
    stripped,
    dropped: more.length === 0 ? dropped : [...dropped, ...more],
  };
}

/**
 * Tries the candidates of the plan until one commits (docs/dispatch.md#the-commit-point). Before
 * the first byte to the client a failed call may be tried at another candidate or again; after it
 * the stream ends with the protocol's failure.
 */
export function relayPlan(job: RelayJob, client: ClientAnswer): Promise<RelayOutcome> {
  return new RelayRun(job, client).run();
}

/** One request whose answer is sent to the client as it arrives. */
class RelayRun implements Calls<RelayedAnswer> {
  readonly #job: RelayJob;
  readonly #client: ClientAnswer;
  readonly #walk: PlanWalk<RelayedAnswer>;
  readonly #attempts: AttemptReport[] = [];
  #stripped: readonly string[] = [];
  #dropped: readonly DroppedField[] = [];
  #edits: EditSet = NO_EDITS;
  /** The decision is on disk. */
  #isDurable = false;
  /** The decision could not be recorded in time. */
  #unrecorded: ServiceError | null = null;
  /** The latest attempt; an ended one ignores `resume`. */
  #attempt: RelayAttempt | null = null;

  constructor(job: RelayJob, client: ClientAnswer) {
    this.#job = job;
    this.#client = client;
    this.#walk = new PlanWalk(job, this);
    if (client.closed) this.#walk.stop("client_closed", "end");
    void job.recording.result.then((error) => {
      this.#unrecorded = error;
      if (error !== null) return this.#walk.stop("abandoned", "end");
      this.#isDurable = true;
      this.#attempt?.becomeDurable();
    });
    client.onClose(() => this.#walk.stop("client_closed", "end"));
    client.onDrain(() => this.#attempt?.resume());
  }

  async run(): Promise<RelayOutcome> {
    const forget = this.#job.stopOrder?.onGiven(({ reason, running }) =>
      this.#walk.stop(reason, running),
    );
    try {
      const end = await this.#walk.run();
      const stopped = this.#walk.stopped;
      const isUnanswered = stopped !== null && stopped.cause !== stopped.ended;
      if (end.failure !== null && end.firstByteAt === null && !isUnanswered)
        return await this.#failed();
      return this.#ended(end, stopped);
    } finally {
      forget?.();
    }
  }

  prepare(candidate: Candidate, connection: Connection): RelayAttempt {
    const plan = this.#job.exchangePlans.get(candidate.endpoint.id);
    if (plan === undefined) throw new Error("relay: a candidate without an exchange plan");
    this.#stripped = union(this.#stripped, plan.stripped);
    this.#dropped = union(this.#dropped, plan.dropped);
    this.#edits |= plan.edits;
    // Candidates that were not called do not count as attempts.
    const number =
      1 +
      this.#attempts.filter(({ failure }) => failure === null || hasCalledProvider(failure)).length;
    this.#attempt = new RelayAttempt(
      this.#job,
      candidate,
      connection,
      plan,
      number,
      this.#client,
      this.#isDurable,
    );
    return this.#attempt;
  }

  report(report: AttemptReport, queued: number): void {
    this.#attempts.push({
      ...report,
      startedAt: report.startedAt - queued,
      duration: queued + report.duration,
    });
  }

  /** The client got an answer, a part of one, or nothing. */
  #ended(end: CallEnd<RelayedAnswer>, stopped: WalkStop | null): RelayOutcome {
    const { failure, finish } = end;
    // A stream that was allowed to finish can fail for its own reason.
    const reason = stopped !== null && failure?.kind === stopped.ended ? stopped.ended : null;
    if (stopped?.cause === "client_closed")
      return this.#outcome("client_closed", null, reason, end);
    if (failure !== null || stopped?.cause === "abandoned")
      return this.#outcome("failed", this.#unrecorded, reason, end);
    const isIncomplete = finish !== null && INCOMPLETE_REASONS.has(finish);
    return this.#outcome(isIncomplete ? "incomplete" : "completed", null, null, end);
  }

  /** Nothing was sent. The client may disconnect while the decision is being written. */
  async #failed(): Promise<RelayOutcome> {
    // Errors wait for the record too.
    this.#job.recording.needed();
    await this.#job.recording.result;
    const stopped = this.#walk.stopped;
    const reason = stopped?.ended ?? null;
    if (stopped?.cause === "client_closed")
      return this.#outcome("client_closed", null, reason, null);
    const error = reason === null ? failureError(this.#walk.failed) : stoppedError(reason);
    return this.#outcome("failed", this.#unrecorded ?? error, reason, null);
  }

  #outcome(
    terminal: RelayOutcome["terminal"],
    error: ServiceError | null,
    ended: StopReason | null,
    end: CallEnd<RelayedAnswer> | null,
  ): RelayOutcome {
    const answer = end?.answer ?? null;
    const outcome = {
      terminal,
      error,
      attempts: this.#attempts,
      finish: end?.finish ?? null,
      usage: end?.usage ?? null,
      outputCharacters: answer?.outputCharacters ?? null,
      firstByteAt: end?.firstByteAt ?? null,
      stripped: this.#stripped,
      dropped: answer === null ? this.#dropped : union(this.#dropped, answer.dropped),
      edits: this.#edits | (answer?.edits ?? NO_EDITS),
    };
    return ended === null ? outcome : { ...outcome, ended };
  }
}

/** Each once, in the order of their first occurrence. */
function union<Value>(first: readonly Value[], second: readonly Value[]) {
  return second.length === 0 ? first : [...new Set([...first, ...second])];
}
