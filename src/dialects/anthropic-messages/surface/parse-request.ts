import type { ServiceError } from "../../../canon/error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { tokenBucket, type InferenceRequest, type ProtocolHeaders } from "../../../canon/request.ts";
import { parsePreferences } from "../../preferences.ts";
import { RequestReading } from "../../request-reading.ts";
import { MESSAGES_BODY } from "../body.ts";
import { readMessagesBody, type MessagesOperation } from "./read-body.ts";
import { refusedMember } from "./refusals.ts";
import { readVersion, removedMember } from "./version.ts";

/** Bytes of JSON per token, on average, in English text; only the context bucket is made from it. */
const BYTES_PER_TOKEN = 4;

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
  if (reading.refusal !== null) return reading.refusal;
  const { model, max_tokens: limit } = body;
  return {
    model: typeof model === "string" ? model : "",
    shape: {
      operation,
      needs: reading.needs,
      features: reading.features,
      stream: read.stream,
      context: tokenBucket(bytes / BYTES_PER_TOKEN),
      maxOutput: tokenBucket(typeof limit === "number" ? limit : undefined),
      reasoningEffort: effort,
      signatureFamilies: reading.signatureFamilies,
      dimensions: null,
    },
    preferences: parsePreferences(body["provider"]),
    paths: reading.paths,
    headers,
    body,
    reader: MESSAGES_BODY,
    // Streams of this protocol always end with it.
    includeUsage: true,
  };
}
