import type { RequestEdits } from "../../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { Hints } from "../../../canon/generate/generate-request.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { InferenceRequest } from "../../../canon/request.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import type { CanonicalRequest } from "../../dialect.ts";
import { RequestReading } from "../../request-reading.ts";
import { cappedLimit, keptMembers, nativeMember } from "../../translation/kept-members.ts";
import { RESPONSES_FIELDS } from "../fields.ts";
import { readResponsesBody } from "./read-body.ts";

/** A parsed responses request in canon. What only this protocol says has been noticed when the body was parsed (`native_responses`); such a body is refused. */
export function responsesToCanon(
  request: InferenceRequest,
  mode: UnknownFields,
  edits: RequestEdits,
): CanonicalRequest | ServiceError {
  const native = nativeMember(request, "native_responses");
  if (native !== null) return native;
  const reading = new RequestReading(true);
  const { body, stripped } = keptMembers(RESPONSES_FIELDS, request.body, mode, edits, reading);
  const { read } = readResponsesBody(body, reading);
  const hints = readHints(body, reading);
  if (reading.refusal !== null) return reading.refusal;
  if (read.turns.length === 0) return invalidRequest("missing_field", "input must hold something to answer", "input");
  const maxOutputTokens = cappedLimit(read.maxOutputTokens, edits);
  return { request: { ...read, maxOutputTokens, hints }, stripped, dropped: [...reading.dropped].toSorted() };
}

function readHints(body: JsonObject, reading: RequestReading): Hints {
  if ((body["prompt_cache_options"] ?? null) !== null) reading.dropped.add("cache_hint_dropped");
  const hint = (name: string): string | null => {
    const value = body[name];
    return typeof value === "string" ? value : null;
  };
  const tier = hint("service_tier");
  return {
    // The protocol's default asks for nothing.
    serviceTier: tier === "auto" ? null : tier,
    promptCacheKey: hint("prompt_cache_key"),
    promptCacheRetention: hint("prompt_cache_retention"),
  };
}
