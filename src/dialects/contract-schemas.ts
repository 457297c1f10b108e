import { isJsonObject, type JsonObject } from "../canon/json.ts";
import { NULLABLE_TEXT, TEXT, complete } from "../canon/json/schema.ts";
import { SORT_KEYS } from "../canon/request.ts";
import { mapObjects, textOf } from "./json.ts";

/**
 * Keyword of our request schemas for rules that the surface's parser enforces, with codes and
 * sentences that a schema validator does not have. The validator passes over it; the contract shows
 * what stands in it as ordinary keywords, so that a client's own validation refuses the same
 * bodies. `test/contract/always-refused.test.ts` compares the two.
 */
export const PARSER_RULES = "parserRules";

/**
 * A member that may only be absent, null or false: other values request that a provider stores
 * content.
 */
export const NEVER_SET = { parserRules: { enum: [null, false] } } as const;

/** A member that may only be absent or null. */
export const ONLY_NULL = { parserRules: { type: "null" } } as const;

/** A value that means no more than its absence (`isEmptyValue` of `request-reading.ts`). */
const EMPTY_MEMBER = {
  title: "EmptyMember",
  description:
    "Null, an empty list, or an object that holds nothing else. An unknown member with such a value is left out of the request.",
  type: ["null", "object", "array"],
  minProperties: 1,
  maxItems: 0,
  additionalProperties: { $ref: "#/components/schemas/EmptyMember" },
} as const;

/**
 * Members that the schema does not list are refused where they have a value, unless the operator's
 * route has `unknown_fields: strip` or `forward`.
 */
export const NO_UNKNOWN = { additionalProperties: EMPTY_MEMBER } as const;

/** The same, and stream options stand only beside `stream: true`. */
export const STREAMING_RULES = {
  ...NO_UNKNOWN,
  if: { required: ["stream"], properties: { stream: { const: true } } },
  else: { properties: { stream_options: { type: "null" } } },
} as const;

/** The schema as the contract shows it: with the parser's rules as keywords. */
export function publishedSchema(schema: JsonObject): JsonObject {
  const shared = published.get(schema);
  if (shared !== undefined) return shared;
  const { [PARSER_RULES]: rules, ...rest } = schema;
  const members = Object.entries({ ...rest, ...(isJsonObject(rules) && rules) });
  const shown = Object.fromEntries(
    members.map(([name, value]) => [
      name,
      isJsonObject(value) ? publishedSchema(value) : mapObjects(value, publishedSchema),
    ]),
  );
  published.set(schema, shown);
  return shown;
}

const published = new WeakMap<JsonObject, JsonObject>();

/** Parts of request schemas. Clients that serialise whole objects send unused members as null. */
export const NULLABLE_FLAG = { type: ["boolean", "null"] } as const;
export const NULLABLE_OBJECT = { type: ["object", "null"] } as const;

export const NULL = { type: "null" } as const;
export const OBJECT = { type: "object" } as const;

export const arrayOf = (items: JsonObject): JsonObject => ({ type: "array", items });

/** An object with these members, and perhaps others. */
export function objectOf(
  properties: Readonly<Record<string, JsonObject>>,
  ...required: readonly string[]
): JsonObject {
  return { ...OBJECT, ...(required.length > 0 && { required }), properties };
}

/** Another schema for values that satisfy a condition. */
export const conditional = (condition: JsonObject, then: JsonObject): JsonObject => ({
  if: condition,
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then,
});

export const anyOf = (...schemas: readonly JsonObject[]): JsonObject => ({ anyOf: schemas });

export const nullableNumber = (minimum: number, maximum: number) =>
  ({ type: ["number", "null"], minimum, maximum }) as const;

/**
 * The most tokens of an answer that a model can be configured with; JSON has no largest integer.
 */
export const LARGEST_COUNT = 1_000_000_000;

/** A token of a prompt that the caller tokenised. */
export const TOKEN = { type: "integer", minimum: 0, maximum: 4_294_967_295 } as const;

export const nullableInteger = (minimum: number, maximum: number = LARGEST_COUNT) =>
  ({ type: ["integer", "null"], minimum, maximum }) as const;

export const nullableList = (items: JsonObject) => anyOf(NULL, arrayOf(items));

export const nullable = (schema: JsonObject) => anyOf(schema, NULL);

/** The first member of every body, and the last. */
export const MODEL = { type: "string", minLength: 1, maxLength: 256 } as const;
export const PREFERENCES = { $ref: "#/components/schemas/ProviderPreferences" } as const;

/** Of all three protocols of the OpenAI family. */
export const SAMPLING_MEMBERS = {
  temperature: nullableNumber(0, 2),
  top_p: nullableNumber(0, 1),
  frequency_penalty: nullableNumber(-2, 2),
  presence_penalty: nullableNumber(-2, 2),
  user: NULLABLE_TEXT,
} as const;

/** Of chat completions and responses. */
export const CONVERSATION_MEMBERS = {
  ...SAMPLING_MEMBERS,
  parallel_tool_calls: NULLABLE_FLAG,
  top_logprobs: nullableInteger(0, 20),
  service_tier: NULLABLE_TEXT,
  prompt_cache_key: NULLABLE_TEXT,
  prompt_cache_retention: NULLABLE_TEXT,
  prompt_cache_options: { ...NULLABLE_OBJECT, properties: { comparison_response_id: ONLY_NULL } },
  metadata: NULLABLE_OBJECT,
  safety_identifier: NULLABLE_TEXT,
} as const;

/** Of chat completions and legacy completions. */
export const COMPLETION_MEMBERS = {
  stream: NULLABLE_FLAG,
  stream_options: {
    ...NULLABLE_OBJECT,
    properties: { include_usage: NULLABLE_FLAG, include_obfuscation: NULLABLE_FLAG },
  },
  logit_bias: { ...NULLABLE_OBJECT, additionalProperties: { type: "number" } },
  max_tokens: nullableInteger(0),
  n: nullableInteger(1, 128),
  seed: nullableInteger(-(2 ** 63), 2 ** 63),
  stop: anyOf(TEXT, NULL, arrayOf(TEXT)),
} as const;

const names = { type: "array", items: { type: "string", maxLength: 128 }, maxItems: 64 } as const;
const percentiles = {
  anyOf: [
    { type: "number", exclusiveMinimum: 0 },
    {
      type: "object",
      additionalProperties: false,
      minProperties: 1,
      properties: Object.fromEntries(
        ["p50", "p75", "p90", "p99"].map((name) => [name, { type: "number", exclusiveMinimum: 0 }]),
      ),
    },
  ],
} as const;
const price = { type: "number", minimum: 0 } as const;

/**
 * JSON Schema of the `provider` member (docs/dispatch.md#preferences-of-the-caller). Unknown
 * members are errors: a typo must not widen the choice.
 */
export const PROVIDER_PREFERENCES_SCHEMA = {
  description:
    "Narrows or reorders what the routing table and the policies allow; never widens it.",
  type: ["object", "null"],
  additionalProperties: false,
  properties: {
    order: { ...names, description: "Provider ids in the order to try them." },
    only: { ...names, description: "Only these provider ids." },
    ignore: { ...names, description: "Never these provider ids." },
    allow_fallbacks: { type: "boolean", default: true },
    sort: {
      anyOf: [
        { enum: SORT_KEYS },
        {
          type: "object",
          required: ["by"],
          additionalProperties: false,
          properties: {
            by: { enum: SORT_KEYS },
            partition: { enum: ["model", "none"], default: "model" },
          },
        },
      ],
    },
    region: {
      anyOf: [{ type: "string", maxLength: 128 }, names],
      description: "Regions or region groups.",
    },
    max_price: {
      description: "US dollars per million tokens; `request` per call.",
      type: "object",
      additionalProperties: false,
      properties: { input: price, output: price, request: price },
    },
    data_collection: { enum: ["allow", "deny"], default: "deny" },
    zdr: { type: "boolean", description: "Only providers with zero data retention." },
    preferred_max_latency: { ...percentiles, description: "Seconds to the first token." },
    preferred_min_throughput: { ...percentiles, description: "Tokens per second." },
    require_parameters: {
      const: true,
      description: "Always true here: nothing is dropped in silence.",
    },
  },
} as const;

/** An answer as a stream of server-sent events. */
export interface EventStream {
  /**
   * JSON Schema of the data of each event, the last one's and our error's included; `[DONE]` is no
   * JSON and has none.
   */
  readonly events: JsonObject;
  /** Whether events have names (`event:`); each is the `type` of its data. */
  readonly hasEventNames: boolean;
  /** Whether the last event is `[DONE]`. */
  readonly hasDoneEvent: boolean;
  /** How the end of a whole answer looks, for readers. */
  readonly ends: string;
}

/** Events by type: a description, the members beside `type` (all required), and a title. */
export type EventTable = Readonly<
  Record<
    string,
    readonly [description: string, members: Readonly<Record<string, JsonObject>>, title?: string]
  >
>;

/** The schema of each event; its title is made of its type, such as `PingEvent` of `ping`. */
export function eventSchemas(table: EventTable): Readonly<Record<string, JsonObject>> {
  const schemas = Object.entries(table).map(([type, [description, members, title]]) => {
    const parts = type.split(/[._]/).map((part) => part.charAt(0).toUpperCase() + part.slice(1));
    const schema = {
      title: title ?? `${parts.join("")}Event`,
      description,
      type: "object",
      required: ["type", ...Object.keys(members)],
      properties: { type: { const: type }, ...members },
    };
    return [type, schema] as const;
  });
  return Object.fromEntries(schemas);
}

/**
 * The schema of all events of a protocol that distinguishes them by `type`: one component for each
 * type, and one for every other type, because a provider of the same protocol may have types of its
 * own, and the router relays them unchanged.
 *
 * @param name of the component, such as `ResponseEvent`.
 * @param byType each with a title, which is the name of its component.
 */
export function eventUnion(name: string, byType: Readonly<Record<string, JsonObject>>): JsonObject {
  const types = Object.keys(byType);
  const mapping = Object.fromEntries(
    Object.entries(byType).map(([type, event]) => [type, `#/components/schemas/${titleOf(event)}`]),
  );
  return {
    title: name,
    description: "Data of an event. `type` is also the name of the event.",
    anyOf: [
      {
        title: `Known${name}`,
        oneOf: Object.values(byType),
        discriminator: { propertyName: "type", mapping },
      },
      {
        title: `Other${name}`,
        ...complete(
          { type: { type: "string", not: { enum: types } } },
          "A type of a provider's own, relayed unchanged.",
        ),
      },
    ],
  };
}

/** Name of the component of a schema. */
export function titleOf({ title }: JsonObject): string {
  return textOf(title);
}
