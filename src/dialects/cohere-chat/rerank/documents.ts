import { invalidRequest } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { hasUnknownMember } from "../../fields.ts";
import type { TranslationRecord } from "../../members.ts";
import { memberIn } from "../../unary/answer-members.ts";

/**
 * Members with which protocols give documents that are no text. Beside a text they are not passed over: whoever sends one wants it ranked.
 */
const IMAGES: readonly string[] = ["image", "image_url", "image_base64"];

const SENT: ReadonlySet<string> = new Set(["text"]);

/**
 * The text of each document, in their order. What has none is refused with its place: a document that is left out would shift the indices of
 * all that follow.
 */
export function readDocuments(documents: readonly JsonValue[], record: TranslationRecord): readonly string[] {
  if (documents.length === 0) {
    record.refuse(invalidRequest("empty_input", "documents must not be an empty list", "documents"));
  }
  return documents.map((document, index) => readDocument(document, `documents[${index}]`, record));
}

function readDocument(document: JsonValue, path: string, record: TranslationRecord): string {
  if (typeof document === "string") return readText(document, path, record);
  if (!isJsonObject(document) || JSON.isRawJSON(document)) {
    record.refuse(invalidRequest("invalid_type", `${path} must be a text, or an object with a text`, path));
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
  record.refuse(invalidRequest("missing_field", `${path}.text is required and must be a text`, `${path}.text`));
  return "";
}

function readText(text: string, path: string, record: TranslationRecord): string {
  if (text === "") record.refuse(invalidRequest("empty_input", `${path} must not be an empty text`, path));
  return text;
}

/** The member that has a document's image; a list of content parts is how some write one. */
function imageIn(document: JsonObject): string | null {
  const image = IMAGES.find((name) => (memberIn(document, name) ?? null) !== null);
  return image ?? (Array.isArray(memberIn(document, "content")) ? "content" : null);
}
