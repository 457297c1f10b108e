import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canon/json.ts";
import { COMPONENT_SCHEMAS } from "../../../src/http/validate-body.ts";
import { codePoint } from "../../support/code-point.ts";

/**
 * Values that mean something in a member of the name: without them hardly a request would pass the
 * first check.
 */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  model: [
    "chat-small",
    "chat-large-eu",
    "large-any",
    "claude-sonnet-4-6",
    "embed-small",
    "rerank",
    "moderation",
    "nobody",
  ],
  type: [
    "text",
    "input_text",
    "image_url",
    "tool_use",
    "tool_result",
    "function",
    "custom",
    "message",
    "thinking",
    "file",
  ],
  role: ["user", "assistant", "system", "tool", "developer"],
  only: ["openai-us", "openai-eu", "anthropic-global"],
  order: ["openai-us", "mistral-eu"],
  ignore: ["openai-us"],
  region: ["eu", "us", "world", "mars"],
  url: ["https://example.com/a.png", "data:image/png;base64,aGVsbG8=", "data:,"],
  service_tier: ["auto", "default", "flex"],
  effort: ["low", "high", "xhigh"],
  owner: ["group:payments"],
  expires_at: ["2027-01-31T00:00:00Z", "2020-01-01T00:00:00Z", "tomorrow"],
};

/** Deepest that a schema is followed; below it values are as small as they can be. */
const DEEPEST = 6;

/**
 * Values that match a JSON Schema, mostly: `if`, `not` and what several parts of `allOf` say
 * together are not looked at.
 */
export function fromSchema(schema: JsonObject, name = "", depth = 0): fc.Arbitrary<JsonValue> {
  const { $ref, const: constant, enum: values, anyOf, allOf, type } = schema;
  if (typeof $ref === "string") {
    const component = Object.entries(COMPONENT_SCHEMAS).find(([title]) =>
      $ref.endsWith(`/${title}`),
    );
    return component === undefined ? fc.constant(null) : fromSchema(component[1], name, depth + 1);
  }
  if (constant !== undefined) return fc.constant(constant);
  if (Array.isArray(values)) return fc.constantFrom<JsonValue>(...values);
  const alternatives = schemasOf(anyOf);
  if (alternatives.length > 0)
    return fc.oneof(...alternatives.map((one) => fromSchema(one, name, depth + 1)));
  const [first] = type === undefined ? schemasOf(allOf) : [];
  if (first !== undefined) return fromSchema(first, name, depth + 1);
  const types = Array.isArray(type)
    ? type.map(String)
    : [typeof type === "string" ? type : "object"];
  return fc.oneof(...types.map((one) => ofType(one, schema, name, depth)));
}

function schemasOf(value: JsonValue | undefined): readonly JsonObject[] {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [];
  return items.filter(isJsonObject);
}

function ofType(
  type: string,
  schema: JsonObject,
  name: string,
  depth: number,
): fc.Arbitrary<JsonValue> {
  switch (type) {
    case "string":
      return text(schema, name);
    case "integer":
      return fc.integer({
        min: numberOf(schema.minimum, -3),
        max: Math.min(numberOf(schema.maximum, 5_000), 1e6),
      });
    case "number":
      return fc.double({
        min: numberOf(schema.exclusiveMinimum ?? schema.minimum, -3),
        max: numberOf(schema.maximum, 100),
        noNaN: true,
        minExcluded: schema.exclusiveMinimum !== undefined,
      });
    case "boolean":
      return fc.boolean();
    case "array":
      return list(schema, name, depth);
    case "object":
      return object(schema, depth);
    default:
      return fc.constant(null);
  }
}

function numberOf(value: JsonValue | undefined, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function text(
  { pattern, minLength, maxLength }: JsonObject,
  name: string,
): fc.Arbitrary<JsonValue> {
  if (typeof pattern === "string") return fc.stringMatching(new RegExp(pattern));
  const least = numberOf(minLength, 0);
  const most = Math.max(least, Math.min(numberOf(maxLength, 30), 30));
  const any = fc.string({ minLength: least, maxLength: most, unit: codePoint });
  const values = Object.hasOwn(VALUES, name) ? (VALUES[name] ?? []) : [];
  return values.length === 0
    ? any
    : fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...values) }, { weight: 1, arbitrary: any });
}

function list(
  { items, minItems, maxItems, uniqueItems }: JsonObject,
  name: string,
  depth: number,
): fc.Arbitrary<JsonValue> {
  const least = numberOf(minItems, 0);
  const most = Math.max(least, Math.min(numberOf(maxItems, 3), depth > DEEPEST ? 0 : 3));
  // A schema whose first item says what the others are has them under `if`.
  const item = isJsonObject(items)
    ? fromSchema(items, name, depth + 1)
    : fc.constantFrom<JsonValue>("a text", "another");
  const options = { minLength: least, maxLength: most };
  return uniqueItems === true
    ? fc.uniqueArray(item, { ...options, comparator: "SameValue" })
    : fc.array(item, options);
}

function object(
  { properties, required, maxProperties }: JsonObject,
  depth: number,
): fc.Arbitrary<JsonValue> {
  const needed = new Set(Array.isArray(required) ? required.map(String) : []);
  const members = Object.entries(isJsonObject(properties) ? properties : {}).flatMap(
    ([name, schema]) =>
      isJsonObject(schema) && (needed.has(name) || depth <= DEEPEST)
        ? [[name, fromSchema(schema, name, depth + 1)] as const]
        : [],
  );
  const optional = members.filter(([name]) => !needed.has(name)).map(([name]) => name);
  // A few at a time: with each of thirty there or not, every request would have something wrong
  // with it.
  const most = Math.min(numberOf(maxProperties, 4), 4);
  return fc
    .subarray(optional, { maxLength: Math.min(most, optional.length) })
    .chain((chosen) =>
      fc.record(
        Object.fromEntries(members.filter(([name]) => needed.has(name) || chosen.includes(name))),
      ),
    );
}
