import type { Candidate } from "../canon/decision.ts";
import { failureOf, type UpstreamFailure } from "../canon/failure.ts";
import type { FinishReason } from "../canon/generate/event.ts";
import type { Loss } from "../canon/generate/loss.ts";
import type { TokenUsage } from "../canon/generate/usage.ts";
import type { AnswerStream, Ending } from "../dialects/dialect.ts";
import { judgedAnswer, type Passage } from "../dialects/translation/passage.ts";
import { MAXIMUM_ERROR_BYTES, STREAM_FACTOR, type AttemptResult } from "./attempt-result.ts";
import type { ClientAnswer } from "./client-answer.ts";
import type { Connection } from "./connections.ts";
import { decompressorFor, type Decompressor } from "./decompress.ts";
import { Exchange, timeoutsFor, type ExchangeListener } from "./exchange.ts";
import { failureError } from "./failure-error.ts";
import { Outbox } from "./outbox.ts";
import { toldFailure } from "./places/told-failure.ts";
import type { RelayJob } from "./relay-plan.ts";
import { readRetryAfter } from "./retry-after.ts";

const EVENT_STREAM = ["content-type", "text/event-stream; charset=utf-8", "cache-control", "no-cache"];

/** Brings one candidate's answer to the client, relayed or translated, and says how it ended. */
export class RelayAttempt implements ExchangeListener {
  readonly #job: RelayJob;
  readonly #candidate: Candidate;
  readonly #number: number;
  readonly #passage: Passage;
  readonly #connection: Connection;
  readonly #client: ClientAnswer;
  readonly #exchange: Exchange;
  readonly #result = Promise.withResolvers<AttemptResult>();
  #stream: AnswerStream | null = null;
  /** Takes an encoding off that we did not ask for; `null` where there is none. */
  #decompressor: Decompressor | null = null;
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

  constructor(
    job: RelayJob,
    candidate: Candidate,
    connection: Connection,
    passage: Passage,
    ownHeaders: readonly string[],
    number: number,
    client: ClientAnswer,
  ) {
    this.#job = job;
    this.#candidate = candidate;
    this.#connection = connection;
    this.#number = number;
    this.#client = client;
    this.#passage = passage;
    this.#outbox = new Outbox(client, () => this.#commit(EVENT_STREAM));
    this.#exchange = new Exchange(
      {
        path: `${connection.pathPrefix}${passage.path}`,
        headers: ownHeaders.length === 0 ? connection.headers : [...connection.headers, ...ownHeaders],
        body: passage.body,
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

  cancel(): void {
    this.#exchange.cancel();
    this.#finish(failureOf("client_closed"), null, this.#stream?.usage ?? null);
  }

  /** The server stops: what has begun is told its end, what has not is answered with an error. A whole answer only waits for the disk. */
  stop(): void {
    if (this.#answered === null) this.#break("server_stopping");
  }

  resume(): void {
    this.#exchange.resume();
  }

  /** The decision is not on disk in time: nothing may be sent. What the provider has answered by now is told nevertheless. */
  #abandon(): void {
    if (this.#ended) return;
    this.#unsent = !this.#exchange.begun;
    this.#exchange.cancel();
    if (this.#answered === null) return this.#finish(failureOf("abandoned"), null, this.#stream?.usage ?? null);
    const { finish, usage, losses } = this.#answered;
    this.#finish(null, finish, usage, losses);
  }

  headers(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void {
    this.#status = status;
    this.#retryAfter = readRetryAfter(headers, Date.now());
    const decompressor = decompressorFor(headers["content-encoding"], {
      data: (chunk) => this.#take(chunk),
      end: () => this.#close(),
      broken: (kind) => this.#break(kind),
    });
    if (decompressor === undefined) return this.#giveUp("malformed");
    this.#decompressor = decompressor;
    const type = String(headers["content-type"] ?? "").toLowerCase();
    if (status === 200 && this.#job.request.shape.stream && type.startsWith(this.#passage.streamType)) {
      this.#stream = this.#passage.stream();
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
    if (this.#stream !== null) return this.#endStream(this.#stream);
    const bytes = this.#chunks.length === 1 ? (this.#chunks[0] ?? EMPTY) : Buffer.concat(this.#chunks);
    if (this.#status === 200 && !this.#job.request.shape.stream) return void this.#endAnswer(bytes);
    if (this.#status === 200) return this.#giveUp("malformed");
    const failure = this.#passage.readError(this.#status ?? 0, bytes);
    this.#finish({ ...failure, retryAfter: this.#retryAfter ?? failure.retryAfter }, null, null);
  }

  fail(failure: UpstreamFailure): void {
    this.#failStream(failure, this.#stream?.usage ?? null);
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
      return this.#finish(this.#passage.readError(this.#status ?? 0, EMPTY), null, null);
    }
    this.#chunks.push(chunk);
  }

  async #endAnswer(received: Uint8Array): Promise<void> {
    const { ending, bytes } = judgedAnswer(this.#passage, received);
    if (ending.failure !== null) return this.#finish(toldFailure(ending.failure), null, ending.usage);
    this.#answered = ending;
    try {
      await this.#job.durable;
    } catch {
      return;
    }
    if (this.#ended) return;
    this.#commit(["content-type", "application/json", "content-length", String(bytes.length)]);
    this.#client.end(bytes);
    this.#finish(null, ending.finish, ending.usage, ending.losses);
  }

  #relayEvents(stream: AnswerStream, events: readonly Uint8Array[]): void {
    if (!this.#outbox.add(events, performance.now())) this.#exchange.pause();
    // Before the output is let go: where both came at once, another place may still give the answer.
    if (stream.failure !== null) {
      this.#exchange.cancel();
      return this.#failStream(stream.failure, stream.usage);
    }
    if (stream.hasOutput) this.#outputBegins();
    if (stream.done) {
      // The client need not wait for the upstream to hang up, and nothing that still comes is part of the answer.
      this.#exchange.drain();
      this.#endStream(stream);
    }
  }

  #outputBegins(): void {
    if (this.#firstOutputAt !== null) return;
    this.#firstOutputAt = performance.now();
    this.#job.places.answering(this.#candidate.endpoint.id, this.#firstOutputAt);
    this.#exchange.outputBegan();
    if (!this.#outbox.release()) this.#exchange.pause();
  }

  #becomeDurable(): void {
    if (this.#ended) return;
    // It may have been paused because too much was waiting.
    this.#exchange.resume();
    if (!this.#outbox.becomeDurable()) this.#exchange.pause();
  }

  #endStream(stream: AnswerStream): void {
    let closing: ReturnType<AnswerStream["end"]>;
    try {
      closing = stream.end();
    } catch {
      return this.#failStream(failureOf("malformed"), stream.usage);
    }
    const { ending, events } = closing;
    if (ending.failure !== null) return this.#failStream(ending.failure, ending.usage);
    void this.#closeStream(ending, events);
  }

  async #closeStream(ending: Ending, events: readonly Uint8Array[]): Promise<void> {
    this.#answered = ending;
    try {
      await this.#job.durable;
    } catch {
      return;
    }
    if (this.#ended) return;
    this.#outbox.add(events, performance.now());
    this.#outbox.release();
    this.#client.end();
    this.#finish(null, ending.finish, ending.usage, ending.losses);
  }

  #giveUp(kind: UpstreamFailure["kind"]): void {
    this.#exchange.cancel();
    this.#finish(failureOf(kind), null, null);
  }

  /** After the first byte the failure is said in the stream's own grammar; before it the plan goes on. */
  #failStream(said: UpstreamFailure, usage: TokenUsage | null): void {
    if (this.#ended) return;
    const failure = toldFailure(said);
    if (this.#firstByteAt !== null && this.#stream !== null) {
      const error = failureError([{ endpoint: this.#candidate.endpoint.id, failure }]);
      this.#client.end(this.#stream.fail(error));
    }
    this.#finish(failure, null, usage);
  }

  #commit(headers: readonly string[]): void {
    this.#firstByteAt = performance.now();
    this.#client.start(200, [...headers, ...this.#job.answerHeaders(this.#candidate, this.#number)]);
  }

  #finish(
    failure: UpstreamFailure | null,
    finish: FinishReason | null,
    usage: TokenUsage | null,
    losses: readonly Loss[] = [],
  ): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#decompressor?.destroy();
    const firstToken = this.#firstOutputAt === null ? null : this.#firstOutputAt - this.#startedAt;
    this.#result.resolve({
      failure,
      status: this.#status,
      finish,
      usage,
      losses,
      firstByteAt: this.#firstByteAt,
      firstToken,
      ...(this.#unsent ? { unsent: true } : {}),
    });
  }
}

const EMPTY = new Uint8Array(0);
