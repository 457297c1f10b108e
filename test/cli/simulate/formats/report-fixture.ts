import { NOTHING_USED } from "../../../../src/simulate/evidence/seen-usage.ts";
import type { SampleRequest } from "../../../../src/simulate/sample-request.ts";
import type {
  AssertionResult,
  AssertionsReport,
  ChangeGroup,
  ComparisonReport,
  DataPath,
  CandidateReport,
  ResultReport,
  RoutePath,
  SettingChange,
  SideReport,
  SimulationReport,
} from "../../../../src/simulate/report/report.ts";

/** Reports written by hand: a format must not need an engine to be tested. */
export const POINT: SampleRequest = {
  workspace: "acme-eu",
  model: "chat-eu",
  operation: "chat.completions",
  key: { environment: "production", workload: "support-bot", labels: [] },
  needs: ["tools"],
  features: [],
  signatureFamilies: [],
  stream: false,
  context: "to_4k",
  maxOutput: "unspecified",
  reasoningEffort: "unspecified",
  dimensions: null,
  preferences: null,
  time: { day: "weekday", hour: "morning" },
};

export const EXPLAIN = [
  "explain",
  "--workspace",
  "acme-eu",
  "--model",
  "chat-eu",
  "--needs",
  "tools",
];

const ALONE = { tier: 0, balance: "order", weight: 1, host: "p.example" } as const;
export const EU: CandidateReport = {
  endpoint: "azure-eu-gpt5",
  model: "gpt-5",
  provider: "azure",
  region: "eu-west",
  ...ALONE,
};
export const EU2: CandidateReport = {
  endpoint: "azure-se-gpt5",
  model: "gpt-5",
  provider: "azure",
  region: "eu-north",
  ...ALONE,
};
export const US: CandidateReport = {
  endpoint: "openai-us-gpt5",
  model: "gpt-5",
  provider: "openai",
  region: "us-east",
  ...ALONE,
};

export function routed(...plan: readonly CandidateReport[]): ResultReport {
  return { outcome: "route", plan, denial: null, edits: null };
}

export function denied(policy: string, constraint: string, reason: string): ResultReport {
  return { outcome: "deny", plan: [], denial: { policy, constraint, reason }, edits: null };
}

export function side(name: string, changes: Partial<SideReport> = {}): SideReport {
  return {
    name,
    commit: "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d",
    table_revision: "3b1c9a0e77d21f00aa",
    workspaces: ["acme"],
    policies: [
      { id: "eu-residency", digest: "d1", slot: "enforced", content: "rules", from: "head" },
    ],
    warnings: [],
    ...changes,
  };
}

export const NOTHING: ComparisonReport = {
  access: "equivalent",
  changed_classes: 0,
  changed_shapes: "0",
  kinds: [],
  groups: [],
  new_route_paths: [],
  new_data_paths: [],
  lost_data_paths: [],
};

export function report(changes: Partial<SimulationReport> = {}): SimulationReport {
  return {
    format: "signalbox.simulation.v4",
    base: side("main"),
    head: side("us-fallback", {
      commit: "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c",
      table_revision: "88f0aa12c3d4ee0011",
      workspaces: ["acme"],
    }),
    fresh: false,
    complete: true,
    cut: [],
    space: { classes: 3184, shapes: "1926400", dimensions: [] },
    declared: NOTHING,
    promoted: NOTHING,
    promoted_policies: [],
    causes: [],
    findings: [],
    changed_settings: [],
    evidence: null,
    assertions: null,
    ...changes,
  };
}

export function group(changes: Partial<ChangeGroup> = {}): ChangeGroup {
  return {
    id: "4f2a9c01d4e5",
    kinds: ["fallbacks_widened"],
    routes: ["chat-eu"],
    workspaces: ["acme-eu", "acme-dev"],
    operations: ["chat.completions", "responses"],
    conditions: [{ dimension: "needs", values: ["tools"] }],
    classes: 12,
    shapes: "40200",
    base: routed(EU, EU2),
    head: routed(EU, US, EU2),
    example: POINT,
    explain: EXPLAIN,
    location: { file: "routes.yaml", line: 41, column: 7, side: "head" },
    seen: null,
    seen_usage: null,
    ...changes,
  };
}

export function setting(name: string, changes: Partial<SettingChange> = {}): SettingChange {
  return {
    path: name,
    before: "60",
    after: "600",
    location: { file: "routes.yaml", line: 90, column: 7, side: "head" },
    effect: "limit",
    gate: "higher_ceiling",
    ...changes,
  };
}

export function routePath(changes: Partial<RoutePath> = {}): RoutePath {
  return {
    workspace: "acme-eu",
    route: "chat-eu",
    operations: ["chat.completions", "responses"],
    provider: "openai",
    region: "us-east",
    host: "api.openai.example",
    other_host: null,
    location: { file: "routes.yaml", line: 41, column: 7, side: "head" },
    example: POINT,
    explain: EXPLAIN,
    ...changes,
  };
}

export function path(changes: Partial<DataPath> = {}): DataPath {
  return {
    workspace: "acme-eu",
    operation: "chat.completions",
    provider: "openai",
    region: "us-east",
    host: "api.openai.example",
    other_host: null,
    location: { file: "routes.yaml", line: 41, column: 7, side: "head" },
    routes: ["chat-eu"],
    example: POINT,
    explain: EXPLAIN,
    ...changes,
  };
}

/** The comparison that these groups make. */
export function comparison(
  access: ComparisonReport["access"],
  groups: readonly ChangeGroup[],
  changes: Partial<ComparisonReport> = {},
): ComparisonReport {
  const kinds = [...new Set(groups.flatMap((one) => one.kinds))].map((kind) => {
    const those = groups.filter((one) => one.kinds.includes(kind));
    return { kind, classes: sum(those), shapes: shapes(those) };
  });
  return {
    ...NOTHING,
    access,
    changed_classes: sum(groups),
    changed_shapes: shapes(groups),
    kinds,
    groups,
    ...changes,
  };
}

function sum(groups: readonly ChangeGroup[]): number {
  return groups.reduce((total, { classes }) => total + classes, 0);
}

function shapes(groups: readonly ChangeGroup[]): string {
  return String(groups.reduce((total, one) => total + BigInt(one.shapes), 0n));
}

export function assertion(changes: Partial<AssertionResult> = {}): AssertionResult {
  return {
    id: "no-us-for-eu",
    title: "EU tenants never reach the US",
    kind: "no_new_access",
    status: "PASS",
    fails_in_base: null,
    view: "both",
    classes: 1204,
    violations: 0,
    message: null,
    example: null,
    explain: null,
    waiver: null,
    location: { file: "policies/assertions.yaml", line: 12, column: 5 },
    ...changes,
  };
}

export const FAILED: AssertionResult = assertion({
  status: "FAIL",
  violations: 3,
  message: "acme-eu reaches openai in us-east",
  example: POINT,
  explain: EXPLAIN,
});

export const WAIVED: AssertionResult = assertion({
  id: "prod-always-routable",
  title: "Production must be reachable",
  kind: "always_routable",
  status: "WAIVED",
  fails_in_base: null,
  view: "declared",
  violations: 1,
  message: "acme-eu is denied",
  waiver: {
    until: "2026-12-01",
    reason: "moving to the new route",
    owner: "platform",
    expired: false,
  },
});

export function assertions(
  results: readonly AssertionResult[],
  changes: Partial<AssertionsReport> = {},
): AssertionsReport {
  const count = (status: AssertionResult["status"]): number =>
    results.filter((one) => one.status === status).length;
  return {
    file: "policies/assertions.yaml",
    results,
    coverage: [],
    passed: count("PASS"),
    failed: count("FAIL"),
    waived: count("WAIVED"),
    ...changes,
  };
}

export const WIDENED = group();
export const NEWLY_DENIED = group({
  id: "b77e01aa9c30",
  kinds: ["newly_denied"],
  routes: ["chat-large"],
  workspaces: [
    "acme-prod",
    "acme-dev",
    ...Array.from({ length: 411 }, (_, index) => `tenant-${index}`),
  ],
  conditions: [],
  classes: 1,
  shapes: "1",
  base: routed(US),
  head: denied("tool-approval", "tools_approved", "tool_not_approved"),
  location: { file: "policies/tool-approval.rego", line: 9, column: 1, side: "head" },
});

/** A fallback in the US on a route of the EU. */
export function usFallback(): SimulationReport {
  const compared = comparison("more_permissive", [WIDENED], { new_data_paths: [path()] });
  return report({ declared: compared, promoted: compared });
}

/** Everything that a report can hold. */
export function everything(): SimulationReport {
  const widened = group({ seen: 14 });
  const denial = group({ ...NEWLY_DENIED, seen: 0 });
  return report({
    head: side("us-fallback", {
      commit: null,
      table_revision: "88f0aa12c3d4ee0011",
      workspaces: ["acme"],
      policies: [
        { id: "eu-residency", digest: "d2", slot: "enforced", content: "rules", from: "head" },
        { id: "tool-approval", digest: "d3", slot: "candidate", content: "rules", from: "head" },
      ],
      warnings: [
        {
          code: "ROUTE_ODD",
          severity: "warning",
          file: "routes.yaml",
          line: 3,
          column: 1,
          message: "an odd route",
          hint: "",
        },
      ],
    }),
    complete: false,
    cut: [{ dimension: "key.labels", values: 4096, kept: 16 }],
    space: { classes: 3184, shapes: "1926400000000000000", dimensions: [] },
    declared: comparison("more_permissive", [widened], { new_data_paths: [path()] }),
    promoted: comparison("incomparable", [denial, widened], {
      new_data_paths: [path()],
    }),
    promoted_policies: ["tool-approval"],
    findings: [
      {
        kind: "fallback_never_used",
        subject: "chat-large → gpt-5-us",
        in_base: false,
        location: { file: "routes.yaml", line: 55, column: 9 },
      },
      { kind: "route_never_chosen", subject: "old", in_base: true, location: null },
    ],
    changed_settings: [setting("workspaces.acme-eu.limits.requests_per_minute")],
    evidence: {
      decisions: 120400,
      not_reproduced: 1200,
      unreadable: 1,
      from: "2026-10-01T00:00:00Z",
      to: "2026-10-31T23:59:59Z",
      unrepresentable: [{ why: "workspace is gone", decisions: 3 }],
      declared: {
        groups: 1,
        decisions: 14,
        calls: [
          { workspace: "acme-eu", day: "2026-10-02", calls: 13, requests: ["req_7", "req_8"] },
          { workspace: "acme-eu", day: "2026-10-09", calls: 1, requests: ["req_9"] },
        ],
        costs: [
          {
            ...NOTHING_USED,
            route: "chat-eu",
            month: "2026-10",
            calls: 13,
            known_cost_before: 12.5,
            known_cost_after: 25,
            unpriced_after: 2,
          },
        ],
      },
      promoted: { groups: 2, decisions: 14, calls: [], costs: [] },
    },
    assertions: assertions([assertion({ id: "embeddings-stay" }), FAILED, WAIVED], {
      coverage: [
        {
          what: "routes",
          covered: 12,
          of: 14,
          required: 90,
          status: "FAIL",
          missing: ["old", "batch"],
          location: null,
        },
        {
          what: "constraints",
          covered: 5,
          of: 5,
          required: null,
          status: "PASS",
          missing: [],
          location: null,
        },
      ],
    }),
  });
}

/** What somebody could write into a file to get markup, commands or mentions into a report. */
export const HOSTILE = [
  "\u001b[31mred\u001b[0m\u0007",
  "a|b\\|c",
  "``` `` `code`",
  "</code></details><script>alert(1)</script>",
  "]]><!-- -->&amp;",
  "100%0A::error::owned",
  "line\n::error file=a::owned\r\n# heading",
  "@team/owners #12 https://evil.example [x](https://evil.example) www.evil.example",
  "<!-- signalbox-simulation -->",
  "'; rm -rf ~ #",
  "$(id) `id` \\",
  "\u202Eesrever\u200B",
  "half \ud800",
  ",title=x:y",
] as const;

/** {@link everything} with `name` wherever a name or a sentence from a file can stand. */
export function named(name: string): SimulationReport {
  const location = { file: `${name}/a.yaml`, line: 1, column: 1 };
  const results: ResultReport = {
    ...routed({ endpoint: name, model: name, provider: name, region: name, ...ALONE }),
    edits: { max_output_tokens: 1, strip_fields: [name] },
  };
  const one = group({
    id: "0123456789ab",
    kinds: ["newly_denied", "fallbacks_widened"],
    routes: [name],
    workspaces: [name],
    operations: [name],
    conditions: [{ dimension: name, values: [name] }],
    base: results,
    head: denied(name, name, name),
    explain: ["explain", "--model", name],
    location: { ...location, side: "head" },
  });
  const data = path({
    workspace: name,
    operation: name,
    provider: name,
    region: name,
    routes: [name],
  });
  const route = routePath({
    workspace: name,
    route: name,
    provider: name,
    region: name,
    host: name,
    other_host: name,
    location: { ...location, side: "head" },
  });
  const example = { ...POINT, workspace: name, model: name };
  const waiver = { until: name, reason: name, owner: name, expired: false };
  const base = everything();
  return {
    ...base,
    base: side(name, {
      policies: [{ id: name, digest: "d", slot: "enforced", content: "rules", from: "head" }],
    }),
    head: side(name, {
      warnings: [{ ...location, code: name, severity: "warning", message: name, hint: name }],
    }),
    cut: [{ dimension: name, values: 2, kept: 1 }],
    declared: comparison("incomparable", [one], {
      new_route_paths: [route],
      new_data_paths: [data],
      lost_data_paths: [data],
    }),
    promoted: comparison("incomparable", [group({ ...one, id: "ba9876543210" })], {
      new_data_paths: [data],
    }),
    promoted_policies: [name],
    findings: [{ kind: "route_never_chosen", subject: name, in_base: false, location }],
    changed_settings: [
      setting(name, { before: name, after: `${name}2`, location: { ...location, side: "head" } }),
    ],
    assertions: assertions(
      [
        assertion({
          id: name,
          title: name,
          kind: name,
          status: "FAIL",
          message: name,
          example,
          explain: [name],
          waiver,
          location,
        }),
        assertion({
          id: `${name}2`,
          title: name,
          kind: name,
          status: "WAIVED",
          message: name,
          waiver,
          location,
        }),
      ],
      {
        file: name,
        coverage: [
          {
            what: "routes",
            covered: 0,
            of: 1,
            required: 100,
            status: "FAIL",
            missing: [name],
            location,
          },
        ],
      },
    ),
  };
}

/** A report with more groups than anybody reads. */
export function huge(groups = 5_000): SimulationReport {
  const all = Array.from({ length: groups }, (_, index) =>
    group({
      id: index.toString(16).padStart(12, "0"),
      routes: [`route-${index}`],
      kinds: index % 2 === 0 ? ["fallbacks_widened"] : ["newly_denied"],
    }),
  );
  const paths = Array.from({ length: groups }, (_, index) =>
    path({ workspace: `tenant-${index}` }),
  );
  const failed = Array.from({ length: 300 }, (_, index) =>
    assertion({ ...FAILED, id: `assertion-${index}` }),
  );
  const compared = comparison("incomparable", all, {
    new_data_paths: paths,
    lost_data_paths: paths,
  });
  return report({ declared: compared, promoted: compared, assertions: assertions(failed) });
}

/** The report with a cause for each group, as `runSimulation` finds them. */
export function withCauses(one: SimulationReport): SimulationReport {
  const known = new Set(one.declared.groups.map(({ id }) => id));
  const later = one.promoted.groups.filter(({ id }) => !known.has(id));
  const causeOf = ({ id, routes: [route = ""], location }: ChangeGroup, isLater: boolean) => ({
    id: `cause ${id}`,
    entries: [
      {
        path: `routes.${route}`,
        kind: "route" as const,
        subject: route,
        change: "changed" as const,
        before: null,
        after: null,
        location,
      },
    ],
    renames: [],
    groups: isLater ? [] : [id],
    promoted_groups: isLater ? [id] : [],
    renamed_groups: [],
    exceptions: [],
    gains: [],
    loses: [],
    routes: [],
    unaffected: [],
    without_routes: 0,
  });
  const causes = [
    ...one.declared.groups.map((each) => causeOf(each, false)),
    ...later.map((each) => causeOf(each, true)),
  ];
  return { ...one, causes };
}
