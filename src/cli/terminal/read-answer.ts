import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { ValueOf } from "../../canon/json/schema.ts";
import { printable } from "./printing.ts";

/** As much of JSON Schema as the answers are written in. */
interface AnswerSchema {
  readonly type?: string | readonly string[];
  readonly const?: string;
  readonly enum?: readonly (string | null)[];
  readonly pattern?: string;
  readonly items?: AnswerSchema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, AnswerSchema>>;
}

/** What is read by a schema. */
export type Answer<Schema> = ValueOf<Schema, object, "open">;

/** A text does not match its pattern, so that it must not be put into a command. */
export class UnreadableAnswerError extends Error {
  override readonly name = "UnreadableAnswerError";
}

/**
 * An answer of a server of any version by the schema of this one. What is missing or of another
 * type becomes `null` where the schema allows it, otherwise an empty text, 0, false or an empty
 * list; unknown members are left out. All texts are safe for a terminal.
 *
 * @throws {UnreadableAnswerError} for a text that must have a form, and is missing or has another.
 */
export function readAnswer<const Schema extends AnswerSchema>(
  schema: Schema,
  value: unknown,
): Answer<Schema> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- readValue makes what the schema describes
  return readValue(schema, value) as Answer<Schema>;
}

function readValue(schema: AnswerSchema, value: unknown): JsonValue {
  const types = typesOf(schema);
  if (types.includes("object") && isJsonObject(value)) return readObject(schema, value);
  if (types.includes("array") && Array.isArray(value)) return readItems(schema.items ?? {}, value);
  if (types.includes("string") && (typeof value === "string" || typeof value === "number")) {
    return readText(
      schema,
      typeof value === "number" && types.includes("integer") ? value : String(value),
    );
  }
  if (
    NUMBERS.some((type) => types.includes(type)) &&
    typeof value === "number" &&
    Number.isFinite(value)
  )
    return value;
  if (types.includes("boolean") && typeof value === "boolean") return value;
  return types.includes("null") ? null : absent(schema, types[0] ?? "");
}

const NUMBERS = ["integer", "number"];

function typesOf({ type, enum: values, const: only }: AnswerSchema): readonly string[] {
  if (values !== undefined) return values.includes(null) ? ["string", "null"] : ["string"];
  return only !== undefined || type === undefined ? ["string"] : [type].flat();
}

function readText({ pattern }: AnswerSchema, value: string | number): string | number {
  if (typeof value === "number") return value;
  if (pattern !== undefined && !new RegExp(pattern).test(value)) throw new UnreadableAnswerError();
  return printable(value);
}

/** Items of another type than the schema's are left out. */
function readItems(schema: AnswerSchema, items: readonly unknown[]): readonly JsonValue[] {
  const isObjects = typesOf(schema).includes("object");
  const known = items.filter((item) => (isObjects ? isJsonObject(item) : typeof item === "string"));
  return known.map((item) => readValue(schema, item));
}

function readObject({ properties, required = [] }: AnswerSchema, object: JsonObject): JsonObject {
  if (properties === undefined) return object;
  const members = Object.entries(properties).filter(
    ([name]) => required.includes(name) || Object.hasOwn(object, name),
  );
  return Object.fromEntries(
    members.map(([name, member]) => [name, readValue(member, object[name])]),
  );
}

/** The default of a member that an older server does not send. */
function absent(schema: AnswerSchema, type: string): JsonValue {
  if (type === "object") return readObject(schema, {});
  if (type === "array") return [];
  if (type === "boolean") return false;
  return type === "string" ? readText(schema, "") : 0;
}

/**
 * A member's text, safe for a terminal; empty where there is none. An explanation may come from a
 * server of another version.
 */
export function textOf(object: JsonObject | null, name: string): string {
  const value = object?.[name];
  return typeof value === "string" || typeof value === "number" ? printable(String(value)) : "";
}

export function objectOf(object: JsonObject | null, name: string): JsonObject | null {
  const value = object?.[name];
  return isJsonObject(value) ? value : null;
}

export function objectsOf(object: JsonObject | null, name: string): readonly JsonObject[] {
  const value = object?.[name];
  return Array.isArray(value) ? value.filter((item): item is JsonObject => isJsonObject(item)) : [];
}

/** Strings of a list, safe for a terminal. */
export function stringsOf(object: JsonObject | null, name: string): readonly string[] {
  const value = object?.[name];
  return Array.isArray(value)
    ? value
        .filter((item): item is string => typeof item === "string")
        .map((item) => printable(item))
    : [];
}

/** A finite number; `null` for anything else. */
export function numberOf(object: JsonObject | null, name: string): number | null {
  const value = object?.[name];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
