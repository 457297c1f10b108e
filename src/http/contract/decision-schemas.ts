import { BUDGET_STEPS } from "../../canon/budget-step.ts";
import { FAILURE_KINDS } from "../../canon/failure.ts";
import { CAPABILITY_NAMES } from "../../canon/capability.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../canon/request.ts";
import { COUNT, whole, wholeOrNull, type ValueOf } from "../../canon/json/schema.ts";
import { SIMULATION } from "./answer-schemas.ts";
import { CHANGES, TERMINALS } from "../../evidence/record.ts";

const text = { type: "string" } as const;
const nullableText = { type: ["string", "null"] } as const;
const texts = { type: "array", items: text } as const;
const nullableCount = { type: ["integer", "null"], minimum: 0 } as const;
const instant = { type: "string", format: "date-time" } as const;
const duration = { type: ["number", "null"], minimum: 0, description: "Milliseconds." } as const;

export const OUTCOMES = ["route", "deny", "refuse", "answer"] as const;

const LINE = {
  id: { ...text, description: "The request's id; `dec_` instead of `req_` names the same decision." },
  at: { ...instant, description: "Arrival of the request." },
  workspace: nullableText,
  operation: { enum: [...OPERATIONS, "models", "simulate", "control"] },
  route: { ...nullableText, description: "`null` where the request named none that the workspace may see." },
  key: { ...nullableText, description: "Public id of the key; `null` where none was accepted." },
  environment: nullableText,
  outcome: {
    enum: OUTCOMES,
    description: "`refuse`: before a decision. `answer`: by the router itself, without a provider.",
  },
  policy: { ...nullableText, description: "Whose constraint denied the request." },
  constraint: nullableText,
  reason: { ...nullableText, description: "Reason code of a denial, or error code of a refusal." },
  repeated: { ...COUNT, description: "How many refusals of one kind the record stands for; 1 for nearly all." },
  terminal: {
    enum: [...TERMINALS, null],
    description: "How the request ended; `null` while it runs; `unknown` where its process died.",
  },
  status: { ...nullableCount, description: "HTTP status that the client got; `null` where it is not known." },
  endpoint: { ...nullableText, description: "Of the last attempt." },
  provider: nullableText,
  region: nullableText,
  attempts: COUNT,
  input_tokens: { ...nullableCount, description: "As the provider counted; `null` where it did not." },
  output_tokens: nullableCount,
  cost_usd: {
    type: ["number", "null"],
    minimum: 0,
    description: "By list prices, from what the provider counted; `null` where it is not known.",
  },
  total_ms: { ...duration, description: "Milliseconds from the request's arrival to the end of its answer." },
} as const;

const SHADOW = whole({
  policy: text,
  revision: text,
  constraint: text,
  reason: nullableText,
  verdict: { enum: ["fail", "indeterminate"] },
  effect: { enum: ["would_narrow", "would_deny", null] },
});

const OBLIGATION = whole({
  policy: text,
  revision: text,
  obligation: text,
  effect: { enum: ["applied", "would_apply"] },
});

const ATTEMPT = whole({
  endpoint: text,
  provider: text,
  region: text,
  model: nullableText,
  failure: { enum: [...FAILURE_KINDS, null], description: "`null`: the endpoint answered." },
  status: nullableCount,
  duration_ms: { type: "number", minimum: 0 },
  simulated: { type: "boolean" },
  translated: { type: ["boolean", "null"] },
  plaintext: { type: "boolean", description: "The call was http without TLS in a network of the operator's." },
  calls: { ...COUNT, description: "Calls of a batch that ended like this." },
});

export const DECISION_LIST = {
  title: "DecisionList",
  ...whole({
    object: { const: "list" },
    data: { type: "array", items: whole({ object: { const: "decision" }, ...LINE }) },
    next_cursor: {
      ...nullableText,
      description:
        "Where the next page begins; `null` at the end of the log. A search is bounded: it may end with fewer decisions than `limit`, or none; continue with the cursor.",
    },
    searched_to: {
      ...instant,
      type: ["string", "null"],
      description: "Arrival of the oldest request that was looked at.",
    },
  }),
} as const;

export const DECISION = {
  title: "Decision",
  ...whole({
    object: { const: "decision" },
    ...LINE,
    table_revision: text,
    policy_set: nullableText,
    policy_revision: nullableText,
    plan: { ...texts, description: "Endpoints in the order that was decided; `calls` lists those that were tried." },
    needs: { type: "array", items: { enum: CAPABILITY_NAMES } },
    features: texts,
    stream: { type: "boolean" },
    context: { enum: TOKEN_BUCKETS },
    max_output: { enum: TOKEN_BUCKETS },
    reasoning_effort: { enum: REASONING_EFFORTS },
    dimensions: nullableCount,
    preferences: { type: ["object", "null"] },
    workload: nullableText,
    owner: { ...nullableText, description: "Of the key, if routes.yaml declares it." },
    budget: {
      enum: [...BUDGET_STEPS, null],
      description: "What was left of the caller's budgets, if a policy read it.",
    },
    labels: texts,
    token: { ...nullableText, description: "Id of the exchanged token by which the key was used." },
    retries: { ...COUNT, description: "Number of earlier attempts that the client's library states." },
    shadow: { type: "array", items: SHADOW, description: "What policies in shadow would have done." },
    obligations: { type: "array", items: OBLIGATION },
    change: wholeOrNull(
      {
        what: { enum: CHANGES },
        id: text,
        grants: { type: ["array", "null"], items: text, description: "Which grants of a key changed." },
        replaces: nullableText,
        workspace: nullableText,
        content: nullableText,
      },
      "What the request changed of keys or policies.",
    ),
    calls: { type: "array", items: ATTEMPT, description: "In the order of trying." },
    finish: { ...nullableText, description: "The unified finish reason." },
    stripped: { ...texts, description: "Members of the request that were taken out." },
    dropped: { ...texts, description: "What the translation of request and answer left out or changed." },
    edits: texts,
    joined: { ...nullableText, description: "The request whose calls answered this one too (Idempotency-Key)." },
    ended: { enum: ["server_stopping", "key_revoked", null], description: "Why the router ended the request." },
    estimated: { type: "boolean", description: "Limits were settled by an estimate." },
    cache_read_tokens: nullableCount,
    reasoning_tokens: nullableCount,
    first_byte_ms: duration,
    router_ms: { ...duration, description: "Milliseconds of `total_ms` that were the router's own." },
    explain: {
      ...nullableText,
      description:
        "The command that decides the same request again with the files of the current folder; `null` where the record does not say enough.",
    },
  }),
} as const;

const { title: _title, ...EXPLANATION } = SIMULATION;

export const DECISION_EXPLANATION = {
  title: "DecisionExplanation",
  ...whole({
    object: { const: "decision.explanation" },
    id: text,
    same_table: {
      type: "boolean",
      description: "Whether the table that explains is the one that decided. Prices are part of it; health is not.",
    },
    same_policies: {
      type: ["boolean", "null"],
      description: "Whether the policies and their slots are the same; `null`: the record does not name them.",
    },
    same_result: {
      type: ["boolean", "null"],
      description:
        "Whether outcome, reason and plan are those of the record; `null` without an explanation. A narrowed token is not repeated.",
    },
    explanation: {
      ...EXPLANATION,
      type: ["object", "null"],
      description:
        "The recorded request decided again, with the table and the policies of now; `null` where no route was decided about, or the record does not say enough.",
    },
  }),
} as const;

export type DecisionExplanationAnswer = ValueOf<typeof DECISION_EXPLANATION>;
export type DecisionListAnswer = ValueOf<typeof DECISION_LIST>;
export type DecisionLine = DecisionListAnswer["data"][number];
export type DecisionAnswer = ValueOf<typeof DECISION>;
