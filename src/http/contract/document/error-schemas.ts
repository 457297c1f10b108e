import { OAUTH_CODES } from "../../oauth-error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { ProtocolFamily } from "../../../dialects/contract/protocol-family.ts";
import { REVISION_PATTERN } from "../../../canon/policy.ts";
import { SERVICE_KEY } from "../key-schemas.ts";
import { MISSING_REQUIREMENT } from "../policies/policy-answers.ts";

const text = { type: "string" } as const;

/** Of `POST /v1/credentials/exchange`: RFC 6749 §5.2. */
export const OAUTH_ERROR = {
  title: "OAuthError",
  type: "object",
  required: ["error", "error_description"],
  properties: {
    error: { enum: OAUTH_CODES, description: "Of RFC 6749 and RFC 8693; for programs." },
    error_description: {
      ...text,
      pattern: "^[ !#-\\[\\]-~]+$",
      description:
        "One sentence for people, and in brackets the router's own code and the request id. It never repeats a value of the request.",
    },
  },
} as const;

/** What errors of our own endpoints add to an error of their family. */
const FACTS = {
  missing: { type: "array", items: MISSING_REQUIREMENT, description: "Requirements that a promotion does not meet." },
  current: {
    type: "object",
    description: "The present state of the policy, if it differs from the state that the caller has read.",
    required: ["etag", "candidate_revision", "enforced_revision"],
    properties: {
      etag: text,
      candidate_revision: { type: ["string", "null"], pattern: REVISION_PATTERN },
      enforced_revision: { type: ["string", "null"], pattern: REVISION_PATTERN },
    },
  },
  service_key: SERVICE_KEY,
} as const;

/** The schema of a family's errors. */
export function errorSchemaOf({ errorSchema }: ProtocolFamily): JsonObject {
  return errorSchema(FACTS);
}
