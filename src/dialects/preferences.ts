import { isJsonObject, type JsonObject, type JsonValue } from "../canon/json.ts";
import { SORT_KEYS, type Percentiles, type ProviderPreferences, type SortKey } from "../canon/preferences.ts";

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

/** JSON Schema of the `provider` member (docs/dispatch.md#preferences-of-the-caller). An unknown member is an error: a typo must not widen. */
export const PROVIDER_PREFERENCES_SCHEMA = {
  description: "Narrows or reorders what the routing table and the policies allow; never widens it.",
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
          properties: { by: { enum: SORT_KEYS }, partition: { enum: ["model", "none"], default: "model" } },
        },
      ],
    },
    region: { anyOf: [{ type: "string", maxLength: 128 }, names], description: "Regions or region groups." },
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
    require_parameters: { const: true, description: "Always true here: nothing is dropped in silence." },
  },
} as const;

/** Brings a validated `provider` member to its one written form; `null` where nothing was requested. */
export function parsePreferences(value: JsonValue | undefined): ProviderPreferences | null {
  if (!isJsonObject(value)) return null;
  const {
    sort,
    region,
    require_parameters: _always,
    preferred_max_latency,
    preferred_min_throughput,
    ...plain
  } = value;
  const preferences: ProviderPreferences = {
    ...plain,
    ...(sort === undefined ? {} : { sort: parseSort(sort) }),
    ...(region === undefined ? {} : { region: textList(region) }),
    ...(preferred_max_latency === undefined ? {} : { preferred_max_latency: parsePercentiles(preferred_max_latency) }),
    ...(preferred_min_throughput === undefined
      ? {}
      : { preferred_min_throughput: parsePercentiles(preferred_min_throughput) }),
  };
  return Object.keys(preferences).length === 0 ? null : preferences;
}

function parseSort(value: JsonValue): NonNullable<ProviderPreferences["sort"]> {
  if (!isJsonObject(value)) return { by: sortKey(value), partition: "model" };
  return { by: sortKey(value["by"]), partition: value["partition"] === "none" ? "none" : "model" };
}

function sortKey(value: JsonValue | undefined): SortKey {
  return SORT_KEYS.find((key) => key === value) ?? "price";
}

function textList(value: JsonValue): readonly string[] {
  const items = Array.isArray(value) ? value : [value];
  return items.filter((item): item is string => typeof item === "string");
}

function parsePercentiles(value: JsonValue): Percentiles {
  if (typeof value === "number") return { p50: value };
  const object: JsonObject = isJsonObject(value) ? value : {};
  const numbers = Object.entries(object).filter((entry): entry is [string, number] => typeof entry[1] === "number");
  return Object.fromEntries(numbers);
}
