import type { RequestReader } from "../dialect.ts";
import type { RequestEdits } from "../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { UnknownFields } from "../../canon/table.ts";
import type { RerankRequest } from "../../canon/unary.ts";
import { Members, TranslationRecord } from "../members.ts";
import { takeExtras } from "../unary/extras.ts";
import type { ReadRequest } from "../unary/surface.ts";
import {
  inferenceRequest,
  RequestReading,
  UNSPECIFIED,
  type FieldRegistry,
  hasUnknownMember,
} from "../fields.ts";
import { readKinds } from "../kinds.ts";
import { CHAT_KINDS } from "../openai-chat/read-tools.ts";
import { memberIn } from "../json.ts";
import type { BodyReader } from "../../canon/request.ts";
import { ASCII_PER_TOKEN, PLAIN_BODY } from "../body-reader.ts";

/** What limits read of a request. The query is read once with every document. */
export const RERANK_BODY: BodyReader = {
  ...PLAIN_BODY,
  inputAllowance: (body, needs) => PLAIN_BODY.inputAllowance(body, needs) + repeatedQuery(body),
  likelyInput: (body, needs) =>
    PLAIN_BODY.likelyInput(body, needs) + Math.ceil(repeatedQuery(body) / ASCII_PER_TOKEN),
};

function repeatedQuery({ query, documents }: JsonObject): number {
  if (typeof query !== "string" || !Array.isArray(documents)) return 0;
  return Buffer.byteLength(query) * documents.length;
}

/** Every top-level member of a rerank request that we know. */
export const RERANK_FIELDS: FieldRegistry = {
  model: { class: "core" },
  query: { class: "core" },
  documents: { class: "core" },
  top_n: { class: "core" },
  top_k: { class: "core" },
  return_documents: { class: "core" },
  max_tokens_per_doc: { class: "core", uses: "document_limit" },
  truncation: { class: "core" },
  rank_fields: { class: "core" },
  max_chunks_per_doc: { class: "core" },
  relevant_spans: { class: "core" },
  priority: { class: "hint" },
  user: { class: "identity" },
  provider: { class: "ours" },
};

/**
 * Neither a route's mode nor a policy's edits are known before the decision; both only take members
 * away.
 */
const NO_EDITS: RequestEdits = Object.freeze({ maxOutputTokens: null, stripFields: [] });

/**
 * Reads a validated rerank body: what it requires, how large it is, what it prefers. What no
 * endpoint accepts is refused here, so that a simulated decision says the same as a call.
 */
export const parseRerankRequest: RequestReader["parse"] = (body, bytes, headers) => {
  const read = readRerankRequest(body, "strip", NO_EDITS);
  if ("code" in read) return read;
  const reading = new RequestReading();
  if (read.request.maxTokensPerDocument !== null)
    reading.use("document_limit", "max_tokens_per_doc");
  readKinds(body, RERANK_FIELDS, CHAT_KINDS, reading);
  return inferenceRequest(reading, {
    ...UNSPECIFIED,
    operation: "rerank",
    body,
    bytes,
    headers,
    reader: RERANK_BODY,
  });
};

/** What the caller wants the answer to look like. */
export interface AnswerForm {
  /** The caller's documents as they came, to be put into the results; `null`: not requested. */
  readonly documents: readonly JsonValue[] | null;
  /** The caller writes as Voyage's clients do, which read other members of the answer. */
  readonly isVoyage: boolean;
  /** The caller may be one of those: it writes nothing that only other clients write. */
  readonly mayBeVoyage: boolean;
}

interface ReadRerankRequest extends ReadRequest<RerankRequest> {
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
  if (query === "")
    record.refuse(invalidRequest("empty_input", "query must not be an empty text", "query"));
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
  return (
    record.result(mode) ?? {
      request,
      form,
      stripped: [...record.stripped],
      dropped: [...record.dropped],
    }
  );
}

function resultLimit(members: Members): number | null {
  const topN = members.number("top_n");
  const topK = members.number("top_k");
  if (topN !== null && topK !== null && topN !== topK) {
    members.refuse(
      "top_k",
      "conflicting_fields",
      "and top_n say different limits; send one of them",
    );
  }
  return topN ?? topK;
}

/**
 * How the protocol's first version says which part of a document counts; no provider of today takes
 * it.
 */
function refuseChunking(members: Members): void {
  const fields = members.take("rank_fields");
  if (
    fields !== undefined &&
    !(Array.isArray(fields) && fields.length === 1 && fields[0] === "text")
  ) {
    const fix = 'must be ["text"]: write all that is to be ranked into each document\'s `text`';
    members.refuse("rank_fields", "unsupported_value", fix);
  }
  if (members.take("max_chunks_per_doc") !== undefined) {
    members.refuse(
      "max_chunks_per_doc",
      "unsupported_parameter",
      "is not offered: send max_tokens_per_doc instead",
    );
  }
}

/**
 * Requests passages in the results, which no other protocol can express; if forwarded, they would
 * be left out of the answer.
 */
function refuseSpans(members: Members): void {
  const spans = members.take("relevant_spans");
  if (spans === undefined || (isJsonObject(spans) && spans["mode"] === "disabled")) return;
  members.refuse("relevant_spans", "unsupported_parameter", "is not offered: leave it out");
}

/**
 * Members with which protocols give documents that are no text. Beside a text they are not passed
 * over: a caller who sends one wants it ranked.
 */
const IMAGES: readonly string[] = ["image", "image_url", "image_base64"];

const SENT: ReadonlySet<string> = new Set(["text"]);

/**
 * The text of each document, in their order. A document without one is refused with its position: a
 * document that is left out would shift the indices of all that follow.
 */
function readDocuments(
  documents: readonly JsonValue[],
  record: TranslationRecord,
): readonly string[] {
  if (documents.length === 0) {
    record.refuse(
      invalidRequest("empty_input", "documents must not be an empty list", "documents"),
    );
  }
  return documents.map((document, index) => readDocument(document, `documents[${index}]`, record));
}

function readDocument(document: JsonValue, path: string, record: TranslationRecord): string {
  if (typeof document === "string") return readText(document, path, record);
  if (!isJsonObject(document) || JSON.isRawJSON(document)) {
    record.refuse(
      invalidRequest("invalid_type", `${path} must be a text, or an object with a text`, path),
    );
    return "";
  }
  const image = imageIn(document);
  if (image !== null) {
    const where = `${path}.${image}`;
    const message = `${where} cannot be ranked: documents are texts here; send the document's text without its images`;
    record.refuse(invalidRequest("unsupported_value", message, where));
    return "";
  }
  const text = memberIn(document, "text");
  if (typeof text === "string") {
    if (hasUnknownMember(document, SENT)) record.drop("document_members_dropped");
    return readText(text, `${path}.text`, record);
  }
  record.refuse(
    invalidRequest("missing_field", `${path}.text is required and must be a text`, `${path}.text`),
  );
  return "";
}

function readText(text: string, path: string, record: TranslationRecord): string {
  if (text === "")
    record.refuse(invalidRequest("empty_input", `${path} must not be an empty text`, path));
  return text;
}

/** The member that has a document's image; a list of content parts is how some write one. */
function imageIn(document: JsonObject): string | null {
  const image = IMAGES.find((name) => (memberIn(document, name) ?? null) !== null);
  return image ?? (Array.isArray(memberIn(document, "content")) ? "content" : null);
}
