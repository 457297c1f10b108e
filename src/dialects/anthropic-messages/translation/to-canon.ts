import type { RequestEdits } from "../../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { InferenceRequest } from "../../../canon/request.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import type { CanonicalRequest } from "../../dialect.ts";
import type { RequestReading } from "../../request-reading.ts";
import { canonicalRequest, type CanonReader } from "../../translation/kept-members.ts";
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
  const counts = request.shape.operation === "messages.count_tokens";
  const operation = counts ? "messages.count_tokens" : "messages";
  const version = readVersion(request.headers);
  let requested: number | null = null;
  const reader: CanonReader = {
    native: "native_messages",
    registry: fieldsOf(operation),
    read: (body, reading) => {
      const made = readMessagesBody(operation, body, reading, typeof version === "string" ? version : VERSIONS[0]);
      requested = made.read.maxOutputTokens;
      return made.read;
    },
    hints: (body, reading) => {
      noteHints(body, reading);
      const serviceTier = readServiceTier(counts, body, reading);
      return { serviceTier, promptCacheKey: null, promptCacheRetention: null };
    },
  };
  const made = canonicalRequest(reader, request, mode, edits);
  if ("code" in made) return made;
  // System text alone is no conversation, and some protocols would answer it.
  if (made.request.turns.every(({ role }) => role === "system")) {
    return invalidRequest("missing_field", "messages must hold something to answer", "messages");
  }
  return { ...made, request: { ...made.request, reasoning: fittingReasoning(made.request, requested) } };
}

/** Members that may help, and that no other protocol has. */
function noteHints(body: JsonObject, reading: RequestReading): void {
  if ((body["cache_control"] ?? null) !== null) reading.dropped.add("cache_mark_dropped");
  for (const name of ["diagnostics", "context_management"]) {
    if ((body[name] ?? null) !== null) reading.dropped.add("hint_dropped");
  }
  if ((body["speed"] ?? "standard") !== "standard") reading.dropped.add("hint_dropped");
}

/** @param requested the limit that the caller set, tokens. */
function fittingReasoning(
  { reasoning, maxOutputTokens: limit }: GenerateRequest,
  requested: number | null,
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
