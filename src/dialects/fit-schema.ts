import type { DroppedField } from "../canon/generate/edit.ts";
import { isJsonObject, type JsonMember, type JsonObject, type JsonValue } from "../canon/json.ts";
import { listOf, mapObjects, type Members } from "./json.ts";

/** Requirements of a protocol for schemas of answers and arguments. */
export interface SchemaRules {
  /** Whether schemas of answers must be closed that are not strict. */
  readonly closesAnswers: boolean;
  /** Whether all members must be required. */
  readonly requiresAll: boolean;
  /** Bounds that are refused. */
  readonly refusedBounds: readonly string[];
}

/**
 * Members that hold a schema or a list of them, and those that hold schemas by name (JSON Schema
 * 2020-12, core, 10 and 11).
 */
const NESTED: ReadonlySet<string> = new Set(
  "items additionalProperties anyOf oneOf allOf prefixItems".split(" "),
);
const SCHEMA_MAPS = ["properties", "$defs", "definitions", "patternProperties"];

/** The schema of a function without arguments, for protocols that demand one. */
export const NO_PARAMETERS: JsonObject = { type: "object", properties: {} };

type Change = (schema: JsonObject) => JsonObject;

/** A schema after a change to each schema in it; the same object where nothing changed. */
function changed(schema: JsonObject, change: Change): JsonObject {
  let copy: Members | null = null;
  for (const name in schema) {
    const value = schema[name];
    const fitted = SCHEMA_MAPS.includes(name)
      ? changedMembers(value, change)
      : NESTED.has(name)
        ? changedValue(value, change)
        : value;
    if (fitted !== value) (copy ??= { ...schema })[name] = fitted;
  }
  return change(copy ?? schema);
}

function changedValue(value: JsonMember, change: Change) {
  return isJsonObject(value)
    ? changed(value, change)
    : mapObjects(value, (one) => changed(one, change));
}

function changedMembers(value: JsonMember, change: Change): JsonMember {
  if (!isJsonObject(value)) return value;
  let copy: Members | null = null;
  for (const name in value) {
    const fitted = changedValue(value[name], change);
    if (fitted !== value[name]) (copy ??= { ...value })[name] = fitted;
  }
  return copy ?? value;
}

/**
 * The schema of a function's arguments with the members that providers demand and that change
 * nothing: `type` at its top, `properties` of objects, `items` of arrays. OpenAI: "object schema
 * missing properties", "array schema missing items" (github.com/github/copilot-cli/issues/2223,
 * github.com/langchain-ai/langchain-mcp-adapters/issues/137).
 */
export function filledSchema(schema: JsonObject): JsonObject {
  const fitted = changed(schema, (one) => {
    if (one.type === "object" && one.properties === undefined) return { ...one, properties: {} };
    const isUntypedArray =
      one.type === "array" && one.items === undefined && one.prefixItems === undefined;
    return isUntypedArray ? { ...one, items: {} } : one;
  });
  if (fitted.type === "object") return fitted;
  return {
    ...(fitted.properties === undefined && { properties: {} }),
    ...fitted,
    type: "object",
  };
}

/**
 * A schema for constrained decoding: every object closed, refused bounds as text. Values that
 * satisfy it satisfy the caller's schema, except its bounds.
 *
 * @returns `null` where that cannot be: an object has members that it does not name, or optional
 *   ones where all must be required.
 */
export function closedSchema(
  schema: JsonObject,
  { requiresAll, refusedBounds }: SchemaRules,
): { readonly schema: JsonObject; readonly dropped: readonly DroppedField[] } | null {
  const dropped = new Set<DroppedField>();
  let isClosable = true;
  const close: Change = (one) => {
    const bounds = refusedBounds.filter(
      (name) => one[name] !== undefined && !isAcceptedBound(name, one[name]),
    );
    const described = bounds.length === 0 ? one : asText(one, bounds);
    if (bounds.length > 0) dropped.add("schema_bounds_as_text");
    const { type, properties, additionalProperties: more, required, allOf } = described;
    // Two closed objects at once are no object.
    if (Array.isArray(allOf) && allOf.length > 1) isClosable = false;
    if (type !== "object" && !isJsonObject(properties)) return described;
    const names = isJsonObject(properties) ? Object.keys(properties) : [];
    isClosable &&=
      more === false || (isJsonObject(properties) && (more === undefined || more === true));
    const all: readonly JsonValue[] = listOf(required);
    isClosable &&= !requiresAll || names.every((name) => all.includes(name));
    if (more === false) return described;
    dropped.add("schema_closed");
    return { ...described, additionalProperties: false };
  };
  const closed = changed(schema, close);
  return isClosable ? { schema: closed, dropped: [...dropped] } : null;
}

/** Of the bounds of lists, the least may be 0 or 1. */
function isAcceptedBound(name: string, value: JsonMember) {
  return name === "minItems" && (value === 0 || value === 1);
}

function asText(schema: JsonObject, bounds: readonly string[]): JsonObject {
  const text = bounds.map((name) => `${name}: ${JSON.stringify(schema[name])}`).join(", ");
  const { description, ...rest } = schema;
  const unbounded = Object.fromEntries(
    Object.entries(rest).filter(([name]) => !bounds.includes(name)),
  );
  return {
    ...unbounded,
    description: typeof description === "string" ? `${description} (${text})` : `(${text})`,
  };
}
