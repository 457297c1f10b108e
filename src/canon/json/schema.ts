import type { JsonObject, JsonValue } from "../json.ts";

/**
 * The type of the values that a JSON Schema (2020-12) allows, where the schema has been written `as
 * const`. Members that it does not require are optional. Supports the keywords that schemas of this
 * repository use; other schemas are any JSON.
 *
 * @typeParam Definitions schemas of references to `#/$defs/…`.
 * @typeParam Enums `open` where the value may come from a newer server, whose enums have more
 * values.
 */
export type ValueOf<
  Schema,
  Definitions = object,
  Enums extends "closed" | "open" = "closed",
> = Schema extends {
  readonly $ref: `#/$defs/${infer Name}`;
}
  ? ValueOf<Definitions[Name & keyof Definitions], Definitions, Enums>
  : Schema extends { readonly const: infer Value }
    ? Value
    : Schema extends { readonly enum: readonly (infer Value)[] }
      ? Enums extends "closed"
        ? Value
        : string | Extract<Value, null>
      : Schema extends {
            readonly if: { readonly type: string };
            readonly then: infer Then;
            readonly else: infer Else;
          }
        ? ValueOf<Then, Definitions, Enums> | ValueOf<Else, Definitions, Enums>
        : Schema extends { readonly type: infer Type }
          ? TypedValue<Type extends readonly (infer One)[] ? One : Type, Schema, Definitions, Enums>
          : JsonValue;

type TypedValue<Type, Schema, Definitions, Enums extends "closed" | "open"> = Type extends "string"
  ? string
  : Type extends "integer" | "number"
    ? number
    : Type extends "boolean"
      ? boolean
      : Type extends "null"
        ? null
        : Type extends "array"
          ? Schema extends { readonly items: infer Items }
            ? readonly ValueOf<Items, Definitions, Enums>[]
            : readonly JsonValue[]
          : ObjectValue<Schema, Definitions, Enums>;

type ObjectValue<Schema, Definitions, Enums extends "closed" | "open"> = Schema extends {
  readonly properties: infer Members;
}
  ? Schema extends { readonly minProperties: 1; readonly maxProperties: 1 }
    ? {
        [Name in keyof Members]: {
          readonly [Only in Name]: ValueOf<Members[Name], Definitions, Enums>;
        };
      }[keyof Members]
    : MembersValue<
        Members,
        Schema extends { readonly required: readonly (infer Name)[] } ? Name : never,
        Definitions,
        Enums
      >
  : Schema extends { readonly propertyNames: infer Names; readonly additionalProperties: infer Row }
    ? RowsValue<ValueOf<Names, Definitions> & string, ValueOf<Row, Definitions, Enums>>
    : JsonObject;

type MembersValue<Members, Required, Definitions, Enums extends "closed" | "open"> = {
  readonly [Name in keyof Members as Name extends Required ? Name : never]: ValueOf<
    Members[Name],
    Definitions,
    Enums
  >;
} & {
  readonly [Name in keyof Members as Name extends Required ? never : Name]?: ValueOf<
    Members[Name],
    Definitions,
    Enums
  >;
};

/** By names of a closed list not all need to be there. */
type RowsValue<Names extends string, Row> = string extends Names
  ? Readonly<Record<string, Row>>
  : { readonly [Name in Names]?: Row };

/** Members that many schemas have. */
export const TEXT = { type: "string" } as const;
export const NULLABLE_TEXT = { type: ["string", "null"] } as const;
export const COUNT = { type: "integer", minimum: 0 } as const;
export const NULLABLE_COUNT = { type: ["integer", "null"], minimum: 0 } as const;
export const AMOUNT = { type: "number", minimum: 0 } as const;
export const NULLABLE_AMOUNT = { type: ["number", "null"], minimum: 0 } as const;
export const BOOLEAN = { type: "boolean" } as const;
export const INSTANT = { type: "string", format: "date-time" } as const;
export const NULLABLE_INSTANT = { type: ["string", "null"], format: "date-time" } as const;

/** @example described(TEXT, "Of the key.").description // "Of the key." */
export function described<const Schema extends object>(schema: Schema, description: string) {
  return { ...schema, description };
}

/**
 * /openapi.json has it once, under its title.
 *
 * @example titled("Name", TEXT).title // "Name"
 */
export function titled<const Title extends string, const Schema extends object>(
  title: Title,
  schema: Schema,
) {
  return { title, ...schema };
}

/** @example listOf(TEXT).items // { type: "string" } */
export function listOf<const Items extends object>(items: Items, description?: string) {
  return {
    type: "array",
    ...(description === undefined ? {} : { description }),
    items,
  } as const;
}

export const TEXTS = listOf(TEXT);

/**
 * An object whose members are all required. A newer version may add others.
 *
 * @example complete({ id: TEXT }).required // ["id"]
 */
export function complete<const Properties extends Readonly<Record<string, object>>>(
  properties: Properties,
  description?: string,
) {
  return {
    type: "object",
    ...(description === undefined ? {} : { description }),
    required: Object.keys(properties),
    properties,
  } as const;
}

/**
 * The same, or `null`.
 *
 * @example completeOrNull({ id: TEXT }).type // ["object", "null"]
 */
export function completeOrNull<const Properties extends Readonly<Record<string, object>>>(
  properties: Properties,
  description?: string,
) {
  return { ...complete(properties, description), type: ["object", "null"] } as const;
}

/**
 * An object whose members are all required, and that has no others.
 *
 * @example whole({ id: TEXT }).additionalProperties // false
 */
export function whole<const Properties extends Readonly<Record<string, object>>>(
  properties: Properties,
  description?: string,
) {
  return { ...complete(properties, description), additionalProperties: false } as const;
}

/**
 * The same, or `null`.
 *
 * @example wholeOrNull({ id: TEXT }, "Absent before the first call.")
 */
export function wholeOrNull<const Properties extends Readonly<Record<string, object>>>(
  properties: Properties,
  description: string,
) {
  return { ...whole(properties, description), type: ["object", "null"] } as const;
}
