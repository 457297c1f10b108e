import type { ChangeKind } from "../../../../src/simulate/change-kind.ts";
import type { SampleRequest } from "../../../../src/simulate/sample-request.ts";
import type {
  ChangeGroup,
  ComparisonReport,
  DataPath,
  CandidateReport,
  ResultReport,
  SideReport,
  SimulationReport,
} from "../../../../src/simulate/report/report.ts";

/** Reports for the tests of the page: everything a report may say, said once. */

export function candidate(
  endpoint: string,
  model = "gpt-5",
  provider = "openai-eu",
  region = "eu",
): CandidateReport {
  return {
    endpoint,
    model,
    provider,
    region,
    tier: 0,
    balance: "order",
    weight: 1,
    host: `${provider}.example`,
  };
}

export function routed(...plan: readonly CandidateReport[]): ResultReport {
  return {
    outcome: "route",
    plan,
    denial: null,
    edits: { max_output_tokens: null, strip_fields: [] },
  };
}

export function denied(
  policy = "eu-residency",
  constraint = "processed_in_eu",
  reason = "NOT_IN_EU",
): ResultReport {
  return { outcome: "deny", plan: [], denial: { policy, constraint, reason }, edits: null };
}

export function point(change: Partial<SampleRequest> = {}): SampleRequest {
  return {
    workspace: "acme",
    model: "chat-large",
    operation: "chat.completions",
    key: { environment: "production", workload: "interactive", labels: ["batch"] },
    needs: ["tools"],
    features: [],
    signatureFamilies: [],
    stream: true,
    context: "to_16k",
    maxOutput: "unspecified",
    reasoningEffort: "unspecified",
    dimensions: null,
    preferences: null,
    time: { day: "weekday", hour: "morning" },
    ...change,
  };
}

export const EXPLAIN = [
  "explain",
  "--workspace",
  "acme",
  "--route",
  "chat-large",
  "--label",
  "it's here",
];

export function group(
  id: string,
  kinds: readonly ChangeKind[],
  change: Partial<ChangeGroup> = {},
): ChangeGroup {
  return {
    id,
    kinds: kinds,
    routes: ["chat-large"],
    workspaces: ["acme"],
    operations: ["chat.completions"],
    conditions: [],
    classes: 4,
    shapes: "5120",
    base: routed(candidate("gpt-5-eu")),
    head: routed(candidate("gpt-5-eu")),
    example: point(),
    explain: EXPLAIN,
    location: { file: "routes.yaml", line: 214, column: 7, side: "head" },
    seen: 0,
    seen_usage: null,
    ...change,
  };
}

export function dataPath(change: Partial<DataPath> = {}): DataPath {
  return {
    workspace: "acme",
    operation: "chat.completions",
    provider: "anthropic-global",
    region: "global",
    host: "api.anthropic.example",
    other_host: null,
    location: null,
    routes: ["chat-large"],
    example: point(),
    explain: EXPLAIN,
    ...change,
  };
}

export function comparison(change: Partial<ComparisonReport> = {}): ComparisonReport {
  return {
    access: "equivalent",
    changed_classes: 0,
    changed_shapes: "0",
    kinds: [],
    groups: [],
    new_route_paths: [],
    new_data_paths: [],
    lost_data_paths: [],
    ...change,
  };
}

const SONNET = candidate("claude-sonnet-global", "claude-sonnet", "anthropic-global", "global");
const GPT_US = candidate("gpt-5-us", "gpt-5", "openai-us", "us");
const GPT_EU = candidate("gpt-5-eu");
const MISTRAL = candidate("mistral-large-eu", "mistral-large", "mistral-eu", "eu-west");

const DECLARED_GROUPS: readonly ChangeGroup[] = [
  group("0a1b2c3d4e5f", ["newly_denied"], {
    workspaces: ["acme", "retail"],
    conditions: [
      { dimension: "needs", values: ["web_search"] },
      { dimension: "key.environment", values: ["production", "staging"] },
    ],
    base: routed(GPT_EU, MISTRAL),
    head: denied(),
    seen: 41,
  }),
  group("1a1b2c3d4e5f", ["fallbacks_widened", "edits_changed"], {
    routes: ["chat-large", "chat-small", "assistants"],
    operations: ["chat.completions", "responses"],
    base: routed(GPT_EU, MISTRAL),
    head: {
      ...routed(GPT_EU, MISTRAL, SONNET),
      edits: { max_output_tokens: 4096, strip_fields: ["user", "metadata"] },
    },
  }),
  group("2a1b2c3d4e5f", ["primary_changed"], {
    routes: ["chat-fast"],
    workspaces: ["research"],
    base: routed(GPT_US, GPT_EU, MISTRAL),
    head: routed(MISTRAL, GPT_US, candidate("gpt-5-eu", "gpt-5-mini")),
  }),
  group("3a1b2c3d4e5f", ["reason_changed"], {
    routes: ["embed-documents"],
    operations: ["embeddings"],
    base: denied("approvals", "route_approved", "ROUTE_NOT_APPROVED"),
    head: denied("embedding-dimensions", "length_stated", "LENGTH_NOT_STATED"),
    seen: null,
    location: null,
  }),
];

export function report(change: Partial<SimulationReport> = {}): SimulationReport {
  const base: SideReport = {
    name: "origin/main",
    commit: "1f3bb83a0c5d4e6f7a8b9c0d1e2f3a4b5c6d7e8f",
    table_revision: "r-5f2c9d81e6a7",
    workspaces: ["acme"],
    policies: [
      {
        id: "eu-residency",
        digest: "sha256:3b1f".padEnd(71, "a"),
        slot: "enforced",
        content: "rules",
        from: "base",
      },
    ],
    warnings: [],
  };
  return {
    format: "signalbox.simulation.v4",
    base,
    head: {
      ...base,
      name: "feature/claude-fallback",
      commit: "df534b4e0c5d4e6f7a8b9c0d1e2f3a4b5c6d7e8f",
      table_revision: "r-77ab09c3d2f1",
      workspaces: ["acme"],
      policies: [
        ...base.policies,
        {
          id: "web-search",
          digest: "sha256:9c0e".padEnd(71, "b"),
          slot: "candidate",
          content: "rules",
          from: "head",
        },
      ],
      warnings: [
        {
          code: "SB2104",
          severity: "warning",
          file: "routes.yaml",
          line: 88,
          column: 5,
          message: "endpoints.claude-sonnet-global has no price.",
          hint: "Give it one, so that spending can be limited.",
        },
      ],
    },
    fresh: false,
    complete: true,
    cut: [],
    space: {
      classes: 3184,
      shapes: "1926400",
      dimensions: [
        {
          name: "workspace",
          values: 12,
          distinguished: 7,
          read_by: ["table", "policy:eu-residency"],
          reason: null,
        },
        {
          name: "needs",
          values: 20,
          distinguished: 3,
          read_by: ["table"],
          reason: "policy web-search calls startswith",
        },
        { name: "time.hour", values: 4, distinguished: 1, read_by: [], reason: null },
      ],
    },
    declared: comparison({
      access: "incomparable",
      changed_classes: 16,
      changed_shapes: "20480",
      kinds: [
        { kind: "newly_denied", classes: 4, shapes: "5120" },
        { kind: "primary_changed", classes: 4, shapes: "5120" },
        { kind: "fallbacks_widened", classes: 4, shapes: "5120" },
        { kind: "edits_changed", classes: 4, shapes: "5120" },
        { kind: "reason_changed", classes: 4, shapes: "5120" },
      ],
      groups: DECLARED_GROUPS,
      new_data_paths: [dataPath(), dataPath({ workspace: "retail", operation: "responses" })],
      lost_data_paths: [dataPath({ workspace: "research", provider: "openai-eu", region: "eu" })],
    }),
    promoted: comparison({
      access: "less_permissive",
      changed_classes: 4,
      changed_shapes: "5120",
      kinds: [{ kind: "newly_denied", classes: 4, shapes: "5120" }],
      groups: DECLARED_GROUPS.slice(0, 1),
    }),
    promoted_policies: ["web-search"],
    causes: [],
    findings: [
      {
        kind: "fallback_never_used",
        subject: "chat-large → gpt-5-us",
        in_base: true,
        location: null,
      },
      {
        kind: "constraint_never_fails",
        subject: "web-search/search_approved",
        in_base: false,
        location: { file: "policies/web-search.rego", line: 14, column: 1 },
      },
    ],
    changed_settings: [
      {
        path: "workspaces.acme.limits.budget.usd",
        before: "50",
        after: "5000",
        location: { file: "routes.yaml", line: 300, column: 9, side: "head" },
        effect: "limit",
        gate: "higher_ceiling",
      },
    ],
    evidence: {
      decisions: 48210,
      not_reproduced: 1,
      unreadable: 2,
      from: "2026-10-23T00:00:00Z",
      to: "2026-11-22T00:00:00Z",
      unrepresentable: [{ why: "workspace is gone", decisions: 12 }],
      declared: { groups: 2, decisions: 1977, calls: [], costs: [] },
      promoted: { groups: 1, decisions: 41, calls: [], costs: [] },
    },
    assertions: {
      file: "policies/assertions.yaml",
      passed: 1,
      failed: 1,
      waived: 1,
      results: [
        {
          id: "chat-stays-up",
          title: "Interactive chat is always routable",
          kind: "always_routable",
          status: "PASS",
          fails_in_base: null,
          view: "both",
          classes: 1200,
          violations: 0,
          message: null,
          example: null,
          explain: null,
          waiver: null,
          location: { file: "policies/assertions.yaml", line: 4, column: 3 },
        },
        {
          id: "nothing-leaves-the-eu",
          title: "Regulated workspaces stay in the EU",
          kind: "access_not_granted",
          status: "FAIL",
          fails_in_base: null,
          view: "declared",
          classes: 310,
          violations: 8,
          message: "Workspace acme reaches anthropic-global in global through chat-large.",
          example: point(),
          explain: EXPLAIN,
          waiver: null,
          location: { file: "policies/assertions.yaml", line: 12, column: 3 },
        },
        {
          id: "no-new-access",
          title: "",
          kind: "no_new_access",
          status: "WAIVED",
          fails_in_base: null,
          view: "promoted",
          classes: 3184,
          violations: 2,
          message: "Two classes gain a provider.",
          example: null,
          explain: null,
          waiver: {
            until: "2026-12-31",
            reason: "Migration of research.",
            owner: "group:platform",
            expired: false,
          },
          location: { file: "policies/assertions.yaml", line: 20, column: 3 },
        },
      ],
      coverage: [
        {
          what: "constraints",
          covered: 31,
          of: 32,
          required: 95,
          status: "PASS",
          missing: ["web-search/search_approved"],
          location: null,
        },
        {
          what: "reasons",
          covered: 9,
          of: 14,
          required: 80,
          status: "FAIL",
          missing: ["NOT_IN_EU", "IN_OFFICE_HOURS"],
          location: { file: "policies/assertions.yaml", line: 2, column: 1 },
        },
        {
          what: "routes",
          covered: 0,
          of: 0,
          required: null,
          status: "PASS",
          missing: [],
          location: null,
        },
      ],
    },
    ...change,
  };
}

/** A report with many groups, no two alike. */
export function largeReport(groups: number): SimulationReport {
  const kinds = ["newly_denied", "fallbacks_widened", "primary_changed", "reason_changed"] as const;
  const many = Array.from({ length: groups }, (_, index) =>
    group(index.toString(16).padStart(12, "0"), [kinds[index % kinds.length] ?? "newly_denied"], {
      routes: [`route-${index % 200}`],
      workspaces: [`workspace-${index % 50}`, `workspace-${(index + 7) % 50}`],
      base: routed(GPT_EU, MISTRAL, GPT_US),
      head:
        index % kinds.length === 0
          ? denied()
          : routed(GPT_EU, candidate(`gpt-${index}`), MISTRAL, GPT_US),
      conditions: [{ dimension: "needs", values: ["tools"] }],
    }),
  );
  const each = comparison({
    access: "incomparable",
    changed_classes: groups,
    changed_shapes: String(groups * 64),
    groups: many,
  });
  return report({ declared: each, promoted: each });
}
