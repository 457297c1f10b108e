import type { RequestEdits } from "../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { UnknownFields } from "../../canon/table.ts";
import type {
  CategoryVerdict,
  ModerateRequest,
  ModerateResult,
  ModerationInput,
  ModerationPart,
  ModerationVerdict,
} from "../../canon/unary.ts";
import { INPUT_BODY } from "../body-reader.ts";
import { NO_UNKNOWN, NULLABLE_FLAG, PREFERENCES, arrayOf, objectOf } from "../contract-schemas.ts";
import { isWebUrl } from "../data-url.ts";
import type { AnswerContext, RequestReader } from "../dialect.ts";
import { upstreamFor } from "../exchange-plan.ts";
import { listOf, memberIn } from "../json.ts";
import { readKinds } from "../kinds.ts";
import { OPENAI_FAMILY } from "./family.ts";
import { categoryRecord, verdictsOf } from "./moderations-upstream.ts";
import { CHAT_KINDS } from "./parse-request.ts";
import {
  RequestReading,
  UNSPECIFIED,
  inferenceRequest,
  refusingUnknown,
  type FieldRegistry,
} from "../request-reading.ts";
import { AnswerBytes } from "../unary/answer-bytes.ts";
import { Members, TranslationRecord, takeExtras } from "../unary/members.ts";
import {
  singlePartTask,
  type PartEnd,
  type ReadRequest,
  type UnaryAnswer,
  type UnaryOptions,
  type UnarySurface,
  type UnaryTask,
} from "../unary/surface.ts";

/** Every known top-level member of a moderations request. */
const MODERATIONS_FIELDS: FieldRegistry = {
  model: {},
  input: {},
  user: { class: "identity" },
  provider: { class: "ours" },
};

/**
 * Reads a validated moderations body as far as the decision needs it. Without a model, the
 * workspace's default route is meant.
 */
const parseModerationsRequest: RequestReader["parse"] = (body, bytes, headers) => {
  const reading = new RequestReading("native_chat");
  const problem = readImageParts(body.input, reading);
  if (problem !== null) return problem;
  const parsed = {
    ...UNSPECIFIED,
    operation: "moderations",
    body,
    bytes,
    headers,
    reader: INPUT_BODY,
  } as const;
  readKinds(body, MODERATIONS_FIELDS, CHAT_KINDS, reading, true);
  return inferenceRequest(reading, parsed);
};

function readImageParts(input: JsonMember, reading: RequestReading): ServiceError | null {
  if (!Array.isArray(input)) return null;
  const items: readonly JsonValue[] = input;
  for (const [index, item] of items.entries()) {
    const image = isJsonObject(item) && item.type === "image_url" ? item.image_url : undefined;
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
function readModerationsRequest(
  body: JsonObject,
  mode: UnknownFields,
  edits: RequestEdits,
): ReadRequest<ModerateRequest> | ServiceError {
  const record = new TranslationRecord();
  const members = new Members(body, "", record);
  const extras = takeExtras(members, body, MODERATIONS_FIELDS, mode, edits);
  for (const name of ["model", "provider"]) members.take(name);
  const input = readInput(members, mode === "forward");
  const strange = unknownPartMember(body.input);
  if (strange !== null && mode === "strip") record.strip("unknown_field");
  if (strange !== null && mode === "reject") record.refuseRequest(unknownPartError(strange));
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
  const items: readonly JsonValue[] = listOf(input);
  const texts = items.filter((item) => typeof item === "string");
  const parts = items.map((item) => readPart(item, forwards)).filter((part) => part !== null);
  // The schema accepts lists of texts or of parts; a mixed one must not be judged in part.
  if (items.length > 0 && texts.length === items.length) return { kind: "texts", texts };
  if (items.length === 0 || parts.length !== items.length) {
    members.refuseMember(
      "input",
      "invalid_type",
      "must be a text, a list of texts, or a list of parts",
    );
  }
  return { kind: "parts", parts };
}

function readPart(item: JsonValue, forwards: boolean): ModerationPart | null {
  if (!isJsonObject(item)) return null;
  const forwarded = forwards && unknownMemberOfPart(item, "") !== null ? item : null;
  const { type, text, image_url: image } = item;
  if (type === "text") return typeof text === "string" ? { type, text, forwarded } : null;
  const url = type === "image_url" ? memberIn(image, "url") : undefined;
  return typeof url === "string" ? { type: "image", url, forwarded } : null;
}

/** Members that canon can hold, by object. */
const MEMBERS = {
  text: ["type", "text"],
  image_url: ["type", "image_url"],
  image: ["url"],
} as const;

/**
 * Path of the first unknown member of a part; `null` where there is none. Null counts as absent.
 */
function unknownPartMember(input: JsonMember): string | null {
  if (!Array.isArray(input)) return null;
  const items: readonly JsonValue[] = input;
  for (const [index, item] of items.entries()) {
    const found = isJsonObject(item) ? unknownMemberOfPart(item, `input[${index}]`) : null;
    if (found !== null) return found;
  }
  return null;
}

/**
 * The same for one part.
 *
 * @param path of the part in the body.
 */
function unknownMemberOfPart(part: JsonObject, path: string): string | null {
  const { type, image_url: image } = part;
  return (
    unknownMember(part, type === "text" ? MEMBERS.text : MEMBERS.image_url, path) ??
    (isJsonObject(image) ? unknownMember(image, MEMBERS.image, `${path}.image_url`) : null)
  );
}

function unknownMember(object: JsonObject, known: readonly string[], path: string): string | null {
  for (const name in object) {
    if (known.includes(name) || object[name] == null) continue;
    return /^[A-Za-z_$][\w$-]{0,63}$/.test(name) ? `${path}.${name}` : `${path}.*`;
  }
  return null;
}

/** The 400 for such a member, where the route refuses what it does not know. */
function unknownPartError(path: string): ServiceError {
  return invalidRequest(
    "unknown_field",
    `Unknown field ${path}: parts of a moderation input have no such member`,
    path,
  );
}

/** Schema of all items, chosen by the type of the first. */
interface ItemsOfType {
  readonly type: "string" | "number" | "array" | "object";
  readonly items: JsonObject;
}

/**
 * Members of a JSON Schema (2020-12) for a list whose items all have one of several types. The
 * first item decides, so that errors name the wrong item; with `anyOf` a validator could name only
 * the list. Accepts values that are no list.
 */
export function itemsByFirst(
  [kind, ...others]: readonly ItemsOfType[],
  tried: readonly string[] = [],
): JsonObject {
  if (kind === undefined) return { prefixItems: [{ type: tried }] };
  return {
    if: { type: "array", minItems: 1, prefixItems: [{ type: kind.type }] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: { items: kind.items },
    else: itemsByFirst(others, [...tried, kind.type]),
  };
}

/**
 * Parts may have members besides: those are judged by the route's mode for unknown members, like
 * those of the body.
 */
const part = {
  type: "object",
  if: ofType("text"),
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ["text"], properties: { text: TEXT } },
  else: {
    if: ofType("image_url"),
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: {
      required: ["image_url"],
      properties: { image_url: objectOf({ url: TEXT }, "url") },
    },
    else: { required: ["type"], properties: { type: { enum: ["text", "image_url"] } } },
  },
} as const;

function ofType(type: string): JsonObject {
  return { required: ["type"], properties: { type: { const: type } } };
}

/**
 * JSON Schema (2020-12) of the body of POST /v1/moderations (docs/protocols.md#moderations). It
 * validates requests and is part of /openapi.json.
 */
const MODERATIONS_SCHEMA = {
  title: "CreateModerationRequest",
  type: "object",
  required: ["input"],
  parserRules: NO_UNKNOWN,
  properties: {
    input: {
      description:
        "A text or a list of texts, each judged by itself; or a list of parts, texts and images, that are judged together.",
      type: ["string", "array"],
      minItems: 1,
      ...itemsByFirst([
        { type: "string", items: TEXT },
        { type: "object", items: part },
      ]),
    },
    model: {
      ...NULLABLE_TEXT,
      minLength: 1,
      maxLength: 256,
      description: "The workspace's default moderation route unless set.",
    },
    user: NULLABLE_TEXT,
    provider: PREFERENCES,
  },
} as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
const MODERATION = {
  title: "Moderation",
  type: "object",
  required: ["id", "model", "results"],
  properties: {
    id: TEXT,
    model: TEXT,
    results: {
      type: "array",
      description: "One for each text of the request, or one for all its parts together.",
      items: objectOf(
        {
          flagged: { type: "boolean" },
          categories: { type: "object", additionalProperties: NULLABLE_FLAG },
          category_scores: { type: "object", additionalProperties: { type: ["number", "null"] } },
          category_applied_input_types: {
            type: "object",
            additionalProperties: arrayOf(TEXT),
          },
        },
        "flagged",
        "categories",
        "category_scores",
      ),
    },
  },
} as const;

/** Requests of the contract, in the order to try them. */
const MODERATIONS_EXAMPLES = {
  named: { model: "moderation", input: ["A text to look at."] },
  default: { input: "A text to look at." },
} as const;

const refuseUnknownFields = refusingUnknown(MODERATIONS_FIELDS, "moderations");

/** Moderations for clients: OpenAI's request and answer (docs/protocols.md#moderations). */
export const moderationsSurface: UnarySurface = {
  kind: "unary",
  dialect: "openai-chat",
  parse: parseModerationsRequest,
  refuseUnknown,
  open: openModerations,
  family: OPENAI_FAMILY,
  contract: { body: MODERATIONS_SCHEMA, answer: MODERATION, examples: MODERATIONS_EXAMPLES },
};

function refuseUnknown(body: JsonObject, mode: UnknownFields): ServiceError | null {
  const unknown = refuseUnknownFields(body, mode);
  if (unknown !== null || mode !== "reject") return unknown;
  const strange = unknownPartMember(body.input);
  return strange === null ? null : unknownPartError(strange);
}

function openModerations(
  { body }: InferenceRequest,
  options: UnaryOptions,
): UnaryTask | ServiceError {
  const read = readModerationsRequest(body, options.unknownFields, options.edits);
  if ("code" in read) return read;
  const inputs = verdictsOf(read.request.input);
  return singlePartTask(
    read,
    inputs,
    options.targets,
    ({ endpoint }) => upstreamFor("moderate", endpoint.dialect),
    renderModerations,
  );
}

/** OpenAI's answer; one in this form already is sent unchanged. */
function renderModerations(ends: readonly PartEnd[], context: AnswerContext): UnaryAnswer {
  const [end] = ends;
  if (end === undefined || ends.length > 1 || "failure" in end) {
    throw new Error("moderations: an answer of anything but one whole part");
  }
  const { result, bytes } = end;
  if (result.operation !== "moderate")
    throw new Error("moderations: the result of another operation");
  return {
    bytes: result.isVerbatim
      ? bytes
      : new AnswerBytes([encoder.encode(JSON.stringify(printAnswer(result, context)))]),
    dropped: result.hasUnjudged && !result.isVerbatim ? ["categories_unjudged"] : [],
    gaps: 0,
  };
}

const encoder = new TextEncoder();

function printAnswer(
  { id, model, verdicts }: ModerateResult,
  { answerId, model: fallback }: AnswerContext,
): JsonObject {
  return {
    id: id ?? `modr-${answerId}`,
    model: model ?? fallback,
    results: verdicts.map(printVerdict),
  };
}

function printVerdict({ flagged, categories }: ModerationVerdict): JsonObject {
  const each = <Value>(
    read: (verdict: CategoryVerdict) => Value,
  ): Readonly<Record<string, Value>> => categoryRecord((name) => read(categories[name]));
  return {
    flagged,
    categories: each((verdict) => verdict.flagged),
    // Clients require a number; the other two members show that nothing was judged.
    category_scores: each(({ score }) => score ?? 0),
    category_applied_input_types: each(({ appliedTo }) => appliedTo),
  };
}
