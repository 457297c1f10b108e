import { fitting } from "../fit-request.ts";
import { COHERE_CHAT } from "./facts.ts";
import type { Dialect, Target } from "../dialect.ts";
import { formatCohere } from "./format.ts";
import { parseCohereAnswer, parseCohereStream, readCohereError } from "./read-answer.ts";
import type { EmbedPurpose } from "../../canon/unary.ts";
import { bedrockErrorIn, readConverseError } from "../bedrock-converse/read-answer.ts";
import { countIn, listIn, memberIn, textIn } from "../json.ts";
import { invokePath } from "../unary/bedrock.ts";
import {
  documentLimitRefusal,
  droppedPriority,
  droppedTruncation,
  rankingReader,
  wantedResults,
} from "../unary/ranking.ts";
import { droppedPurpose, textsOf, vectorReader } from "../unary/vectors.ts";

const INPUT_TYPES: Readonly<Record<EmbedPurpose, string>> = {
  document: "search_document",
  query: "search_query",
  classification: "classification",
  clustering: "clustering",
};

/** Cohere's models on Bedrock are called by InvokeModel. */
function isInvoked({ provider }: Target) {
  return provider.flags.includes("bedrock_invoke");
}

/** Cohere's embeddings, at Cohere and at its models on Bedrock (docs/protocols.md#embeddings). */
const cohereEmbedder: NonNullable<Dialect["embed"]> = {
  format: (request, target) => {
    const texts = textsOf(request);
    if ("code" in texts) return texts;
    const { purpose, dimensions, mayTruncate } = request;
    const invoked = isInvoked(target);
    const body = {
      model: invoked ? undefined : target.endpoint.upstreamModel,
      texts,
      input_type: INPUT_TYPES[purpose ?? "document"],
      embedding_types: ["float"],
      // Without it Cohere truncates long inputs.
      truncate: mayTruncate === true ? "END" : "NONE",
      output_dimension: dimensions ?? undefined,
    };
    const path = invoked ? invokePath(target) : "/v2/embed";
    return { path, body, dropped: droppedPurpose(request) };
  },
  parseAnswer: vectorReader((body) => {
    // By kind of their numbers, or, of older models on Bedrock, at the top.
    const entries = listIn(body, "embeddings") ?? listIn(body.embeddings, "float");
    if (entries === null) return bedrockErrorIn(body) ?? "missing_results";
    return {
      entries,
      inputTokens: countIn(memberIn(body.meta, "billed_units"), "input_tokens"),
    };
  }),
  readError: readConverseError,
};

/** Version of the protocol that Bedrock expects. */
const INVOKE_VERSION = 2;

/** Rerank as Cohere speaks it, at Cohere or through Bedrock's InvokeModel. */
const cohereReranker: NonNullable<Dialect["rerank"]> = {
  format: (request, target) => {
    const invoked = isInvoked(target);
    const refusal = invoked ? documentLimitRefusal(request) : null;
    if (refusal !== null) return refusal;
    const { query, documents, topN, maxTokensPerDocument, priority, extras } = request;
    const body = {
      ...extras,
      query,
      documents,
      top_n: topN === null ? undefined : wantedResults(request),
      ...(invoked
        ? { api_version: INVOKE_VERSION }
        : {
            model: target.endpoint.upstreamModel,
            max_tokens_per_doc: maxTokensPerDocument ?? undefined,
            priority: priority ?? undefined,
          }),
    };
    return {
      path: invoked ? invokePath(target) : "/v2/rerank",
      body,
      dropped: [...(invoked ? droppedPriority(request) : []), ...droppedTruncation(request)],
    };
  },
  parseAnswer: rankingReader((answer) => {
    const { results, meta } = answer;
    const error = results === undefined ? bedrockErrorIn(answer) : null;
    return (
      error ?? {
        results,
        inputTokens: countIn(memberIn(meta, "tokens"), "input_tokens"),
        searchUnits: countIn(memberIn(meta, "billed_units"), "search_units"),
        model: textIn(answer, "model"),
      }
    );
  }),
  readError: readConverseError,
};

/**
 * Cohere's second chat protocol (docs/protocols.md#cohere-chat), for providers only: no surface
 * speaks it.
 */
export const dialect = {
  generate: {
    format: fitting(formatCohere, COHERE_CHAT.requires),
    parseStream: parseCohereStream,
    parseAnswer: parseCohereAnswer,
    readError: readCohereError,
  },
  embed: cohereEmbedder,
  rerank: cohereReranker,
} satisfies Dialect;
