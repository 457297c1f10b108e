import { BUDGET_STEPS } from "../../canon/limits.ts";
import { COUNT, INSTANT, NULLABLE_TEXT, TEXT, whole } from "../../canon/json/schema.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { REVISION_PATTERN, DAY_BUCKETS, HOUR_BUCKETS } from "../../canon/policy.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../canon/request.ts";

const nullableInstant = { type: ["string", "null"], format: "date-time" } as const;

const SAID = {
  would_deny: COUNT,
  newly_denied: {
    ...COUNT,
    description:
      "The part of would_deny that was let through: requests that a promotion would break.",
  },
  would_narrow: COUNT,
  indeterminate: {
    ...COUNT,
    description: "The policy could not be evaluated, or gave no verdict.",
  },
} as const;

const MEASURES = {
  judged: { ...COUNT, description: "Requests that the revision judged." },
  ...SAID,
} as const;

const CLASS = whole(
  {
    workspace: NULLABLE_TEXT,
    route: NULLABLE_TEXT,
    operation: { enum: [...OPERATIONS, null] },
    environment: NULLABLE_TEXT,
    workload: { ...NULLABLE_TEXT, description: "Of the key." },
    owner: { ...NULLABLE_TEXT, description: "Of the key, if routes.yaml declares it." },
    labels: { type: "array", items: TEXT, description: "Of the key." },
    needs: { type: "array", items: TEXT },
    features: { type: "array", items: TEXT },
    stream: { type: "boolean" },
    context: { enum: [...TOKEN_BUCKETS, null] },
    max_output: { enum: [...TOKEN_BUCKETS, null] },
    reasoning_effort: { enum: [...REASONING_EFFORTS, null] },
    signature_families: { type: "array", items: TEXT },
    dimensions: { type: ["integer", "null"], minimum: 1 },
    preferences: {
      type: ["object", "null"],
      description:
        "The caller's `provider` member, with `unknown name` for every name that the table does not have.",
    },
    time: whole({ day: { enum: DAY_BUCKETS }, hour: { enum: HOUR_BUCKETS } }, "In UTC."),
    budget: {
      enum: [...BUDGET_STEPS, null],
      description: "What was left of the caller's budgets, if a policy read it.",
    },
  },
  "Requests that are equal in the evidence; null if a record does not have the number.",
);

const EXAMPLE_GROUP = whole({
  constraint: TEXT,
  reason: NULLABLE_TEXT,
  verdict: { enum: ["fail", "indeterminate"] },
  effect: {
    enum: ["would_deny", "would_narrow", null],
    description: "null: an older record, which does not have it.",
  },
  requests: COUNT,
  newly_denied: COUNT,
  first: { ...INSTANT, description: "Of the oldest of these requests that was found." },
  last: INSTANT,
  request_id: { ...TEXT, description: "Of the newest of them." },
  class: CLASS,
  explain: {
    ...NULLABLE_TEXT,
    description:
      "Arguments of `signalbox` that decide such a request as if candidates were promoted.",
  },
  not_explained: {
    enum: ["route", "need", "feature", "size", "preference", "operation", null],
    description:
      "The member of the record that this version cannot express, if there is no command.",
  },
});

export const POLICY_SHADOW = {
  title: "PolicyShadow",
  ...whole(
    {
      object: { const: "policy.shadow" },
      policy: TEXT,
      revision: { type: "string", pattern: REVISION_PATTERN },
      digest: TEXT,
      since: {
        ...INSTANT,
        description: "When it entered its slot. The numbers include an earlier time in shadow.",
      },
      until: INSTANT,
      ...MEASURES,
      by_constraint: {
        type: "array",
        description: "Verdicts: a request that fails two constraints is in two lines.",
        items: whole({ constraint: NULLABLE_TEXT, reason: NULLABLE_TEXT, ...SAID }),
      },
      by_route: {
        type: "array",
        description: "null: no route, and routes of workspaces that the caller may not read.",
        items: whole({ route: NULLABLE_TEXT, ...MEASURES }),
      },
      judged_without_route: {
        ...COUNT,
        description: "Missing in by_route, because they were counted before routes were.",
      },
      by_workspace: {
        type: "array",
        description: "null: all workspaces together that the caller may not read.",
        items: whole({ workspace: NULLABLE_TEXT, ...MEASURES }),
      },
      witnesses: { type: "array", items: EXAMPLE_GROUP },
      looked_at: whole(
        {
          decisions: COUNT,
          since: nullableInstant,
          complete: {
            type: "boolean",
            description: "Whether all evidence since the revision was first seen was read.",
          },
        },
        "How much of the evidence was searched for example requests; the numbers come from counts and are complete.",
      ),
    },
    "Verdicts of a revision in shadow, without content of requests.",
  ),
} as const;
