import { whole } from "../../canon/json/schema.ts";
import { CAPABILITY_NAMES, FEATURE_NAMES } from "../../canon/capability.ts";
import { DAY_BUCKETS, HOUR_BUCKETS } from "../../canon/policy.ts";
import { perScalar } from "../../simulate/request-scalars.ts";

/**
 * What says of a request what a policy or the table may look at; a whole request says it all by
 * itself.
 */
const SHAPE = {
  needs: {
    type: "array",
    items: { enum: CAPABILITY_NAMES },
    uniqueItems: true,
    description: "Capabilities.",
  },
  features: {
    type: "array",
    items: { enum: FEATURE_NAMES },
    uniqueItems: true,
    description: "Features of a wire protocol that the request requires.",
  },
  ...Object.fromEntries(
    perScalar((_, { name, plain, values, description }) => [
      name,
      {
        ...(typeof plain === "boolean" ? { type: "boolean" } : { enum: values }),
        default: plain,
        ...(description !== undefined && { description }),
      },
    ]),
  ),
  signature_families: {
    type: "array",
    items: { type: "string", minLength: 1, maxLength: 128 },
    maxItems: 16,
    uniqueItems: true,
    description: "Families whose signed reasoning is in the history.",
  },
  dimensions: {
    type: "integer",
    minimum: 1,
    maximum: 1_000_000,
    description: "Length of the vectors.",
  },
} as const;

/** Members of the body that stand for a request and exclude a whole one. */
export const SHAPE_MEMBERS: readonly string[] = Object.keys(SHAPE);

/**
 * JSON Schema of POST /v1/route/simulate: a model and preferences, and either the shape of a
 * request or a whole request of the operation.
 */
export const SIMULATE_SCHEMA = {
  title: "SimulateRouteRequest",
  type: "object",
  additionalProperties: false,
  properties: {
    model: {
      type: "string",
      minLength: 1,
      maxLength: 256,
      description: "Required, except for moderations, which can use the workspace's default route.",
    },
    provider: { $ref: "#/components/schemas/ProviderPreferences" },
    ...SHAPE,
    request: {
      type: "object",
      description:
        "A body as the operation takes it; `model` and `provider` beside it take precedence over those inside.",
    },
    time: whole(
      { day: { enum: DAY_BUCKETS }, hour: { enum: HOUR_BUCKETS } },
      "Decide as in that window, in UTC; now if absent.",
    ),
    promoted: {
      type: "boolean",
      default: false,
      description: "Decide as if every candidate revision of a policy were promoted.",
    },
  },
  not: { anyOf: SHAPE_MEMBERS.map((member) => ({ required: [member, "request"] })) },
} as const;
