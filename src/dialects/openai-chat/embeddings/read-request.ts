import type { RequestEdits } from "../../../canon/decision.ts";
import type { ServiceError } from "../../../canon/error.ts";
import type { JsonObject, JsonValue } from "../../../canon/json.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import { EMBED_PURPOSES, type EmbedInput, type EmbedRequest } from "../../../canon/unary/embed.ts";
import { VECTOR_ENCODINGS } from "../../../canon/unary/vector.ts";
import { TranslationRecord, Members } from "../../members.ts";
import { takeExtras } from "../../unary/extras.ts";
import type { ReadRequest } from "../../unary/single-part.ts";
import { EMBEDDINGS_FIELDS } from "./fields.ts";
import { PURPOSE_ALIASES } from "./schema.ts";

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
    encoding: members.word("encoding_format", VECTOR_ENCODINGS),
    purpose: purpose === null ? null : (purposeOf(purpose) ?? null),
    mayTruncate: members.flag("truncation"),
    extras,
  };
  members.close();
  return record.result(mode) ?? { request, stripped: [...record.stripped], dropped: [...record.dropped] };
}

function purposeOf(word: string): EmbedRequest["purpose"] | undefined {
  const aliases: Readonly<Record<string, string>> = PURPOSE_ALIASES;
  const name = Object.hasOwn(aliases, word) ? aliases[word] : word;
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
