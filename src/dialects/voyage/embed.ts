import type { AnswerBytes } from "../unary/answer-bytes.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { EmbedRequest, EmbedResult } from "../../canon/unary.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { readChatError } from "../openai-chat/read-error.ts";
import { countIn, textIn } from "../json.ts";
import type { UnaryUpstream } from "../unary/surface.ts";
import { vectorFromBase64 } from "../unary/encode-vectors.ts";
import { formatPurpose, textsOf } from "../unary/embed-checks.ts";
import { readOpenAiList } from "../openai-chat/embeddings/list.ts";

/** Where Voyage answers, after its base URL. */
const PATH = "/embeddings";

/**
 * Voyage's embeddings: OpenAI's answer with another count of tokens, to a request with members of
 * its own (docs/protocols.md#embeddings).
 */
export const voyageEmbedder: UnaryUpstream<EmbedRequest, EmbedResult> = {
  format,
  parseAnswer,
  readError: readChatError,
};

/** The purposes that the protocol has, and those who took its member over. */
export const INPUT_TYPES = { document: "document", query: "query" } as const;

function format(request: EmbedRequest, target: Target): FormattedRequest | ServiceError {
  const texts = textsOf(request);
  if ("code" in texts) return texts;
  const { isScalar, purpose, mayTruncate, dimensions, encoding } = request;
  const inputType = purpose === null ? null : formatPurpose(purpose, INPUT_TYPES);
  if (inputType !== null && typeof inputType !== "string") return inputType;
  const [first] = texts;
  const body = {
    model: target.endpoint.upstreamModel,
    input: isScalar && first !== undefined ? first : texts,
    ...(inputType === null ? {} : { input_type: inputType }),
    // The provider cuts what is too long unless the request says not to.
    truncation: mayTruncate ?? false,
    ...(dimensions === null ? {} : { output_dimension: dimensions }),
    // Numbers are the default and need no member.
    ...(encoding === "base64" ? { encoding_format: "base64" } : {}),
  };
  return { path: PATH, body, headers: [], dropped: [] };
}

function parseAnswer(
  bytes: AnswerBytes,
  request: EmbedRequest,
  target: Target,
): EmbedResult | UpstreamFailure {
  const list = readOpenAiList(bytes, request, target, (value, vectorAt) =>
    typeof value === "string" ? vectorFromBase64(value, "float32") : vectorAt(value),
  );
  if ("kind" in list) return list;
  const { body, vectors } = list;
  const inputTokens = countIn(body["usage"], "total_tokens");
  return {
    operation: "embed",
    vectors,
    inputTokens,
    model: textIn(body, "model"),
    isVerbatim: false,
  };
}
