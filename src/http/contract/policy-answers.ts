import {
  AMOUNT,
  BOOLEAN,
  complete,
  completeOrNull,
  COUNT,
  described,
  INSTANT,
  listOf,
  NULLABLE_INSTANT,
  NULLABLE_TEXT,
  TEXT,
  TEXTS,
  whole,
  titled,
} from "../../canon/json/schema.ts";
import { BUDGET_STEPS } from "../../canon/limits.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import {
  CONSTRAINT_EFFECTS,
  DAY_BUCKETS,
  HOUR_BUCKETS,
  OBLIGATION_KINDS,
  REVISION_PATTERN,
} from "../../canon/policy.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../canon/request.ts";
import { REQUIREMENTS, type RequirementName } from "../../lifecycle/lifecycle.ts";
import { DRIFTS } from "../../lifecycle/observe.ts";
import { ROLLBACK_REASONS } from "../../lifecycle/records.ts";

const VERDICT_COUNTS = {
  would_deny: COUNT,
  newly_denied: described(
    COUNT,
    "The part of would_deny that was let through: requests that a promotion would break.",
  ),
  would_narrow: COUNT,
  indeterminate: described(COUNT, "The policy could not be evaluated, or gave no verdict."),
} as const;

const MEASURES = {
  judged: described(COUNT, "Requests that the revision judged."),
  ...VERDICT_COUNTS,
} as const;

const CLASS = whole(
  {
    workspace: NULLABLE_TEXT,
    route: NULLABLE_TEXT,
    operation: { enum: [...OPERATIONS, null] },
    environment: NULLABLE_TEXT,
    workload: described(NULLABLE_TEXT, "Of the key."),
    owner: described(NULLABLE_TEXT, "Of the key, if routes.yaml declares it."),
    labels: listOf(TEXT, "Of the key."),
    needs: listOf(TEXT),
    features: listOf(TEXT),
    stream: BOOLEAN,
    context: { enum: [...TOKEN_BUCKETS, null] },
    max_output: { enum: [...TOKEN_BUCKETS, null] },
    reasoning_effort: { enum: [...REASONING_EFFORTS, null] },
    signature_families: listOf(TEXT),
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
  first: described(INSTANT, "Of the oldest of these requests that was found."),
  last: INSTANT,
  request_id: described(TEXT, "Of the newest of them."),
  class: CLASS,
  explain: described(
    NULLABLE_TEXT,
    "Arguments of `signalbox` that decide such a request as if candidates were promoted.",
  ),
  not_explained: {
    enum: ["route", "need", "feature", "size", "preference", "operation", null],
    description:
      "The member of the record that this version cannot express, if there is no command.",
  },
});

export const POLICY_SHADOW = titled(
  "PolicyShadow",
  whole(
    {
      object: { const: "policy.shadow" },
      policy: TEXT,
      revision: { type: "string", pattern: REVISION_PATTERN },
      digest: TEXT,
      since: described(
        INSTANT,
        "When it entered its slot. The numbers include an earlier time in shadow.",
      ),
      until: INSTANT,
      ...MEASURES,
      by_constraint: listOf(
        whole({ constraint: NULLABLE_TEXT, reason: NULLABLE_TEXT, ...VERDICT_COUNTS }),
        "Verdicts: a request that fails two constraints is in two lines.",
      ),
      by_route: listOf(
        whole({ route: NULLABLE_TEXT, ...MEASURES }),
        "null: no route, and routes of workspaces that the caller may not read.",
      ),
      judged_without_route: described(
        COUNT,
        "Missing in by_route, because they were counted before routes were.",
      ),
      by_workspace: listOf(
        whole({ workspace: NULLABLE_TEXT, ...MEASURES }),
        "null: all workspaces together that the caller may not read.",
      ),
      examples: listOf(EXAMPLE_GROUP),
      looked_at: whole(
        {
          decisions: COUNT,
          since: NULLABLE_INSTANT,
          complete: described(
            BOOLEAN,
            "Whether all evidence since the revision was first seen was read.",
          ),
        },
        "How much of the evidence was searched for example requests; the numbers come from counts and are complete.",
      ),
    },
    "Verdicts of a revision in shadow, without content of requests.",
  ),
);

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
        complete: described(BOOLEAN, "Whether every class was decided."),
        assertions: whole(
          { passed: count, failed: count, waived: count },
          "Results of assertions, coverage included; all 0 if there were none.",
        ),
      },
      "Facts of the simulation report that the approver has seen. They are verified if they match the report that this server makes itself (GET /v1/policies/{id}/simulation); otherwise they are stored as claimed and satisfy no requirement.",
    ),
  },
} as const;

export const PROMOTE_SCHEMA = titled(
  "PromotePolicyRequest",
  whole({
    expected: whole({
      candidate_revision: described(revision, "The revision to enforce."),
      enforced_revision: described(
        nullableRevision,
        "The revision that it replaces; null: nothing is enforced yet.",
      ),
    }),
  }),
);

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
        candidate_revision: described(nullableRevision, "Not checked if it is left out."),
        enforced_revision: described(revision, "The revision to roll back; it is then held."),
      },
    },
    to_revision: described(
      nullableRevision,
      "A revision that was enforced before; null: none. The last enforced one unless given.",
    ),
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

export const RELEASE_SCHEMA = titled("ReleasePolicyRequest", whole({ digest }));

const time = described(TEXT, "RFC 3339.");

const PERSON = {
  type: "object",
  required: ["issuer", "subject"],
  description:
    "The person, if an identity provider named one; `key_id` and `origin` are then a digest of it.",
  properties: { issuer: TEXT, subject: TEXT, name: TEXT },
} as const;

/** Who did something to a policy. */
const ACTOR = {
  type: "object",
  required: ["key_id", "workspace", "origin", "roles"],
  properties: {
    key_id: TEXT,
    workspace: TEXT,
    person: PERSON,
    origin: described(
      TEXT,
      "The first key of its chain, or the person who signed in or made that key; two of one origin are one person.",
    ),
    roles: described(TEXTS, "Labels that all keys of the chain have; groups of a person."),
  },
} as const;

const REFERENCE = complete({ revision, digest: TEXT });

const constraints = listOf(
  complete({ name: TEXT, effect: { enum: CONSTRAINT_EFFECTS }, reasons: TEXTS }),
);

const obligations = listOf(
  complete({
    name: TEXT,
    kind: { enum: OBLIGATION_KINDS },
    value: { type: ["string", "integer"] },
  }),
);

const SLOT = completeOrNull({
  revision,
  digest: TEXT,
  content: {
    enum: ["rules", "removal"],
    description: "removal: the policy is no longer in the files.",
  },
  module_sha256: NULLABLE_TEXT,
  since: described(time, "When it entered the slot."),
  first_seen: time,
  held: described(BOOLEAN, "Rolled back; it must be released before it can be promoted."),
  constraints,
  obligations,
  operations: listOf({ enum: OPERATIONS }),
});

const REPORT = {
  type: ["object", "null"],
  required: ["sha256", "table_revision", "complete", "assertions", "status", "claimed_because"],
  description: "Facts of the simulation report that the approver has read.",
  properties: {
    status: {
      enum: ["verified", "outdated", "claimed"],
      description:
        "`verified`: the server that took the approval made the same report itself, byte for byte. Only such a report satisfies `report` and `assertions`. `outdated`: verified under another table or against other enforced content; approve again with a new report. `claimed`: stated by the approver only.",
    },
    claimed_because: {
      enum: ["differs", "not_computed", null],
      description:
        "`differs`: the server's own report has other bytes. `not_computed`: the server could not make one. `null`: the server made the same report.",
    },
    sha256: TEXT,
    table_revision: TEXT,
    complete: BOOLEAN,
    assertions: complete({ passed: COUNT, failed: COUNT, waived: COUNT }),
  },
} as const;

const SETTINGS = {
  approvals: COUNT,
  roles: TEXTS,
  self_approval: BOOLEAN,
  soak_seconds: AMOUNT,
  min_decisions: COUNT,
  no_indeterminate: BOOLEAN,
  report: BOOLEAN,
  assertions: BOOLEAN,
} as const;

/** The setting of each requirement, as answers name it. */
export const REQUIREMENT_SETTINGS = {
  approvals: "approvals",
  roles: "roles",
  soak: "soak_seconds",
  decisions: "min_decisions",
  no_indeterminate: "no_indeterminate",
  report: "report",
  assertions: "assertions",
} as const satisfies Readonly<Record<RequirementName, keyof typeof SETTINGS>>;

const POLICY_STATES = ["enforced", "shadow", "changing", "ending", "ended"] as const;

export const POLICY_VIEW = titled(
  "PolicyView",
  complete({
    object: { const: "policy" },
    id: TEXT,
    title: TEXT,
    owners: TEXTS,
    state: { enum: POLICY_STATES },
    mode: {
      enum: ["enforce", "shadow", null],
      description:
        "`enforce`: content is enforced. `shadow`: verdicts are only recorded. null: the policy has ended.",
    },
    revision: {
      type: ["string", "null"],
      pattern: REVISION_PATTERN,
      description: "Of the enforced content, else of the candidate.",
    },
    etag: described(TEXT, "For If-Match, with its quotation marks."),
    enforced: SLOT,
    candidate: SLOT,
    approvals: listOf(
      complete({ by: ACTOR, at: time, report: REPORT }),
      "The valid approvals of the candidate's content.",
    ),
    requirements: { type: "object", required: Object.keys(SETTINGS), properties: SETTINGS },
    rollback_to: {
      ...REFERENCE,
      type: ["object", "null"],
      description:
        "The revision that a rollback restores; null: none, or `can_roll_back` is false.",
    },
    can_roll_back: BOOLEAN,
    held: listOf(REFERENCE),
    withdrawn: listOf(REFERENCE),
    files: completeOrNull(
      { revision, digest: TEXT },
      "The content of the files of the server that answers.",
    ),
    drift: listOf({ enum: DRIFTS }),
  }),
);

export const MISSING_REQUIREMENT = {
  title: "MissingRequirement",
  type: "object",
  required: ["requirement", "message", "fix"],
  properties: {
    requirement: { enum: REQUIREMENTS },
    have: COUNT,
    need: COUNT,
    have_seconds: AMOUNT,
    need_seconds: AMOUNT,
    claimed: described(COUNT, "Approvals with a report that is only claimed."),
    outdated: described(
      COUNT,
      "Approvals with a report that was verified under another table, or against other enforced content.",
    ),
    roles: TEXTS,
    message: described(TEXT, "What the promotion needs and how much of it there is."),
    fix: described(TEXT, "What meets the requirement."),
  },
} as const;

/** One policy, with the requirements of its promotion by the caller. */
export const POLICY = titled(
  "Policy",
  complete({
    ...POLICY_VIEW.properties,
    missing: {
      type: ["array", "null"],
      items: MISSING_REQUIREMENT,
      description:
        "Requirements that a promotion by the caller does not meet, in the answer to an approval by another person; null if there is no candidate.",
    },
  }),
);

export const POLICY_LIST = titled(
  "PolicyList",
  complete({
    object: { const: "list" },
    policy_set: described(TEXT, "Identifies the contents and slots that decide."),
    table_revision: TEXT,
    data: listOf(POLICY_VIEW),
  }),
);

export const POLICY_CONTENT = titled(
  "PolicyContent",
  complete({
    object: { const: "policy.content" },
    policy: TEXT,
    revision,
    digest: TEXT,
    content: { enum: ["rules", "removal"] },
    module_sha256: NULLABLE_TEXT,
    contract: completeOrNull({
      title: TEXT,
      owners: TEXTS,
      operations: TEXTS,
      constraints,
      obligations,
    }),
    sources: listOf(complete({ package: TEXT, source: described(TEXT, "Rego.") })),
  }),
);

export const POLICY_TRANSITIONS = titled(
  "PolicyTransitions",
  complete({
    object: { const: "list" },
    data: listOf(
      complete({
        position: { type: "integer", minimum: 1 },
        previous: TEXT,
        hash: TEXT,
        record: {
          type: "object",
          description:
            "As it was hashed: its RFC 8785 form gives the bytes. So its `revision` is the stored number: 7 where answers show `r7`.",
        },
      }),
    ),
    has_more: BOOLEAN,
  }),
);

const COMPARISON = {
  type: "object",
  required: ["access", "changed_classes", "kinds", "groups"],
} as const;

/** The members that readers need first; `docs/simulate.md` describes the report. */
export const POLICY_SIMULATION = titled(
  "PolicySimulation",
  complete({
    format: { const: "signalbox.simulation.v4" },
    base: { type: "object", required: ["name", "table_revision", "policies"] },
    head: { type: "object", required: ["name", "table_revision", "policies"] },
    complete: described(BOOLEAN, "Whether every class of requests was decided."),
    space: { type: "object", required: ["classes", "shapes", "dimensions"] },
    declared: COMPARISON,
    promoted: COMPARISON,
    promoted_policies: listOf(TEXT),
    assertions: {
      type: ["object", "null"],
      required: ["file", "results", "coverage", "passed", "failed", "waived"],
      properties: { passed: COUNT, failed: COUNT, waived: COUNT },
      description: "null: the server has no assertions.yaml beside its policies.",
    },
  }),
);
