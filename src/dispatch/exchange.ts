import type { Dispatcher } from "undici";
import type { FailureKind, UpstreamFailure } from "../canon/failure.ts";
import type { Timeouts } from "../canon/table.ts";
import type { Connection } from "./connections.ts";
import type { Authorize } from "./credentials/authorize.ts";
import { failureOfTransport } from "./transport-failure.ts";

type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Who listens to one upstream call. Every call ends with exactly one of `end` and `fail`; nothing is called after it. */
export interface ExchangeListener {
  headers(status: number, headers: ResponseHeaders): void;
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
  /** The answer is a stream that must say something in time (`Timeouts.firstToken`); the listener calls `outputBegan` when it has. */
  readonly awaitsOutput: boolean;
}

/** How long an answer whose last event has been read may take to end before its connection is given up, milliseconds. */
const DRAIN_TIME = 100;

const METHOD = "POST";

/** One upstream call: its socket, its deadlines, its one end. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #listener: ExchangeListener;
  readonly #request: ExchangeRequest;
  #controller: Dispatcher.DispatchController | null = null;
  #timer: NodeJS.Timeout | null = null;
  #sawHeaders = false;
  #ended = false;
  /** The next moment at which silence becomes a failure. Moved by every chunk; the timer only looks at it. */
  #silenceEnds: number;
  /** When the stream must have said something; `Infinity` where nothing is waited for. */
  #outputDue: number;
  /** When the provider's own time for one attempt has passed. The request's deadline may come before. */
  #attemptEnds: number;
  /** Since when the client does not read: the provider's silence is not its fault. `null` while it does. */
  #pausedAt: number | null = null;

  constructor(request: ExchangeRequest, listener: ExchangeListener) {
    this.#request = request;
    this.#listener = listener;
    const now = performance.now();
    this.#silenceEnds = now + request.timeouts.firstByte;
    this.#outputDue = request.awaitsOutput ? now + request.timeouts.firstToken : Infinity;
    this.#attemptEnds = now + request.timeouts.total;
  }

  start(connection: Connection): void {
    this.#watch();
    if (connection.authorize === undefined) this.#dispatch(connection, this.#request.headers);
    else void this.#authorized(connection, connection.authorize);
  }

  async #authorized(connection: Connection, authorize: Authorize): Promise<void> {
    const { path, headers, body } = this.#request;
    let credentials: readonly string[];
    try {
      credentials = await authorize({ method: METHOD, path, headers, body });
    } catch {
      // What went wrong may hold a token or the name of a file; the kind says whom it concerns.
      return this.#fail({ kind: "auth", status: null, retryAfter: null, code: null });
    }
    if (this.#ended) return;
    // The provider has not been asked yet; its time begins now.
    const now = performance.now();
    this.#silenceEnds = now + this.#request.timeouts.firstByte;
    if (this.#request.awaitsOutput) this.#outputDue = now + this.#request.timeouts.firstToken;
    this.#dispatch(connection, [...headers, ...credentials]);
  }

  #dispatch(connection: Connection, headers: readonly string[]): void {
    try {
      connection.dispatcher.dispatch(
        { path: this.#request.path, method: METHOD, headers: [...headers], body: this.#request.body },
        this,
      );
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
   * Nothing more is wanted, but the answer is about to end: reads its rest away, so that the connection can be used again, and
   * cancels it where it goes on. Nothing is reported.
   */
  drain(): void {
    if (this.#ended) return;
    this.#finish();
    this.#timer = setTimeout(() => this.cancel(), DRAIN_TIME);
    if (this.#pausedAt !== null) this.#controller?.resume();
  }

  /** The stream has said something: from here on only its silence and its whole time are watched. */
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

  /** Something of the request may have reached the provider. */
  get begun(): boolean {
    return this.#controller !== null;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Given up while it waited for a free connection.
    if (this.#ended) controller.abort(new Error("given up"));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (this.#ended || status < 200) return;
    this.#sawHeaders = true;
    this.#silenceEnds = performance.now() + this.#request.timeouts.idle;
    this.#listener.headers(status, headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#silenceEnds = performance.now() + this.#request.timeouts.idle;
    this.#listener.data(chunk);
  }

  onResponseEnd(): void {
    if (this.#ended) return this.#finish();
    this.#finish();
    this.#listener.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#ended) return this.#finish();
    this.#fail(failureOfTransport(error, this.#sawHeaders));
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
    this.#timer = setTimeout(
      () => this.#watch(),
      Math.max(Math.min(this.#due() - now, this.#request.timeouts.idle), 1),
    );
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

/** A whole answer begins when it is finished: only its whole time says that it takes too long. */
export function timeoutsFor(timeouts: Timeouts, isStream: boolean): Timeouts {
  return isStream ? timeouts : { ...timeouts, firstByte: timeouts.total };
}
