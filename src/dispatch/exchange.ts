import type { Dispatcher } from "undici";
import type { FailureKind, UpstreamFailure } from "../canon/failure.ts";
import type { Timeouts } from "../canon/table.ts";
import type { CarriedCall, ProviderClient } from "./provider-client.ts";
import type { Connection, Authorize } from "./connections.ts";
import { failureOfTransport } from "./failures.ts";

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Receives the events of one upstream call. Every call ends with exactly one of `end` and `fail`;
 * nothing is called after it.
 */
export interface ExchangeListener {
  /**
   * @param endsWithConnection nothing but the end of the connection marks the end of the answer
   * (RFC 9112 §6.3, item 8): a lost one looks the same.
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
  /** When the whole request must have ended, on the clock of `performance.now()`. */
  readonly deadline: number;
  /**
   * The answer is a stream whose first output is due in time (`Timeouts.firstToken`); the listener
   * calls `outputBegan` when it has come.
   */
  readonly awaitsOutput: boolean;
}

/**
 * How long an answer whose last event has been read may take to end before its connection is given
 * up, milliseconds.
 */
const DRAIN_TIME = 100;

const METHOD = "POST";

/**
 * A request that was sent over a connection that had been idle, and that was lost within this time
 * without a byte of an answer, is taken to have met a connection that the provider had closed: the
 * provider has not read it. Later than a round trip could take it may have been read. Milliseconds.
 */
const STALE_TIME = 2_000;

const SWITCHING_PROTOCOLS = 101;

/** One upstream call: its socket, its deadlines, its one end. */
export class Exchange implements CarriedCall {
  readonly #listener: ExchangeListener;
  readonly #connection: Connection;
  readonly #request: ExchangeRequest;
  #controller: Dispatcher.DispatchController | null = null;
  #carrier: ProviderClient | null = null;
  /** Credentials included. */
  #headers: readonly string[] = [];
  /** The connection had been idle when the request was sent over it. */
  #overIdle = false;
  #sentAt = 0;
  #sawByte = false;
  #resent = false;
  #timer: NodeJS.Timeout | null = null;
  #sawHeaders = false;
  #ended = false;
  /**
   * The next moment at which silence becomes a failure. Moved by every chunk; the timer only looks
   * at it.
   */
  #silenceEnds: number;
  /** When the first output of the stream is due; `Infinity` where none is waited for. */
  #outputDue: number;
  /**
   * When the provider's own time for one attempt has passed. The request's deadline may come
   * before.
   */
  #attemptEnds: number;
  /**
   * Since when the client does not read: the provider's silence is not its fault. `null` while it
   * does.
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

  /** @param traceHeaders sent besides the request's; names and values by turns. */
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
      // The error may hold a token or the name of a file. The kind of failure is enough for an
      // operator.
      return this.#fail({ kind: "auth", status: null, retryAfter: null, code: null });
    }
    if (this.#ended) return;
    // The provider has not been called yet; its time begins now.
    const now = performance.now();
    this.#silenceEnds = now + this.#request.timeouts.firstByte;
    if (this.#request.awaitsOutput) this.#outputDue = now + this.#request.timeouts.firstToken;
    this.#headers = [...headers, ...credentials];
    this.#dispatch(this.#connection.dispatcher);
  }

  #dispatch(dispatcher: Dispatcher): void {
    const { path, body } = this.#request;
    try {
      dispatcher.dispatch({ path, method: METHOD, headers: [...this.#headers], body }, this);
    } catch (error) {
      this.#fail(failureOfTransport(error, false));
    }
  }

  /** Gives the call up; the socket is closed at once. Nothing is reported. */
  cancel(): void {
    this.#finish();
    this.#controller?.abort(new Error("given up"));
  }

  /**
   * Nothing more is wanted, but the answer is about to end: reads its rest away, so that the
   * connection can be used again, and cancels it where it goes on. Nothing is reported.
   */
  drain(): void {
    if (this.#ended) return;
    this.#finish();
    this.#timer = setTimeout(() => this.cancel(), DRAIN_TIME);
    if (this.#pausedAt !== null) this.#controller?.resume();
  }

  /** The stream has output: from here on only its silence and its whole time are watched. */
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
    // The timer has not looked at it while the client did not read.
    this.#rearm(now);
    this.#controller?.resume();
  }

  /** The chunks that the listener has got are in memory that nothing else uses. */
  get ownsChunks(): boolean {
    return this.#carrier?.ownsReads === true;
  }

  /** Something of the request may have reached the provider. */
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
    // Given up while it waited for a free connection.
    if (this.#ended) controller.abort(new Error("given up"));
  }

  /** The first byte of an answer has come, or of an interim one. */
  onResponseStarted(): void {
    this.#sawByte = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: ResponseHeaders,
  ): void {
    if (this.#ended) return;
    // No upgrade to another protocol was requested (RFC 9110 §15.2.2). Every other interim answer
    // is ignored, and does not count as an answer in time.
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
    // Nothing of the request was sent: it failed before it had a connection.
    if (!this.begun) return this.#fail({ ...failure, kind: "connect" });
    if (!this.#metClosedConnection) return this.#fail(failure);
    this.#resent = true;
    this.#dispatch(this.#connection.freshDispatcher);
  }

  #leaveConnection(): void {
    // A new connection for the second try counts a call that it did not begin; that count is of no
    // use to it.
    if (this.begun) this.#carrier?.endCall();
  }

  /**
   * The request was lost on a connection that its other end had closed before, as far as can be
   * seen; once for one call.
   */
  get #metClosedConnection(): boolean {
    return (
      !this.#resent &&
      this.#overIdle &&
      !this.#sawByte &&
      performance.now() - this.#sentAt < STALE_TIME
    );
  }

  #rejectAnswer(): void {
    const controller = this.#controller;
    this.#fail({ kind: "malformed", status: null, retryAfter: null, code: null });
    controller?.abort(new Error("refused"));
  }

  /** One function for all calls: a closure for each would live as long as its timer. */
  static #look(this: void, exchange: Exchange): void {
    exchange.#watch();
  }

  #watch(): void {
    const now = performance.now();
    if (now >= this.#due()) this.#expire(now);
    else this.#rearm(now);
  }

  /** The first moment at which something has taken too long. */
  #due(): number {
    // While the client does not read, nothing that takes long is the provider's fault.
    if (this.#pausedAt !== null) return this.#request.deadline;
    return Math.min(this.#silenceEnds, this.#outputDue, this.#attemptEnds, this.#request.deadline);
  }

  #rearm(now: number): void {
    if (this.#ended) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const wait = Math.max(Math.min(this.#due() - now, this.#request.timeouts.idle), 1);
    this.#timer = setTimeout(Exchange.#look, wait, this);
  }

  #expire(now: number): void {
    const kind = this.#expiredKind(now);
    const controller = this.#controller;
    this.#fail({ kind, status: null, retryAfter: null, code: null });
    controller?.abort(new Error(kind));
  }

  /** The request's deadline ends the plan; the provider's own time ends one attempt of it. */
  #expiredKind(now: number): FailureKind {
    if (now >= this.#request.deadline) return "timeout_total";
    if (now >= this.#attemptEnds) return "timeout_attempt";
    if (this.#outputDue < this.#silenceEnds) return "timeout_first_token";
    return this.#sawHeaders ? "timeout_idle" : "timeout_first_byte";
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#ended) return;
    this.#finish();
    this.#listener.fail(failure);
  }

  #finish(): void {
    this.#ended = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

/** A whole answer begins when it is finished: only its whole time can be too long. */
export function timeoutsFor(timeouts: Timeouts, isStream: boolean): Timeouts {
  return isStream ? timeouts : { ...timeouts, firstByte: timeouts.total };
}
