import type { JsonObject } from "../../canon/json.ts";

/**
 * A JSON Schema (2020-12). `patternErrorMessage` is a keyword of the common editors; our messages
 * use it too.
 */
export type Schema = JsonObject;

/**
 * A mapping with these keys and no others. The parameters are `const`, here and below, so that
 * `ValueOf` can read a schema.
 */
export function object<
  const Members extends Readonly<Record<string, Schema>>,
  const Required extends keyof Members & string = never,
>(description: string, properties: Members, required: readonly Required[] = []) {
  return {
    type: "object",
    description,
    properties,
    required,
    additionalProperties: false,
  } as const;
}

/** A mapping from ids of the file's own to rows. */
export function rows<const Names extends Schema, const Row extends Schema>(
  description: string,
  names: Names,
  row: Row,
) {
  return { type: "object", description, propertyNames: names, additionalProperties: row } as const;
}

/** A list of distinct items. */
export function list<const Items extends Schema>(description: string, items: Items) {
  return { type: "array", description, items, uniqueItems: true } as const;
}

/** A list of names of a definition. */
export function refs<const Name extends string>(definition: Name, description: string) {
  return list(description, { $ref: `#/$defs/${definition}` } as const);
}

/**
 * @param message the expected text, as the end of a sentence: "… must be a duration".
 */
export function text(pattern: string, message: string, description?: string) {
  return {
    type: "string",
    pattern,
    patternErrorMessage: message,
    ...(description !== undefined && { description }),
  } as const;
}

/** Inclusive on both ends. */
export function range<const Type extends "integer" | "number">(
  type: Type,
  minimum: number,
  maximum: number,
  description?: string,
  preset?: number,
) {
  return {
    type,
    minimum,
    maximum,
    ...(preset !== undefined && { default: preset }),
    ...(description !== undefined && { description }),
  } as const;
}

export function flag(preset: boolean, description: string) {
  return { type: "boolean", default: preset, description } as const;
}

/** A reference to a definition, with its meaning at this key. */
export function ref<const Name extends string>(
  definition: Name,
  description: string,
  rest: Schema = {},
) {
  return { $ref: `#/$defs/${definition}`, description, ...rest } as const;
}

/** One shape for values of a type, another for all others. */
export function choose<const Matching extends Schema, const Others extends Schema>(
  type: "string" | "object" | "array",
  matching: Matching,
  others: Others,
) {
  // oxlint-disable-next-line unicorn/no-thenable -- `then` is a keyword of JSON Schema; no code awaits a schema
  return { if: { type }, then: matching, else: others } as const;
}
