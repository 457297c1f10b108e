import type { RequestEdits } from "../../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { InferenceRequest } from "../../../canon/request.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import type { CanonicalRequest } from "../../dialect.ts";
import { RequestReading } from "../../request-reading.ts";
import { cappedLimit, keptMembers, nativeMember } from "../../translation/kept-members.ts";
import { fieldsOf } from "../fields.ts";
import { readMessagesBody } from "../surface/read-body.ts";
import { readVersion, VERSIONS } from "../surface/version.ts";
import { budgetUnder } from "../thinking-budget.ts";

/** A body of either operation in canon. Members that only the protocol itself has do not get here: `parse` has required an endpoint of its own. */
export function messagesToCanon(
  request: InferenceRequest,
  mode: UnknownFields,
  edits: RequestEdits,
): CanonicalRequest | ServiceError {
  const native = nativeMember(request, "native_messages");
  if (native !== null) return native;
  const counts = request.shape.operation === "messages.count_tokens";
  const operation = counts ? "messages.count_tokens" : "messages";
  const version = readVersion(request.headers);
  const reading = new RequestReading(true);
  const { body, stripped } = keptMembers(fieldsOf(operation), request.body, mode, edits, reading);
  const { read } = readMessagesBody(operation, body, reading, typeof version === "string" ? version : VERSIONS[0]);
  const maxOutputTokens = counts ? null : cappedLimit(read.maxOutputTokens, edits);
  const hints = {
    serviceTier: readServiceTier(counts, body, reading),
    promptCacheKey: null,
    promptCacheRetention: null,
  };
  noteHints(body, reading);
  if (reading.refusal !== null) return reading.refusal;
  // System text alone is no conversation, and some protocols would answer it.
  if (read.turns.every(({ role }) => role === "system")) {
    return invalidRequest("missing_field", "messages must hold something to answer", "messages");
  }
  const reasoning = fittingReasoning(read, maxOutputTokens);
  return {
    request: { ...read, maxOutputTokens, reasoning, hints },
    stripped,
    dropped: [...reading.dropped].toSorted(),
  };
}

/** Members that may help, and that no other protocol has. */
function noteHints(body: JsonObject, reading: RequestReading): void {
  if ((body["cache_control"] ?? null) !== null) reading.dropped.add("cache_mark_dropped");
  for (const name of ["diagnostics", "context_management"]) {
    if ((body[name] ?? null) !== null) reading.dropped.add("hint_dropped");
  }
  if ((body["speed"] ?? "standard") !== "standard") reading.dropped.add("hint_dropped");
}

function fittingReasoning(
  { reasoning, maxOutputTokens: requested }: Pick<GenerateRequest, "reasoning" | "maxOutputTokens">,
  limit: number | null,
): GenerateRequest["reasoning"] {
  if (reasoning === null || reasoning.budget === null || limit === null) return reasoning;
  return { ...reasoning, budget: budgetUnder(reasoning.budget, requested, limit) };
}

/** In canon tiers have the words of the protocol that has most of them. */
function readServiceTier(counts: boolean, { service_tier: tier }: JsonObject, reading: RequestReading): string | null {
  if (counts || typeof tier !== "string") return null;
  if (tier !== "standard_only") return tier;
  reading.dropped.add("service_tier_changed");
  return "default";
}
