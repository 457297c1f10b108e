import {
  BOOLEAN,
  complete,
  completeOrNull,
  described,
  listOf,
  NULLABLE_COUNT,
  NULLABLE_TEXT,
  TEXT,
  TEXTS,
  whole,
  titled,
} from "../../canon/json/schema.ts";
import { modelInfoSchema } from "../../dialects/anthropic-messages/dialect.ts";
import { REVISION_PATTERN } from "../../canon/policy.ts";
/**
 * JSON Schemas of the answers of endpoints, for /openapi.json; tests validate real answers against
 * them.
 */
/** Shared by the answers that name one. */
export const POLICY_SET = {
  type: "string",
  pattern: "^[0-9a-f]{16}$",
  description:
    "Identifies the contents of policies and their slots: the same request gets the same decision under the same set and table.",
} as const;

const POLICY_SLOT = complete({
  revision: {
    type: ["string", "null"],
    pattern: REVISION_PATTERN,
    description: "null: no store has numbered the content.",
  },
  digest: described(TEXT, "SHA-256 of the content."),
});

/** The contents of both slots, by policy. */
export const POLICY_REVISIONS = {
  type: "object",
  description: "By policy id: which content is in which slot.",
  additionalProperties: {
    type: "object",
    properties: { enforced: POLICY_SLOT, candidate: POLICY_SLOT },
  },
} as const;

/** Members of a route that both model lists have. */
const routeFacts = {
  available: described(
    BOOLEAN,
    "Whether a plain request of this key is allowed now for at least one operation.",
  ),
  denial: completeOrNull(
    {
      policy: complete({ id: TEXT, revision: TEXT, mode: TEXT }),
      failed_constraint: TEXT,
      reason_code: TEXT,
    },
    "The error that a plain request would get; null if it is allowed.",
  ),
  operations: described(TEXTS, "Operations and capabilities that are allowed for the workspace."),
  regions: described(TEXTS, "Of the endpoints that requests may go to."),
  plaintext: described(
    BOOLEAN,
    "Whether an answer may come over unencrypted http, in a network of the operator's.",
  ),
  context_window: described(NULLABLE_COUNT, "Tokens; `null` if an endpoint declares none."),
  max_output_tokens: NULLABLE_COUNT,
  dimensions: listOf({ type: "integer", minimum: 1 }, "Vector lengths that may be requested."),
  fallbacks: listOf(
    whole({ model: TEXT, provider: TEXT, region: TEXT }),
    "Endpoints that are tried after the first one, in order.",
  ),
} as const;
export const MODEL = titled(
  "Model",
  complete({
    id: TEXT,
    object: { const: "model" },
    created: { type: "integer" },
    owned_by: TEXT,
    capabilities: described(TEXTS, "Capabilities that the route has and the workspace approves."),
    ...routeFacts,
  }),
);

export const MODEL_LIST = titled(
  "ModelList",
  complete({ object: { const: "list" }, data: listOf(MODEL) }),
);

export const ANTHROPIC_MODEL = modelInfoSchema(routeFacts);

export const ANTHROPIC_MODEL_PAGE = titled(
  "AnthropicModelPage",
  complete({
    data: listOf(ANTHROPIC_MODEL),
    has_more: BOOLEAN,
    first_id: NULLABLE_TEXT,
    last_id: NULLABLE_TEXT,
  }),
);

const verdict = {
  type: "object",
  required: ["policy", "revision", "slot", "constraint", "verdict", "reason"],
  properties: {
    policy: TEXT,
    revision: described(
      NULLABLE_TEXT,
      "`r7`; the SHA-256 of the routing table for `approvals` and `preferences`; null: no store has numbered the content.",
    ),
    slot: { enum: ["enforced", "candidate"] },
    constraint: TEXT,
    verdict: { enum: ["pass", "fail", "indeterminate"] },
    reason: NULLABLE_TEXT,
    effect: { enum: ["none", "narrowed", "denied", "would_narrow", "would_deny"] },
    failing: TEXTS,
  },
} as const;

export const SIMULATION = {
  title: "RouteSimulation",
  type: "object",
  required: [
    "object",
    "operation",
    "model",
    "outcome",
    "plan",
    "arrangement",
    "candidates",
    "constraints",
    "table_revision",
  ],
  properties: {
    object: { const: "route.simulation" },
    operation: TEXT,
    model: TEXT,
    workspace: TEXT,
    key: { type: "object", description: "The key's attributes as policies read them." },
    shape: { type: "object", description: "The members of the request that the decision used." },
    time: { type: ["object", "null"], description: "The requested window; null: the present one." },
    promoted: BOOLEAN,
    outcome: { enum: ["route", "deny"] },
    plan: listOf(
      { type: "object", required: ["endpoint", "provider", "region", "model"] },
      "In the order in which a call that began now would try them, by what the server has measured.",
    ),
    arrangement: completeOrNull(
      {
        decided: described(
          TEXTS,
          "Endpoints of the plan in the order of the decision, before measurements.",
        ),
        by_chance: described(
          BOOLEAN,
          "Equals share the calls at random: the plan is one of several orders, and the next call may have another.",
        ),
      },
      "How the order of the plan was determined; null if the request is denied.",
    ),
    denial: { type: ["object", "null"] },
    error: {
      type: ["object", "null"],
      description: "Status, code and message that a real call would get.",
    },
    candidates: listOf(
      complete({
        endpoint: TEXT,
        in_plan: BOOLEAN,
        constraints: listOf({
          ...verdict,
          properties: {
            ...verdict.properties,
            verdict: {
              enum: ["pass", "fail", "indeterminate", "not_asked"],
              description:
                "`not_asked`: not evaluated, because an earlier constraint had left the candidate out.",
            },
          },
        }),
      }),
    ),
    constraints: listOf(verdict),
    obligations: listOf({
      type: "object",
      required: ["policy", "revision", "slot", "obligation", "kind", "value", "effect"],
    }),
    edits: {
      type: ["object", "null"],
      description: "Changes of the request by enforced obligations.",
    },
    if_promoted: { type: ["object", "null"] },
    table_revision: TEXT,
    policy_set: POLICY_SET,
    policy_revisions: POLICY_REVISIONS,
  },
} as const;
