import type { BodyReader } from "../../canon/body-reader.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { Operation } from "../../canon/operation.ts";
import { tokenBucket, type InferenceRequest, type ProtocolHeaders } from "../../canon/request.ts";
import type { RequestReading } from "../request-reading.ts";
import { parsePreferences } from "../preferences.ts";

/** Bytes of JSON per token, on average, in English text; only the context bucket is made from it. */
const BYTES_PER_TOKEN = 4;

/**
 * What the decision needs to know of a request that is answered with one document: nothing of generation has a value.
 *
 * @param bytes size of the body as it arrived.
 * @param dimensions length of vectors asked for; `null` where the request does not say.
 */
export function unaryRequest(
  operation: Operation,
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
  reading: RequestReading,
  dimensions: number | null,
  reader: BodyReader,
): InferenceRequest {
  return {
    model: typeof body["model"] === "string" ? body["model"] : "",
    shape: {
      operation,
      needs: reading.needs,
      features: reading.features,
      stream: false,
      context: tokenBucket(bytes / BYTES_PER_TOKEN),
      maxOutput: "unspecified",
      reasoningEffort: "unspecified",
      signatureFamilies: [],
      dimensions,
    },
    preferences: parsePreferences(body["provider"]),
    paths: reading.paths,
    headers,
    body,
    reader,
    includeUsage: false,
  };
}
