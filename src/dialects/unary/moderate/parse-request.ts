import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { tokenBucket, type InferenceRequest, type ProtocolHeaders } from "../../../canon/request.ts";
import { Asked } from "../../asked.ts";
import { parsePreferences } from "../../preferences.ts";
import { isWebUrl } from "../../translation/data-url.ts";

/** Bytes of JSON per token, on average, in English text; only the context bucket is made from it. */
const BYTES_PER_TOKEN = 4;

/** Reads a validated moderations body as far as the decision needs it. Without a model, the workspace's default route is meant. */
export function parseModerationsRequest(
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
): InferenceRequest | ServiceError {
  const asked = new Asked();
  const problem = askImages(body["input"], asked);
  if (problem !== null) return problem;
  return {
    model: typeof body["model"] === "string" ? body["model"] : "",
    shape: {
      operation: "moderations",
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

function askImages(input: JsonValue | undefined, asked: Asked): ServiceError | null {
  if (!Array.isArray(input)) return null;
  const items: readonly JsonValue[] = input;
  for (const [index, item] of items.entries()) {
    const image = isJsonObject(item) && item["type"] === "image_url" ? item["image_url"] : undefined;
    if (!isJsonObject(image)) continue;
    asked.need("image_input", `input[${index}]`);
    const path = `input[${index}].image_url.url`;
    const { url } = image;
    if (typeof url === "string" && isDataUrl(url)) continue;
    if (typeof url !== "string" || !isWebUrl(url)) {
      return invalidRequest("invalid_value", `${path} must be a data URL or begin with https://`, path);
    }
    asked.use("image_url", path);
  }
  return null;
}

function isDataUrl(url: string): boolean {
  return /^data:/i.test(url);
}
