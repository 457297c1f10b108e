import type { RequestEdits } from "../../../canon/decision.ts";
import type { ServiceError } from "../../../canon/error.ts";
import type { Hints } from "../../../canon/generate/generate-request.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { InferenceRequest } from "../../../canon/request.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import type { CanonicalRequest } from "../../dialect.ts";
import { CHAT_FIELDS } from "../fields.ts";
import { RequestReading } from "../../request-reading.ts";
import { cappedLimit, keptMembers, nativeMember } from "../../translation/kept-members.ts";
import { readChatBody } from "./read-body.ts";

/**
 * A chat completions body in canon. What only this protocol says has been noticed when the body was parsed (`native_chat`); such a body is refused.
 */
export function chatToCanon(
  request: InferenceRequest,
  mode: UnknownFields,
  edits: RequestEdits,
): CanonicalRequest | ServiceError {
  const native = nativeMember(request, "native_chat");
  if (native !== null) return native;
  const reading = new RequestReading(true);
  const { body, stripped } = keptMembers(CHAT_FIELDS, request.body, mode, edits, reading);
  const read = readChatBody(body, reading);
  const hints = readHints(body, reading);
  if (reading.refusal !== null) return reading.refusal;
  return {
    request: { ...read, maxOutputTokens: cappedLimit(read.maxOutputTokens, edits), hints },
    stripped,
    dropped: [...reading.dropped].toSorted(),
  };
}

function readHints(body: JsonObject, reading: RequestReading): Hints {
  if ((body["prompt_cache_options"] ?? null) !== null) reading.dropped.add("cache_hint_dropped");
  const hint = (name: string): string | null => {
    const value = body[name];
    return typeof value === "string" ? value : null;
  };
  return {
    serviceTier: hint("service_tier"),
    promptCacheKey: hint("prompt_cache_key"),
    promptCacheRetention: hint("prompt_cache_retention"),
  };
}
