import type { Dispatcher } from "undici";
import type { FailureKind, UpstreamFailure } from "../canon/failure.ts";
import type { Timeouts } from "../canon/table.ts";
import type { Connection } from "./connections.ts";
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
}

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
  /** While the client does not read, the provider's silence is not its fault. */
  #paused = false;

  constructor(request: ExchangeRequest, listener: ExchangeListener) {
    this.#request = request;
    this.#listener = listener;
    this.#silenceEnds = performance.now() + request.timeouts.firstByte;
  }

  start(connection: Connection): void {
    this.#watch();
    try {
      connection.dispatcher.dispatch(
        {
          path: this.#request.path,
          method: "POST",
          headers: [...this.#request.headers],
          body: this.#request.body,
        },
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

  pause(): void {
    this.#paused = true;
    this.#controller?.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#silenceEnds = performance.now() + this.#request.timeouts.idle;
    this.#controller?.resume();
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
    if (this.#ended) return;
    this.#finish();
    this.#listener.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(failureOfTransport(error, this.#sawHeaders));
  }

  #watch(): void {
    const now = performance.now();
    const due = Math.min(this.#paused ? Infinity : this.#silenceEnds, this.#request.deadline);
    if (now >= due) {
      this.#expire(now);
      return;
    }
    this.#timer = setTimeout(() => this.#watch(), Math.max(Math.min(due - now, this.#request.timeouts.idle), 1));
  }

  #expire(now: number): void {
    const kind: FailureKind =
      now >= this.#request.deadline ? "timeout_total" : this.#sawHeaders ? "timeout_idle" : "timeout_first_byte";
    const controller = this.#controller;
    this.#fail({ kind, status: null, retryAfter: null, code: null });
    controller?.abort(new Error(kind));
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
