import { whole } from "../../canon/json/schema.ts";
import { REVISION_PATTERN } from "../../canon/policy.ts";
import { ROLLBACK_REASONS } from "../../lifecycle/records.ts";

const digest = {
  type: "string",
  pattern: "^[0-9a-f]{64}$",
  description: "Of the policy's content: 64 lower-case hexadecimal digits.",
} as const;
const revision = { type: "string", pattern: REVISION_PATTERN } as const;
const nullableRevision = { type: ["string", "null"], pattern: REVISION_PATTERN } as const;
const count = { type: "integer", minimum: 0, maximum: 1_000_000_000 } as const;

export const APPROVE_SCHEMA = {
  title: "ApprovePolicyRequest",
  type: "object",
  additionalProperties: false,
  required: ["digest"],
  properties: {
    digest,
    report: whole(
      {
        sha256: {
          type: "string",
          pattern: "^[0-9a-f]{64}$",
          description: "Of the report's bytes.",
        },
        table_revision: {
          type: "string",
          pattern: "^[0-9a-f]{64}$",
          description: "Of the table on the report's head side.",
        },
        complete: { type: "boolean", description: "Whether every class was decided." },
        assertions: whole(
          { passed: count, failed: count, waived: count },
          "Results of assertions, coverage included; all 0 if there were none.",
        ),
      },
      "Facts of the simulation report that the approver has seen. They are verified if they match the report that this server makes itself (GET /v1/policies/{id}/simulation); otherwise they are stored as claimed and satisfy no requirement.",
    ),
  },
} as const;

export const PROMOTE_SCHEMA = {
  title: "PromotePolicyRequest",
  ...whole({
    expected: whole({
      candidate_revision: { ...revision, description: "The revision to enforce." },
      enforced_revision: {
        ...nullableRevision,
        description: "The revision that it replaces; null: nothing is enforced yet.",
      },
    }),
  }),
} as const;

export const ROLL_BACK_SCHEMA = {
  title: "RollBackPolicyRequest",
  type: "object",
  additionalProperties: false,
  required: ["expected"],
  properties: {
    expected: {
      type: "object",
      additionalProperties: false,
      required: ["enforced_revision"],
      properties: {
        candidate_revision: { ...nullableRevision, description: "Not checked if it is left out." },
        enforced_revision: {
          ...revision,
          description: "The revision to roll back; it is then held.",
        },
      },
    },
    to_revision: {
      ...nullableRevision,
      description:
        "A revision that was enforced before; null: none. The last enforced one unless given.",
    },
    reason: { enum: ROLLBACK_REASONS, default: "other" },
  },
} as const;

export const WITHDRAW_SCHEMA = {
  title: "WithdrawPolicyRequest",
  type: "object",
  additionalProperties: false,
  required: ["what"],
  properties: {
    what: {
      enum: ["approval", "candidate"],
      description:
        "The caller's own approval of `digest`, or the candidate, with If-Match and `expected`.",
    },
    digest,
    expected: whole({ candidate_revision: revision }),
  },
} as const;

export const RELEASE_SCHEMA = { title: "ReleasePolicyRequest", ...whole({ digest }) } as const;
