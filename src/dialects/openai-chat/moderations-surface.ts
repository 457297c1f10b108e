import { invalidRequest } from "../../canon/error.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import type {
  CategoryVerdict,
  ModerateRequest,
  ModerationInput,
  ModerationPart,
  ModerationVerdict,
} from "../../canon/unary.ts";
import { INPUT_BODY } from "../body-reader.ts";
import {
  NO_UNKNOWN,
  NULLABLE_FLAG,
  OBJECT,
  PREFERENCES,
  arrayOf,
  conditional,
  objectOf,
} from "../contract-schemas.ts";
import { isWebUrl } from "../data-url.ts";
import type { AnswerContext } from "../dialect.ts";
import { upstreamFor } from "../exchange-plan.ts";
import { listOf, memberIn, textOf } from "../json.ts";
import { verdictsOf } from "./moderations-upstream.ts";
import {
  CORE,
  IDENTITY,
  OURS,
  shownName,
  type FieldRegistry,
  type RequestReading,
} from "../request-reading.ts";
import { AnswerBytes } from "../unary/answer-bytes.ts";
import {
  callTo,
  resultOf,
  singlePartTask,
  unarySurface,
  type PartEnd,
  type UnaryAnswer,
  type UnarySurface,
} from "../unary/surface.ts";

/** Every known top-level member of a moderations request. */
const MODERATIONS_FIELDS: FieldRegistry = {
  model: CORE,
  input: CORE,
  user: IDENTITY,
  provider: OURS,
};

function readModerations(
  { input }: JsonObject,
  reading: RequestReading,
  extras: JsonObject,
): ModerateRequest {
  for (const [index, item] of listOf(input).entries()) noteImage(item, `input[${index}]`, reading);
  const unknown = unknownPartMember(input);
  if (unknown !== null && reading.mode === "strip") reading.strip("unknown_field");
  if (unknown !== null && reading.mode === "reject")
    reading.refuseRequest(unknownPartError(unknown));
  return { input: readInput(input, reading), extras };
}

function noteImage(item: JsonValue, path: string, reading: RequestReading): void {
  const image = isJsonObject(item) && item.type === "image_url" ? item.image_url : undefined;
  if (!isJsonObject(image)) return;
  reading.need("image_input", path);
  const member = `${path}.image_url.url`;
  const url = textOf(image.url);
  if (/^data:/i.test(url)) return;
  if (isWebUrl(url)) return reading.use("image_url", member);
  const rule = "must be a data URL or begin with http:// or https://";
  reading.refuseMember("invalid_value", member, rule);
}

function readInput(input: JsonMember, reading: RequestReading): ModerationInput {
  if (typeof input === "string") return { kind: "text", text: input };
  const items = listOf(input);
  const texts = items.filter((item) => typeof item === "string");
  // The schema accepts lists of texts or of parts; a mixed one must not be judged in part.
  if (items.length > 0 && texts.length === items.length) return { kind: "texts", texts };
  const forwards = reading.mode === "forward";
  const parts = items.map((item) => readPart(item, forwards)).filter((part) => part !== null);
  if (items.length === 0 || parts.length !== items.length) {
    const rule = "must be a text, a list of texts, or a list of parts";
    reading.refuseMember("invalid_type", "input", rule);
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

/** Path of the first unknown member of a part; `null` where there is none. */
function unknownPartMember(input: JsonMember): string | null {
  const unknown = listOf(input).map((item, index) => unknownMemberOfPart(item, `input[${index}]`));
  return unknown.find((path) => path !== null) ?? null;
}

/**
 * The same for one part.
 *
 * @param path of the part in the body.
 */
function unknownMemberOfPart(part: JsonValue, path: string): string | null {
  const known = memberIn(part, "type") === "text" ? ["type", "text"] : ["type", "image_url"];
  return (
    unknownMember(part, known, path) ??
    unknownMember(memberIn(part, "image_url"), ["url"], `${path}.image_url`)
  );
}

/** Null counts as absent. */
function unknownMember(value: JsonMember, known: readonly string[], path: string): string | null {
  const members = isJsonObject(value) ? Object.entries(value) : [];
  const unknown = members.find(([name, member]) => !known.includes(name) && member != null);
  return unknown === undefined ? null : `${path}.${shownName(unknown[0])}`;
}

/** The 400 for such a member on a route that refuses unknown members. */
function unknownPartError(path: string) {
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
    ...conditional(
      { type: "array", minItems: 1, prefixItems: [{ type: kind.type }] },
      { items: kind.items },
    ),
    else: itemsByFirst(others, [...tried, kind.type]),
  };
}

/**
 * Parts may have members besides: those are judged by the route's mode for unknown members, like
 * those of the body.
 */
const part = {
  ...OBJECT,
  ...conditional(ofType("text"), { required: ["text"], properties: { text: TEXT } }),
  else: {
    ...conditional(ofType("image_url"), {
      required: ["image_url"],
      properties: { image_url: objectOf({ url: TEXT }, "url") },
    }),
    else: { required: ["type"], properties: { type: { enum: ["text", "image_url"] } } },
  },
};

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
          categories: { ...OBJECT, additionalProperties: NULLABLE_FLAG },
          category_scores: { ...OBJECT, additionalProperties: { type: ["number", "null"] } },
          category_applied_input_types: { ...OBJECT, additionalProperties: arrayOf(TEXT) },
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

const surface = unarySurface({
  operation: "moderations",
  dialect: "openai-chat",
  registry: MODERATIONS_FIELDS,
  reader: INPUT_BODY,
  read: readModerations,
  isNative: true,
  plan: (request, options) =>
    singlePartTask(
      verdictsOf(request.input),
      options,
      (target) => callTo(upstreamFor("moderate", target.endpoint.dialect), request, target),
      renderModerations,
    ),
  contract: { body: MODERATIONS_SCHEMA, answer: MODERATION, examples: MODERATIONS_EXAMPLES },
});

/**
 * Moderations for clients: OpenAI's request and answer (docs/protocols.md#moderations). Without a
 * model, the workspace's default route is meant.
 */
export const moderationsSurface: UnarySurface = {
  ...surface,
  refuseUnknown: (body, mode) => {
    const unknown = surface.refuseUnknown(body, mode);
    if (unknown !== null || mode !== "reject") return unknown;
    const path = unknownPartMember(body.input);
    return path === null ? null : unknownPartError(path);
  },
};

/** OpenAI's answer; one in this form already is sent unchanged. */
function renderModerations([end]: readonly PartEnd[], context: AnswerContext): UnaryAnswer {
  const { isVerbatim, hasUnjudged, id, model, verdicts } = resultOf(end, "moderate");
  if (isVerbatim && end && "bytes" in end) return { bytes: end.bytes, dropped: [], gaps: 0 };
  const answer = {
    id: id ?? `modr-${context.answerId}`,
    model: model ?? context.model,
    results: verdicts.map(printVerdict),
  };
  return {
    bytes: AnswerBytes.of(JSON.stringify(answer)),
    dropped: hasUnjudged ? ["categories_unjudged"] : [],
    gaps: 0,
  };
}

function printVerdict({ flagged, categories }: ModerationVerdict): JsonObject {
  const each = (read: (verdict: CategoryVerdict) => JsonValue): JsonObject =>
    Object.fromEntries(Object.entries(categories).map(([name, verdict]) => [name, read(verdict)]));
  return {
    flagged,
    categories: each((verdict) => verdict.flagged),
    // Clients require a number; the other two members show that nothing was judged.
    category_scores: each(({ score }) => score ?? 0),
    category_applied_input_types: each(({ appliedTo }) => appliedTo),
  };
}
