import type { IncomingMessage } from "node:http";
import { invalidRequest, serviceError, type ServiceError } from "../canon/error.ts";
import { isJsonObject, type JsonObject } from "../canon/json.ts";
import { parseJsonBytes, repeatsMember } from "../dialects/json-bytes.ts";
import { serverStopping } from "../dispatch/failure-error.ts";
import type { StopOrder } from "../dispatch/gates/stop-order.ts";
import type { ServerLimits } from "./runtime.ts";

/** A parsed body and how many bytes it had. */
export interface Body {
  readonly value: JsonObject;
  readonly bytes: number;
}

/** The client went away, or took too long, before its request was whole. */
export type Unreadable = "aborted";

/** How an endpoint wants its bodies read. */
export interface BodyReading {
  /** A form is read too, as an object of texts. */
  readonly acceptsForm?: boolean | undefined;
  /** A JSON object that names a member twice is refused. */
  readonly uniqueMembers?: boolean | undefined;
  /** Ends the reading; never given where absent. */
  readonly stopOrder?: StopOrder | undefined;
}

/** Reads a JSON object, bounded in size and time. The one place where a body becomes a value. */
export async function readBody(
  request: IncomingMessage,
  limits: ServerLimits,
  { acceptsForm = false, uniqueMembers = false, stopOrder }: BodyReading = {},
): Promise<Body | ServiceError | Unreadable> {
  const isForm = acceptsForm && FORM.test(request.headers["content-type"] ?? "");
  const refused = refuseByHeaders(request, limits, isForm);
  if (refused !== null) {
    // Unread bytes would be taken for the next request on the connection.
    request.resume();
    return refused;
  }
  const bytes = await collect(request, limits, stopOrder);
  if (bytes === "aborted") return bytes;
  if (bytes === "too_large") return tooLarge(limits);
  if (bytes === "stopping") return serverStopping();
  if (bytes === "too_slow") {
    return serviceError(408, "timeout", "body_timeout", "The request's body did not arrive in time.");
  }
  if (bytes.length === 0) return invalidRequest("invalid_json", "The body is empty; send a JSON object.");
  if (isForm) return readForm(bytes);
  const value = parseJsonBytes(bytes);
  if (value === undefined) return invalidRequest("invalid_json", "The body is not valid JSON in UTF-8.");
  if (!isJsonObject(value)) return invalidRequest("invalid_json", "The body must be a JSON object.");
  if (uniqueMembers && repeatsMember(bytes)) {
    return invalidRequest("invalid_json", "The body names a member twice; send each once.");
  }
  return { value, bytes: bytes.length };
}

const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;

/** A form as a JSON object of texts. Names are checked by the endpoint's schema like any other. */
function readForm(bytes: Uint8Array): Body | ServiceError {
  const entries = [...new URLSearchParams(Buffer.from(bytes).toString())];
  const value: Record<string, string> = Object.create(null);
  for (const [name, text] of entries) {
    // RFC 6749 §3.2: parameters must not be repeated.
    if (name in value) return invalidRequest("invalid_form", "The form names a parameter twice; send each once.");
    value[name] = text;
  }
  return { value, bytes: bytes.length };
}

function refuseByHeaders(request: IncomingMessage, limits: ServerLimits, isForm: boolean): ServiceError | null {
  const type = request.headers["content-type"] ?? "";
  if (!isForm && !/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) {
    return serviceError(415, "invalid_request", "unsupported_media_type", "Send Content-Type: application/json.");
  }
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    return serviceError(415, "invalid_request", "unsupported_encoding", "Send the body without Content-Encoding.");
  }
  return Number(request.headers["content-length"] ?? 0) > limits.bodyBytes ? tooLarge(limits) : null;
}

function tooLarge(limits: ServerLimits): ServiceError {
  return serviceError(
    413,
    "too_large",
    "request_too_large",
    `The body is larger than ${limits.bodyBytes} bytes, which is the limit of this server.`,
  );
}

type Unfinished = "too_large" | "too_slow" | "aborted" | "stopping";

function collect(
  request: IncomingMessage,
  limits: ServerLimits,
  stopOrder: StopOrder | undefined,
): Promise<Uint8Array | Unfinished> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let forget: (() => void) | undefined;
    let size = 0;
    const timer = setTimeout(() => settle("too_slow"), limits.bodyTime);
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > limits.bodyBytes) settle("too_large");
      else chunks.push(chunk);
    };
    const onEnd = (): void => settle(chunks.length === 1 ? (chunks[0] ?? EMPTY) : Buffer.concat(chunks));
    const onClose = (): void => settle("aborted");
    const settle = (result: Uint8Array | Unfinished): void => {
      clearTimeout(timer);
      forget?.();
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      if (typeof result === "string" && result !== "aborted") request.resume();
      resolve(result);
    };
    request.on("data", onData).on("end", onEnd).on("close", onClose);
    forget = stopOrder?.onGiven(() => settle("stopping"));
    // An aborted upload reports its error here too; `close` follows and settles.
    request.on("error", () => {});
  });
}

const EMPTY = new Uint8Array(0);
