import type { ServiceError } from "../../../canon/error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { InferenceRequest, ProtocolHeaders } from "../../../canon/request.ts";
import { inferenceRequest, RequestReading } from "../../request-reading.ts";
import { MESSAGES_BODY } from "../body.ts";
import { readMessagesBody, type MessagesOperation } from "./read-body.ts";
import { refusedMember } from "./refusals.ts";
import { readVersion, removedMember } from "./version.ts";

/** Reads a validated body of either operation: what it requires, how large it is, what it prefers. */
export function parseMessagesRequest(
  operation: MessagesOperation,
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
): InferenceRequest | ServiceError {
  const version = readVersion(headers);
  if (typeof version !== "string") return version;
  const reading = new RequestReading();
  const refused = refusedMember(body) ?? removedMember(body, version);
  if (refused !== null) return refused;
  const { read, effort } = readMessagesBody(operation, body, reading, version);
  const { stream } = read;
  const limit = body["max_tokens"];
  const maxOutputTokens = typeof limit === "number" ? limit : null;
  const parsed = { operation, stream, maxOutputTokens, effort, bytes, headers, body } as const;
  // Streams of this protocol always end with their usage.
  return inferenceRequest(reading, { ...parsed, dimensions: null, reader: MESSAGES_BODY, includeUsage: true });
}
