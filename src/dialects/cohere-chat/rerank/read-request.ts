import type { RequestEdits } from "../../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import type { RerankRequest } from "../../../canon/unary/rerank.ts";
import { TranslationRecord, Members } from "../../members.ts";
import { takeExtras } from "../../unary/extras.ts";
import type { ReadRequest } from "../../unary/single-part.ts";
import { readDocuments } from "./documents.ts";
import { RERANK_FIELDS } from "./fields.ts";

/** What the caller wants the answer to look like. */
export interface AnswerForm {
  /** The caller's documents as they came, to be put into the results; `null`: not asked for. */
  readonly documents: readonly JsonValue[] | null;
  /** The caller writes as Voyage's clients do, which read other members of the answer. */
  readonly isVoyage: boolean;
  /** The caller may be one of those: it writes nothing that only other clients write. */
  readonly mayBeVoyage: boolean;
}

export interface ReadRerankRequest extends ReadRequest<RerankRequest> {
  readonly form: AnswerForm;
}

/** A rerank body in canon, every leaf of it. */
export function readRerankRequest(
  body: JsonObject,
  mode: UnknownFields,
  edits: RequestEdits,
): ReadRerankRequest | ServiceError {
  const record = new TranslationRecord();
  const members = new Members(body, "", record);
  const extras = takeExtras(members, body, RERANK_FIELDS, mode, edits);
  for (const name of ["model", "provider"]) members.take(name);
  const query = members.text("query") ?? "";
  if (query === "") record.refuse(invalidRequest("empty_input", "query must not be an empty text", "query"));
  const documents = members.list("documents");
  const texts = readDocuments(documents, record);
  refuseChunking(members);
  refuseSpans(members);
  const request: RerankRequest = {
    query,
    documents: texts,
    topN: resultLimit(members),
    maxTokensPerDocument: members.number("max_tokens_per_doc"),
    mayTruncate: members.flag("truncation"),
    priority: members.number("priority"),
    extras,
  };
  const form: AnswerForm = {
    documents: members.flag("return_documents") === true ? documents : null,
    // Voyage's clients for Python send both members always, `null` where nothing was said.
    isVoyage: Object.hasOwn(body, "top_k") || Object.hasOwn(body, "truncation"),
    mayBeVoyage: !Object.hasOwn(body, "top_n"),
  };
  members.close();
  return record.result(mode) ?? { request, form, stripped: [...record.stripped], dropped: [...record.dropped] };
}

function resultLimit(members: Members): number | null {
  const topN = members.number("top_n");
  const topK = members.number("top_k");
  if (topN !== null && topK !== null && topN !== topK) {
    members.refuse("top_k", "conflicting_fields", "and top_n say different limits; send one of them");
  }
  return topN ?? topK;
}

/** How the protocol's first version says which part of a document counts; no provider of today can be told. */
function refuseChunking(members: Members): void {
  const fields = members.take("rank_fields");
  if (fields !== undefined && !(Array.isArray(fields) && fields.length === 1 && fields[0] === "text")) {
    const fix = 'must be ["text"]: write all that is to be ranked into each document\'s `text`';
    members.refuse("rank_fields", "unsupported_value", fix);
  }
  if (members.take("max_chunks_per_doc") !== undefined) {
    members.refuse("max_chunks_per_doc", "unsupported_parameter", "is not offered: send max_tokens_per_doc instead");
  }
}

/** Asks for passages in the results, for which no other protocol has words; forwarded, they would come and be left out of the answer. */
function refuseSpans(members: Members): void {
  const spans = members.take("relevant_spans");
  if (spans === undefined || (isJsonObject(spans) && spans["mode"] === "disabled")) return;
  members.refuse("relevant_spans", "unsupported_parameter", "is not offered: leave it out");
}
