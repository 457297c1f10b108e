import type { Dialect } from "../dialect.ts";
import { countIn, textIn } from "../json.ts";
import { INPUT_TYPES, readOpenAiList } from "../openai-chat/embeddings-upstream.ts";
import { failureIn, readChatError } from "../openai-chat/read-answer.ts";
import { droppedPriority, foreignRefusal, rankingReader, wantedResults } from "./ranking.ts";
import { formatPurpose, textsOf } from "./vectors.ts";

/**
 * Voyage AI's protocol. Its embeddings are OpenAI's answer with another count of tokens, to a
 * request with members of its own (docs/protocols.md#embeddings). Its errors are a text under
 * `detail` without a code; other servers of the protocol answer OpenAI's.
 */
export const voyage: Dialect = {
  embed: {
    format: (request, { endpoint }) => {
      const texts = textsOf(request);
      if ("code" in texts) return texts;
      const inputType = formatPurpose(request, INPUT_TYPES);
      if (typeof inputType === "object") return inputType;
      const { isScalar, mayTruncate, dimensions, encoding } = request;
      const [first] = texts;
      const body = {
        model: endpoint.upstreamModel,
        input: isScalar && first !== undefined ? first : texts,
        input_type: inputType,
        // Without it the provider truncates long inputs.
        truncation: mayTruncate ?? false,
        output_dimension: dimensions ?? undefined,
        // Numbers are the default and need no member.
        encoding_format: encoding === "base64" ? encoding : undefined,
      };
      return { path: "/embeddings", body, dropped: [] };
    },
    parseAnswer: (bytes, request, target) => {
      const list = readOpenAiList(bytes, request, target, "float32");
      if ("kind" in list) return list;
      const { body, vectors } = list;
      return {
        operation: "embed",
        vectors,
        inputTokens: countIn(body.usage, "total_tokens"),
        model: textIn(body, "model"),
        isVerbatim: false,
      };
    },
    readError: readChatError,
  },
  rerank: {
    format: (request, { endpoint }) => {
      const refusal = foreignRefusal(request);
      if (refusal !== null) return refusal;
      const { query, documents, topN, mayTruncate } = request;
      const body = {
        model: endpoint.upstreamModel,
        query,
        documents,
        top_k: topN === null ? undefined : wantedResults(request),
        // Without it the provider truncates silently.
        truncation: mayTruncate ?? false,
        return_documents: false,
      };
      return { path: "/rerank", body, dropped: droppedPriority(request) };
    },
    parseAnswer: rankingReader(
      (answer) =>
        failureIn(answer) ?? {
          results: answer.data,
          inputTokens: countIn(answer.usage, "total_tokens"),
          searchUnits: null,
          model: textIn(answer, "model"),
        },
    ),
    readError: readChatError,
  },
};
