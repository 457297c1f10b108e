import { COUNT, TEXT } from "../../../canon/json/schema.ts";
import { EMBED_PURPOSES, VECTOR_ENCODINGS } from "../../../canon/unary.ts";
import { itemsByFirst } from "../moderations/schema.ts";
import { NO_UNKNOWN, MODEL, PREFERENCES, TOKEN } from "../../request-members.ts";

/**
 * OpenAI's limit for a list of inputs; clients cut their batches by it. Providers with smaller ones
 * get the batch in parts.
 */
export const MAXIMUM_INPUTS = 2048;
const length = { type: ["integer", "null"], minimum: 1, maximum: 65_536 } as const;

/** Names of purposes as Cohere's clients write them. */
export const PURPOSE_ALIASES = { search_document: "document", search_query: "query" } as const;

/**
 * JSON Schema (2020-12) of the body of POST /v1/embeddings: OpenAI's request, and the members of
 * Voyage's that other protocols have too (docs/protocols.md#embeddings). It validates requests and
 * is part of /openapi.json.
 */
export const EMBEDDINGS_SCHEMA = {
  title: "CreateEmbeddingsRequest",
  type: "object",
  required: ["model", "input"],
  parserRules: NO_UNKNOWN,
  properties: {
    model: MODEL,
    input: {
      description: `A text, a list of texts, a list of tokens, or a list of lists of tokens; at most ${MAXIMUM_INPUTS} inputs, each at least one character or token.`,
      type: ["string", "array"],
      parserRules: { minLength: 1 },
      minItems: 1,
      maxItems: MAXIMUM_INPUTS,
      ...itemsByFirst([
        { type: "string", items: { type: "string", parserRules: { minLength: 1 } } },
        { type: "number", items: TOKEN },
        { type: "array", items: { type: "array", minItems: 1, items: TOKEN } },
      ]),
    },
    dimensions: { ...length, description: "Length of the vectors." },
    output_dimension: { ...length, description: "The same, as Voyage's clients write it." },
    encoding_format: {
      enum: [...VECTOR_ENCODINGS, null],
      description: "`base64`: little-endian single-precision numbers. `float` by default.",
    },
    input_type: {
      enum: [...EMBED_PURPOSES, ...Object.keys(PURPOSE_ALIASES), null],
      description: "Purpose of the vectors; refused where a model or its protocol has none.",
    },
    truncation: {
      type: ["boolean", "null"],
      description:
        "Whether inputs that are too long for the model may be cut; `false` by default. Where a protocol does not support it, the evidence records it.",
    },
    output_dtype: {
      enum: ["float", null],
      description: "Vectors of other kinds of numbers are not offered.",
    },
    on_partial: {
      enum: ["fail", "report", null],
      description:
        "`fail`: all vectors or an error. `report`: those that there are, and the others listed in `errors`; every index is that of the request.",
    },
    user: { type: ["string", "null"] },
    provider: PREFERENCES,
  },
} as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const EMBEDDING_LIST = {
  title: "EmbeddingList",
  type: "object",
  required: ["object", "data", "model", "usage"],
  properties: {
    object: { const: "list" },
    data: {
      type: "array",
      description:
        "One vector for each input, in the order of the request; with `on_partial: report`, those that there are.",
      items: {
        type: "object",
        required: ["object", "index", "embedding"],
        properties: {
          object: { const: "embedding" },
          index: COUNT,
          embedding: {
            description:
              "Numbers, or base64 of little-endian single-precision numbers, as `encoding_format` requests.",
            anyOf: [{ type: "array", minItems: 1, items: { type: "number" } }, TEXT],
          },
        },
      },
    },
    model: TEXT,
    usage: {
      type: "object",
      required: ["prompt_tokens", "total_tokens"],
      properties: { prompt_tokens: COUNT, total_tokens: COUNT },
    },
    errors: {
      type: "array",
      description: "With `on_partial: report`: the inputs that have no vector.",
      items: {
        type: "object",
        required: ["index", "code", "message"],
        properties: { index: COUNT, code: TEXT, message: TEXT },
      },
    },
  },
} as const;

/** Requests of the contract, in the order to try them. */
export const EMBEDDINGS_EXAMPLES = {
  one: { model: "embed-small", input: "A text.", dimensions: 512 },
  batch: {
    model: "embed-small",
    input: ["One text.", "Another."],
    encoding_format: "base64",
    on_partial: "report",
  },
} as const;
