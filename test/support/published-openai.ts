import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { isJsonObject, type JsonObject } from "../../src/canon/json.ts";
import { sharedAtHand } from "./at-hand.ts";

/** OpenAI's published schema of each kind of request. */
const SCHEMAS = {
  "openai-chat": "CreateChatCompletionRequest",
  "openai-completions": "CreateCompletionRequest",
  "openai-responses": "CreateResponse",
} as const;

/**
 * What the document requires of these only because the provider's own answers have it; recorded
 * requests are taken without it.
 */
const REQUIRED_OF_A_REQUEST: Readonly<Record<string, readonly string[]>> = {
  InputImageContent: ["type"],
  OutputMessage: ["type", "role", "content"],
  OutputTextContent: ["type", "text"],
};

export type PublishedDialect = keyof typeof SCHEMAS;

export const PUBLISHED_DIALECTS: readonly PublishedDialect[] = [
  "openai-chat",
  "openai-completions",
  "openai-responses",
];

/**
 * Says what of a request OpenAI's published schema does not allow; `null` where it allows all of
 * it.
 */
export type RequestCheck = (dialect: PublishedDialect, body: JsonObject) => string | null;

/** @returns `null` where the published schemas are not at hand. */
export function openaiRequestCheck(): RequestCheck | null {
  const file = sharedAtHand("reference/openai-subset.json");
  if (file === null) return null;
  const document = asJsonSchema(JSON.parse(readFileSync(file, "utf8"))) as {
    components: { schemas: Record<string, JsonObject> };
  };
  const { schemas } = document.components;
  for (const [name, required] of Object.entries(REQUIRED_OF_A_REQUEST))
    schemas[name] = { ...schemas[name], required };
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, "openai");
  return (dialect, body) => {
    const name = SCHEMAS[dialect];
    const validate = ajv.getSchema(`openai#/components/schemas/${name}`);
    if (validate === undefined) return `no schema ${name}`;
    const known = membersOf(schemas[name], schemas);
    const unknown = Object.keys(body).filter((member) => !known.has(member));
    if (unknown.length > 0) return `members that ${name} does not have: ${unknown.join(", ")}`;
    return validate(body) === true ? null : ajv.errorsText(validate.errors);
  };
}

/**
 * The document as a validator takes it: `nullable` is an alternative, and alternatives need not
 * exclude each other, because the provider distinguishes them by a discriminator. `detail` of
 * images is required in the document, and the provider takes images without it.
 */
function asJsonSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asJsonSchema);
  if (!isJsonObject(value)) return value;
  const { nullable, oneOf, discriminator: _, ...rest } = value;
  const plain: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(rest)) plain[name] = asJsonSchema(member);
  if (oneOf !== undefined) plain.anyOf = asJsonSchema(oneOf);
  return nullable === true ? { anyOf: [plain, { type: "null" }] } : plain;
}

/**
 * The members of a schema that is written in parts. The published schemas are open; requests of
 * ours must not use that.
 */
function membersOf(
  schema: unknown,
  schemas: Readonly<Record<string, JsonObject>>,
): ReadonlySet<string> {
  if (!isJsonObject(schema)) return new Set();
  const { $ref: reference, properties, allOf } = schema;
  if (typeof reference === "string")
    return membersOf(schemas[reference.split("/").at(-1) ?? ""], schemas);
  const parts: readonly unknown[] = Array.isArray(allOf) ? allOf : [];
  const own = isJsonObject(properties) ? Object.keys(properties) : [];
  return new Set([...own, ...parts.flatMap((part) => [...membersOf(part, schemas)])]);
}
