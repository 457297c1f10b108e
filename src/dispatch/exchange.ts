import type { Dispatcher } from "undici";
import { failureOf, type FailureKind, type UpstreamFailure } from "../canon/failure.ts";
import type { Timeouts } from "../canon/table.ts";
import type { CarriedCall, ProviderClient } from "./provider-client.ts";
import type { Connection, Authorize } from "./connections.ts";
import { failureOfTransport } from "./failures.ts";

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Events of one upstream call. Every call ends with exactly one of `end` and `fail`, and nothing
 * after it.
 */
export interface ExchangeListener {
  /**
   * @param endsWithConnection only the end of the connection marks the end of the answer (RFC 9112
   * §6.3, item 8): a lost connection looks the same.
   */
  headers(status: number, headers: ResponseHeaders, endsWithConnection: boolean): void;
  data(chunk: Uint8Array): void;
  end(): void;
  fail(failure: UpstreamFailure): void;
}

export interface ExchangeRequest {
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: string;
  readonly timeouts: Timeouts;
  /** Deadline of the whole request, on the clock of `performance.now()`. */
  readonly deadline: number;
  /**
   * The answer is a stream whose first output is due in time (`Timeouts.firstToken`); the listener
   * calls `outputBegan` with it.
   */
  readonly awaitsOutput: boolean;
}

/**
 * How long an answer may take to end after its last event before its connection is closed,
 * milliseconds.
 */
const DRAIN_TIME = 100;

const METHOD = "POST";

/**
 * A request over an idle connection that is lost within this time without a byte of an answer met a
 * connection that the provider had already closed, so the provider has not read it. After longer
 * than a round trip it may have been read. Milliseconds.
 */
const STALE_TIME = 2_000;

const SWITCHING_PROTOCOLS = 101;

/** One upstream call: its socket, its deadlines, its single end. */
export class Exchange implements CarriedCall {
  readonly #listener: ExchangeListener;
  readonly #connection: Connection;
  readonly #request: ExchangeRequest;
  #controller: Dispatcher.DispatchController | null = null;
  #carrier: ProviderClient | null = null;
  /** Credentials included. */
  #headers: readonly string[] = [];
  /** The connection had been idle before the request. */
  #overIdle = false;
  #sentAt = 0;
  #sawByte = false;
  #resent = false;
  #timer: NodeJS.Timeout | null = null;
  #sawHeaders = false;
  #ended = false;
  /** When silence becomes a failure. Every chunk moves it; the timer only checks it. */
  #silenceEnds: number;
  /** When the first output of the stream is due; `Infinity` where none is awaited. */
  #outputDue: number;
  /** End of the provider's time for one attempt. The request's deadline may come before. */
  #attemptEnds: number;
  /**
   * Start of a pause in which the client does not read: silence is then not the provider's fault.
   * `null` while it reads.
   */
  #pausedAt: number | null = null;

  constructor(connection: Connection, request: ExchangeRequest, listener: ExchangeListener) {
    this.#connection = connection;
    this.#request = request;
    this.#listener = listener;
    const now = performance.now();
    this.#silenceEnds = now + request.timeouts.firstByte;
    this.#outputDue = request.awaitsOutput ? now + request.timeouts.firstToken : Infinity;
    this.#attemptEnds = now + request.timeouts.total;
  }

  /** @param traceHeaders additional headers; alternating names and values. */
  start(traceHeaders: readonly string[] = []): void {
    this.#watch();
    const { headers } = this.#request;
    const { authorize, dispatcher } = this.#connection;
    this.#headers = traceHeaders.length === 0 ? headers : [...headers, ...traceHeaders];
    if (authorize === undefined) this.#dispatch(dispatcher);
    else void this.#authorized(authorize);
  }

  async #authorized(authorize: Authorize): Promise<void> {
    const { path, body } = this.#request;
    const headers = this.#headers;
    let credentials: readonly string[];
    try {
      credentials = await authorize({ method: METHOD, path, headers, body });
    } catch {
      // The error may hold a token or a file name; the kind of failure is enough.
      return this.#fail(failureOf("auth"));
    }
    if (this.#ended) return;
    // The provider has not been called yet; its time begins now.
    const now = performance.now();
    this.#silenceEnds = now + this.#request.timeouts.firstByte;
    if (this.#request.awaitsOutput) this.#outputDue = now + this.#request.timeouts.firstToken;
    this.#headers = [...headers, ...credentials];
    this.#dispatch(this.#connection.dispatcher);
  }

  #dispatch(dispatcher: Dispatcher) {
    const { path, body } = this.#request;
    try {
      dispatcher.dispatch({ path, method: METHOD, headers: [...this.#headers], body }, this);
    } catch (error) {
      this.#fail(failureOfTransport(error, false));
    }
  }

  /** Closes the socket at once. Nothing is reported. */
  cancel(): void {
    this.#finish();
    this.#controller?.abort(new Error("given up"));
  }

  /**
   * The answer is complete except for its end: reads it to its end, so that the connection can be
   * reused, and cancels it where more comes. Nothing is reported.
   */
  drain(): void {
    if (this.#ended) return;
    this.#finish();
    this.#timer = setTimeout(() => this.cancel(), DRAIN_TIME);
    if (this.#pausedAt !== null) this.#controller?.resume();
  }

  /** The stream has output: only its silence and total time are checked from now on. */
  outputBegan(): void {
    this.#outputDue = Infinity;
  }

  pause(): void {
    this.#pausedAt ??= performance.now();
    this.#controller?.pause();
  }

  resume(): void {
    if (this.#pausedAt === null) return;
    const now = performance.now();
    this.#silenceEnds = now + this.#request.timeouts.idle;
    this.#outputDue += now - this.#pausedAt;
    this.#attemptEnds += now - this.#pausedAt;
    this.#pausedAt = null;
    // The timer skipped this deadline during the pause.
    this.#rearm(now);
    this.#controller?.resume();
  }

  /** Nothing else uses the memory of the chunks that the listener got. */
  get ownsChunks(): boolean {
    return this.#carrier?.ownsReads === true;
  }

  /** A part of the request may have reached the provider. */
  get begun(): boolean {
    return this.#controller !== null;
  }

  carriedBy(carrier: ProviderClient): void {
    this.#carrier = carrier;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#overIdle = this.#carrier?.begin() ?? false;
    this.#sentAt = performance.now();
    // Cancelled while it waited for a free connection.
    if (this.#ended) controller.abort(new Error("given up"));
  }

  /** The first byte of an answer, or of an interim one. */
  onResponseStarted(): void {
    this.#sawByte = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: ResponseHeaders,
  ): void {
    if (this.#ended) return;
    // No upgrade to another protocol was requested (RFC 9110 §15.2.2). Other interim answers are
    // ignored, and do not count as an answer in time.
    if (status === SWITCHING_PROTOCOLS) return this.#rejectAnswer();
    if (status < 200) return;
    this.#sawHeaders = true;
    this.#silenceEnds = performance.now() + this.#request.timeouts.idle;
    const isFramed =
      headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
    this.#listener.headers(status, headers, !isFramed && this.#carrier?.framesAnswers !== true);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#silenceEnds = performance.now() + this.#request.timeouts.idle;
    this.#listener.data(chunk);
  }

  onResponseEnd(): void {
    this.#leaveConnection();
    if (this.#ended) return this.#finish();
    this.#finish();
    this.#listener.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#leaveConnection();
    if (this.#ended) return this.#finish();
    const failure = failureOfTransport(error, this.#sawHeaders);
    if (failure.kind !== "reset") return this.#fail(failure);
    // Nothing was sent: it failed before it had a connection.
    if (!this.begun) return this.#fail({ ...failure, kind: "connect" });
    if (!this.#metClosedConnection) return this.#fail(failure);
    this.#resent = true;
    this.#dispatch(this.#connection.freshDispatcher);
  }

  #leaveConnection() {
    // A new connection for the second try counts a call that it did not begin; that count is
    // unused.
    if (this.begun) this.#carrier?.endCall();
  }

  /**
   * The connection was apparently closed by the other end before the request; true once per call.
   */
  get #metClosedConnection(): boolean {
    return (
      !this.#resent &&
      this.#overIdle &&
      !this.#sawByte &&
      performance.now() - this.#sentAt < STALE_TIME
    );
  }

  #rejectAnswer() {
    const controller = this.#controller;
    this.#fail(failureOf("malformed"));
    controller?.abort(new Error("refused"));
  }

  /** One function for all calls: a closure for each would live as long as its timer. */
  static #check(this: void, exchange: Exchange) {
    exchange.#watch();
  }

  #watch() {
    const now = performance.now();
    if (now >= this.#due()) this.#expire(now);
    else this.#rearm(now);
  }

  /** The earliest deadline. */
  #due(): number {
    // While the client does not read, delays are not the provider's fault.
    if (this.#pausedAt !== null) return this.#request.deadline;
    return Math.min(this.#silenceEnds, this.#outputDue, this.#attemptEnds, this.#request.deadline);
  }

  #rearm(now: number) {
    if (this.#ended) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const wait = Math.max(Math.min(this.#due() - now, this.#request.timeouts.idle), 1);
    this.#timer = setTimeout(Exchange.#check, wait, this);
  }

  #expire(now: number) {
    const kind = this.#expiredKind(now);
    const controller = this.#controller;
    this.#fail(failureOf(kind));
    controller?.abort(new Error(kind));
  }

  /** The request's deadline ends the plan; the provider's own time ends one attempt. */
  #expiredKind(now: number): FailureKind {
    if (now >= this.#request.deadline) return "timeout_total";
    if (now >= this.#attemptEnds) return "timeout_attempt";
    if (this.#outputDue < this.#silenceEnds) return "timeout_first_token";
    return this.#sawHeaders ? "timeout_idle" : "timeout_first_byte";
  }

  #fail(failure: UpstreamFailure) {
    if (this.#ended) return;
    this.#finish();
    this.#listener.fail(failure);
  }

  #finish() {
    this.#ended = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

/** A whole answer arrives when it is finished: only the total time applies. */
export function timeoutsFor(timeouts: Timeouts, isStream: boolean): Timeouts {
  return isStream ? timeouts : { ...timeouts, firstByte: timeouts.total };
}
