import { modelInfoSchema } from "../../dialects/anthropic-messages/model-info.ts";
import { POLICY_REVISIONS } from "./policies/policy-revisions-schema.ts";
/** JSON Schemas of what the endpoints answer, for /openapi.json; tests validate real answers against them. */
const text = { type: "string" } as const;
/** Shared by the answers that name one. */
export const POLICY_SET = {
  type: "string",
  pattern: "^[0-9a-f]{16}$",
  description:
    "Identifies the contents of policies and their slots: the same request gets the same decision under the same set and table.",
} as const;
const nullableText = { type: ["string", "null"] } as const;
const texts = { type: "array", items: text } as const;
const nullableCount = { type: ["integer", "null"], minimum: 0 } as const;

/** What both lists of models say of a route. */
const routeFacts = {
  available: {
    type: "boolean",
    description: "Whether a plain request of this key is allowed now for at least one operation.",
  },
  denial: {
    type: ["object", "null"],
    required: ["policy", "failed_constraint", "reason_code"],
    properties: {
      policy: {
        type: "object",
        required: ["id", "revision", "mode"],
        properties: { id: text, revision: text, mode: text },
      },
      failed_constraint: text,
      reason_code: text,
    },
    description: "The error that a plain request would get; null if it is allowed.",
  },
  operations: { ...texts, description: "Operations and capabilities that are allowed for the workspace." },
  regions: { ...texts, description: "Of the endpoints that requests may go to." },
  plaintext: {
    type: "boolean",
    description: "Whether an answer may come over unencrypted http, in a network of the operator's.",
  },
  context_window: { ...nullableCount, description: "Tokens; `null` if an endpoint declares none." },
  max_output_tokens: nullableCount,
  dimensions: {
    type: "array",
    items: { type: "integer", minimum: 1 },
    description: "Vector lengths that may be requested.",
  },
  fallbacks: {
    type: "array",
    description: "Endpoints that are tried after the first one, in order.",
    items: {
      type: "object",
      required: ["model", "provider", "region"],
      additionalProperties: false,
      properties: { model: text, provider: text, region: text },
    },
  },
} as const;
const routeFactNames = ["capabilities", ...Object.keys(routeFacts)];

export const MODEL = {
  title: "Model",
  type: "object",
  required: ["id", "object", "created", "owned_by", ...routeFactNames],
  properties: {
    id: text,
    object: { const: "model" },
    created: { type: "integer" },
    owned_by: text,
    capabilities: { ...texts, description: "Capabilities that the route has and the workspace approves." },
    ...routeFacts,
  },
} as const;

export const MODEL_LIST = {
  title: "ModelList",
  type: "object",
  required: ["object", "data"],
  properties: { object: { const: "list" }, data: { type: "array", items: MODEL } },
} as const;

export const ANTHROPIC_MODEL = modelInfoSchema(routeFacts);

export const ANTHROPIC_MODEL_PAGE = {
  title: "AnthropicModelPage",
  type: "object",
  required: ["data", "has_more", "first_id", "last_id"],
  properties: {
    data: { type: "array", items: ANTHROPIC_MODEL },
    has_more: { type: "boolean" },
    first_id: nullableText,
    last_id: nullableText,
  },
} as const;

const verdict = {
  type: "object",
  required: ["policy", "revision", "slot", "constraint", "verdict", "reason"],
  properties: {
    policy: text,
    revision: {
      ...nullableText,
      description:
        "`r7`; the SHA-256 of the routing table for `approvals` and `preferences`; null: no store has numbered the content.",
    },
    slot: { enum: ["enforced", "candidate"] },
    constraint: text,
    verdict: { enum: ["pass", "fail", "indeterminate"] },
    reason: nullableText,
    effect: { enum: ["none", "narrowed", "denied", "would_narrow", "would_deny"] },
    failing: texts,
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
    operation: text,
    model: text,
    workspace: text,
    key: { type: "object", description: "The key's attributes as policies read them." },
    shape: { type: "object", description: "The members of the request that the decision used." },
    time: { type: ["object", "null"], description: "The requested window; null: the present one." },
    promoted: { type: "boolean" },
    outcome: { enum: ["route", "deny"] },
    plan: {
      type: "array",
      items: { type: "object", required: ["endpoint", "provider", "region", "model"] },
      description: "In the order in which a call that began now would try them, by what the server has measured.",
    },
    arrangement: {
      type: ["object", "null"],
      required: ["decided", "by_chance"],
      properties: {
        decided: { ...texts, description: "Endpoints of the plan in the order of the decision, before measurements." },
        by_chance: {
          type: "boolean",
          description:
            "Equals share the calls at random: the plan is one of several orders, and the next call may have another.",
        },
      },
      description: "How the order of the plan was determined; null if the request is denied.",
    },
    denial: { type: ["object", "null"] },
    error: { type: ["object", "null"], description: "Status, code and message that a real call would get." },
    candidates: {
      type: "array",
      items: {
        type: "object",
        required: ["endpoint", "in_plan", "constraints"],
        properties: {
          endpoint: text,
          in_plan: { type: "boolean" },
          constraints: {
            type: "array",
            items: {
              ...verdict,
              properties: {
                ...verdict.properties,
                verdict: {
                  enum: ["pass", "fail", "indeterminate", "not_asked"],
                  description: "`not_asked`: not evaluated, because an earlier constraint had left the candidate out.",
                },
              },
            },
          },
        },
      },
    },
    constraints: { type: "array", items: verdict },
    obligations: {
      type: "array",
      items: { type: "object", required: ["policy", "revision", "slot", "obligation", "kind", "value", "effect"] },
    },
    edits: { type: ["object", "null"], description: "Changes of the request by enforced obligations." },
    if_promoted: { type: ["object", "null"] },
    table_revision: text,
    policy_set: POLICY_SET,
    policy_revisions: POLICY_REVISIONS,
  },
} as const;
