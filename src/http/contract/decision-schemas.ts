import {
  AMOUNT,
  BOOLEAN,
  COUNT,
  described,
  INSTANT,
  listOf,
  NULLABLE_AMOUNT,
  NULLABLE_COUNT,
  NULLABLE_INSTANT,
  NULLABLE_TEXT,
  TEXT,
  TEXTS,
  type ValueOf,
  whole,
  wholeOrNull,
  titled,
} from "../../canon/json/schema.ts";
import { CAPABILITY_NAMES, FEATURE_NAMES } from "../../canon/capability.ts";
import { FAILURE_KINDS } from "../../canon/failure.ts";
import { BUDGET_STEPS, LIMIT_WINDOWS } from "../../canon/limits.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { POLICY_TIME_SCHEMA } from "../../canon/local-time.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../canon/request.ts";
import { CHANGES, SECOND_CHOICE_REASONS, TERMINALS } from "../../evidence/record.ts";
import { SIMULATION } from "./answer-schemas.ts";
import { perScalar } from "../../simulate/request-scalars.ts";

/** Properties of a request that a policy or the table may read, where no whole request is given. */
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
        ...(typeof plain === "boolean" ? BOOLEAN : { enum: values }),
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
    time: {
      ...POLICY_TIME_SCHEMA,
      description: "Decide as in that window, in UTC; now if absent.",
    },
    promoted: {
      type: "boolean",
      default: false,
      description: "Decide as if every candidate revision of a policy were promoted.",
    },
  },
  not: { anyOf: SHAPE_MEMBERS.map((member) => ({ required: [member, "request"] })) },
} as const;

const duration = described(NULLABLE_AMOUNT, "Milliseconds.");

export const OUTCOMES = ["route", "deny", "refuse", "answer"] as const;

const LINE = {
  id: described(TEXT, "The request's id; `dec_` instead of `req_` names the same decision."),
  at: described(INSTANT, "Arrival of the request."),
  workspace: NULLABLE_TEXT,
  operation: { enum: [...OPERATIONS, "models", "simulate", "control"] },
  route: described(
    NULLABLE_TEXT,
    "`null` where the request named none that the workspace may see.",
  ),
  key: described(NULLABLE_TEXT, "Public id of the key; `null` where none was accepted."),
  environment: NULLABLE_TEXT,
  outcome: {
    enum: OUTCOMES,
    description: "`refuse`: before a decision. `answer`: by the router itself, without a provider.",
  },
  policy: described(NULLABLE_TEXT, "Whose constraint denied the request."),
  constraint: NULLABLE_TEXT,
  reason: described(NULLABLE_TEXT, "Reason code of a denial, or error code of a refusal."),
  limit: wholeOrNull(
    {
      subject: { enum: ["workspace", "key"] },
      measure: { enum: ["requests", "tokens", "usd", "concurrency"] },
      per: { enum: [...LIMIT_WINDOWS, null], description: "`null` for concurrency." },
      size: AMOUNT,
      used: described(
        NULLABLE_AMOUNT,
        "By all replicas, with what running requests have reserved; `null` where the request alone exceeds the limit and the counter was not read.",
      ),
      reserved: described(
        NULLABLE_AMOUNT,
        "The part of `used` that running requests of the same process may give back.",
      ),
      requested: described(AMOUNT, "Upper bound of the request."),
      renews_at: NULLABLE_INSTANT,
    },
    "The limit that refused the request, as it was then.",
  ),
  repeated: described(
    COUNT,
    "How many refusals of one kind the record stands for; 1 for nearly all.",
  ),
  terminal: {
    enum: [...TERMINALS, null],
    description: "How the request ended; `null` while it runs; `unknown` where its process died.",
  },
  status: described(
    NULLABLE_COUNT,
    "HTTP status that the client got; `null` where it is not known.",
  ),
  endpoint: described(NULLABLE_TEXT, "Of the last attempt."),
  provider: NULLABLE_TEXT,
  region: NULLABLE_TEXT,
  attempts: COUNT,
  input_tokens: described(NULLABLE_COUNT, "As the provider counted; `null` where it did not."),
  output_tokens: NULLABLE_COUNT,
  cost_usd: described(
    NULLABLE_AMOUNT,
    "By list prices, from what the provider counted; `null` where it is not known.",
  ),
  total_ms: described(
    duration,
    "Milliseconds from the request's arrival to the end of its answer.",
  ),
} as const;

const SHADOW = whole({
  policy: TEXT,
  revision: TEXT,
  constraint: TEXT,
  reason: NULLABLE_TEXT,
  verdict: { enum: ["fail", "indeterminate"] },
  effect: { enum: ["would_narrow", "would_deny", null] },
});

const OBLIGATION = whole({
  policy: TEXT,
  revision: TEXT,
  obligation: TEXT,
  effect: { enum: ["applied", "would_apply"] },
});

const ATTEMPT = whole({
  endpoint: TEXT,
  provider: TEXT,
  region: TEXT,
  model: NULLABLE_TEXT,
  failure: { enum: [...FAILURE_KINDS, null], description: "`null`: the endpoint answered." },
  status: NULLABLE_COUNT,
  start_ms: described(
    NULLABLE_COUNT,
    "Milliseconds from the request's arrival to the attempt; `null` in older records.",
  ),
  duration_ms: AMOUNT,
  simulated: BOOLEAN,
  translated: { type: ["boolean", "null"] },
  plaintext: described(BOOLEAN, "The call was http without TLS in a network of the operator's."),
  proxied: described(BOOLEAN, "The call went through a forward proxy (`--egress-proxy`)."),
  flag: described(
    NULLABLE_TEXT,
    "The flag to set in the provider's row, because it refuses a member of requests.",
  ),
  calls: described(COUNT, "Calls of a batch that ended like this."),
});

export const DECISION_LIST = titled(
  "DecisionList",
  whole({
    object: { const: "list" },
    data: listOf(whole({ object: { const: "decision" }, ...LINE })),
    next_cursor: described(
      NULLABLE_TEXT,
      "Where the next page begins; `null` at the end of the log. A search is bounded: it may end with fewer decisions than `limit`, or none; continue with the cursor.",
    ),
    searched_to: described(NULLABLE_INSTANT, "Arrival of the oldest request that was looked at."),
  }),
);

export const DECISION = titled(
  "Decision",
  whole({
    object: { const: "decision" },
    ...LINE,
    table_revision: TEXT,
    policy_set: NULLABLE_TEXT,
    policy_revision: NULLABLE_TEXT,
    plan: described(
      TEXTS,
      "Endpoints in the order that was decided; `calls` lists those that were tried.",
    ),
    needs: listOf({ enum: CAPABILITY_NAMES }),
    features: TEXTS,
    stream: BOOLEAN,
    context: { enum: TOKEN_BUCKETS },
    max_output: { enum: TOKEN_BUCKETS },
    reasoning_effort: { enum: REASONING_EFFORTS },
    dimensions: NULLABLE_COUNT,
    preferences: { type: ["object", "null"] },
    workload: NULLABLE_TEXT,
    owner: described(NULLABLE_TEXT, "Of the key, if routes.yaml declares it."),
    budget: {
      enum: [...BUDGET_STEPS, null],
      description: "What was left of the caller's budgets, if a policy read it.",
    },
    labels: TEXTS,
    token: described(NULLABLE_TEXT, "Id of the exchanged token by which the key was used."),
    retries: described(COUNT, "Number of earlier attempts that the client's library states."),
    shadow: listOf(SHADOW, "What policies in shadow would have done."),
    obligations: listOf(OBLIGATION),
    change: wholeOrNull(
      {
        what: { enum: CHANGES },
        id: TEXT,
        name: described(NULLABLE_TEXT, "Of a key."),
        grants: {
          type: ["array", "null"],
          items: TEXT,
          description: "Which grants of a key changed.",
        },
        replaces: NULLABLE_TEXT,
        workspace: NULLABLE_TEXT,
        subject: described(
          NULLABLE_TEXT,
          "Whose token it is: SHA-256 of issuer and subject of a workload.",
        ),
        content: NULLABLE_TEXT,
      },
      "What the request changed of keys or policies.",
    ),
    calls: listOf(ATTEMPT, "In the order of trying."),
    skipped: listOf(
      whole({ endpoint: TEXT, reason: { enum: SECOND_CHOICE_REASONS } }),
      "Candidates that came before the one that answered and were not called. Of its own load-balanced group only those that their health kept out.",
    ),
    second_choice: {
      enum: [...SECOND_CHOICE_REASONS, null],
      description:
        "Why another endpoint answered than the route's primary or its load-balanced group; `null`: one of these did, or none.",
    },
    finish: described(NULLABLE_TEXT, "The unified finish reason."),
    stripped: described(TEXTS, "Members of the request that were taken out."),
    dropped: described(TEXTS, "What the translation of request and answer left out or changed."),
    edits: TEXTS,
    ended: {
      enum: ["server_stopping", "key_revoked", null],
      description: "Why the router ended the request.",
    },
    estimated: described(BOOLEAN, "Limits were settled by an estimate."),
    cache_read_tokens: NULLABLE_COUNT,
    reasoning_tokens: NULLABLE_COUNT,
    first_byte_ms: duration,
    router_ms: described(duration, "Milliseconds of `total_ms` that were the router's own."),
    explain: described(
      NULLABLE_TEXT,
      "The command that decides the same request again with the files of the current folder; `null` where the record does not say enough.",
    ),
  }),
);

const { title: _title, ...EXPLANATION } = SIMULATION;

export const DECISION_EXPLANATION = titled(
  "DecisionExplanation",
  whole({
    object: { const: "decision.explanation" },
    id: TEXT,
    same_table: described(
      BOOLEAN,
      "Whether the table that explains is the one that decided. Prices are part of it; health is not.",
    ),
    same_policies: {
      type: ["boolean", "null"],
      description:
        "Whether the policies and their slots are the same; `null`: the record does not name them.",
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
);

export type DecisionExplanationAnswer = ValueOf<typeof DECISION_EXPLANATION>;
export type DecisionListAnswer = ValueOf<typeof DECISION_LIST>;
export type DecisionLine = DecisionListAnswer["data"][number];
export type DecisionAnswer = ValueOf<typeof DECISION>;
