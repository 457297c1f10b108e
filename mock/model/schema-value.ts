import { createRequire } from "node:module";
import type * as AjvModule from "ajv/dist/2020.js";
import { isJsonObject, type JsonObject } from "../json.ts";
import { generateNumber, generateString } from "./schema-scalar.ts";

export interface GeneratedValue {
  /** JSON text. */
  readonly json: string;
  /** Whether the value satisfies its schema, according to a validator. */
  readonly satisfied: boolean;
}

/** Schemas whose values are remembered: clients send the same few again and again. */
const REMEMBERED = 100;
const remembered = new Map<string, GeneratedValue>();

/**
 * A small value for a JSON Schema (2020-12): required members only, shortest lists, first
 * alternatives. Supports types, `enum`, `const`, `$ref`, `anyOf`, `oneOf`, `allOf`, bounds, formats
 * and simple patterns; unsupported keywords show in `satisfied`.
 */
export function valueFor(schema: unknown): GeneratedValue {
  const key = JSON.stringify(schema) ?? "true";
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const value = generate(schema, {
    root: schema,
    depth: 0,
    ordinal: 0,
    budget: { left: MOST_STEPS },
  });
  const made: GeneratedValue = {
    json: JSON.stringify(value ?? null),
    satisfied: value !== undefined && satisfies(schema, value),
  };
  if (remembered.size >= REMEMBERED) remembered.clear();
  remembered.set(key, made);
  return made;
}

/** Loads what only requests with a schema need, when the first of them comes. */
const load = createRequire(import.meta.url);
const LENIENT = { strict: false, validateFormats: false, logger: false } as const;
let draft: AjvModule.Ajv2020 | null = null;

function satisfies(schema: unknown, value: unknown): boolean {
  if (typeof schema !== "boolean" && !isJsonObject(schema)) return false;
  try {
    // Providers take schemas of any draft; Ajv would look the named one up.
    const { Ajv2020 }: typeof AjvModule = load("ajv/dist/2020.js");
    const ajv = new Ajv2020({ ...LENIENT, validateSchema: false });
    if (typeof schema === "boolean") return ajv.validate(schema, value);
    const { $schema: _draft, ...rest } = schema;
    // Compiling the meta-schema takes twenty times as long as the rest: once for all schemas.
    draft ??= new Ajv2020(LENIENT);
    return draft.validateSchema(rest) === true && ajv.validate(rest, value);
  } catch {
    // A schema that does not compile is satisfied by nothing.
    return false;
  }
}

interface Position {
  readonly root: unknown;
  readonly depth: number;
  /** Index in the list around the value, so that members of a list differ. */
  readonly ordinal: number;
  /**
   * Shared by the whole value: alternatives within alternatives would otherwise cost exponential
   * time.
   */
  readonly budget: { left: number };
}

/** Parts of schemas that are looked at for one value. */
const MOST_STEPS = 20_000;

/** Deeper than any schema that people write; reached only by one that requires itself. */
const DEEPEST = 32;

/** `undefined` where no value can be made. */
function generate(schema: unknown, position: Position): unknown {
  if (schema === true) return null;
  position.budget.left -= 1;
  if (!isJsonObject(schema) || position.depth > DEEPEST || position.budget.left < 0)
    return undefined;
  const deeper = { ...position, depth: position.depth + 1 };
  const reference = schema["$ref"];
  if (typeof reference === "string") return generate(resolve(reference, position.root), deeper);
  if (Object.hasOwn(schema, "const")) return schema.const;
  const choices = schema.enum;
  if (Array.isArray(choices)) return choices[position.ordinal % choices.length];
  if (Array.isArray(schema.allOf))
    return generate(merge(schema, schema.allOf, "allOf", position.root), deeper);
  for (const keyword of ["anyOf", "oneOf"] as const) {
    const branches = schema[keyword];
    if (Array.isArray(branches)) return firstBranch(schema, branches, keyword, deeper);
  }
  return generateType(typeOf(schema), schema, deeper);
}

function firstBranch(
  schema: JsonObject,
  branches: readonly unknown[],
  keyword: "anyOf" | "oneOf",
  position: Position,
): unknown {
  for (const branch of branches) {
    const value = generate(merge(schema, [branch], keyword, position.root), position);
    if (value !== undefined) return value;
  }
  return undefined;
}

/**
 * The schema without `keyword`, with the parts laid over it: members and required names together,
 * everything else the last one wins; `false` where a part accepts nothing.
 */
function merge(
  schema: JsonObject,
  parts: readonly unknown[],
  keyword: string,
  root: unknown,
): JsonObject | false {
  const { [keyword]: _, ...base } = schema;
  let merged: JsonObject = base;
  for (const part of parts) {
    const reference = isJsonObject(part) ? part["$ref"] : undefined;
    const resolved = typeof reference === "string" ? resolve(reference, root) : part;
    if (resolved === true) continue;
    if (!isJsonObject(resolved)) return false;
    const properties = { ...objectAt(merged, "properties"), ...objectAt(resolved, "properties") };
    const required = [...listAt(merged, "required"), ...listAt(resolved, "required")].filter(
      (name) => typeof name === "string",
    );
    merged = { ...merged, ...resolved };
    if (Object.keys(properties).length > 0) merged = { ...merged, properties };
    if (required.length > 0) merged = { ...merged, required: [...new Set(required)] };
  }
  return merged;
}

function objectAt(schema: JsonObject, name: string): JsonObject {
  const value = schema[name];
  return isJsonObject(value) ? value : {};
}

function listAt(schema: JsonObject, name: string): readonly unknown[] {
  const value: unknown = schema[name];
  return Array.isArray(value) ? value : [];
}

/** A JSON pointer within the same document; `undefined` for anything else. */
function resolve(reference: string, root: unknown): unknown {
  if (!reference.startsWith("#")) return undefined;
  let target = root;
  for (const step of reference.split("/").slice(1)) {
    const name = decodeStep(step);
    if (Array.isArray(target)) target = target[Number(name)];
    else if (isJsonObject(target) && Object.hasOwn(target, name)) target = target[name];
    else return undefined;
  }
  return target;
}

function decodeStep(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return step;
  }
}

function typeOf(schema: JsonObject): unknown {
  const { type } = schema;
  if (Array.isArray(type)) return type.find((name) => name !== "null") ?? "null";
  if (type !== undefined) return type;
  if (Object.hasOwn(schema, "properties") || Object.hasOwn(schema, "required")) return "object";
  return Object.hasOwn(schema, "items") || Object.hasOwn(schema, "prefixItems")
    ? "array"
    : "string";
}

function generateType(type: unknown, schema: JsonObject, position: Position): unknown {
  switch (type) {
    case "object":
      return generateObject(schema, position);
    case "array":
      return generateArray(schema, position);
    case "string":
      return generateString(schema, position.ordinal);
    case "integer":
      return generateNumber(schema, position.ordinal, 1);
    case "number":
      return generateNumber(schema, position.ordinal, null);
    case "boolean":
      return position.ordinal % 2 === 0;
    case "null":
      return null;
    default:
      return undefined;
  }
}

function generateObject(schema: JsonObject, position: Position): unknown {
  const properties = objectAt(schema, "properties");
  const members: [string, unknown][] = [];
  for (const name of listAt(schema, "required")) {
    if (typeof name !== "string") return undefined;
    const member = Object.hasOwn(properties, name)
      ? properties[name]
      : (schema.additionalProperties ?? true);
    const value = generate(member, { ...position, ordinal: 0 });
    if (value === undefined) return undefined;
    members.push([name, value]);
  }
  return Object.fromEntries(members);
}

/** Longest list that is made. */
const MOST_ITEMS = 1_000;

function generateArray(schema: JsonObject, position: Position): unknown {
  const prefix = listAt(schema, "prefixItems");
  const least = typeof schema.minItems === "number" ? schema.minItems : 0;
  if (least > MOST_ITEMS) return undefined;
  const items: unknown[] = [];
  for (let ordinal = 0; ordinal < Math.max(least, prefix.length); ordinal += 1) {
    const item = generate(prefix[ordinal] ?? schema.items ?? true, { ...position, ordinal });
    if (item === undefined) return undefined;
    items.push(item);
  }
  return items;
}
