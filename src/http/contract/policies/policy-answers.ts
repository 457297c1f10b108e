import { ACTOR } from "./actor-schema.ts";
import { OPERATIONS } from "../../../canon/operation.ts";
import { REVISION_PATTERN, CONSTRAINT_EFFECTS, OBLIGATION_KINDS } from "../../../canon/policy.ts";
import { mapSettings, REQUIREMENTS } from "../../../canon/promotion.ts";
import { DRIFTS } from "../../../lifecycle/observe.ts";

const text = { type: "string" } as const;
const texts = { type: "array", items: text } as const;
const time = { type: "string", description: "RFC 3339." } as const;
const revision = { type: "string", pattern: REVISION_PATTERN } as const;
const count = { type: "integer", minimum: 0 } as const;
const flag = { type: "boolean" } as const;

const REFERENCE = {
  type: "object",
  required: ["revision", "digest"],
  properties: { revision, digest: text },
} as const;

const constraints = {
  type: "array",
  items: {
    type: "object",
    required: ["name", "effect", "reasons"],
    properties: { name: text, effect: { enum: CONSTRAINT_EFFECTS }, reasons: texts },
  },
} as const;

const obligations = {
  type: "array",
  items: {
    type: "object",
    required: ["name", "kind", "value"],
    properties: { name: text, kind: { enum: OBLIGATION_KINDS }, value: { type: ["string", "integer"] } },
  },
} as const;

const SLOT = {
  type: ["object", "null"],
  required: [
    "revision",
    "digest",
    "content",
    "module_sha256",
    "since",
    "first_seen",
    "held",
    "constraints",
    "obligations",
    "operations",
  ],
  properties: {
    revision,
    digest: text,
    content: { enum: ["rules", "removal"], description: "removal: the policy is no longer in the files." },
    module_sha256: { type: ["string", "null"] },
    since: { ...time, description: "When it entered the slot." },
    first_seen: time,
    held: { ...flag, description: "Rolled back; it must be released before it can be promoted." },
    constraints,
    obligations,
    operations: { type: "array", items: { enum: OPERATIONS } },
  },
} as const;

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
      enum: ["differs", "not_computed", "not_verified", null],
      description:
        "`differs`: the server's own report has other bytes. `not_computed`: the server could not make one. `not_verified`: a version that verified no reports took the approval. `null`: the server made the same report.",
    },
    sha256: text,
    table_revision: text,
    complete: flag,
    assertions: {
      type: "object",
      required: ["passed", "failed", "waived"],
      properties: { passed: count, failed: count, waived: count },
    },
  },
} as const;

const SETTINGS = mapSettings("shown", {
  count: () => count,
  flag: () => flag,
  list: () => texts,
  duration: () => ({ type: "number", minimum: 0 }) as const,
});

const POLICY_STATES = ["enforced", "shadow", "changing", "ending", "ended"] as const;

export const POLICY_VIEW = {
  title: "PolicyView",
  type: "object",
  required: [
    "object",
    "id",
    "title",
    "owners",
    "state",
    "mode",
    "revision",
    "etag",
    "enforced",
    "candidate",
    "approvals",
    "requirements",
    "rollback_to",
    "can_roll_back",
    "held",
    "withdrawn",
    "files",
    "drift",
  ],
  properties: {
    object: { const: "policy" },
    id: text,
    title: text,
    owners: texts,
    state: { enum: POLICY_STATES },
    mode: {
      enum: ["enforce", "shadow", null],
      description: "`enforce`: content is enforced. `shadow`: verdicts are only recorded. null: the policy has ended.",
    },
    revision: {
      type: ["string", "null"],
      pattern: REVISION_PATTERN,
      description: "Of the enforced content, else of the candidate.",
    },
    etag: { ...text, description: "For If-Match, with its quotation marks." },
    enforced: SLOT,
    candidate: SLOT,
    approvals: {
      type: "array",
      description: "The valid approvals of the candidate's content.",
      items: { type: "object", required: ["by", "at", "report"], properties: { by: ACTOR, at: time, report: REPORT } },
    },
    requirements: { type: "object", required: Object.keys(SETTINGS), properties: SETTINGS },
    rollback_to: {
      ...REFERENCE,
      type: ["object", "null"],
      description: "The revision that a rollback restores; null: none, or `can_roll_back` is false.",
    },
    can_roll_back: flag,
    held: { type: "array", items: REFERENCE },
    withdrawn: { type: "array", items: REFERENCE },
    files: {
      type: ["object", "null"],
      required: ["revision", "digest"],
      properties: { revision, digest: text },
      description: "The content of the files of the server that answers.",
    },
    drift: { type: "array", items: { enum: DRIFTS } },
  },
} as const;

export const MISSING_REQUIREMENT = {
  title: "MissingRequirement",
  type: "object",
  required: ["requirement"],
  properties: {
    requirement: { enum: REQUIREMENTS.map(({ name }) => name) },
    have: count,
    need: count,
    have_seconds: { type: "number", minimum: 0 },
    need_seconds: { type: "number", minimum: 0 },
    claimed: { ...count, description: "Approvals with a report that is only claimed." },
    outdated: {
      ...count,
      description: "Approvals with a report that was verified under another table, or against other enforced content.",
    },
    roles: texts,
  },
} as const;

/** One policy, with what its promotion by the caller requires. */
export const POLICY = {
  ...POLICY_VIEW,
  title: "Policy",
  required: [...POLICY_VIEW.required, "missing"],
  properties: {
    ...POLICY_VIEW.properties,
    missing: {
      type: ["array", "null"],
      items: MISSING_REQUIREMENT,
      description: "Requirements that a promotion by the caller does not meet; null if there is no candidate.",
    },
  },
} as const;

export const POLICY_LIST = {
  title: "PolicyList",
  type: "object",
  required: ["object", "policy_set", "table_revision", "data"],
  properties: {
    object: { const: "list" },
    policy_set: { ...text, description: "Identifies the contents and slots that decide." },
    table_revision: text,
    data: { type: "array", items: POLICY_VIEW },
  },
} as const;

export const POLICY_CONTENT = {
  title: "PolicyContent",
  type: "object",
  required: ["object", "policy", "revision", "digest", "content", "module_sha256", "contract", "sources"],
  properties: {
    object: { const: "policy.content" },
    policy: text,
    revision,
    digest: text,
    content: { enum: ["rules", "removal"] },
    module_sha256: { type: ["string", "null"] },
    contract: {
      type: ["object", "null"],
      required: ["title", "owners", "operations", "constraints", "obligations"],
      properties: { title: text, owners: texts, operations: texts, constraints, obligations },
    },
    sources: {
      type: "array",
      items: {
        type: "object",
        required: ["package", "source"],
        properties: { package: text, source: { ...text, description: "Rego." } },
      },
    },
  },
} as const;

export const POLICY_TRANSITIONS = {
  title: "PolicyTransitions",
  type: "object",
  required: ["object", "data", "has_more"],
  properties: {
    object: { const: "list" },
    data: {
      type: "array",
      items: {
        type: "object",
        required: ["position", "previous", "hash", "record"],
        properties: {
          position: { type: "integer", minimum: 1 },
          previous: text,
          hash: text,
          record: {
            type: "object",
            description:
              "As it was hashed: its RFC 8785 form gives the bytes. So its `revision` is the stored number: 7 where answers show `r7`.",
          },
        },
      },
    },
    has_more: flag,
  },
} as const;

const COMPARISON = { type: "object", required: ["access", "changed_classes", "words", "groups"] } as const;

/** The members that readers need first; `docs/simulate.md` describes the report. */
export const POLICY_SIMULATION = {
  title: "PolicySimulation",
  type: "object",
  required: ["format", "base", "head", "complete", "space", "declared", "promoted", "promoted_policies", "assertions"],
  properties: {
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
      properties: { passed: count, failed: count, waived: count },
      description: "null: the server has no assertions.yaml beside its policies.",
    },
  },
} as const;
