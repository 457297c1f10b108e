import { isJsonObject, type JsonObject } from "../../json.ts";
import { wordingAt } from "../../bedrock-converse/error.ts";
import {
  checkMembers,
  integer,
  isFilledText,
  isObject,
  memberTable,
  numberOr,
  oneOf,
  textAt,
} from "../../member-table.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { INVOKED, inputCount } from "../bedrock-invoke.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { embed, type EmbedBatch } from "./embed.ts";
import { textInputs } from "./input.ts";
import { LONGEST_VECTOR } from "./vector.ts";

/** Amazon's Nova embeddings over Bedrock's InvokeModel: a list of one. */
export const novaEmbed: Protocol = unaryProtocol({
  ...INVOKED,
  results: ["dimensions", "short", "wrongDimension", "nan", "poison"],
  reportsUsage: true,
  list: "singleEmbeddingParams",
  most: 1,
  read,
  render,
});

/** Every member (Amazon Nova's user guide, "Complete embeddings request and response schema"). */
const MEMBERS = memberTable(
  ["schemaVersion", "nova-multimodal-embed-v1", oneOf("nova-multimodal-embed-v1")],
  ["taskType", "SINGLE_EMBEDDING", oneOf("SINGLE_EMBEDDING")],
  ["singleEmbeddingParams", "an object", isObject],
);

const PARAMETERS = memberTable(
  [
    "embeddingPurpose",
    "a purpose, such as GENERIC_INDEX",
    oneOf(
      "GENERIC_INDEX",
      "GENERIC_RETRIEVAL",
      "TEXT_RETRIEVAL",
      "IMAGE_RETRIEVAL",
      "VIDEO_RETRIEVAL",
      "DOCUMENT_RETRIEVAL",
      "AUDIO_RETRIEVAL",
      "CLASSIFICATION",
      "CLUSTERING",
    ),
  ],
  ["embeddingDimension", "a positive integer", integer(1, LONGEST_VECTOR)],
  ["text", "an object", isObject],
);

const TEXT = memberTable(
  ["truncationMode", "START, END or NONE", oneOf("START", "END", "NONE")],
  ["value", "a filled string", isFilledText],
);

function read({ body, behaviour }: Call): EmbedBatch | Problem {
  const { lenient } = behaviour;
  const parameters = objectAt(body, "singleEmbeddingParams");
  const text = objectAt(parameters, "text");
  const path = "singleEmbeddingParams";
  const problem =
    checkMembers(body, { table: MEMBERS, required: ["taskType", path], lenient }, wordingAt("")) ??
    checkMembers(parameters, { table: PARAMETERS, required: ["embeddingPurpose", "text"], lenient }, wordingAt(path)) ??
    checkMembers(text, { table: TEXT, required: ["truncationMode", "value"], lenient }, wordingAt(`${path}.text`));
  if (problem !== null) return problem;
  return { ...textInputs([textAt(text, "value")]), dimensions: numberOr(parameters["embeddingDimension"], null) };
}

/** The object that a member holds; empty where it holds none, which the check of the member itself refuses. */
function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}

function render(batch: EmbedBatch, { behaviour }: Call): Rendered | Problem {
  const vectors = embed(batch, behaviour);
  if ("status" in vectors) return vectors;
  const embeddings = vectors.map((vector) => ({ embeddingType: "TEXT", embedding: vector.item }));
  return { body: { embeddings }, headers: inputCount(batch.tokens, behaviour) };
}
