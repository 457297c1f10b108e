import { CAPABILITY_NAMES } from "../../canon/capability.ts";

/** JSON Schema of POST /v1/route/simulate: a model and preferences, and either a list of needs or a whole request of the operation. */
export const SIMULATE_SCHEMA = {
  type: "object",
  additionalProperties: false,
  properties: {
    model: {
      type: "string",
      minLength: 1,
      maxLength: 256,
      description: "Required, but for moderations, which may leave it to the workspace.",
    },
    provider: { $ref: "#/components/schemas/ProviderPreferences" },
    needs: { type: "array", items: { enum: CAPABILITY_NAMES }, uniqueItems: true },
    stream: { type: "boolean" },
    request: {
      type: "object",
      description: "A body as the operation takes it; `model` and `provider` beside it win over those inside.",
    },
  },
  not: { anyOf: [{ required: ["needs", "request"] }, { required: ["stream", "request"] }] },
} as const;
