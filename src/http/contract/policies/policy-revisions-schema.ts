import { REVISION_PATTERN } from "../../../canon/policy.ts";

const POLICY_SLOT = {
  type: "object",
  required: ["revision", "digest"],
  properties: {
    revision: {
      type: ["string", "null"],
      pattern: REVISION_PATTERN,
      description: "null: no store has numbered the content.",
    },
    digest: { type: "string", description: "SHA-256 of the content." },
  },
} as const;

/** What decides now, by policy. */
export const POLICY_REVISIONS = {
  type: "object",
  description: "By policy id: which content is in which slot.",
  additionalProperties: { type: "object", properties: { enforced: POLICY_SLOT, candidate: POLICY_SLOT } },
} as const;
