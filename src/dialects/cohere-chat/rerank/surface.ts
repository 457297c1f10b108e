import type { ServiceError } from "../../../canon/error.ts";
import type { InferenceRequest } from "../../../canon/request.ts";
import type { RerankResult } from "../../../canon/unary/rerank.ts";
import { upstreamFor } from "../../upstreams.ts";
import { OPENAI_FAMILY } from "../../openai-family/family.ts";
import { refuseUnknownFields } from "../../fields.ts";
import { singlePartTask } from "../../unary/single-part.ts";
import type { PartEnd, UnaryOptions, UnarySurface, UnaryTask } from "../../unary/surface.ts";
import { RERANK_FIELDS } from "./fields.ts";
import { parseRerankRequest } from "./parse-request.ts";
import { readRerankRequest } from "./read-request.ts";
import { renderRerank } from "./render-answer.ts";
import { RERANKING } from "./answer-schema.ts";
import { RERANK_EXAMPLES } from "./examples.ts";
import { RERANK_SCHEMA } from "./schema.ts";

/** Rerank for clients: Cohere's request and answer, and the spellings of Jina and Voyage (docs/protocols.md#rerank). */
export const rerankSurface: UnarySurface = {
  kind: "unary",
  dialect: "cohere-chat",
  parse: parseRerankRequest,
  refuseUnknown: (body, mode) => refuseUnknownFields(RERANK_FIELDS, body, mode, "rerank"),
  open: openRerank,
  family: OPENAI_FAMILY,
  contract: { body: RERANK_SCHEMA, answer: RERANKING, examples: RERANK_EXAMPLES },
};

/** One part whatever its size: only documents that were ranked together can be put in one order. */
function openRerank({ body }: InferenceRequest, options: UnaryOptions): UnaryTask | ServiceError {
  const read = readRerankRequest(body, options.unknownFields, options.edits);
  if ("code" in read) return read;
  const { form } = read;
  // All documents are one input: only together have they an answer.
  return singlePartTask(
    read,
    1,
    options.targets,
    ({ endpoint }) => upstreamFor("rerank", endpoint.dialect),
    (ends, context) => renderRerank(resultOf(ends), form, context),
  );
}

function resultOf([end]: readonly PartEnd[]): RerankResult {
  if (end === undefined || "failure" in end) throw new Error("rerank: an answer without a result");
  if (end.result.operation !== "rerank") throw new Error("rerank: the result of another operation");
  return end.result;
}
