import type { RequestEdits } from "../../../canon/decision.ts";
import type { ServiceError } from "../../../canon/error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { InferenceRequest, ProtocolHeaders } from "../../../canon/request.ts";
import { inferenceRequest, RequestReading, UNSPECIFIED } from "../../request-reading.ts";
import { RERANK_BODY } from "./body.ts";
import { readRerankRequest } from "./read-request.ts";

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
  const reading = new RequestReading();
  if (read.request.maxTokensPerDocument !== null) reading.use("document_limit", "max_tokens_per_doc");
  return inferenceRequest(reading, { ...UNSPECIFIED, operation: "rerank", body, bytes, headers, reader: RERANK_BODY });
}
