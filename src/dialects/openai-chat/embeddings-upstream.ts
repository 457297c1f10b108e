import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonMember, JsonObject } from "../../canon/json.ts";
import type { EmbedRequest, Vector, VectorEncoding } from "../../canon/unary.ts";
import { faultyAnswer } from "../answer-ends.ts";
import type { Dialect, Target } from "../dialect.ts";
import { countIn, listIn, textIn } from "../json.ts";
import { failureIn, readChatError } from "./read-answer.ts";
import { deploymentPath } from "./family.ts";
import type { AnswerBytes } from "../unary/answer-bytes.ts";
import type { CutAnswer } from "../unary/cut-vectors.ts";
import { hasOneMeaning } from "../unary/one-meaning.ts";
import { droppedTruncation } from "../unary/ranking.ts";
import {
  checkedVectors,
  formatPurpose,
  orderedByIndex,
  readObject,
  textsOf,
  vectorFromBase64,
  type Base64Kind,
  type OrderedItems,
} from "../unary/vectors.ts";

/** OpenAI's embeddings at providers (docs/protocols.md#embeddings). */
export const openAiEmbedder: NonNullable<Dialect["embed"]> = {
  format: (request, target) => {
    const { endpoint, provider } = target;
    const has = (flag: string) => provider.flags.includes(flag);
    if (has("no_token_inputs")) {
      const texts = textsOf(request);
      if ("code" in texts) return texts;
    }
    const { inputs, isScalar, dimensions } = request;
    const inputTypes = has("input_type_field") ? INPUT_TYPES : has("task_field") ? TASKS : {};
    const inputType = formatPurpose(request, inputTypes);
    if (typeof inputType === "object") return inputType;
    const encoding = encodingToSend(request, target);
    const [first] = inputs;
    const body = {
      ...request.extras,
      model: endpoint.upstreamModel,
      input: isScalar && first !== undefined ? first : inputs,
      [has("output_dimension_field") ? "output_dimension" : "dimensions"]: dimensions ?? undefined,
      encoding_format: encoding ?? undefined,
      [has("task_field") ? "task" : "input_type"]: inputType,
    };
    return {
      path: deploymentPath("/embeddings", target),
      body,
      dropped: droppedTruncation(request),
    };
  },
  parseAnswer: (bytes, request, target) => {
    const list = readOpenAiList(bytes, request, target, base64Kind(target));
    if ("kind" in list) return list;
    const { body, vectors } = list;
    return {
      operation: "embed",
      vectors,
      inputTokens: countIn(body.usage, "prompt_tokens"),
      model: textIn(body, "model"),
      isVerbatim: isVerbatim(list, request.encoding ?? "float"),
    };
  },
  readError: readChatError,
};

/** Purposes of Voyage's `input_type`, and of providers that adopted the member. */
export const INPUT_TYPES = { document: "document", query: "query" } as const;

/** Jina's values. */
const TASKS = {
  document: "retrieval.passage",
  query: "retrieval.query",
  classification: "classification",
  clustering: "separation",
} as const;

/** `null` unless the caller named one: some providers refuse the member. */
function encodingToSend(
  { encoding }: EmbedRequest,
  { provider: { flags } }: Target,
): VectorEncoding | null {
  if (flags.includes("no_encoding_format") || flags.includes("int8_vectors")) return null;
  return flags.includes("float_vectors") ? "float" : encoding;
}

/** Some providers always answer in base64, others in numbers even where base64 was requested. */
function base64Kind({ provider: { flags } }: Target): Base64Kind | null {
  // Numbers of double precision in base64 could be read as twice as many others.
  if (flags.includes("float_vectors")) return null;
  return flags.includes("int8_vectors") ? "int8" : "float32";
}

/**
 * Whether official clients can read the answer unchanged: it has every member that they read.
 * Signed bytes in base64 are in neither encoding.
 */
function isVerbatim(
  { body, skeleton, items, vectors, cameInOrder }: OpenAiList,
  requested: VectorEncoding,
): boolean {
  const { object, usage } = body;
  return (
    cameInOrder &&
    object === "list" &&
    items.every(
      (item) => item.object === "embedding" && encodingOf(item.embedding) === requested,
    ) &&
    vectors.every(({ encoding }) => encoding === requested) &&
    textIn(body, "model") !== null &&
    countIn(usage, "prompt_tokens") !== null &&
    countIn(usage, "total_tokens") !== null &&
    hasOneMeaning(skeleton)
  );
}

function encodingOf(embedding: JsonMember) {
  return typeof embedding === "string" ? "base64" : "float";
}

/** OpenAI's list of embeddings, checked against the request. */
interface OpenAiList extends OrderedItems {
  readonly body: JsonObject;
  readonly skeleton: CutAnswer["skeleton"];
  readonly vectors: readonly Vector[];
}

/**
 * Reads an answer `{data: [{index, embedding}]}`.
 *
 * @param kind of vectors in base64; `null`: they are refused.
 */
export function readOpenAiList(
  bytes: AnswerBytes,
  request: EmbedRequest,
  target: Target,
  kind: Base64Kind | null,
): OpenAiList | UpstreamFailure {
  const answer = readObject(bytes);
  if (answer === null) return faultyAnswer("not_json");
  const { body, skeleton, vectorAt } = answer;
  const failure = failureIn(body);
  if (failure !== null) return failure;
  const data = listIn(body, "data");
  if (data === null) return faultyAnswer("missing_results");
  const ordered = orderedByIndex(data, request.inputs.length);
  if (typeof ordered === "string") return faultyAnswer(ordered);
  const entries = ordered.items.map((item) => item.embedding);
  const read = (value: JsonMember) =>
    typeof value === "string" && kind !== null ? vectorFromBase64(value, kind) : vectorAt(value);
  const vectors = checkedVectors(entries, read, request, target);
  return typeof vectors === "string"
    ? faultyAnswer(vectors)
    : { ...ordered, body, skeleton, vectors };
}
