import { invalidRequest } from "../../canon/error.ts";
import type { JsonMember, JsonObject, JsonValue } from "../../canon/json.ts";
import { NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import type { CategoryVerdict, ModerateRequest, ModerationVerdict } from "../../canon/unary.ts";
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
import { listOf, mapObjects, memberIn, textOf } from "../json.ts";
import { unknownMemberOf, verdictsOf } from "./moderations-upstream.ts";
import {
  CORE,
  IDENTITY,
  ROUTER,
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
  provider: ROUTER,
};

function readModerations(
  { input = null }: JsonObject,
  reading: RequestReading,
  extras: JsonObject,
): ModerateRequest {
  const { mode } = reading;
  for (const [index, part] of listOf(input).entries()) noteImage(part, `input[${index}]`, reading);
  if (mode === null || mode === "forward") return { input, extras };
  const unknown = unknownMember(input);
  if (unknown !== null) reading.unknown(unknown);
  return { input: mapObjects(input, withKnownMembers) ?? null, extras };
}

function noteImage(part: JsonValue, path: string, reading: RequestReading): void {
  const url = memberIn(memberIn(part, "image_url"), "url");
  if (url === undefined) return;
  reading.need("image_input", path);
  const member = `${path}.image_url.url`;
  const address = textOf(url);
  if (/^data:/i.test(address)) return;
  if (isWebUrl(address)) return reading.use("image_url", member);
  const rule = "must be a data URL or begin with http:// or https://";
  reading.refuseMember("invalid_value", member, rule);
}

function withKnownMembers({ type, text, image_url: image }: JsonObject): JsonObject {
  return type === "text" ? { type, text } : { type, image_url: { url: memberIn(image, "url") } };
}

/** Path of the first unknown member of a part; `null` where there is none. */
function unknownMember(input: JsonMember): string | null {
  const unknown = listOf(input).map((part, index) => unknownMemberOf(part, `input[${index}]`));
  return unknown.find((path) => path !== null) ?? null;
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
  triedTypes: readonly string[] = [],
): JsonObject {
  if (kind === undefined) return { prefixItems: [{ type: triedTypes }] };
  return {
    ...conditional(
      { type: "array", minItems: 1, prefixItems: [{ type: kind.type }] },
      { items: kind.items },
    ),
    else: itemsByFirst(others, [...triedTypes, kind.type]),
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
    const refusal = surface.refuseUnknown(body, mode);
    const path = unknownMember(body.input);
    if (refusal !== null || mode !== "reject" || path === null) return refusal;
    const message = `Unknown field ${path}: parts of a moderation input have no such member`;
    return invalidRequest("unknown_field", message, path);
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
