import { BUDGET_STEPS } from "../../canon/limits.ts";
import { CAPABILITY_NAMES, FEATURE_NAMES } from "../../canon/capability.ts";
import { type JsonObject, parseJsonObject } from "../../canon/json.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { DAY_BUCKETS, HOUR_BUCKETS, type PolicyTime } from "../../canon/policy.ts";
import type { ProviderPreferences } from "../../canon/request.ts";
import { bodyValidator } from "../../http/validate-body.ts";
import { sampleDefaults } from "../../simulate/explain/explain-arguments.ts";
import { mapScalars, perScalar } from "../../simulate/request-scalars.ts";
import type { SampleRequest } from "../../simulate/sample-request.ts";
import { UsageError } from "../terminal/command-io.ts";
import { parsePreferences } from "../../dialects/body-reader.ts";

const setOf = (names: readonly string[]): JsonObject => ({
  type: "array",
  items: { enum: names },
  uniqueItems: true,
});
const texts = { type: "array", items: { type: "string" } } as const;

const MEMBERS: JsonObject = {
  workspace: { type: "string" },
  model: { type: "string" },
  operation: { enum: OPERATIONS },
  key: {
    type: "object",
    additionalProperties: false,
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
  ...mapScalars((_, { plain, values }) =>
    typeof plain === "boolean" ? { type: "boolean" } : { enum: values },
  ),
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

/** Members of a sample that the body of a request has itself. */
export const SHAPE_MEMBERS = [
  "needs",
  "features",
  "signatureFamilies",
  ...perScalar((member) => member),
  "dimensions",
] as const;

const SAMPLE: JsonObject = { type: "object", additionalProperties: false, properties: MEMBERS };

/**
 * The request of `--point`: all of a sample as a report prints it, or some members, the others with
 * their defaults.
 *
 * @param now the time of a sample without one.
 * @throws {UsageError} that names the member and the rule.
 */
export function readSampleJson(
  text: string,
  now: PolicyTime,
): { readonly given: JsonObject; readonly sample: SampleRequest } {
  const given = parseJsonObject(text);
  if (given === null)
    throw new UsageError(
      "--point: must be a JSON object, in one argument (put it in single quotes)",
    );
  const invalid = bodyValidator(SAMPLE)(given);
  if (invalid !== null)
    throw new UsageError(`--point: ${invalid.message.replace("The body", "it")}`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema above describes it
  const members = given as unknown as Partial<SampleRequest>;
  const defaults = sampleDefaults(members.operation ?? "chat.completions");
  const sample = { ...defaults, time: now, ...members, key: { ...defaults.key, ...members.key } };
  return {
    given,
    sample: {
      ...sample,
      needs: sample.needs.toSorted(),
      features: sample.features.toSorted(),
      preferences: parsePreferences(given["preferences"]),
    },
  };
}

/** The same preferences as a request's `provider` has them. */
export function preferencesJson(preferences: ProviderPreferences): JsonObject {
  const json: JsonObject = JSON.parse(JSON.stringify(preferences));
  return json;
}
