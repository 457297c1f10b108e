import type { Candidate } from "../canon/decision.ts";
import { NO_EDITS, withAnswer } from "../canon/generate/edit.ts";
import { failureOf, type UpstreamFailure } from "../canon/failure.ts";
import type { TokenUsage } from "../canon/generate/usage.ts";
import type { AnswerStream, Ending } from "../dialects/dialect.ts";
import { judgedAnswer, judgedEnd, type ExchangePlan } from "../dialects/translation/exchange-plan.ts";
import { isPassedOn, MAXIMUM_ERROR_BYTES, STREAM_FACTOR, type AttemptResult } from "./attempt-result.ts";
import type { ClientAnswer } from "./client/client-answer.ts";
import type { Connection } from "./connections.ts";
import { decompressorFor, type Decompressor } from "./decompress.ts";
import { Exchange, timeoutsFor, type ExchangeListener, type ResponseHeaders } from "./exchange.ts";
import { failureError } from "./failure-error.ts";
import type { StopReason } from "./limiters/stop-order.ts";
import { ReadOn } from "./client/read-on.ts";
import { Outbox } from "./client/outbox.ts";
import { refusedRequest, toldFailure } from "./endpoints/reported-failure.ts";
import type { RelayJob } from "./relay-job.ts";
import { readRetryAfter } from "./retry-after.ts";

const EVENT_STREAM = ["content-type", "text/event-stream; charset=utf-8", "cache-control", "no-cache"];

/** Brings one candidate's answer to the client, relayed or translated, and says how it ended. */
export class RelayAttempt implements ExchangeListener {
  readonly #job: RelayJob;
  readonly #candidate: Candidate;
  readonly #number: number;
  readonly #exchangePlan: ExchangePlan;
  readonly #connection: Connection;
  readonly #client: ClientAnswer;
  readonly #exchange: Exchange;
  readonly #result = Promise.withResolvers<AttemptResult>();
  #stream: AnswerStream | null = null;
  /** Takes an encoding off that we did not ask for; `null` where there is none. */
  #decompressor: Decompressor | null = null;
  /** A stream that ends without its protocol's mark may have been cut, unless its usage has come. */
  #mayBeCut = false;
  #status: number | null = null;
  #retryAfter: number | null = null;
  #chunks: Uint8Array[] = [];
  #collected = 0;
  /** What of a stream is on its way to the client. */
  readonly #outbox: Outbox;
  readonly #startedAt = performance.now();
  /** When a stream first said something. */
  #firstOutputAt: number | null = null;
  #firstByteAt: number | null = null;
  /** The end of an answer that is whole and waits for the decision to be on disk. */
  #answered: Ending | null = null;
  #unsent = false;
  #ended = false;
  /** Of a stream whose client has left; `null` while the client is there. */
  #readOn: ReadOn | null = null;

  constructor(
    job: RelayJob,
    candidate: Candidate,
    connection: Connection,
    exchangePlan: ExchangePlan,
    ownHeaders: readonly string[],
    number: number,
    client: ClientAnswer,
  ) {
    this.#job = job;
    this.#candidate = candidate;
    this.#connection = connection;
    this.#number = number;
    this.#client = client;
    this.#exchangePlan = exchangePlan;
    this.#outbox = new Outbox(client, () => this.#commit(EVENT_STREAM, this.#stream ?? {}));
    this.#exchange = new Exchange(
      {
        path: `${connection.pathPrefix}${exchangePlan.path}`,
        headers: ownHeaders.length === 0 ? connection.headers : [...connection.headers, ...ownHeaders],
        body: exchangePlan.body,
        timeouts: timeoutsFor(connection.provider.timeouts, job.request.shape.stream),
        deadline: job.deadline,
        awaitsOutput: job.request.shape.stream,
      },
      this,
    );
  }

  /** Runs to the end. Rejects only for a bug of ours. */
  run(): Promise<AttemptResult> {
    this.#job.durable.then(
      () => this.#becomeDurable(),
      () => this.#abandon(),
    );
    this.#exchange.start(this.#connection);
    return this.#result.promise;
  }

  /** The client has left. */
  cancel(): void {
    const stream = this.#job.countsTokens && this.#answered === null && !this.#ended ? this.#stream : null;
    if (stream === null || !stream.hasOutput) return this.#giveUp("client_closed");
    this.#readOn = new ReadOn(stream, (ending) => this.#giveUp("client_closed", ending));
    this.#exchange.resume();
  }

  /** The router ends the request: what has begun is told its end, what has not is answered with an error. A whole answer only waits for the disk. */
  stop(reason: StopReason): void {
    if (this.#readOn !== null) this.#readOn.stop();
    else if (this.#answered === null) this.#break(reason);
  }

  resume(): void {
    this.#exchange.resume();
  }

  /** The decision is not on disk in time: nothing may be sent. What the provider has answered by now is told nevertheless. */
  #abandon(): void {
    if (this.#ended) return;
    if (this.#readOn !== null) return this.#readOn.stop();
    this.#unsent = !this.#exchange.begun;
    this.#exchange.cancel();
    const told = this.#answered;
    if (told === null) return this.#finish(failureOf("abandoned"), this.#stream?.usage ?? null);
    this.#finish(told.failure, told.usage, told);
  }

  headers(status: number, headers: ResponseHeaders, endsWithConnection: boolean): void {
    this.#status = status;
    this.#retryAfter = readRetryAfter(headers, Date.now());
    this.#mayBeCut = this.#exchangePlan.expectsUsage && endsWithConnection;
    const decompressor = decompressorFor(headers["content-encoding"], {
      data: (chunk) => this.#take(chunk),
      end: () => this.#close(),
      broken: (kind) => this.#break(kind),
    });
    if (decompressor === undefined) return this.#giveUp("malformed");
    this.#decompressor = decompressor;
    const type = String(headers["content-type"] ?? "").toLowerCase();
    if (status === 200 && this.#job.request.shape.stream && type.startsWith(this.#exchangePlan.streamType)) {
      this.#stream = this.#exchangePlan.stream();
    }
  }

  data(chunk: Uint8Array): void {
    if (this.#decompressor === null) this.#take(chunk);
    else this.#decompressor.write(chunk);
  }

  end(): void {
    if (this.#decompressor === null) this.#close();
    else this.#decompressor.end();
  }

  #take(chunk: Uint8Array): void {
    if (this.#ended) return;
    if (this.#readOn !== null) return this.#readOn.take(chunk);
    if (this.#stream === null) return this.#collect(chunk);
    this.#collected += chunk.length;
    if (this.#collected > this.#job.maxAnswerBytes * STREAM_FACTOR) return this.#break("too_large");
    let events: readonly Uint8Array[];
    try {
      events = this.#stream.push(chunk);
    } catch {
      // Whatever an upstream can send that a machine of ours cannot bear must not end more than its own request.
      return this.#break("malformed");
    }
    this.#relayEvents(this.#stream, events);
  }

  #close(): void {
    if (this.#ended) return;
    if (this.#readOn !== null) return this.#readOn.close();
    if (this.#stream !== null) return void this.#endStream(this.#stream);
    const bytes = this.#chunks.length === 1 ? (this.#chunks[0] ?? EMPTY) : Buffer.concat(this.#chunks);
    if (this.#status === 200 && !this.#job.request.shape.stream) return void this.#endAnswer(bytes);
    if (this.#status === 200) return this.#giveUp("malformed");
    const sent = { body: this.#exchangePlan.body, callers: this.#job.request.body };
    const failure = refusedRequest(this.#exchangePlan.readError(this.#status ?? 0, bytes), sent);
    this.#finish({ ...failure, retryAfter: this.#retryAfter ?? failure.retryAfter }, null);
  }

  #break(kind: UpstreamFailure["kind"]): void {
    this.#exchange.cancel();
    this.fail(failureOf(kind));
  }

  #collect(chunk: Uint8Array): void {
    this.#collected += chunk.length;
    const limit = this.#status === 200 ? this.#job.maxAnswerBytes : MAXIMUM_ERROR_BYTES;
    if (this.#collected > limit) {
      // An error answer is already known to be one; a success that does not end is not an answer.
      if (this.#status === 200) return this.#giveUp("too_large");
      this.#exchange.cancel();
      return this.#finish(this.#exchangePlan.readError(this.#status ?? 0, EMPTY), null);
    }
    this.#chunks.push(chunk);
  }

  async #endAnswer(received: Uint8Array): Promise<void> {
    const { ending, bytes } = judgedAnswer(this.#exchangePlan, received);
    const failure = ending.failure && toldFailure(ending.failure);
    if (!isPassedOn(failure, bytes)) return this.#finish(failure, ending.usage);
    if (!(await this.#isSendable({ ...ending, failure }))) return;
    this.#commit(["content-type", "application/json", "content-length", String(bytes.length)], ending);
    this.#client.end(bytes);
    this.#finish(failure, ending.usage, ending);
  }

  #relayEvents(stream: AnswerStream, events: readonly Uint8Array[]): void {
    if (!this.#outbox.add(events, performance.now())) this.#exchange.pause();
    // Before the output is let go: where both came at once, another candidate may still give the answer.
    if (stream.failure !== null) {
      this.#exchange.cancel();
      return this.fail(stream.failure);
    }
    if (stream.hasOutput) this.#outputBegins();
    if (stream.done) {
      // The client need not wait for the upstream to hang up, and nothing that still comes is part of the answer.
      this.#exchange.drain();
      void this.#endStream(stream);
    }
  }

  #outputBegins(): void {
    if (this.#firstOutputAt !== null) return;
    this.#firstOutputAt = performance.now();
    this.#job.endpoints.answering(this.#candidate.endpoint.id, this.#firstOutputAt);
    this.#exchange.outputBegan();
    if (!this.#outbox.release()) this.#exchange.pause();
  }

  #becomeDurable(): void {
    if (this.#ended || this.#readOn !== null) return;
    // It may have been paused because too much was waiting.
    this.#exchange.resume();
    if (!this.#outbox.becomeDurable()) this.#exchange.pause();
  }

  /** Keeps a whole answer until the decision is on disk. False where it must not be sent. */
  async #isSendable(answer: Ending): Promise<boolean> {
    this.#answered = answer;
    await this.#job.durable.catch(() => {});
    return !this.#ended;
  }

  async #endStream(stream: AnswerStream): Promise<void> {
    const { ending, events } = judgedEnd(stream, this.#mayBeCut);
    if (ending.failure !== null) return this.fail(ending.failure);
    if (!(await this.#isSendable(ending))) return;
    this.#outbox.add(events, performance.now());
    this.#outbox.release();
    this.#client.end();
    this.#finish(null, ending.usage, ending);
  }

  #giveUp(kind: UpstreamFailure["kind"], answered: Partial<Ending> = {}): void {
    this.#exchange.cancel();
    this.#finish(failureOf(kind), this.#stream?.usage ?? null, answered);
  }

  /** After the first byte the failure is said in the stream's own grammar; before it the plan goes on. */
  fail(said: UpstreamFailure): void {
    if (this.#ended) return;
    if (this.#readOn !== null) return this.#readOn.stop();
    const failure = toldFailure(said);
    if (this.#firstByteAt !== null && this.#stream !== null) {
      const error = failureError([{ endpoint: this.#candidate.endpoint.id, failure }]);
      this.#client.end(this.#stream.fail(error));
    }
    this.#finish(failure, this.#stream?.usage ?? null);
  }

  /** @param answer what is known of changes in the answer by now. */
  #commit(headers: readonly string[], answer: Partial<Pick<Ending, "losses" | "edits">> = {}): void {
    this.#firstByteAt = performance.now();
    const known = withAnswer(this.#exchangePlan, answer);
    this.#client.start(200, [...headers, ...this.#job.answerHeaders(this.#candidate, this.#number, known)]);
  }

  /** @param answered the end of an answer that is whole. */
  #finish(failure: UpstreamFailure | null, usage: TokenUsage | null, answered: Partial<Ending> = {}): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#decompressor?.destroy();
    const firstToken = this.#firstOutputAt === null ? null : this.#firstOutputAt - this.#startedAt;
    this.#result.resolve({
      failure,
      status: this.#status,
      finish: answered.finish ?? null,
      usage,
      losses: answered.losses ?? [],
      edits: answered.edits ?? NO_EDITS,
      firstByteAt: this.#firstByteAt,
      firstToken,
      outputCharacters: this.#stream?.outputCharacters ?? null,
      ...(this.#unsent ? { unsent: true } : {}),
    });
  }
}

const EMPTY = new Uint8Array(0);
