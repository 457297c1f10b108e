import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { InferenceRequest, ProtocolHeaders } from "../../../canon/request.ts";
import { inferenceRequest, RequestReading, UNSPECIFIED } from "../../request-reading.ts";
import { isWebUrl } from "../../translation/data-url.ts";
import { INPUT_BODY } from "../../unary/input-body.ts";

/** Reads a validated moderations body as far as the decision needs it. Without a model, the workspace's default route is meant. */
export function parseModerationsRequest(
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
): InferenceRequest | ServiceError {
  const reading = new RequestReading();
  const problem = askImages(body["input"], reading);
  if (problem !== null) return problem;
  const parsed = { ...UNSPECIFIED, operation: "moderations", body, bytes, headers, reader: INPUT_BODY } as const;
  return inferenceRequest(reading, parsed);
}

function askImages(input: JsonValue | undefined, reading: RequestReading): ServiceError | null {
  if (!Array.isArray(input)) return null;
  const items: readonly JsonValue[] = input;
  for (const [index, item] of items.entries()) {
    const image = isJsonObject(item) && item["type"] === "image_url" ? item["image_url"] : undefined;
    if (!isJsonObject(image)) continue;
    reading.need("image_input", `input[${index}]`);
    const path = `input[${index}].image_url.url`;
    const { url } = image;
    if (typeof url === "string" && isDataUrl(url)) continue;
    if (typeof url !== "string" || !isWebUrl(url)) {
      return invalidRequest("invalid_value", `${path} must be a data URL or begin with http:// or https://`, path);
    }
    reading.use("image_url", path);
  }
  return null;
}

function isDataUrl(url: string): boolean {
  return /^data:/i.test(url);
}
