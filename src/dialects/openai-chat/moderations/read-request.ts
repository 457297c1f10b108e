import type { RequestReader } from "../../dialect.ts";
import type { RequestEdits } from "../../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import type { ModerateRequest, ModerationInput, ModerationPart } from "../../../canon/unary.ts";
import { Members, TranslationRecord } from "../../members.ts";
import { takeExtras } from "../../unary/extras.ts";
import type { ReadRequest } from "../../unary/surface.ts";
import { inferenceRequest, RequestReading, UNSPECIFIED, type FieldRegistry } from "../../fields.ts";
import { type Kinds, readKinds } from "../../kinds.ts";
import { CHAT_KINDS } from "../read-tools.ts";
import { isWebUrl } from "../../data-url.ts";
import { INPUT_BODY } from "../../body-reader.ts";

/** Every top-level member of a moderations request that we know. */
export const MODERATIONS_FIELDS: FieldRegistry = {
  model: { class: "core" },
  input: { class: "core" },
  user: { class: "identity" },
  provider: { class: "ours" },
};

const MODERATIONS_KINDS: Kinds = { ...CHAT_KINDS, native: null };

/**
 * Reads a validated moderations body as far as the decision needs it. Without a model, the
 * workspace's default route is meant.
 */
export const parseModerationsRequest: RequestReader["parse"] = (body, bytes, headers) => {
  const reading = new RequestReading();
  const problem = askImages(body["input"], reading);
  if (problem !== null) return problem;
  const parsed = {
    ...UNSPECIFIED,
    operation: "moderations",
    body,
    bytes,
    headers,
    reader: INPUT_BODY,
  } as const;
  readKinds(body, MODERATIONS_FIELDS, MODERATIONS_KINDS, reading);
  return inferenceRequest(reading, parsed);
};

function askImages(input: JsonValue | undefined, reading: RequestReading): ServiceError | null {
  if (!Array.isArray(input)) return null;
  const items: readonly JsonValue[] = input;
  for (const [index, item] of items.entries()) {
    const image =
      isJsonObject(item) && item["type"] === "image_url" ? item["image_url"] : undefined;
    if (!isJsonObject(image)) continue;
    reading.need("image_input", `input[${index}]`);
    const path = `input[${index}].image_url.url`;
    const { url } = image;
    if (typeof url === "string" && isDataUrl(url)) continue;
    if (typeof url !== "string" || !isWebUrl(url)) {
      return invalidRequest(
        "invalid_value",
        `${path} must be a data URL or begin with http:// or https://`,
        path,
      );
    }
    reading.use("image_url", path);
  }
  return null;
}

function isDataUrl(url: string): boolean {
  return /^data:/i.test(url);
}

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
  return {
    request: { input, extras },
    stripped: [...record.stripped],
    dropped: [...record.dropped],
  };
}

function readInput(members: Members, forwards: boolean): ModerationInput {
  const input = members.take("input");
  if (typeof input === "string") return { kind: "text", text: input, isScalar: true };
  const items: readonly JsonValue[] = Array.isArray(input) ? input : [];
  const texts = items.filter((item) => typeof item === "string");
  const parts = items.map((item) => readPart(item, forwards)).filter((part) => part !== null);
  // The schema has seen to it that a list is of texts or of parts; one that is neither must not be
  // judged in part.
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

/** Members that canon can hold, by the object that they are in. */
const MEMBERS = {
  text: new Set(["type", "text"]),
  image_url: new Set(["type", "image_url"]),
  image: new Set(["url"]),
} as const;

/**
 * Path of the first unknown member of a part; `null` where there is none. Null counts as absent.
 */
export function strangePartMember(input: JsonValue | undefined): string | null {
  if (!Array.isArray(input)) return null;
  const items: readonly JsonValue[] = input;
  for (const [index, item] of items.entries()) {
    const found = isJsonObject(item) ? strangeMemberOfPart(item, `input[${index}]`) : null;
    if (found !== null) return found;
  }
  return null;
}

/**
 * The same for one part.
 *
 * @param path where it stands in the body.
 */
function strangeMemberOfPart(part: JsonObject, path: string): string | null {
  const { type, image_url: image } = part;
  return (
    strangeMember(part, type === "text" ? MEMBERS.text : MEMBERS.image_url, path) ??
    (isJsonObject(image) ? strangeMember(image, MEMBERS.image, `${path}.image_url`) : null)
  );
}

function strangeMember(
  object: JsonObject,
  known: ReadonlySet<string>,
  path: string,
): string | null {
  for (const name in object) {
    if (known.has(name) || object[name] === null || object[name] === undefined) continue;
    return /^[A-Za-z_$][\w$-]{0,63}$/.test(name) ? `${path}.${name}` : `${path}.*`;
  }
  return null;
}

/** The 400 for such a member, where the route refuses what it does not know. */
export function strangePartError(path: string): ServiceError {
  return invalidRequest(
    "unknown_field",
    `Unknown field ${path}: parts of a moderation input have no such member`,
    path,
  );
}
