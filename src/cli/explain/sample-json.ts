import { BUDGET_STEPS } from "../../canon/budget-step.ts";
import { CAPABILITY_NAMES } from "../../canon/capability.ts";
import { FEATURE_NAMES } from "../../canon/generate/feature.ts";
import { type JsonObject, parseJsonObject } from "../../canon/json.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { DAY_BUCKETS, HOUR_BUCKETS } from "../../canon/policy.ts";
import type { ProviderPreferences } from "../../canon/preferences.ts";
import { bodyValidator } from "../../http/validate-body.ts";
import { mapScalars } from "../../simulate/request-scalars.ts";
import type { SampleRequest } from "../../simulate/sample-request.ts";
import { UsageError } from "../terminal/command-io.ts";
import { PROVIDER_PREFERENCES_SCHEMA } from "../../dialects/request-members.ts";
import { parsePreferences } from "../../dialects/body-reader.ts";

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
  const object = readObject("--point", text);
  check("--point", SAMPLE, object);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema above describes it
  const sample = object as unknown as SampleRequest;
  return {
    ...sample,
    needs: sample.needs.toSorted(),
    features: sample.features.toSorted(),
    preferences: parsePreferences(object["preferences"]),
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
