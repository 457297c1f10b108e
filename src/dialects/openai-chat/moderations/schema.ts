import type { JsonObject } from "../../../canon/json.ts";
import { itemsByFirst } from "../../unary/items-by-first.ts";
import { NO_UNKNOWN } from "../../contract/parser-rules.ts";

const text = { type: "string" } as const;

/** Parts may have members besides: those are judged by the route's mode for unknown members, like those of the body. */
const part = {
  type: "object",
  if: ofType("text"),
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ["text"], properties: { text } },
  else: {
    if: ofType("image_url"),
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: {
      required: ["image_url"],
      properties: { image_url: { type: "object", required: ["url"], properties: { url: text } } },
    },
    else: { required: ["type"], properties: { type: { enum: ["text", "image_url"] } } },
  },
} as const;

function ofType(type: string): JsonObject {
  return { required: ["type"], properties: { type: { const: type } } };
}

/** JSON Schema (2020-12) of the body of POST /v1/moderations (docs/protocols.md#moderations). It validates requests and is part of /openapi.json. */
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
        { type: "string", items: text },
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
    provider: { $ref: "#/components/schemas/ProviderPreferences" },
  },
} as const;
