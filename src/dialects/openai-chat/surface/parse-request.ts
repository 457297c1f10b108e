import { invalidRequest } from "../../../canon/error.ts";
import type { ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject } from "../../../canon/json.ts";
import { tokenBucket, type InferenceRequest, type ProtocolHeaders } from "../../../canon/request.ts";
import { CHAT_BODY } from "../body.ts";
import { CHAT_EXTENSIONS, CHAT_FIELDS } from "../fields.ts";
import { parsePreferences } from "../../preferences.ts";
import { RequestReading } from "../../request-reading.ts";
import { effortOf, readChatBody } from "./read-body.ts";
import { statefulField } from "./stateful.ts";

/** Bytes of JSON per token, on average, in English text; only the context bucket is made from it. */
const BYTES_PER_TOKEN = 4;

/** Reads a validated chat completions body: what it requires of models and of wire protocols, how large it is, what it prefers. */
export function parseChatRequest(
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
): InferenceRequest | ServiceError {
  const stateful = statefulField(body);
  if (stateful !== null) return stateful;
  const reading = new RequestReading();
  noteFields(body, reading);
  const { stream, maxOutputTokens } = readChatBody(body, reading);
  if (reading.refusal !== null) return reading.refusal;
  const { model, stream_options: options } = body;
  if (isJsonObject(options) && !stream) {
    const sentence = "stream_options is only allowed when stream is true";
    return invalidRequest("invalid_stream_options", sentence, "stream_options");
  }
  return {
    model: typeof model === "string" ? model : "",
    shape: {
      operation: "chat.completions",
      needs: reading.needs,
      features: reading.features,
      stream,
      context: tokenBucket(bytes / BYTES_PER_TOKEN),
      maxOutput: tokenBucket(maxOutputTokens ?? undefined),
      reasoningEffort: effortOf(body["reasoning_effort"]),
      signatureFamilies: reading.signatureFamilies,
      dimensions: null,
    },
    preferences: parsePreferences(body["provider"]),
    paths: reading.paths,
    headers,
    body,
    reader: CHAT_BODY,
    includeUsage: isJsonObject(options) && options["include_usage"] === true,
  };
}

/** What top-level members require by having a value. */
function noteFields(body: JsonObject, reading: RequestReading): void {
  for (const name in body) {
    const value = body[name];
    if (value === null || value === undefined || value === false) continue;
    const facts = factsOf(name);
    if (facts === undefined) continue;
    if (typeof value === "object" && JSON.isRawJSON(value)) {
      reading.refuse(invalidRequest("invalid_type", `${name} must not be a number of this size`, name));
    }
    if (Array.isArray(value) && value.length === 0) continue;
    if (facts.needs !== undefined) reading.need(facts.needs, name);
    if (facts.uses !== undefined) reading.use(facts.uses, name);
  }
}

function factsOf(name: string): (typeof CHAT_FIELDS)[string] | undefined {
  if (Object.hasOwn(CHAT_FIELDS, name)) return CHAT_FIELDS[name];
  return Object.hasOwn(CHAT_EXTENSIONS, name) ? CHAT_EXTENSIONS[name] : undefined;
}
