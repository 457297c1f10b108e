import type { RequestReader } from "../../dialect.ts";
import type { RequestEdits } from "../../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { JsonObject, JsonValue } from "../../../canon/json.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import {
  EMBED_PURPOSES,
  VECTOR_ENCODINGS,
  type EmbedInput,
  type EmbedRequest,
} from "../../../canon/unary.ts";
import { Members, TranslationRecord } from "../../members.ts";
import { takeExtras } from "../../unary/extras.ts";
import type { ReadRequest } from "../../unary/surface.ts";
import { PURPOSE_ALIASES } from "./schema.ts";
import { inferenceRequest, RequestReading, UNSPECIFIED, type FieldRegistry } from "../../fields.ts";
import { readKinds } from "../../kinds.ts";
import { CHAT_KINDS } from "../read-tools.ts";
import { INPUT_BODY } from "../../body-reader.ts";
import { numberOrNull } from "../../json.ts";

/** Every top-level member of an embeddings request that we know. */
export const EMBEDDINGS_FIELDS: FieldRegistry = {
  model: { class: "core" },
  input: { class: "core" },
  dimensions: { class: "core" },
  output_dimension: { class: "core" },
  encoding_format: { class: "core" },
  input_type: { class: "core", uses: "input_purpose" },
  truncation: { class: "core" },
  output_dtype: { class: "core" },
  on_partial: { class: "ours" },
  user: { class: "identity" },
  provider: { class: "ours" },
};

/**
 * Reads a validated embeddings body as far as the decision needs it: what is reading, for whom, how
 * much.
 */
export const parseEmbeddingsRequest: RequestReader["parse"] = (body, bytes, headers) => {
  const reading = new RequestReading();
  const problem = emptyInput(body["input"]) ?? contradictedLength(body);
  if (problem !== null) return problem;
  const { input, dimensions, output_dimension: outputDimension } = body;
  if (Array.isArray(input) && typeof input[0] !== "string") {
    reading.use("token_inputs", typeof input[0] === "number" ? "input" : "input[0]");
  }
  if (typeof body["input_type"] === "string") reading.use("input_purpose", "input_type");
  const length = dimensions ?? outputDimension;
  const parsed = { ...UNSPECIFIED, dimensions: numberOrNull(length) };
  readKinds(body, EMBEDDINGS_FIELDS, CHAT_KINDS, reading);
  return inferenceRequest(reading, {
    ...parsed,
    operation: "embeddings",
    body,
    bytes,
    headers,
    reader: INPUT_BODY,
  });
};

/**
 * Providers refuse an empty text among a thousand without saying which; some answer it with a
 * vector of nothing.
 */
function emptyInput(input: JsonValue | undefined): ServiceError | null {
  if (input === "")
    return invalidRequest("empty_input", "input must not be an empty text", "input");
  const index = Array.isArray(input) ? input.indexOf("") : -1;
  if (index === -1) return null;
  return invalidRequest(
    "empty_input",
    `input[${index}] must not be an empty text`,
    `input[${index}]`,
  );
}

function contradictedLength({
  dimensions,
  output_dimension: other,
}: JsonObject): ServiceError | null {
  if (typeof dimensions !== "number" || typeof other !== "number" || dimensions === other)
    return null;
  const message = "dimensions and output_dimension say different lengths; send one of them";
  return invalidRequest("invalid_value", message, "output_dimension");
}

/** An embeddings body in canon, every leaf of it. */
export function readEmbeddingsRequest(
  body: JsonObject,
  mode: UnknownFields,
  edits: RequestEdits,
): ReadRequest<EmbedRequest> | ServiceError {
  const record = new TranslationRecord();
  const members = new Members(body, "", record);
  const extras = takeExtras(members, body, EMBEDDINGS_FIELDS, mode, edits);
  for (const name of ["model", "provider", "on_partial", "output_dtype"]) members.take(name);
  const input = members.take("input");
  const outputDimension = members.number("output_dimension");
  const purpose = members.text("input_type");
  const request: EmbedRequest = {
    inputs: inputsOf(input),
    isScalar: typeof input === "string" || (Array.isArray(input) && typeof input[0] === "number"),
    dimensions: members.number("dimensions") ?? outputDimension,
    encoding: members.oneOf("encoding_format", VECTOR_ENCODINGS),
    purpose: purpose === null ? null : (purposeOf(purpose) ?? null),
    mayTruncate: members.flag("truncation"),
    extras,
  };
  members.close();
  return (
    record.result(mode) ?? { request, stripped: [...record.stripped], dropped: [...record.dropped] }
  );
}

function purposeOf(value: string): EmbedRequest["purpose"] | undefined {
  const aliases: Readonly<Record<string, string>> = PURPOSE_ALIASES;
  const name = Object.hasOwn(aliases, value) ? aliases[value] : value;
  return EMBED_PURPOSES.find((purpose) => purpose === name);
}

/** One input for each vector: a list of numbers is the tokens of one. */
function inputsOf(input: JsonValue | undefined): readonly EmbedInput[] {
  if (typeof input === "string") return [input];
  if (!Array.isArray(input)) return [];
  const items: readonly JsonValue[] = input;
  if (typeof items[0] === "number") return [items.filter((item) => typeof item === "number")];
  return items.flatMap((item): readonly EmbedInput[] => {
    if (typeof item === "string") return [item];
    return Array.isArray(item) ? [item.filter((token) => typeof token === "number")] : [];
  });
}
