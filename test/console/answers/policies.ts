import type {
  MissingRequirement,
  Policy,
  PolicyContent,
  PolicyLine,
  PolicyList,
  PolicyShadow,
  PolicySlot,
  PolicyTransitions,
} from "../../../console/api/types.ts";

const digestOf = (digit: string): string => digit.repeat(64);

function slot(revision: string, digit: string, changes: Partial<PolicySlot> = {}): PolicySlot {
  return {
    revision,
    digest: digestOf(digit),
    content: "rules",
    module_sha256: digestOf("9"),
    since: "2026-11-21T09:14:00.000Z",
    first_seen: "2026-11-21T09:14:00.000Z",
    held: false,
    constraints: [
      {
        name: "tools_are_approved",
        effect: "gate",
        reasons: ["TOOLS_NOT_APPROVED", "TOOLS_UNKNOWN"],
      },
      { name: "approved_for_workload", effect: "require_all", reasons: ["WORKLOAD_NOT_APPROVED"] },
    ],
    obligations: [],
    operations: ["chat.completions", "messages", "responses"],
    ...changes,
  };
}

export const POLICY_LINE: PolicyLine = {
  object: "policy",
  id: "tool-approval",
  title: "Tools may be called only with keys that were approved for them",
  owners: ["group:security"],
  state: "changing",
  mode: "enforce",
  revision: "r2",
  etag: '"5f4fab9a2e7ba3e92e1856daaf1775af"',
  enforced: slot("r2", "1", {
    since: "2026-10-02T12:00:00.000Z",
    first_seen: "2026-09-28T08:00:00.000Z",
  }),
  candidate: slot("r3", "2"),
  approvals: [
    {
      by: {
        key_id: "4fzkq8wpc2rt",
        workspace: "platform",
        origin: "4fzkq8wpc2rt",
        roles: ["policy-approver"],
      },
      at: "2026-11-22T16:20:00.000Z",
      report: {
        status: "verified",
        claimed_because: null,
        sha256: digestOf("a"),
        table_revision: digestOf("b"),
        complete: true,
        assertions: { passed: 14, failed: 0, waived: 1 },
      },
    },
  ],
  requirements: {
    approvals: 2,
    roles: [],
    self_approval: false,
    soak_seconds: 259_200,
    min_decisions: 1_000,
    no_indeterminate: true,
    report: true,
    assertions: false,
  },
  rollback_to: { revision: "r1", digest: digestOf("3") },
  can_roll_back: true,
  held: [],
  withdrawn: [],
  files: { revision: "r3", digest: digestOf("2") },
  drift: [],
};

const MISSING: readonly MissingRequirement[] = [
  {
    requirement: "approvals",
    have: 1,
    need: 2,
    message: "2 approvals of this content (1 count)",
    fix: "`signalbox policy approve ID`, by another person.",
  },
  {
    requirement: "soak",
    have_seconds: 233_040,
    need_seconds: 259_200,
    message: "3d in shadow (2d 16h so far)",
    fix: "Wait for the rest of the time.",
  },
];

export const POLICY: Policy = { ...POLICY_LINE, missing: MISSING };
export const READY: Policy = { ...POLICY, missing: [] };

export const POLICIES: PolicyList = {
  object: "list",
  policy_set: "26b61c0fd96b6d43",
  table_revision: digestOf("4"),
  data: [
    {
      ...POLICY_LINE,
      id: "eu-residency",
      title: "Requests of EU workspaces are processed in the EU",
      state: "enforced",
      candidate: null,
      approvals: [],
    },
    {
      ...POLICY_LINE,
      id: "data-retention",
      title: "Workspaces of every tier but standard use only providers that keep nothing",
      state: "enforced",
      candidate: null,
      approvals: [],
      drift: ["files_differ"],
    },
    POLICY_LINE,
    {
      ...POLICY_LINE,
      id: "structured-output-parity",
      title: "Structured output goes to models that follow schemas",
      state: "shadow",
      enforced: null,
      candidate: slot("r1", "5"),
      approvals: [],
    },
  ],
};

const said = (
  newly: number,
  denied = newly,
): Pick<PolicyShadow, "would_deny" | "newly_denied" | "would_narrow" | "indeterminate"> => ({
  would_deny: denied,
  newly_denied: newly,
  would_narrow: 0,
  indeterminate: 0,
});

export const SHADOW: PolicyShadow = {
  object: "policy.shadow",
  policy: "tool-approval",
  revision: "r3",
  digest: digestOf("2"),
  since: "2026-11-21T09:14:00.000Z",
  until: "2026-11-24T01:58:00.000Z",
  judged: 12_840,
  ...said(37, 41),
  by_constraint: [
    { constraint: "tools_are_approved", reason: "TOOLS_NOT_APPROVED", ...said(35, 39) },
    { constraint: "approved_for_workload", reason: "WORKLOAD_NOT_APPROVED", ...said(2) },
  ],
  by_route: [
    { route: "chat-large", judged: 9_000, ...said(30, 34) },
    { route: "chat-small", judged: 3_840, ...said(7) },
  ],
  judged_without_route: 0,
  by_workspace: [
    { workspace: "search", judged: 8_000, ...said(37, 41) },
    { workspace: null, judged: 4_840, ...said(0) },
  ],
  examples: [
    {
      constraint: "tools_are_approved",
      reason: "TOOLS_NOT_APPROVED",
      verdict: "fail",
      effect: "would_deny",
      requests: 31,
      newly_denied: 31,
      first: "2026-11-21T10:02:00.000Z",
      last: "2026-11-24T01:40:11.000Z",
      request_id: "req_01a20b4bce6f69705078dac708bbe749",
      class: {
        workspace: "search",
        route: "chat-large",
        operation: "chat.completions",
        environment: "production",
        workload: "other",
        owner: null,
        budget: null,
        labels: ["tools-approved"],
        needs: ["tools"],
        features: [],
        stream: true,
        context: "up_to_8k",
        max_output: "unspecified",
        reasoning_effort: "unspecified",
        signature_families: [],
        dimensions: null,
        preferences: null,
        time: { day: "weekday", hour: "night" },
      },
      explain: `explain --point '{"workspace":"search","operation":"chat.completions","model":"chat-large","needs":["tools"]}' --promoted`,
      not_explained: null,
    },
  ],
  looked_at: { decisions: 12_840, since: "2026-11-21T09:14:00.000Z", complete: true },
};

const REGO = `package policies.tool_approval

import rego.v1

# METADATA
# title: Tools may be called only with keys that were approved for them
pass.tools_are_approved if {
	not "tools" in input.request.needs
}

pass.tools_are_approved if {
	"tools-approved" in input.key.labels
}
`;

export function content(digest: string | null): PolicyContent {
  const isEnforced = digest === digestOf("1");
  return {
    object: "policy.content",
    policy: "tool-approval",
    revision: isEnforced ? "r2" : "r3",
    digest: digest ?? "",
    content: "rules",
    module_sha256: digestOf("9"),
    contract: null,
    sources: [
      {
        package: "policies.tool_approval",
        source: isEnforced
          ? REGO
          : REGO.replace(
              '"tools-approved" in',
              'input.key.workload == "assistant"\n\t"tools-approved" in',
            ),
      },
    ],
  };
}

const person = {
  keyId: "4fzkq8wpc2rt",
  workspace: "platform",
  origin: "4fzkq8wpc2rt",
  roles: [],
  requestId: "req_1",
};

export const TRANSITIONS: PolicyTransitions = {
  object: "list",
  has_more: false,
  data: [
    { kind: "observed", revision: 1, digest: digestOf("3"), at: Date.UTC(2026, 8, 20) },
    { kind: "promoted", revision: 1, digest: digestOf("3"), at: Date.UTC(2026, 8, 24), by: person },
    {
      kind: "promoted",
      revision: 2,
      digest: digestOf("1"),
      at: Date.UTC(2026, 9, 2, 12),
      by: person,
    },
    { kind: "observed", revision: 3, digest: digestOf("2"), at: Date.UTC(2026, 10, 21, 9, 14) },
    {
      kind: "approved",
      revision: 3,
      digest: digestOf("2"),
      at: Date.UTC(2026, 10, 22, 16, 20),
      by: person,
    },
  ].map((record, at) => ({
    position: at + 1,
    previous: digestOf("0"),
    hash: `${at}`.padStart(64, "c"),
    record: { policy: "tool-approval", ...record },
  })),
};
