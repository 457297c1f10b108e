import type { RequestEdits } from "../../../canon/decision.ts";
import type { ServiceError } from "../../../canon/error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { InferenceRequest, ProtocolHeaders } from "../../../canon/request.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import type { CanonicalRequest } from "../../dialect.ts";
import { readHints, readIncludeUsage, statefulMember } from "../../openai-family/read-members.ts";
import { inferenceRequest, RequestReading } from "../../request-reading.ts";
import { canonicalRequest, type CanonReader } from "../../translation/kept-members.ts";
import { CHAT_BODY } from "../body.ts";
import { CHAT_EXTENSIONS, CHAT_FIELDS } from "../fields.ts";
import { effortOf, readChatBody } from "./read-body.ts";

/** What each member that needs a provider's memory requests, of chat and legacy completions. */
export const CHAT_STATEFUL: Readonly<Record<string, string>> = {
  store: "asks the provider to keep the conversation; this router never does. Send false or leave it out",
  background:
    "asks the provider to keep the answer until it is fetched. Send false or leave it out, and wait or stream",
  previous_response_id: "names an answer kept at a provider; send the messages themselves",
  conversation: "names a conversation kept at a provider; send the messages themselves",
};

const ALL_FIELDS = { ...CHAT_EXTENSIONS, ...CHAT_FIELDS };

/** Reads a validated chat completions body: what it requires of models and of wire protocols, how large it is, what it prefers. */
export function parseChatRequest(
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
): InferenceRequest | ServiceError {
  const refused = statefulMember(body, CHAT_STATEFUL);
  if (refused !== null) return refused;
  const reading = new RequestReading();
  reading.noteFields(body, ALL_FIELDS);
  const { stream, maxOutputTokens } = readChatBody(body, reading);
  const includeUsage = readIncludeUsage(body, stream);
  if (typeof includeUsage === "object") return reading.refusal ?? includeUsage;
  const effort = effortOf(body["reasoning_effort"]);
  const operation = "chat.completions";
  const parsed = { operation, stream, maxOutputTokens, effort, bytes, headers, body, includeUsage } as const;
  return inferenceRequest(reading, { ...parsed, dimensions: null, reader: CHAT_BODY });
}

const READER: CanonReader = { native: "native_chat", registry: CHAT_FIELDS, read: readChatBody, hints: readHints };

/** A parsed chat completions request in canon. */
export function chatToCanon(
  request: InferenceRequest,
  mode: UnknownFields,
  edits: RequestEdits,
): CanonicalRequest | ServiceError {
  return canonicalRequest(READER, request, mode, edits);
}
