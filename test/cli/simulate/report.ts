import { latentReport } from "./latent-report.ts";
import type { SampleRequest } from "../../../src/simulate/sample-request.ts";
import type {
  ChangeGroup,
  ComparisonReport,
  DataPath,
  RoutePath,
  SettingChange,
  SimulationReport,
} from "../../../src/simulate/report/report.ts";

export const POINT: SampleRequest = {
  workspace: "acme",
  model: "chat",
  operation: "chat.completions",
  key: { environment: "production", workload: "batch", labels: ["eu"] },
  needs: ["tools"],
  features: [],
  signatureFamilies: [],
  stream: false,
  context: "to_4k",
  maxOutput: "to_4k",
  reasoningEffort: "high",
  dimensions: null,
  preferences: { order: ["a"], sort: { by: "price", partition: "model" }, zdr: true },
  time: { day: "weekday", hour: "morning" },
};

const REACHED = {
  provider: "us",
  region: "us-east",
  host: "us.example",
  other_host: null,
  location: { file: "routes.yaml", line: 1, column: 2, side: "head" },
} as const;

export const ROUTE_PATH: RoutePath = {
  workspace: "acme",
  route: "chat",
  operations: ["chat.completions"],
  ...REACHED,
  example: POINT,
  explain: ["explain", "--model", "chat"],
};

export const SETTING: SettingChange = {
  path: "workspaces.acme.limits.requests_per_minute",
  before: "60",
  after: "600",
  location: { file: "routes.yaml", line: 9, column: 7, side: "head" },
  effect: "limit",
  gate: "higher_ceiling",
};

export const PATH: DataPath = {
  workspace: "acme",
  operation: "chat.completions",
  ...REACHED,
  routes: ["chat"],
  example: POINT,
  explain: ["explain", "--model", "chat"],
};

export const GROUP: ChangeGroup = {
  id: "0123456789ab",
  kinds: ["newly_denied"],
  routes: ["chat"],
  workspaces: ["acme"],
  members: [{ workspace: "acme", routes: ["chat"] }],
  operations: ["chat.completions"],
  conditions: [{ dimension: "needs", values: ["tools"] }],
  classes: 1,
  shapes: "12",
  base: {
    outcome: "route",
    plan: [
      {
        endpoint: "e",
        model: "m",
        provider: "p",
        region: "r",
        tier: 0,
        balance: "order",
        weight: 1,
        host: "p.example",
      },
    ],
    denial: null,
    edits: { max_output_tokens: 5, strip_fields: ["user"] },
  },
  head: {
    outcome: "deny",
    plan: [],
    denial: { policy: "eu", constraint: "processed_in_eu", reason: "REGION" },
    edits: null,
  },
  example: POINT,
  explain: ["explain"],
  location: { file: "routes.yaml", line: 1, column: 2, side: "head" },
  seen: 3,
  seen_usage: null,
};

export const SAME: ComparisonReport = {
  access: "equivalent",
  changed_classes: 0,
  changed_shapes: "0",
  kinds: [],
  groups: [],
  new_route_paths: [],
  new_data_paths: [],
  lost_data_paths: [],
};

/** Two sides that decide alike. */
export function reportOf(changes: Partial<SimulationReport> = {}): SimulationReport {
  const side = {
    name: "x",
    commit: null,
    table_revision: "0".repeat(64),
    workspaces: ["acme"],
    policies: [],
    warnings: [],
  };
  return {
    format: "signalbox.simulation.v4",
    base: { ...side, name: "origin/main" },
    head: { ...side, name: "." },
    fresh: false,
    complete: true,
    cut: [],
    space: { classes: 1, shapes: "1", dimensions: [] },
    declared: SAME,
    promoted: SAME,
    promoted_policies: [],
    causes: [],
    findings: [],
    changed_settings: [],
    evidence: null,
    assertions: null,
    ...changes,
  };
}

export const ASSERTIONS: NonNullable<SimulationReport["assertions"]> = {
  file: "policies/assertions.yaml",
  results: [],
  coverage: [],
  passed: 0,
  failed: 0,
  waived: 0,
};

/** A report with every member that there can be. */
export const FULL: SimulationReport = reportOf({
  future_rows: latentReport(),
  base: {
    name: "origin/main",
    commit: "a".repeat(40),
    table_revision: "0".repeat(64),
    workspaces: ["acme"],
    policies: [{ id: "eu", digest: "d", slot: "enforced", content: "rules", from: "head" }],
    warnings: [
      { code: "C", severity: "warning", file: "f", line: 1, column: 2, message: "m", hint: "h" },
    ],
  },
  cut: [{ dimension: "needs", values: 3, kept: 2 }],
  space: {
    classes: 2,
    shapes: "123456789012345678901234567890",
    dimensions: [{ name: "needs", values: 3, distinguished: 2, read_by: ["table"], reason: null }],
  },
  declared: {
    ...SAME,
    kinds: [{ kind: "newly_denied", classes: 1, shapes: "12" }],
    groups: [GROUP],
    new_route_paths: [ROUTE_PATH],
    new_data_paths: [PATH],
    lost_data_paths: [PATH],
  },
  promoted_policies: ["eu"],
  findings: [{ kind: "route_never_chosen", subject: "chat", in_base: false, location: null }],
  changed_settings: [SETTING],
  evidence: {
    decisions: 1,
    not_reproduced: 0,
    unreadable: 0,
    from: "2026-11-01T00:00:00Z",
    to: null,
    unrepresentable: [{ why: "workspace", decisions: 1 }],
    declared: {
      groups: 1,
      decisions: 1,
      calls: [{ workspace: "acme", day: "2026-11-01", calls: 1, requests: ["req-1"] }],
      costs: [
        {
          route: "chat",
          month: "2026-11",
          calls: 1,
          counted: 1,
          input_tokens: 10,
          output_tokens: 20,
          cost_before: 1.5,
          cost_after: null,
          unpriced_before: 0,
          unpriced_after: 1,
          known_cost_before: 1.5,
          known_cost_after: 0,
        },
      ],
    },
    promoted: { groups: 1, decisions: 1, calls: [], costs: [] },
  },
  assertions: {
    ...ASSERTIONS,
    results: [
      {
        id: "one",
        title: "One",
        kind: "no_new_access",
        status: "WAIVED",
        fails_in_base: null,
        view: "both",
        classes: 1,
        violations: 1,
        message: "m",
        example: POINT,
        explain: ["explain"],
        waiver: { until: "2026-12-01", reason: "r", owner: "o", expired: false },
        location: { file: "f", line: 1, column: 1 },
      },
    ],
    coverage: [
      {
        what: "routes",
        covered: 1,
        of: 2,
        required: 90,
        status: "FAIL",
        fails_in_base: true,
        missing: ["chat"],
        location: null,
      },
    ],
  },
});
