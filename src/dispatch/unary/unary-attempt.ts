import { MAXIMUM_ERROR_BYTES } from "../attempt-result.ts";
import type { JsonObject } from "../../canon/json.ts";
import { failureOf, type UpstreamFailure } from "../../canon/failure.ts";
import type { UnaryCall } from "../../dialects/unary/surface.ts";
import type { UnaryResult } from "../../dialects/unary/upstream.ts";
import type { Connection } from "../connections.ts";
import { decompressorFor, type Decompressor } from "../decompress.ts";
import { Exchange, type ExchangeListener } from "../exchange.ts";
import { refusedRequest, toldFailure } from "../endpoints/reported-failure.ts";
import { readRetryAfter } from "../retry-after.ts";
import type { Siblings } from "./siblings.ts";

/** How one call ended. `status` is `null` where no answer began. */
export type AttemptEnd =
  | { readonly result: UnaryResult; readonly bytes: Uint8Array; readonly status: number }
  | { readonly failure: UpstreamFailure; readonly status: number | null };

/** One call to one endpoint whose whole answer is wanted before anything is done with it. */
export class UnaryAttempt implements ExchangeListener {
  readonly #call: UnaryCall;
  readonly #callersBody: JsonObject;
  readonly #exchange: Exchange;
  readonly #connection: Connection;
  readonly #siblings: Siblings;
  readonly #end = Promise.withResolvers<AttemptEnd>();
  #decompressor: Decompressor | null = null;
  #status: number | null = null;
  #retryAfter: number | null = null;
  #chunks: Uint8Array[] = [];
  /** Bytes of an error answer. */
  #collected = 0;
  /** Bytes that the siblings have let go. */
  #taken = 0;
  #ended = false;

  /**
   * @param callersBody the body as the caller sent it: an error names a member that stands there.
   * @param deadline on the clock of `performance.now()`.
   * @param siblings say how much of the answer may be collected.
   */
  constructor(call: UnaryCall, callersBody: JsonObject, connection: Connection, deadline: number, siblings: Siblings) {
    this.#call = call;
    this.#callersBody = callersBody;
    this.#connection = connection;
    this.#siblings = siblings;
    this.#exchange = new Exchange(
      {
        path: `${connection.pathPrefix}${call.path}`,
        headers: [...connection.headers, ...call.headers, ...(connection.simulated ? (call.simulated ?? []) : [])],
        body: call.body,
        timeouts: connection.provider.timeouts,
        deadline,
        awaitsOutput: false,
      },
      this,
    );
  }

  /** Runs to the end. Never rejects. */
  run(): Promise<AttemptEnd> {
    this.#exchange.start(this.#connection);
    return this.#end.promise;
  }

  /** Gives the call up; its socket is closed at once. */
  cancel(): void {
    this.#giveUp("client_closed");
  }

  headers(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void {
    this.#status = status;
    this.#retryAfter = readRetryAfter(headers, Date.now());
    const decompressor = decompressorFor(headers["content-encoding"], {
      data: (chunk) => this.#take(chunk),
      end: () => this.#close(),
      broken: (kind) => this.#giveUp(kind),
    });
    if (decompressor === undefined) return this.#giveUp("malformed");
    this.#decompressor = decompressor;
  }

  data(chunk: Uint8Array): void {
    if (this.#decompressor === null) this.#take(chunk);
    else this.#decompressor.write(chunk);
  }

  end(): void {
    if (this.#decompressor === null) this.#close();
    else this.#decompressor.end();
  }

  fail(failure: UpstreamFailure): void {
    this.#finish({ failure, status: this.#status });
  }

  #take(chunk: Uint8Array): void {
    if (this.#ended) return;
    if (this.#status === 200) {
      if (!this.#siblings.takeBytes(chunk.length)) return this.#giveUp("too_large");
      this.#taken += chunk.length;
      this.#chunks.push(chunk);
      return;
    }
    this.#collected += chunk.length;
    if (this.#collected <= MAXIMUM_ERROR_BYTES) {
      this.#chunks.push(chunk);
    } else {
      // An error answer is known to be one before it ends.
      this.#exchange.cancel();
      this.#refuse(EMPTY);
    }
  }

  #close(): void {
    if (this.#ended) return;
    const bytes = this.#chunks.length === 1 ? (this.#chunks[0] ?? EMPTY) : Buffer.concat(this.#chunks);
    if (this.#status !== 200) return this.#refuse(bytes);
    let read: ReturnType<UnaryCall["read"]>;
    try {
      read = this.#call.read(bytes);
    } catch {
      // Whatever an upstream can send that a reader of ours cannot bear must not end more than its own request.
      return this.#finish({ failure: failureOf("malformed"), status: 200 });
    }
    this.#finish("kind" in read ? { failure: toldFailure(read), status: 200 } : { result: read, bytes, status: 200 });
  }

  #refuse(bytes: Uint8Array): void {
    const read = this.#call.readError(this.#status ?? 0, bytes);
    const failure = refusedRequest(read, { body: this.#call.body, callers: this.#callersBody });
    const retryAfter = this.#retryAfter ?? failure.retryAfter;
    this.#finish({ failure: { ...failure, retryAfter }, status: this.#status });
  }

  #giveUp(kind: UpstreamFailure["kind"]): void {
    this.#exchange.cancel();
    this.#finish({ failure: failureOf(kind), status: this.#status });
  }

  #finish(end: AttemptEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    if ("failure" in end) this.#siblings.giveBytesBack(this.#taken);
    this.#decompressor?.destroy();
    this.#end.resolve(end);
  }
}

const EMPTY = new Uint8Array(0);
