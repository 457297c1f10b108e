import type { JsonValue } from "../../canon/json.ts";

/** A JSON Schema (2020-12). `patternErrorMessage` is a word of the common editors; our messages use it too. */
export interface Schema {
  readonly [keyword: string]: JsonValue | Schema | readonly Schema[] | Readonly<Record<string, Schema>>;
}

type Properties = Readonly<Record<string, Schema>>;

/** A mapping with these keys and no others. */
export function object(description: string, properties: Properties, required: readonly string[] = []): Schema {
  return { type: "object", description, properties, required, additionalProperties: false };
}

/** A mapping from ids of the file's own to rows. */
export function rows(description: string, names: Schema, row: Schema): Schema {
  return { type: "object", description, propertyNames: names, additionalProperties: row };
}

/** A list that names things; repeating one would mean nothing. */
export function list(description: string, items: Schema): Schema {
  return { type: "array", description, items, uniqueItems: true };
}

/** A reference to a definition, with what it means in this place. */
export function ref(definition: string, description: string, rest: Schema = {}): Schema {
  return { $ref: `#/$defs/${definition}`, description, ...rest };
}

/** One shape for values of a type, another for all others. */
export function choose(type: "string" | "object", matching: Schema, others: Schema): Schema {
  // oxlint-disable-next-line unicorn/no-thenable -- `then` is a keyword of JSON Schema; no code awaits a schema
  return { if: { type }, then: matching, else: others };
}
