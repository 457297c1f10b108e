import { COUNT, TEXT, TEXTS, complete, completeOrNull } from "../../canon/json/schema.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { REVISION_PATTERN, CONSTRAINT_EFFECTS, OBLIGATION_KINDS } from "../../canon/policy.ts";
import { mapSettings, REQUIREMENTS } from "../../canon/promotion.ts";
import { DRIFTS } from "../../lifecycle/observe.ts";

const time = { type: "string", description: "RFC 3339." } as const;
const revision = { type: "string", pattern: REVISION_PATTERN } as const;
const flag = { type: "boolean" } as const;

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
    origin: {
      ...TEXT,
      description:
        "The first key of its chain, or the person who signed in or made that key; two of one origin are one person.",
    },
    roles: { ...TEXTS, description: "Labels that all keys of the chain have; groups of a person." },
  },
} as const;

const REFERENCE = complete({ revision, digest: TEXT });

const constraints = {
  type: "array",
  items: complete({ name: TEXT, effect: { enum: CONSTRAINT_EFFECTS }, reasons: TEXTS }),
} as const;

const obligations = {
  type: "array",
  items: complete({
    name: TEXT,
    kind: { enum: OBLIGATION_KINDS },
    value: { type: ["string", "integer"] },
  }),
} as const;

const SLOT = completeOrNull({
  revision,
  digest: TEXT,
  content: {
    enum: ["rules", "removal"],
    description: "removal: the policy is no longer in the files.",
  },
  module_sha256: { type: ["string", "null"] },
  since: { ...time, description: "When it entered the slot." },
  first_seen: time,
  held: { ...flag, description: "Rolled back; it must be released before it can be promoted." },
  constraints,
  obligations,
  operations: { type: "array", items: { enum: OPERATIONS } },
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
    complete: flag,
    assertions: complete({ passed: COUNT, failed: COUNT, waived: COUNT }),
  },
} as const;

const SETTINGS = mapSettings("shown", {
  count: () => COUNT,
  flag: () => flag,
  list: () => TEXTS,
  duration: () => ({ type: "number", minimum: 0 }) as const,
});

const POLICY_STATES = ["enforced", "shadow", "changing", "ending", "ended"] as const;

export const POLICY_VIEW = {
  title: "PolicyView",
  ...complete({
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
    etag: { ...TEXT, description: "For If-Match, with its quotation marks." },
    enforced: SLOT,
    candidate: SLOT,
    approvals: {
      type: "array",
      description: "The valid approvals of the candidate's content.",
      items: complete({ by: ACTOR, at: time, report: REPORT }),
    },
    requirements: { type: "object", required: Object.keys(SETTINGS), properties: SETTINGS },
    rollback_to: {
      ...REFERENCE,
      type: ["object", "null"],
      description:
        "The revision that a rollback restores; null: none, or `can_roll_back` is false.",
    },
    can_roll_back: flag,
    held: { type: "array", items: REFERENCE },
    withdrawn: { type: "array", items: REFERENCE },
    files: completeOrNull(
      { revision, digest: TEXT },
      "The content of the files of the server that answers.",
    ),
    drift: { type: "array", items: { enum: DRIFTS } },
  }),
} as const;

export const MISSING_REQUIREMENT = {
  title: "MissingRequirement",
  type: "object",
  required: ["requirement", "message", "fix"],
  properties: {
    requirement: { enum: REQUIREMENTS.map(({ name }) => name) },
    have: COUNT,
    need: COUNT,
    have_seconds: { type: "number", minimum: 0 },
    need_seconds: { type: "number", minimum: 0 },
    claimed: { ...COUNT, description: "Approvals with a report that is only claimed." },
    outdated: {
      ...COUNT,
      description:
        "Approvals with a report that was verified under another table, or against other enforced content.",
    },
    roles: TEXTS,
    message: { ...TEXT, description: "What the promotion needs and how much of it there is." },
    fix: { ...TEXT, description: "What meets the requirement." },
  },
} as const;

/** One policy, with what its promotion by the caller requires. */
export const POLICY = {
  title: "Policy",
  ...complete({
    ...POLICY_VIEW.properties,
    missing: {
      type: ["array", "null"],
      items: MISSING_REQUIREMENT,
      description:
        "Requirements that a promotion by the caller does not meet, in the answer to an approval by another person; null if there is no candidate.",
    },
  }),
} as const;

export const POLICY_LIST = {
  title: "PolicyList",
  ...complete({
    object: { const: "list" },
    policy_set: { ...TEXT, description: "Identifies the contents and slots that decide." },
    table_revision: TEXT,
    data: { type: "array", items: POLICY_VIEW },
  }),
} as const;

export const POLICY_CONTENT = {
  title: "PolicyContent",
  ...complete({
    object: { const: "policy.content" },
    policy: TEXT,
    revision,
    digest: TEXT,
    content: { enum: ["rules", "removal"] },
    module_sha256: { type: ["string", "null"] },
    contract: completeOrNull({
      title: TEXT,
      owners: TEXTS,
      operations: TEXTS,
      constraints,
      obligations,
    }),
    sources: {
      type: "array",
      items: complete({ package: TEXT, source: { ...TEXT, description: "Rego." } }),
    },
  }),
} as const;

export const POLICY_TRANSITIONS = {
  title: "PolicyTransitions",
  ...complete({
    object: { const: "list" },
    data: {
      type: "array",
      items: complete({
        position: { type: "integer", minimum: 1 },
        previous: TEXT,
        hash: TEXT,
        record: {
          type: "object",
          description:
            "As it was hashed: its RFC 8785 form gives the bytes. So its `revision` is the stored number: 7 where answers show `r7`.",
        },
      }),
    },
    has_more: flag,
  }),
} as const;

const COMPARISON = {
  type: "object",
  required: ["access", "changed_classes", "words", "groups"],
} as const;

/** The members that readers need first; `docs/simulate.md` describes the report. */
export const POLICY_SIMULATION = {
  title: "PolicySimulation",
  ...complete({
    format: { const: "signalbox.simulation.v3" },
    base: { type: "object", required: ["name", "table_revision", "policies"] },
    head: { type: "object", required: ["name", "table_revision", "policies"] },
    complete: { type: "boolean", description: "Whether every class of requests was decided." },
    space: { type: "object", required: ["classes", "shapes", "dimensions"] },
    declared: COMPARISON,
    promoted: COMPARISON,
    promoted_policies: { type: "array", items: { type: "string" } },
    assertions: {
      type: ["object", "null"],
      required: ["file", "results", "coverage", "passed", "failed", "waived"],
      properties: { passed: COUNT, failed: COUNT, waived: COUNT },
      description: "null: the server has no assertions.yaml beside its policies.",
    },
  }),
} as const;
