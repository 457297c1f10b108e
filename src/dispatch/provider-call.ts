import { AnswerBytes } from "../dialects/unary/answer-bytes.ts";
import { type FailureKind, failureOf, type UpstreamFailure } from "../canon/failure.ts";
import type { JsonObject } from "../canon/json.ts";
import type { Attempt, CallEnd } from "./attempt.ts";
import type { Connection } from "./connections.ts";
import { refusedRequest } from "./failures.ts";
import {
  Exchange,
  type ExchangeListener,
  type ExchangeRequest,
  type ResponseHeaders,
} from "./exchange.ts";
import type { StopCause } from "./stop-order.ts";
import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

/** Bytes of an error answer that are read; only its code is needed. */
const MAXIMUM_ERROR_BYTES = 64 * 1024;

const EMPTY = new Uint8Array(0);

/** A call's request, and the reader of error answers. */
interface ProviderRequest extends ExchangeRequest {
  /** The body as the caller sent it: an error may name a member of it. */
  readonly callers: JsonObject;
  readonly readError: (status: number, bytes: Uint8Array) => UpstreamFailure;
}

/** One call to an endpoint: decodes the answer, bounds its size, and reads error answers. */
export abstract class ProviderCall<Answer> implements ExchangeListener, Attempt<Answer> {
  abstract readonly translated: boolean;
  protected readonly exchange: Exchange;
  /** `null` until an answer begins. */
  protected status: number | null = null;
  protected ended = false;
  readonly #request: ProviderRequest;
  readonly #connection: Connection;
  readonly #end = Promise.withResolvers<CallEnd<Answer>>();
  /** Removes a content encoding that was not requested; `null` without one. */
  #decompressor: Decompressor | null = null;
  #retryAfter: number | null = null;
  #chunks: Uint8Array[] = [];
  #errorBytes = 0;

  constructor(connection: Connection, request: ProviderRequest) {
    this.#connection = connection;
    this.#request = request;
    this.exchange = new Exchange(connection, request, this);
  }

  run(traceHeaders: readonly string[]): Promise<CallEnd<Answer>> {
    this.exchange.start(traceHeaders);
    return this.#end.promise;
  }

  abstract stop(cause: StopCause): void;

  headers(status: number, headers: ResponseHeaders, _endsWithConnection: boolean): void {
    this.status = status;
    this.#retryAfter = readRetryAfter(headers, Date.now());
    const encoding = headers["content-encoding"];
    if (encoding === undefined) return;
    const decompressor = decompressorFor(encoding, {
      data: (chunk) => this.#take(chunk),
      end: () => this.#close(),
      broken: (kind) => this.break(kind),
    });
    if (decompressor === undefined) this.break("malformed");
    else this.#decompressor = decompressor;
  }

  data(chunk: Uint8Array): void {
    if (this.#decompressor === null) this.#take(chunk);
    else this.#decompressor.write(chunk);
  }

  end(): void {
    if (this.#decompressor === null) this.#close();
    else this.#decompressor.end();
  }

  /** The call has failed. Ignored after its end. */
  abstract fail(failure: UpstreamFailure): void;

  /** Whether a whole answer may have these additional bytes. */
  protected abstract mayCollect(count: number): boolean;

  /** A whole answer with status 200. */
  protected abstract whole(answer: AnswerBytes): void;

  /** Bytes of the answer. */
  protected take(chunk: Uint8Array): void {
    if (this.status === 200) {
      if (!this.mayCollect(chunk.length)) return this.break("too_large");
    } else {
      this.#errorBytes += chunk.length;
      if (this.#errorBytes > MAXIMUM_ERROR_BYTES) {
        // The status alone makes it an error answer.
        this.exchange.cancel();
        return this.#failRefused(EMPTY);
      }
    }
    this.#chunks.push(chunk);
  }

  /** The bytes have ended. */
  protected close(): void {
    const answer = new AnswerBytes(
      this.#chunks,
      this.#decompressor === null && this.exchange.ownsChunks,
    );
    if (this.status === 200) this.whole(answer);
    else this.#failRefused(answer.whole);
  }

  /** Closes the socket, and fails. */
  protected break(kind: FailureKind): void {
    this.exchange.cancel();
    this.fail(failureOf(kind));
  }

  protected finish(end: CallEnd<Answer>): void {
    if (this.ended) return;
    this.ended = true;
    this.#decompressor?.destroy();
    this.#end.resolve(end);
  }

  #take(chunk: Uint8Array) {
    if (!this.ended) this.take(chunk);
  }

  #close() {
    if (!this.ended) this.close();
  }

  #failRefused(bytes: Uint8Array) {
    const { body, callers, readError } = this.#request;
    const { dialect } = this.#connection.provider;
    const failure = refusedRequest(readError(this.status ?? 0, bytes), { body, callers, dialect });
    this.fail({ ...failure, retryAfter: this.#retryAfter ?? failure.retryAfter });
  }
}

/** Longest accepted wait, milliseconds: an hour. */
const MAXIMUM = 3_600_000;

/**
 * Reads an upstream's retry time in milliseconds from `now` (milliseconds since the epoch):
 * `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110 §10.2.3). `null` without a
 * usable value.
 */
export function readRetryAfter(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  now: number,
): number | null {
  const precise = numberOf(headers["retry-after-ms"]);
  if (precise !== null) return bounded(precise);
  const value = first(headers["retry-after"]);
  if (value === null) return null;
  const seconds = numberOf(value);
  if (seconds !== null) return bounded(seconds * 1000);
  // `Date.parse` reads nearly anything as a date, including `-1`.
  if (!HTTP_DATE.test(value)) return null;
  // The oldest form names no zone, and means GMT.
  const date = Date.parse(value.endsWith("GMT") ? value : `${value} GMT`);
  return Number.isNaN(date) ? null : bounded(date - now);
}

/** The current form, and the two obsolete ones (RFC 9110 §5.6.7). */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]+day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

function first(value: string | readonly string[] | undefined): string | null {
  const single = typeof value === "string" ? value : value?.[0];
  return single === undefined || single.trim() === "" ? null : single.trim();
}

function numberOf(value: string | readonly string[] | undefined): number | null {
  const text = first(value);
  if (text === null || !/^\d+(\.\d+)?$/.test(text)) return null;
  return Number(text);
}

function bounded(milliseconds: number) {
  return Math.min(Math.max(Math.round(milliseconds), 0), MAXIMUM);
}

/** Decodes an answer. Its listener gets plain bytes, and one end or one failure. */
interface Decompressor {
  write(chunk: Uint8Array): void;
  /** The compressed bytes have ended. */
  end(): void;
  /** Discards the rest. */
  destroy(): void;
}

interface Listener {
  data(chunk: Uint8Array): void;
  end(): void;
  /** `malformed`: not the encoding of the header; `too_large`: a decompression bomb. */
  broken(kind: "malformed" | "too_large"): void;
}

// Every event must come out as soon as it is in, and a cut answer is judged by its protocol, not by
// its compression.
const GZIP = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
};

/**
 * Decoded size that every answer may have. The largest event that is waited for has as many bytes.
 */
const FREE_BYTES = 16 * 1024 * 1024;

/**
 * Decoded bytes per compressed byte beyond that. Answers of models reach ten; a bomb has a thousand
 * (gzip) or a million (Brotli).
 */
const MOST_EXPANSION = 100;

/**
 * For answers that are encoded although no encoding was requested (RFC 9110 §8.4 allows it).
 *
 * @returns `null` without an encoding, `undefined` for an unknown one.
 */
export function decompressorFor(
  encoding: string | readonly string[] | undefined,
  listener: Listener,
): Decompressor | null | undefined {
  const name = String(encoding ?? "identity")
    .trim()
    .toLowerCase();
  if (name === "identity" || name === "") return null;
  const stream =
    name === "gzip" || name === "x-gzip"
      ? createGunzip(GZIP)
      : name === "deflate"
        ? createInflate(GZIP)
        : name === "br"
          ? createBrotliDecompress(BROTLI)
          : null;
  if (stream === null) return undefined;
  let [compressed, decompressed] = [0, 0];
  stream.on("data", (chunk: Buffer) => {
    decompressed += chunk.length;
    if (decompressed <= FREE_BYTES + MOST_EXPANSION * compressed) return listener.data(chunk);
    stream.destroy();
    listener.broken("too_large");
  });
  stream.on("end", () => listener.end());
  stream.on("error", () => listener.broken("malformed"));
  return {
    write: (chunk) => {
      compressed += chunk.length;
      stream.write(chunk);
    },
    end: () => void stream.end(),
    destroy: () => void stream.destroy(),
  };
}
