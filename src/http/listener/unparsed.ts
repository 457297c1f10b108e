import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { serviceError, type ServiceError } from "../../canon/error.ts";
import { codedError } from "../../canon/errors/coded-error.ts";
import { OPENAI_FAMILY } from "../../dialects/openai-family/family.ts";
import type { OpenAnswers } from "./open-answers.ts";
import { commonHeaders, errorHeaders, printerAt, readClientRequestId, sendError } from "../send.ts";

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  413: "Content Too Large",
  431: "Request Header Fields Too Large",
};

/**
 * Answers what Node refuses before any handler of ours: bytes that are not HTTP, headers too long or too slow, an unknown `Expect`. The
 * answers have the shape and the request id of all others. There is no record: nobody and nothing was identified.
 */
export function answerUnparsed(server: Server, newRequestId: () => string, answers: OpenAnswers): void {
  server.on("clientError", (error: Error, socket: Duplex) => {
    // Bytes of ours in the middle of another answer would be read as part of it.
    if (socket.writable && !isTlsFailure(error) && !answers.hasBegunOn(socket)) {
      socket.end(rawAnswer(describe(error), newRequestId()), () => socket.destroy());
    } else socket.destroy();
  });
  server.on("checkExpectation", (incoming: IncomingMessage, response: ServerResponse) => {
    const requestId = newRequestId();
    const error = serviceError(
      417,
      "invalid_request",
      "unsupported_expectation",
      "Leave the Expect header out, or send Expect: 100-continue.",
    );
    sendError(
      response,
      printerAt(incoming.url ?? "/"),
      error,
      requestId,
      commonHeaders(requestId, readClientRequestId(incoming.headers["x-client-request-id"]), []),
    );
  });
}

/** No handshake, no answer: nobody could read it. */
function isTlsFailure(error: Error): boolean {
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" && /^(ERR_SSL|ERR_TLS|EPROTO|ECONNRESET)/.test(code);
}

function describe(error: Error): ServiceError {
  switch (Reflect.get(error, "code")) {
    case "HPE_HEADER_OVERFLOW":
      return serviceError(431, "too_large", "headers_too_large", "The request's headers are too large.");
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return serviceError(413, "too_large", "request_too_large", "The body's chunk extensions are too large.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return codedError("header_timeout", "The request's headers did not arrive in time.");
    default:
      return serviceError(400, "invalid_request", "malformed_request", "The bytes received are not an HTTP request.");
  }
}

/** A whole HTTP/1.1 answer; Node gives no response object for a request that it could not read. */
function rawAnswer(error: ServiceError, requestId: string): string {
  const json = OPENAI_FAMILY.renderError(error, requestId);
  return [
    `HTTP/1.1 ${error.status} ${REASONS[error.status] ?? "Error"}`,
    `x-request-id: ${requestId}`,
    `request-id: ${requestId}`,
    ...headerLines(errorHeaders(error)),
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(json)}`,
    "connection: close",
    "",
    json,
  ].join("\r\n");
}

/** @param headers names and values by turns. */
function headerLines(headers: readonly string[]): readonly string[] {
  return headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1] ?? ""}`] : []));
}
