import type { RequestEdits } from "../../../canon/decision.ts";
import type { ServiceError } from "../../../canon/error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { tokenBucket, type InferenceRequest, type ProtocolHeaders } from "../../../canon/request.ts";
import { Asked } from "../../asked.ts";
import { parsePreferences } from "../../preferences.ts";
import { readRerankRequest } from "./read-request.ts";

/** Bytes of JSON per token, on average, in English text; only the context bucket is made from it. */
const BYTES_PER_TOKEN = 4;

/** Neither a route's mode nor a policy's edits are known before the decision; both only take members away. */
const NO_EDITS: RequestEdits = Object.freeze({ maxOutputTokens: null, stripFields: [] });

/**
 * Reads a validated rerank body: what it asks, how large it is, what it prefers. What could be sent nowhere is refused here, so that a simulated
 * decision says the same as a call.
 */
export function parseRerankRequest(
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
): InferenceRequest | ServiceError {
  const read = readRerankRequest(body, "strip", NO_EDITS);
  if ("code" in read) return read;
  const asked = new Asked();
  if (read.request.maxTokensPerDocument !== null) asked.use("document_limit", "max_tokens_per_doc");
  return {
    model: typeof body["model"] === "string" ? body["model"] : "",
    shape: {
      operation: "rerank",
      needs: asked.needs,
      features: asked.features,
      stream: false,
      context: tokenBucket(bytes / BYTES_PER_TOKEN),
      maxOutput: "unspecified",
      reasoningEffort: "unspecified",
      signatureFamilies: [],
      dimensions: null,
    },
    preferences: parsePreferences(body["provider"]),
    paths: asked.paths,
    headers,
    body,
    includeUsage: false,
  };
}
