import { mapScalars } from "../request-scalars.ts";
import type { ProviderPreferences } from "../../canon/request.ts";
import type { SampleRequest } from "../sample-request.ts";
import type {
  AssertionsReport,
  ChangeGroup,
  ComparisonReport,
  DataPath,
  ReachedDestination,
  ResultReport,
  RoutePath,
  SideReport,
  SimulationReport,
} from "./report.ts";
import type { SideLocation, SourceLocation } from "./location.ts";
import type { CauseReport, DestinationReport } from "./cause-report.ts";
import { SEEN_USAGE_ORDER } from "../evidence/seen-usage.ts";
import type { LatentReport } from "./latent-report.ts";

/** Names of members in the order in which they are written; a list has the order of its items. */
export interface Order {
  readonly [member: string]: Order | true;
}

/** The order of a type: every member must be in it, or it does not compile. */
type OrderOf<Value> = [NonNullable<Value>] extends [readonly (infer Item)[]]
  ? OrderOf<Item>
  : [NonNullable<Value>] extends [object]
    ? { readonly [Member in keyof NonNullable<Value>]-?: OrderOf<NonNullable<Value>[Member]> }
    : true;

const PERCENTILES = { p50: true, p75: true, p90: true, p99: true } as const;

const PREFERENCES: OrderOf<ProviderPreferences> = {
  order: true,
  only: true,
  ignore: true,
  allow_fallbacks: true,
  sort: { by: true, partition: true },
  region: true,
  max_price: { input: true, output: true, request: true },
  data_collection: true,
  zdr: true,
  preferred_max_latency: PERCENTILES,
  preferred_min_throughput: PERCENTILES,
};

const SAMPLE: OrderOf<SampleRequest> = {
  workspace: true,
  model: true,
  operation: true,
  key: { environment: true, workload: true, owner: true, labels: true },
  needs: true,
  features: true,
  signatureFamilies: true,
  ...mapScalars(() => true as const),
  dimensions: true,
  preferences: PREFERENCES,
  time: { day: true, hour: true },
  budget: true,
};

const LOCATION: OrderOf<SourceLocation> = { file: true, line: true, column: true };

const SIDE_LOCATION: OrderOf<SideLocation> = { ...LOCATION, side: true };

const SIDE: OrderOf<SideReport> = {
  name: true,
  commit: true,
  table_revision: true,
  policies: { id: true, digest: true, slot: true, content: true, from: true },
  warnings: {
    code: true,
    severity: true,
    file: true,
    line: true,
    column: true,
    message: true,
    hint: true,
  },
};

const RESULT: OrderOf<ResultReport> = {
  outcome: true,
  plan: {
    endpoint: true,
    model: true,
    provider: true,
    region: true,
    tier: true,
    balance: true,
    weight: true,
    host: true,
  },
  denial: { policy: true, constraint: true, reason: true },
  edits: { max_output_tokens: true, strip_fields: true },
};

const GROUP: OrderOf<ChangeGroup> = {
  id: true,
  words: true,
  routes: true,
  workspaces: true,
  operations: true,
  conditions: { dimension: true, values: true },
  classes: true,
  shapes: true,
  base: RESULT,
  head: RESULT,
  example: SAMPLE,
  explain: true,
  place: SIDE_LOCATION,
  seen: true,
  seen_usage: SEEN_USAGE_ORDER,
};

const REACHED: OrderOf<ReachedDestination> = {
  provider: true,
  region: true,
  host: true,
  other_host: true,
  place: SIDE_LOCATION,
};

const ROUTE_PATH: OrderOf<RoutePath> = {
  workspace: true,
  route: true,
  operations: true,
  ...REACHED,
  example: SAMPLE,
  explain: true,
};

const PATH: OrderOf<DataPath> = {
  workspace: true,
  operation: true,
  ...REACHED,
  routes: true,
  example: SAMPLE,
  explain: true,
  seen: true,
};

const COMPARISON: OrderOf<ComparisonReport> = {
  access: true,
  changed_classes: true,
  changed_shapes: true,
  words: { word: true, classes: true, shapes: true },
  groups: GROUP,
  new_route_paths: ROUTE_PATH,
  lost_route_paths: ROUTE_PATH,
  new_data_paths: PATH,
  lost_data_paths: PATH,
};

const DESTINATION: OrderOf<DestinationReport> = {
  endpoint: true,
  model: true,
  context_window: true,
  provider: true,
  region: true,
  host: true,
  retention: true,
  trains_on_data: true,
  price: { input: true, output: true, request: true },
};

const CAUSE: OrderOf<CauseReport> = {
  id: true,
  entries: {
    path: true,
    kind: true,
    subject: true,
    change: true,
    before: true,
    after: true,
    place: SIDE_LOCATION,
  },
  renames: { kind: true, from: true, to: true, distinguished_by: true },
  groups: true,
  promoted_groups: true,
  renamed_groups: true,
  exceptions: { group: true, preferences: PREFERENCES },
  gains: DESTINATION,
  loses: DESTINATION,
  routes: { id: true, title: true, primary: DESTINATION, former_primary: DESTINATION },
  unaffected: { workspace: true, why: true },
  without_routes: true,
};

const ASSERTIONS: OrderOf<AssertionsReport> = {
  file: true,
  results: {
    id: true,
    title: true,
    kind: true,
    status: true,
    fails_in_base: true,
    standpoint: true,
    classes: true,
    violations: true,
    message: true,
    example: SAMPLE,
    explain: true,
    waiver: { until: true, reason: true, owner: true, expired: true },
    place: LOCATION,
  },
  coverage: {
    what: true,
    covered: true,
    of: true,
    required: true,
    status: true,
    fails_in_base: true,
    missing: true,
    place: LOCATION,
  },
  passed: true,
  failed: true,
  waived: true,
};

const LATENT: OrderOf<LatentReport> = {
  complete: true,
  tried: true,
  of: true,
  changes: {
    policy: true,
    view: true,
    direction: true,
    rule: true,
    kind: true,
    where: { path: true, values: true },
    every: true,
    combinations: true,
    example: {
      operation: true,
      workspace: { id: true, tier: true, labels: true },
      key: { environment: true, workload: true, owner: true, labels: true },
      request: {
        route: true,
        needs: true,
        stream: true,
        context: true,
        max_output: true,
        reasoning_effort: true,
        dimensions: true,
        allow_fallbacks: true,
        data_collection: true,
        zdr: true,
      },
      budget: { remaining: true },
      time: { day: true, hour: true },
      candidates: {
        id: true,
        rank: true,
        model: true,
        provider: true,
        region: true,
        dialect: true,
        retention: true,
        trains_on_data: true,
        capabilities: true,
        signature_family: true,
        latency_class: true,
        price: { input: true, output: true },
      },
    },
    place: SIDE_LOCATION,
  },
};

/** The order of the report's members, as report.ts has them: an approver signs bytes. */
export const REPORT_ORDER: OrderOf<SimulationReport> = {
  format: true,
  base: SIDE,
  head: SIDE,
  fresh: true,
  complete: true,
  cut: {
    dimension: true,
    values: true,
    kept: true,
    costliest: { policy: true, evaluations: true, dimension: true, distinguished: true },
    widest: { route: true, providers: true, sets: true },
    ended_by: true,
  },
  space: {
    classes: true,
    shapes: true,
    dimensions: { name: true, values: true, distinguished: true, read_by: true, reason: true },
  },
  declared: COMPARISON,
  promoted: COMPARISON,
  promoted_policies: true,
  causes: CAUSE,
  findings: { kind: true, subject: true, in_base: true, place: LOCATION },
  latent: LATENT,
  changed_settings: {
    path: true,
    before: true,
    after: true,
    where: SIDE_LOCATION,
    effect: true,
    gate: true,
  },
  evidence: {
    decisions: true,
    not_reproduced: true,
    unreadable: true,
    from: true,
    to: true,
    unrepresentable: { why: true, decisions: true },
    declared: { groups: true, decisions: true },
    promoted: { groups: true, decisions: true },
  },
  assertions: ASSERTIONS,
};
