import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonMember, JsonObject } from "../../canon/json.ts";
import { COUNT, NULLABLE_TEXT, TEXT, complete } from "../../canon/json/schema.ts";
import {
  EMBED_PURPOSES,
  VECTOR_ENCODINGS,
  type EmbedInput,
  type EmbedRequest,
  type EmbedResult,
  type Vector,
  type VectorEncoding,
} from "../../canon/unary.ts";
import { faultyAnswer } from "../answer-ends.ts";
import { INPUT_BODY } from "../body-reader.ts";
import { MODEL, NO_UNKNOWN, NULLABLE_FLAG, PREFERENCES, TOKEN } from "../contract-schemas.ts";
import type { AnswerContext, Target } from "../dialect.ts";
import { upstreamFor } from "../exchange-plan.ts";
import { flagOrNull, numberOrNull, ownValue, textOf } from "../json.ts";
import { itemsByFirst } from "./moderations-surface.ts";
import {
  CORE,
  IDENTITY,
  ROUTER,
  type FieldRegistry,
  type RequestReading,
} from "../request-reading.ts";
import { AnswerBytes } from "../unary/answer-bytes.ts";
import {
  callTo,
  callsTo,
  refusalsIn,
  refuseExtras,
  resultOf,
  settled,
  unarySurface,
  type PartEnd,
  type UnaryAnswer,
  type UnaryCall,
  type UnaryOptions,
  type UnaryPart,
  type UnaryTask,
} from "../unary/surface.ts";
import { asBase64Text, asFloatText } from "../unary/vectors.ts";

/** Every known top-level member of an embeddings request. */
const EMBEDDINGS_FIELDS: FieldRegistry = {
  model: CORE,
  input: CORE,
  dimensions: CORE,
  output_dimension: CORE,
  encoding_format: CORE,
  input_type: { uses: "input_purpose" },
  truncation: CORE,
  output_dtype: CORE,
  on_partial: ROUTER,
  user: IDENTITY,
  provider: ROUTER,
};

function readEmbeddings(
  body: JsonObject,
  reading: RequestReading,
  extras: JsonObject,
): EmbedRequest {
  const { input, dimensions, output_dimension: other, encoding_format: encoding } = body;
  noteEmptyInput(input, reading);
  if (typeof dimensions === "number" && typeof other === "number" && dimensions !== other) {
    const message = "dimensions and output_dimension say different lengths; send one of them";
    reading.refuseRequest(invalidRequest("invalid_value", message, "output_dimension"));
  }
  const isTokens = Array.isArray(input) && typeof input[0] === "number";
  if (Array.isArray(input) && typeof input[0] !== "string")
    reading.use("token_inputs", isTokens ? "input" : "input[0]");
  return {
    // A batch of tokens is long, and the decision does not read it.
    inputs: reading.forTranslation ? inputsOf(input) : [],
    isScalar: typeof input === "string" || isTokens,
    dimensions: numberOrNull(dimensions ?? other),
    encoding: VECTOR_ENCODINGS.find((one) => one === encoding) ?? null,
    purpose: purposeOf(textOf(body.input_type)),
    mayTruncate: flagOrNull(body.truncation),
    extras,
  };
}

/**
 * Providers refuse an empty text among a thousand without its index; some answer it with a
 * meaningless vector.
 */
function noteEmptyInput(input: JsonMember, reading: RequestReading) {
  const index = Array.isArray(input) ? input.indexOf("") : -1;
  if (input !== "" && index === -1) return;
  const path = index === -1 ? "input" : `input[${index}]`;
  reading.refuseMember("empty_input", path, "must not be an empty text");
}

function purposeOf(value: string): EmbedRequest["purpose"] {
  const name = ownValue(PURPOSE_ALIASES, value) ?? value;
  return EMBED_PURPOSES.find((purpose) => purpose === name) ?? null;
}

/** One input for each vector: a list of numbers is the tokens of one. */
function inputsOf(input: JsonMember): readonly EmbedInput[] {
  const isList = Array.isArray(input) && typeof input[0] !== "number";
  const items: readonly JsonMember[] = isList ? input : [input];
  return items.flatMap((item): readonly EmbedInput[] => {
    if (typeof item === "string") return [item];
    return Array.isArray(item) ? [item.filter((token) => typeof token === "number")] : [];
  });
}

/**
 * OpenAI's limit for a list of inputs; clients cut their batches by it. Providers with smaller ones
 * get the batch in parts.
 */
const MAXIMUM_INPUTS = 2048;
const length = { type: ["integer", "null"], minimum: 1, maximum: 65_536 } as const;

/** Names of purposes as Cohere's clients write them. */
const PURPOSE_ALIASES = { search_document: "document", search_query: "query" } as const;

/**
 * JSON Schema (2020-12) of the body of POST /v1/embeddings: OpenAI's request, and the members of
 * Voyage's that other protocols have too (docs/protocols.md#embeddings). It validates requests and
 * is part of /openapi.json.
 */
const EMBEDDINGS_SCHEMA = {
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
      ...NULLABLE_FLAG,
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
    user: NULLABLE_TEXT,
    provider: PREFERENCES,
  },
} as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
const EMBEDDING_LIST = {
  title: "EmbeddingList",
  type: "object",
  required: ["object", "data", "model", "usage"],
  properties: {
    object: { const: "list" },
    data: {
      type: "array",
      description:
        "One vector for each input, in the order of the request; with `on_partial: report`, those that there are.",
      items: complete({
        object: { const: "embedding" },
        index: COUNT,
        embedding: {
          description:
            "Numbers, or base64 of little-endian single-precision numbers, as `encoding_format` requests.",
          anyOf: [{ type: "array", minItems: 1, items: { type: "number" } }, TEXT],
        },
      }),
    },
    model: TEXT,
    usage: complete({ prompt_tokens: COUNT, total_tokens: COUNT }),
    errors: {
      type: "array",
      description: "With `on_partial: report`: the inputs that have no vector.",
      items: complete({ index: COUNT, code: TEXT, message: TEXT }),
    },
  },
} as const;

/** Requests of the contract, in the order to try them. */
const EMBEDDINGS_EXAMPLES = {
  one: { model: "embed-small", input: "A text.", dimensions: 512 },
  batch: {
    model: "embed-small",
    input: ["One text.", "Another."],
    encoding_format: "base64",
    on_partial: "report",
  },
} as const;

/** Unknown members are forwarded to this dialect only. */
const OWN_DIALECT = "openai-chat";

/** Embeddings for clients: OpenAI's request and answer (docs/protocols.md#embeddings). */
export const embeddingsSurface = unarySurface({
  operation: "embeddings",
  dialect: OWN_DIALECT,
  registry: EMBEDDINGS_FIELDS,
  reader: INPUT_BODY,
  read: readEmbeddings,
  plan: planEmbeddings,
  contract: { body: EMBEDDINGS_SCHEMA, answer: EMBEDDING_LIST, examples: EMBEDDINGS_EXAMPLES },
});

function planEmbeddings(request: EmbedRequest, options: UnaryOptions, body: JsonObject) {
  const { inputs } = request;
  const acceptsPartial = body.on_partial === "report";
  const parts = splitBatch(inputs, options).map(({ first, count }): UnaryPart => {
    const isWhole = count === inputs.length;
    const part = isWhole ? request : { ...request, inputs: inputs.slice(first, first + count) };
    return { first, count, callTo: (target) => settled(embedCall(part, target)) };
  });
  // A call of a batch fails with two inputs if it fails with more.
  const sample = { ...request, inputs: inputs.slice(0, Math.min(parts[0]?.count ?? 1, 2)) };
  const answer: UnaryTask["answer"] = (ends, context) =>
    renderEmbeddings(parts, ends, acceptsPartial, context);
  const refusals = refusalsIn(callsTo(options.targets, (target) => embedCall(sample, target)));
  return { parts, refusals, acceptsPartial, answer };
}

function embedCall(request: EmbedRequest, target: Target): UnaryCall | ServiceError {
  const { dialect } = target.endpoint;
  const refusal = dialect === OWN_DIALECT ? null : refuseExtras(request.extras);
  if (refusal !== null) return refusal;
  const upstream = upstreamFor("embed", dialect);
  const parseAnswer: typeof upstream.parseAnswer = (...options) =>
    inEncoding(upstream.parseAnswer(...options), request.encoding ?? "float");
  const { dimensions, defaultDimensions } = target.model;
  // Many models with a single length refuse `dimensions`.
  const isFixedLength = dimensions.length === 1 && dimensions[0] === request.dimensions;
  const fitted = isFixedLength ? { ...request, dimensions: null } : request;
  const call = callTo({ ...upstream, parseAnswer }, fitted, target);
  // The length of the model's vectors, for the simulated upstream (docs/mock.md).
  const simulated = defaultDimensions === null ? [] : ["x-mock", `dimensions=${defaultDimensions}`];
  return "code" in call ? call : { ...call, simulated };
}

function inEncoding(
  answer: EmbedResult | UpstreamFailure,
  requested: VectorEncoding,
): EmbedResult | UpstreamFailure {
  if ("kind" in answer) return answer;
  if (answer.vectors.every(({ encoding }) => encoding === requested)) return answer;
  const write = requested === "float" ? asFloatText : asBase64Text;
  const vectors: Vector[] = [];
  for (const vector of answer.vectors) {
    const converted = write(vector);
    if (typeof converted === "string") return faultyAnswer(converted);
    vectors.push(converted);
  }
  return { ...answer, vectors, isVerbatim: false };
}

/**
 * Cuts a batch into as few runs as the bounds allow, in order. Bounds are the smallest of the
 * candidates', because a part that falls back must fit there too. A single input above the bounds
 * is sent alone: the provider judges it.
 */
function splitBatch(inputs: readonly EmbedInput[], { targets, maxBatchSize }: UnaryOptions) {
  const limits = targets.map(({ endpoint }) => endpoint.batch);
  const most = smallest([maxBatchSize, ...limits.map((batch) => batch.inputs)]);
  const mostTokens = smallest(limits.map((batch) => batch.tokens));
  const runs: { readonly first: number; count: number; tokens: number }[] = [];
  for (const [first, input] of inputs.entries()) {
    const size = mostTokens === Infinity ? 0 : estimatedTokens(input);
    const run = runs.at(-1);
    if (run === undefined || run.count >= most || run.tokens + size > mostTokens)
      runs.push({ first, count: 1, tokens: size });
    else {
      run.count += 1;
      run.tokens += size;
    }
  }
  return runs;
}

/** @param limits `null`: none. */
function smallest(limits: readonly (number | null)[]) {
  return Math.min(...limits.map((limit) => limit ?? Infinity));
}

/**
 * Bytes of text per token. English has about four; an estimate that is too high costs a call, one
 * that is too low the batch.
 */
const BYTES_PER_TOKEN = 3;

function estimatedTokens(input: EmbedInput) {
  return typeof input === "string"
    ? Math.ceil(Buffer.byteLength(input) / BYTES_PER_TOKEN)
    : input.length;
}

/**
 * OpenAI's list of embeddings in the order of the request. A single answer in this form is sent
 * unchanged; others are joined from the vectors' own text, so that no number is parsed and printed
 * again.
 */
function renderEmbeddings(
  parts: readonly UnaryPart[],
  ends: readonly PartEnd[],
  acceptsPartial: boolean,
  context: AnswerContext,
): UnaryAnswer {
  const results = ends.flatMap((end) => ("result" in end ? resultOf(end, "embed") : []));
  const [firstResult] = results;
  const [end] = ends;
  if (
    !acceptsPartial &&
    ends.length === 1 &&
    firstResult?.isVerbatim === true &&
    end &&
    "bytes" in end
  )
    return { bytes: end.bytes, dropped: [], gaps: 0 };
  const pieces: string[] = [];
  const errors: object[] = [];
  for (const [index, part] of parts.entries()) {
    const partEnd = ends[index];
    if (partEnd && "failure" in partEnd) errors.push(...gapsOf(part, partEnd.failure));
    else addVectors(pieces, part, resultOf(partEnd, "embed"));
  }
  // Where a provider sent no count, the sum of the others would be wrong.
  const tokens = results.reduce<number | null>(
    (sum, { inputTokens }) => (sum === null || inputTokens === null ? null : sum + inputTokens),
    0,
  );
  const tail = {
    model: firstResult?.model ?? context.model,
    usage: { prompt_tokens: tokens ?? 0, total_tokens: tokens ?? 0 },
    errors: acceptsPartial ? errors : undefined,
  };
  const text = `{"object":"list","data":[${pieces.join(",")}],${JSON.stringify(tail).slice(1)}`;
  return {
    bytes: AnswerBytes.of(text),
    dropped: tokens === null ? ["usage_unknown"] : [],
    gaps: errors.length,
  };
}

function addVectors(pieces: string[], { first, count }: UnaryPart, { vectors }: EmbedResult) {
  if (vectors.length !== count) throw new Error("embeddings: a result that was not checked");
  for (const [offset, { encoding, text }] of vectors.entries()) {
    const literal = encoding === "float" ? text : `"${text}"`;
    pieces.push(`{"object":"embedding","index":${first + offset},"embedding":${literal}}`);
  }
}

/** One entry for each input without a vector, with our message. */
function gapsOf({ first, count }: UnaryPart, { code, message }: ServiceError): readonly object[] {
  return Array.from({ length: count }, (_, offset) => ({ index: first + offset, code, message }));
}
