import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { JsonObject, JsonValue } from "../../../canon/json.ts";
import type { InferenceRequest, ProtocolHeaders } from "../../../canon/request.ts";
import { inferenceRequest, RequestReading, UNSPECIFIED } from "../../request-reading.ts";
import { INPUT_BODY } from "../../unary/input-body.ts";

/** Reads a validated embeddings body as far as the decision needs it: what is reading, for whom, how much. */
export function parseEmbeddingsRequest(
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
): InferenceRequest | ServiceError {
  const reading = new RequestReading();
  const problem = emptyInput(body["input"]) ?? contradictedLength(body);
  if (problem !== null) return problem;
  const { input, dimensions, output_dimension: outputDimension } = body;
  if (Array.isArray(input) && typeof input[0] !== "string") {
    reading.use("token_inputs", typeof input[0] === "number" ? "input" : "input[0]");
  }
  if (typeof body["input_type"] === "string") reading.use("input_purpose", "input_type");
  const length = dimensions ?? outputDimension;
  const parsed = { ...UNSPECIFIED, dimensions: typeof length === "number" ? length : null };
  return inferenceRequest(reading, { ...parsed, operation: "embeddings", body, bytes, headers, reader: INPUT_BODY });
}

/** Providers refuse an empty text among a thousand without saying which; some answer it with a vector of nothing. */
function emptyInput(input: JsonValue | undefined): ServiceError | null {
  if (input === "") return invalidRequest("empty_input", "input must not be an empty text", "input");
  const index = Array.isArray(input) ? input.indexOf("") : -1;
  if (index === -1) return null;
  return invalidRequest("empty_input", `input[${index}] must not be an empty text`, `input[${index}]`);
}

function contradictedLength({ dimensions, output_dimension: other }: JsonObject): ServiceError | null {
  if (typeof dimensions !== "number" || typeof other !== "number" || dimensions === other) return null;
  const message = "dimensions and output_dimension say different lengths; send one of them";
  return invalidRequest("invalid_value", message, "output_dimension");
}
