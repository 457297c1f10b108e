import { EMBED_PURPOSES } from "../../../canon/unary/embed.ts";
import { VECTOR_ENCODINGS } from "../../../canon/unary/vector.ts";
import { itemsByFirst } from "../../unary/items-by-first.ts";
import { NO_UNKNOWN } from "../../contract/parser-rules.ts";

const token = { type: "integer", minimum: 0, maximum: 4_294_967_295 } as const;

/** OpenAI's limit for a list of inputs; clients cut their batches by it. Providers with smaller ones get the batch in parts. */
export const MAXIMUM_INPUTS = 2048;
const length = { type: ["integer", "null"], minimum: 1, maximum: 65_536 } as const;

/** Names of purposes as Cohere's clients write them. */
export const PURPOSE_ALIASES = { search_document: "document", search_query: "query" } as const;

/**
 * JSON Schema (2020-12) of the body of POST /v1/embeddings: OpenAI's request, and the members of Voyage's that other protocols have too
 * (docs/protocols.md#embeddings). It validates requests and is part of /openapi.json.
 */
export const EMBEDDINGS_SCHEMA = {
  title: "CreateEmbeddingsRequest",
  type: "object",
  required: ["model", "input"],
  parserRules: NO_UNKNOWN,
  properties: {
    model: { type: "string", minLength: 1, maxLength: 256 },
    input: {
      description: `A text, a list of texts, a list of tokens, or a list of lists of tokens; at most ${MAXIMUM_INPUTS} inputs, each at least one character or token.`,
      type: ["string", "array"],
      parserRules: { minLength: 1 },
      minItems: 1,
      maxItems: MAXIMUM_INPUTS,
      ...itemsByFirst([
        { type: "string", items: { type: "string", parserRules: { minLength: 1 } } },
        { type: "number", items: token },
        { type: "array", items: { type: "array", minItems: 1, items: token } },
      ]),
    },
    dimensions: { ...length, description: "Length of the vectors." },
    output_dimension: { ...length, description: "The same, as Voyage's clients write it." },
    encoding_format: {
      enum: [...VECTOR_ENCODINGS, null],
      description: "`base64`: little-endian single-precision numbers. `float` unless said.",
    },
    input_type: {
      enum: [...EMBED_PURPOSES, ...Object.keys(PURPOSE_ALIASES), null],
      description: "What the vectors are for; refused where a model or its protocol does not ask.",
    },
    truncation: {
      type: ["boolean", "null"],
      description:
        "Whether inputs that are too long for the model may be cut; `false` unless said. Where a protocol has no word for it, the evidence says so.",
    },
    output_dtype: { enum: ["float", null], description: "Vectors of other kinds of numbers are not offered." },
    on_partial: {
      enum: ["fail", "report", null],
      description:
        "`fail`: all vectors or an error. `report`: those that there are, and the others listed in `errors`; every index is that of the request.",
    },
    user: { type: ["string", "null"] },
    provider: { $ref: "#/components/schemas/ProviderPreferences" },
  },
} as const;
