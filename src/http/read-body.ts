import type { IncomingMessage } from "node:http";
import { codedError } from "../canon/error-codes.ts";
import { invalidRequest, type ServiceError } from "../canon/error.ts";
import { isJsonObject, type JsonObject } from "../canon/json.ts";
import { parseJsonBytes } from "../dialects/json.ts";
import { repeatsMember } from "../dialects/unary/one-meaning.ts";
import { stoppedError } from "../dispatch/failures.ts";
import type { StopReason, StopSource } from "../dispatch/stop-order.ts";
import type { RequestHold, ServerLimits } from "./capacity.ts";

/** A parsed body and how many bytes it had. */
export interface Body {
  readonly value: JsonObject;
  readonly bytes: number;
}

/** The client went away, or took too long, before its request was whole. */
type Unreadable = "aborted";

/** How an endpoint wants its bodies read. */
interface BodyReading {
  /** A form is read too, as an object of texts. */
  readonly acceptsForm?: boolean | undefined;
  /** A JSON object that names a member twice is refused. */
  readonly uniqueMembers?: boolean | undefined;
  /** Ends the reading. */
  readonly stopOrder?: StopSource | undefined;
  /** The process's memory for bodies; default: no bound. */
  readonly hold?: RequestHold | undefined;
}

/**
 * Reads a JSON object, bounded in size and time. The only function that turns a body into a value.
 */
export async function readBody(
  request: IncomingMessage,
  limits: ServerLimits,
  { acceptsForm = false, uniqueMembers = false, stopOrder, hold }: BodyReading = {},
): Promise<Body | ServiceError | Unreadable> {
  const isForm = acceptsForm && isFormType(request);
  const refusal =
    refuseByHeaders(request, limits, acceptsForm) ?? hold?.beginReading(announced(request)) ?? null;
  if (refusal !== null) {
    // Unread bytes would be taken for the next request on the connection.
    request.resume();
    return refusal;
  }
  // The client may have left while its key was looked up: no event would come any more.
  const bytes = request.destroyed ? "aborted" : await collect(request, limits, stopOrder, hold);
  hold?.endReading();
  if (bytes === "aborted") return bytes;
  if (bytes === "too_large") return tooLarge(limits);
  if (bytes === "server_stopping" || bytes === "key_revoked") return stoppedError(bytes);
  if (bytes === "too_slow") {
    return codedError("body_timeout", "The request's body did not arrive in time.");
  }
  if ("code" in bytes) return bytes;
  if (bytes.length === 0)
    return invalidRequest("invalid_json", "The body is empty; send a JSON object.");
  if (isForm) return readForm(bytes);
  const isLarge = bytes.length > LARGE;
  if (isLarge) await nextTurn();
  const value = parseJsonBytes(bytes);
  // Later stages print the body again.
  if (isLarge) await nextTurn();
  if (value === undefined)
    return invalidRequest("invalid_json", "The body is not valid JSON in UTF-8.");
  if (!isJsonObject(value))
    return invalidRequest("invalid_json", "The body must be a JSON object.");
  if (uniqueMembers && repeatsMember(bytes)) {
    return invalidRequest("invalid_json", "The body names a member twice; send each once.");
  }
  return { value, bytes: bytes.length };
}

/**
 * Bytes above which reading a body takes so long that others notice: 30 MB take 50 to 80 ms to
 * parse, and to print again.
 */
const LARGE = 2 * 1024 * 1024;

/**
 * Between two steps of work with large bodies, in which all other requests are handled.
 * Milliseconds.
 */
const PAUSE = 5;

let free: Promise<unknown> = Promise.resolve();

/**
 * Waits until no other large body is being worked on: many of them must not hold up other requests
 * for longer than one does.
 */
function nextTurn(): Promise<unknown> {
  const turn = free;
  // A timer alone would be due at once after long work, before anything else is read.
  free = turn.then(
    () =>
      new Promise((resolve) => {
        setImmediate(() => setTimeout(resolve, PAUSE));
      }),
  );
  return turn;
}

const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;

function isFormType({ headers }: IncomingMessage): boolean {
  return FORM.test(headers["content-type"] ?? "");
}

/** A form as a JSON object of texts. Names are checked by the endpoint's schema like any other. */
function readForm(bytes: Uint8Array): Body | ServiceError {
  const entries = [...new URLSearchParams(Buffer.from(bytes).toString())];
  const value: Record<string, string> = Object.create(null);
  for (const [name, text] of entries) {
    // RFC 6749 §3.2: parameters must not be repeated.
    if (name in value)
      return invalidRequest("invalid_form", "The form names a parameter twice; send each once.");
    value[name] = text;
  }
  return { value, bytes: bytes.length };
}

function refuseByHeaders(
  request: IncomingMessage,
  limits: ServerLimits,
  acceptsForm: boolean,
): ServiceError | null {
  const type = request.headers["content-type"] ?? "";
  if (
    !(acceptsForm && isFormType(request)) &&
    !/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)
  ) {
    return codedError(
      "unsupported_media_type",
      acceptsForm
        ? "Send Content-Type: application/json, or application/x-www-form-urlencoded."
        : "Send Content-Type: application/json.",
    );
  }
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    return codedError("unsupported_encoding", "Send the body without Content-Encoding.");
  }
  return announced(request) > limits.bodyBytes ? tooLarge(limits) : null;
}

/** Bytes; 0 where the body comes in chunks. */
function announced({ headers }: IncomingMessage): number {
  return Number(headers["content-length"] ?? 0);
}

function tooLarge(limits: ServerLimits): ServiceError {
  return codedError(
    "request_too_large",
    `The body is larger than ${limits.bodyBytes} bytes, which is the limit of this server.`,
  );
}

type Unfinished = "too_large" | "too_slow" | "aborted" | StopReason;

function collect(
  request: IncomingMessage,
  limits: ServerLimits,
  stopOrder: StopSource | undefined,
  hold: RequestHold | undefined,
): Promise<Uint8Array | ServiceError | Unfinished> {
  return new Promise((resolve) => {
    let chunks: Buffer[] = [];
    let isSettled = false;
    let forget: (() => void) | undefined;
    let size = 0;
    let checkedSize = 0;
    const endsAt = performance.now() + limits.bodyTime;
    const progressTime = Math.min(limits.bodyProgressTime ?? PROGRESS_TIME, limits.bodyTime);
    const checkProgress = (): void => {
      const timeLeft = endsAt - performance.now();
      if (timeLeft < 1 || size - checkedSize < (PROGRESS_RATE * progressTime) / 1_000)
        return settle("too_slow");
      checkedSize = size;
      timer = setTimeout(checkProgress, Math.min(progressTime, timeLeft));
    };
    let timer = setTimeout(checkProgress, progressTime);
    // Listeners stay: removing four of them costs more than their work for a small body.
    request.on("data", (chunk: Buffer) => {
      if (isSettled) return;
      size += chunk.length;
      if (size > limits.bodyBytes) return settle("too_large");
      const refusal = hold?.noteBytes(size) ?? null;
      if (refusal !== null) return settle(refusal);
      chunks.push(chunk);
    });
    const settle = (result: Uint8Array | ServiceError | Unfinished): void => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      forget?.();
      // The request outlives its body, which may be large.
      chunks = [];
      if (!(result instanceof Uint8Array) && result !== "aborted") request.resume();
      resolve(result);
    };
    request.on("end", () =>
      settle(chunks.length === 1 ? (chunks[0] ?? EMPTY) : Buffer.concat(chunks)),
    );
    request.on("close", () => settle("aborted"));
    // An aborted upload reports its error here too; `close` follows and settles.
    request.on("error", ignore);
    forget = stopOrder?.onGiven(({ reason }) => settle(reason));
  });
}

const EMPTY = new Uint8Array(0);

/**
 * A body that brings less than so many bytes a second, over the time, is given up: held connections
 * cost their sender something. Apache's default rate.
 */
const PROGRESS_RATE = 500;
const PROGRESS_TIME = 10_000;

function ignore(): void {}
