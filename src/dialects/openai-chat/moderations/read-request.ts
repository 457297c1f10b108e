import type { RequestEdits } from "../../../canon/decision.ts";
import type { ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import type { ModerateRequest, ModerationInput, ModerationPart } from "../../../canon/unary/moderate.ts";
import { TranslationRecord, Members } from "../../members.ts";
import { takeExtras } from "../../unary/extras.ts";
import type { ReadRequest } from "../../unary/single-part.ts";
import { MODERATIONS_FIELDS } from "./fields.ts";
import { strangeMemberOfPart, strangePartError, strangePartMember } from "./parts.ts";

/** A moderations body in canon, every leaf of it. */
export function readModerationsRequest(
  body: JsonObject,
  mode: UnknownFields,
  edits: RequestEdits,
): ReadRequest<ModerateRequest> | ServiceError {
  const record = new TranslationRecord();
  const members = new Members(body, "", record);
  const extras = takeExtras(members, body, MODERATIONS_FIELDS, mode, edits);
  for (const name of ["model", "provider"]) members.take(name);
  const input = readInput(members, mode === "forward");
  const strange = strangePartMember(body["input"]);
  if (strange !== null && mode === "strip") record.strip("unknown_field");
  if (strange !== null && mode === "reject") record.refuse(strangePartError(strange));
  members.close();
  const refusal = record.result(mode);
  if (refusal !== null) return refusal;
  return { request: { input, extras }, stripped: [...record.stripped], dropped: [...record.dropped] };
}

function readInput(members: Members, forwards: boolean): ModerationInput {
  const input = members.take("input");
  if (typeof input === "string") return { kind: "text", text: input, isScalar: true };
  const items: readonly JsonValue[] = Array.isArray(input) ? input : [];
  const texts = items.filter((item) => typeof item === "string");
  const parts = items.map((item) => readPart(item, forwards)).filter((part) => part !== null);
  // The schema has seen to it that a list is of texts or of parts; one that is neither must not be judged in part.
  if (items.length > 0 && texts.length === items.length) return { kind: "texts", texts };
  if (items.length === 0 || parts.length !== items.length) {
    members.refuse("input", "invalid_type", "must be a text, a list of texts, or a list of parts");
  }
  return { kind: "parts", parts };
}

function readPart(item: JsonValue, forwards: boolean): ModerationPart | null {
  if (!isJsonObject(item)) return null;
  const forwarded = forwards && strangeMemberOfPart(item, "") !== null ? item : null;
  const { type, text, image_url: image } = item;
  if (type === "text") return typeof text === "string" ? { type, text, forwarded } : null;
  const url = type === "image_url" && isJsonObject(image) ? image["url"] : undefined;
  return typeof url === "string" ? { type: "image", url, forwarded } : null;
}
