import { TEXT } from "../../../canon/json/schema.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { NO_UNKNOWN, PREFERENCES } from "../../request-members.ts";

/** What all items of a list are, where its first item is of a type. */
interface ItemsOfType {
  readonly type: "string" | "number" | "array" | "object";
  readonly items: JsonObject;
}

/**
 * Members of a JSON Schema (2020-12) for a list whose items are all of one kind, of several that it
 * may be. The first item decides which, so that what is refused is the item that is wrong; with
 * `anyOf` a validator could only name a list that was not meant. Says nothing of what is no list.
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
      properties: { image_url: { type: "object", required: ["url"], properties: { url: TEXT } } },
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
export const MODERATIONS_SCHEMA = {
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
      type: ["string", "null"],
      minLength: 1,
      maxLength: 256,
      description: "The workspace's default moderation route unless set.",
    },
    user: { type: ["string", "null"] },
    provider: PREFERENCES,
  },
} as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const MODERATION = {
  title: "Moderation",
  type: "object",
  required: ["id", "model", "results"],
  properties: {
    id: TEXT,
    model: TEXT,
    results: {
      type: "array",
      description: "One for each text of the request, or one for all its parts together.",
      items: {
        type: "object",
        required: ["flagged", "categories", "category_scores"],
        properties: {
          flagged: { type: "boolean" },
          categories: { type: "object", additionalProperties: { type: ["boolean", "null"] } },
          category_scores: { type: "object", additionalProperties: { type: ["number", "null"] } },
          category_applied_input_types: {
            type: "object",
            additionalProperties: { type: "array", items: TEXT },
          },
        },
      },
    },
  },
} as const;

/** Requests of the contract, in the order to try them. */
export const MODERATIONS_EXAMPLES = {
  named: { model: "moderation", input: ["A text to look at."] },
  default: { input: "A text to look at." },
} as const;
