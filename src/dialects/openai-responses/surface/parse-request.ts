import type { ServiceError } from "../../../canon/error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { tokenBucket, type InferenceRequest, type ProtocolHeaders } from "../../../canon/request.ts";
import { parsePreferences } from "../../preferences.ts";
import { RequestReading } from "../../request-reading.ts";
import { RESPONSES_BODY } from "../body.ts";
import { statefulField } from "../stateful.ts";
import { readResponsesBody } from "./read-body.ts";

/** Bytes of JSON per token, on average, in English text; only the context bucket is made from it. */
const BYTES_PER_TOKEN = 4;

/** Reads a validated responses body: what it requires of models and of wire protocols, how large it is, what it prefers. */
export function parseResponsesRequest(
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
): InferenceRequest | ServiceError {
  const stateful = statefulField(body);
  if (stateful !== null) return stateful;
  const reading = new RequestReading();
  const { read, effort } = readResponsesBody(body, reading);
  if (reading.refusal !== null) return reading.refusal;
  const { model } = body;
  return {
    model: typeof model === "string" ? model : "",
    shape: {
      operation: "responses",
      needs: reading.needs,
      features: reading.features,
      stream: read.stream,
      context: tokenBucket(bytes / BYTES_PER_TOKEN),
      maxOutput: tokenBucket(read.maxOutputTokens ?? undefined),
      reasoningEffort: effort,
      signatureFamilies: reading.signatureFamilies,
      dimensions: null,
    },
    preferences: parsePreferences(body["provider"]),
    paths: reading.paths,
    headers,
    body,
    reader: RESPONSES_BODY,
    // The protocol's last event always tells of tokens.
    includeUsage: true,
  };
}
