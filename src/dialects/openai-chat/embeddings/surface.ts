import type { ServiceError } from "../../../canon/error.ts";
import type { UpstreamFailure } from "../../../canon/failure.ts";
import type { InferenceRequest } from "../../../canon/request.ts";
import type {
  EmbedInput,
  EmbedRequest,
  EmbedResult,
  Vector,
  VectorEncoding,
} from "../../../canon/unary.ts";
import type { Target, AnswerContext } from "../../dialect.ts";
import { OPENAI_FAMILY } from "../family.ts";
import { refusingUnknown } from "../../fields.ts";
import { faultyAnswer } from "../../answer-failure.ts";
import { refuseExtras } from "../../unary/extras.ts";
import {
  callTo,
  type UnaryCall,
  type UnaryOptions,
  type UnaryPart,
  type UnarySurface,
  type UnaryTask,
  type PartEnd,
  type UnaryAnswer,
} from "../../unary/surface.ts";
import {
  EMBEDDINGS_FIELDS,
  parseEmbeddingsRequest,
  readEmbeddingsRequest,
} from "./read-request.ts";
import { asBase64Text, asFloatText } from "../../unary/encode-vectors.ts";
import { EMBEDDING_LIST, EMBEDDINGS_EXAMPLES, EMBEDDINGS_SCHEMA } from "./schema.ts";
import { AnswerBytes } from "../../unary/answer-bytes.ts";
import type { DroppedField } from "../../../canon/generate/edit.ts";
import { upstreamFor } from "../../exchange-plan.ts";

/** Where unknown members are forwarded to. */
const OWN_DIALECT = "openai-chat";

/** Embeddings for clients: OpenAI's request and answer (docs/protocols.md#embeddings). */
export const embeddingsSurface: UnarySurface = {
  kind: "unary",
  dialect: OWN_DIALECT,
  parse: parseEmbeddingsRequest,
  refuseUnknown: refusingUnknown(EMBEDDINGS_FIELDS, "embeddings"),
  open: openEmbeddings,
  family: OPENAI_FAMILY,
  contract: { body: EMBEDDINGS_SCHEMA, answer: EMBEDDING_LIST, examples: EMBEDDINGS_EXAMPLES },
};

function openEmbeddings(
  { body }: InferenceRequest,
  options: UnaryOptions,
): UnaryTask | ServiceError {
  const read = readEmbeddingsRequest(body, options.unknownFields, options.edits);
  if ("code" in read) return read;
  const { request, stripped, dropped } = read;
  const takesGaps = body["on_partial"] === "report";
  const runs = splitBatch(request.inputs, boundsOf(options));
  const parts = runs.map(({ first, count }): UnaryPart => {
    const isWhole = count === request.inputs.length;
    const part = isWhole
      ? request
      : { ...request, inputs: request.inputs.slice(first, first + count) };
    return { first, count, callTo: (target) => settled(embedCall(part, target)) };
  });
  const refusals = refusalsOf(request, runs[0]?.count ?? 1, options.targets);
  const answer: UnaryTask["answer"] = (ends, context) =>
    renderEmbeddings(request, parts, ends, takesGaps, context);
  return { parts, stripped, dropped, refusals, takesGaps, answer };
}

/**
 * The smallest batch that the candidates of the plan take: a part that falls back must fit there
 * too.
 */
function boundsOf({ targets, maxBatchSize }: UnaryOptions): BatchBounds {
  const limits = targets.map(({ endpoint }) => endpoint.batch);
  return {
    inputs: smallest([maxBatchSize, ...limits.map(({ inputs }) => inputs)]),
    tokens: smallest(limits.map(({ tokens }) => tokens)),
  };
}

function smallest(limits: readonly (number | null)[]): number | null {
  const known = limits.filter((limit) => limit !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/**
 * One call is printed for each candidate before anything is sent. Of a batch two inputs are enough:
 * what cannot be said of two cannot be said of more.
 */
function refusalsOf(
  request: EmbedRequest,
  size: number,
  targets: readonly Target[],
): ReadonlyMap<string, ServiceError> {
  const refusals = new Map<string, ServiceError>();
  const inputs = request.inputs.slice(0, Math.min(size, 2));
  for (const target of targets) {
    const call = embedCall({ ...request, inputs }, target);
    if ("code" in call) refusals.set(target.endpoint.id, call);
  }
  return refusals;
}

function embedCall(request: EmbedRequest, target: Target): UnaryCall | ServiceError {
  const refusal = target.endpoint.dialect === OWN_DIALECT ? null : refuseExtras(request.extras);
  if (refusal !== null) return refusal;
  const call = callTo(
    upstreamFor("embed", target.endpoint.dialect),
    forModel(request, target),
    target,
  );
  if ("code" in call) return call;
  const wanted = request.encoding ?? "float";
  return {
    ...call,
    simulated: simulatedLength(target),
    read: (bytes) => inEncoding(call.read(bytes), wanted),
  };
}

/** Gives a stand-in the length of the model's vectors are (docs/mock.md). */
function simulatedLength({ model }: Target): readonly string[] {
  return model.defaultDimensions === null
    ? []
    : ["x-mock", `dimensions=${model.defaultDimensions}`];
}

function settled(call: UnaryCall | ServiceError): UnaryCall {
  if ("code" in call)
    throw new Error("embeddings: a call to an endpoint whose protocol cannot express the request");
  return call;
}

/** The member is not sent to a model with only one length: many of them refuse it. */
function forModel(request: EmbedRequest, { model }: Target): EmbedRequest {
  const isOnly = model.dimensions.length === 1 && model.dimensions[0] === request.dimensions;
  return isOnly ? { ...request, dimensions: null } : request;
}

function inEncoding(
  answer: ReturnType<UnaryCall["read"]>,
  wanted: VectorEncoding,
): ReturnType<UnaryCall["read"]> {
  if ("kind" in answer || answer.operation !== "embed") return answer;
  if (answer.vectors.every(({ encoding }) => encoding === wanted)) return answer;
  const vectors: Vector[] = [];
  for (const vector of answer.vectors) {
    const written = inOtherEncoding(vector, wanted);
    if ("kind" in written) return written;
    vectors.push(written);
  }
  return { ...answer, vectors, isVerbatim: false };
}

function inOtherEncoding(vector: Vector, wanted: VectorEncoding): Vector | UpstreamFailure {
  if (vector.encoding === wanted) return vector;
  const written = wanted === "float" ? asFloatText(vector) : asBase64Text(vector);
  return typeof written === "string" ? faultyAnswer(written) : written;
}

/** How much one call may hold; `null`: any number. */
interface BatchBounds {
  readonly inputs: number | null;
  /** Estimated. */
  readonly tokens: number | null;
}

/** A run of inputs that go upstream together. */
interface Run {
  readonly first: number;
  readonly count: number;
}

/**
 * Cuts a batch into as few runs as the bounds allow, in order. An input that is too large by itself
 * goes alone: the provider judges it.
 */
function splitBatch(inputs: readonly EmbedInput[], bounds: BatchBounds): readonly Run[] {
  const most = bounds.inputs ?? inputs.length;
  if (bounds.tokens === null && inputs.length <= most) return [{ first: 0, count: inputs.length }];
  const runs: Run[] = [];
  let first = 0;
  let tokens = 0;
  for (const [index, input] of inputs.entries()) {
    const size = bounds.tokens === null ? 0 : estimatedTokens(input);
    const count = index - first;
    if (count > 0 && (count >= most || tokens + size > (bounds.tokens ?? Infinity))) {
      runs.push({ first, count });
      first = index;
      tokens = 0;
    }
    tokens += size;
  }
  runs.push({ first, count: inputs.length - first });
  return runs;
}

/**
 * Bytes of text a token. English has about four; the estimate may be too high, which costs a call,
 * and not too low, which costs the batch.
 */
const BYTES_PER_TOKEN = 3;

function estimatedTokens(input: EmbedInput): number {
  if (typeof input !== "string") return input.length;
  let bytes = 0;
  for (let index = 0; index < input.length; index += 1) {
    const unit = input.charCodeAt(index);
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : unit >= 0xd800 && unit <= 0xdfff ? 2 : 3;
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/**
 * OpenAI's list of embeddings in the order of the request. One answer that is already that goes on
 * as it came; anything else is put together of the vectors' own text, so that no number is read or
 * printed again.
 */
function renderEmbeddings(
  request: EmbedRequest,
  parts: readonly UnaryPart[],
  ends: readonly PartEnd[],
  takesGaps: boolean,
  context: AnswerContext,
): UnaryAnswer {
  const results = ends.map((end) => ("result" in end ? embedResult(end) : null));
  const [only] = results;
  const [end] = ends;
  const inputTokens = total(results);
  if (
    ends.length === 1 &&
    only?.isVerbatim === true &&
    end !== undefined &&
    "bytes" in end &&
    !takesGaps
  ) {
    return { bytes: end.bytes, dropped: [], gaps: 0 };
  }
  const pieces: string[] = [];
  const errors: object[] = [];
  for (const [index, part] of parts.entries()) {
    const partEnd = ends[index];
    if (partEnd === undefined) throw new Error("embeddings: a part without an end");
    if ("failure" in partEnd) errors.push(...gapsOf(part, partEnd.failure));
    else addVectors(pieces, part, embedResult(partEnd));
  }
  const known = results.find((result) => result !== null);
  const dropped: DroppedField[] = inputTokens === null ? ["usage_unknown"] : [];
  const tail = {
    model: known?.model ?? context.model,
    usage: { prompt_tokens: inputTokens ?? 0, total_tokens: inputTokens ?? 0 },
    ...(takesGaps ? { errors } : {}),
  };
  const text = `{"object":"list","data":[${pieces.join(",")}],${JSON.stringify(tail).slice(1)}`;
  return { bytes: new AnswerBytes([encoder.encode(text)]), dropped, gaps: errors.length };
}

const encoder = new TextEncoder();

function embedResult({ result }: Extract<PartEnd, { readonly bytes: AnswerBytes }>): EmbedResult {
  if (result.operation !== "embed") throw new Error("embeddings: the result of another operation");
  return result;
}

function addVectors(pieces: string[], { first, count }: UnaryPart, { vectors }: EmbedResult): void {
  if (vectors.length !== count) throw new Error("embeddings: a result that was not checked");
  for (const [offset, { encoding, text }] of vectors.entries()) {
    const written = encoding === "float" ? text : `"${text}"`;
    pieces.push(`{"object":"embedding","index":${first + offset},"embedding":${written}}`);
  }
}

/** One entry for each input without a vector, with our message. */
function gapsOf({ first, count }: UnaryPart, { code, message }: ServiceError): readonly object[] {
  return Array.from({ length: count }, (_, offset) => ({ index: first + offset, code, message }));
}

/** `null` where some provider did not count: a sum of the others would be wrong. */
function total(results: readonly (EmbedResult | null)[]): number | null {
  let sum = 0;
  for (const result of results) {
    if (result === null) continue;
    if (result.inputTokens === null) return null;
    sum += result.inputTokens;
  }
  return sum;
}
