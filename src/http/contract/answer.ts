import type { JsonObject, JsonValue } from "../../canon/json.ts";

/**
 * The type of an answer, from the schema that /openapi.json shows. Members that the schema does not require are optional.
 *
 * `Values` is `any` where the answer may come from a newer server, whose enums have more values.
 */
export type Answer<Schema, Values extends "known" | "any" = "known"> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Values extends "known"
      ? Value
      : string | Extract<Value, null>
    : Schema extends { readonly type: infer Type }
      ? AnswerOf<Type extends readonly (infer One)[] ? One : Type, Schema, Values>
      : JsonValue;

type AnswerOf<Type, Schema, Values extends "known" | "any"> = Type extends "string"
  ? string
  : Type extends "integer" | "number"
    ? number
    : Type extends "boolean"
      ? boolean
      : Type extends "null"
        ? null
        : Type extends "array"
          ? Schema extends { readonly items: infer Items }
            ? readonly Answer<Items, Values>[]
            : readonly JsonValue[]
          : Schema extends { readonly properties: infer Members }
            ? ObjectAnswer<
                Members,
                Schema extends { readonly required: readonly (infer Name)[] } ? Name : never,
                Values
              >
            : JsonObject;

type ObjectAnswer<Members, Required, Values extends "known" | "any"> = {
  readonly [Name in keyof Members as Name extends Required ? Name : never]: Answer<Members[Name], Values>;
} & {
  readonly [Name in keyof Members as Name extends Required ? never : Name]?: Answer<Members[Name], Values>;
};
