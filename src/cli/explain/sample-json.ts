import { BUDGET_STEPS } from "../../canon/budget-step.ts";
import { CAPABILITY_NAMES, isCapability } from "../../canon/capability.ts";
import { FEATURE_NAMES, isFeature } from "../../canon/generate/feature.ts";
import { isJsonObject, type JsonObject, type JsonValue, parseJsonObject } from "../../canon/json.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { DAY_BUCKETS, HOUR_BUCKETS, type PolicyTime } from "../../canon/policy.ts";
import type { ProviderPreferences } from "../../canon/preferences.ts";
import { parsePreferences, PROVIDER_PREFERENCES_SCHEMA } from "../../dialects/preferences.ts";
import { bodyValidator } from "../../http/validate-body.ts";
import { mapScalars, PLAIN_SCALARS, readScalars } from "../../simulate/request-scalars.ts";
import type { SampleRequest } from "../../simulate/sample-request.ts";
import { UsageError } from "../terminal/command-io.ts";

const setOf = (names: readonly string[]): JsonObject => ({ type: "array", items: { enum: names }, uniqueItems: true });
const texts = { type: "array", items: { type: "string" } } as const;

const MEMBERS: JsonObject = {
  workspace: { type: "string" },
  model: { type: "string" },
  operation: { enum: OPERATIONS },
  key: {
    type: "object",
    additionalProperties: false,
    required: ["environment", "workload", "labels"],
    properties: {
      environment: { type: "string" },
      workload: { type: "string" },
      owner: { type: "string" },
      labels: texts,
    },
  },
  needs: setOf(CAPABILITY_NAMES),
  features: setOf(FEATURE_NAMES),
  signatureFamilies: texts,
  ...mapScalars((_, { plain, values }) => (typeof plain === "boolean" ? { type: "boolean" } : { enum: values })),
  dimensions: { type: ["number", "null"] },
  preferences: { $ref: "#/components/schemas/ProviderPreferences" },
  budget: { enum: BUDGET_STEPS },
  time: {
    type: "object",
    additionalProperties: false,
    required: ["day", "hour"],
    properties: { day: { enum: DAY_BUCKETS }, hour: { enum: HOUR_BUCKETS } },
  },
};

const SAMPLE: JsonObject = {
  type: "object",
  additionalProperties: false,
  required: Object.keys(MEMBERS).filter((name) => name !== "budget"),
  properties: MEMBERS,
};

/** The sample that a report prints as JSON. @throws {UsageError} that names the member and the rule. */
export function readSampleJson(text: string): SampleRequest {
  const sample = readObject("--point", text);
  check("--point", SAMPLE, sample);
  const key = isJsonObject(sample["key"]) ? sample["key"] : {};
  return {
    workspace: textOf(sample["workspace"]),
    model: textOf(sample["model"]),
    operation: enumValueOf(sample["operation"], OPERATIONS),
    key: {
      environment: textOf(key["environment"]),
      workload: textOf(key["workload"]),
      ...(typeof key["owner"] === "string" && { owner: key["owner"] }),
      labels: textsOf(key["labels"]),
    },
    needs: textsOf(sample["needs"]).filter(isCapability).toSorted(),
    features: textsOf(sample["features"]).filter(isFeature).toSorted(),
    signatureFamilies: textsOf(sample["signatureFamilies"]),
    ...(readScalars((member) => sample[member]) ?? PLAIN_SCALARS),
    dimensions: typeof sample["dimensions"] === "number" ? sample["dimensions"] : null,
    preferences: parsePreferences(sample["preferences"]),
    time: windowOf(sample["time"]),
    ...(sample["budget"] !== undefined && { budget: enumValueOf(sample["budget"], BUDGET_STEPS) }),
  };
}

/** One value: validators are kept by their schema. */
const PREFERENCES: JsonObject = { ...PROVIDER_PREFERENCES_SCHEMA };

/** The `provider` member of a request. @throws {UsageError} that names the member and the rule. */
export function readPreferencesJson(text: string): ProviderPreferences | null {
  const preferences = readObject("--preferences", text);
  check("--preferences", PREFERENCES, preferences);
  return parsePreferences(preferences);
}

/** The same preferences as a request's `provider` has them. */
export function preferencesJson(preferences: ProviderPreferences): JsonObject {
  const json: JsonObject = JSON.parse(JSON.stringify(preferences));
  return json;
}

function readObject(flag: string, text: string): JsonObject {
  const object = parseJsonObject(text);
  if (object === null)
    throw new UsageError(`${flag}: must be a JSON object, in one argument (put it in single quotes)`);
  return object;
}

function check(flag: string, schema: JsonObject, value: JsonObject): void {
  const invalid = bodyValidator(schema)(value);
  if (invalid !== null) throw new UsageError(`${flag}: ${invalid.message.replace("The body", "it")}`);
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

/** A value that has been checked. */
function enumValueOf<Value extends string>(value: JsonValue | undefined, known: readonly Value[]): Value {
  const found = known.find((one) => one === value);
  if (found === undefined) throw new Error("point: a value that the schema does not have");
  return found;
}

function windowOf(value: JsonValue | undefined): PolicyTime {
  const { day, hour } = isJsonObject(value) ? value : {};
  return { day: enumValueOf(day, DAY_BUCKETS), hour: enumValueOf(hour, HOUR_BUCKETS) };
}
