import { RETENTIONS, BALANCES } from "../../canon/table.ts";
import { BUDGET_STEPS } from "../../canon/limits.ts";
import { CAPABILITY_NAMES, FEATURE_NAMES } from "../../canon/capability.ts";
import type { Diagnostic } from "../../canon/diagnostic.ts";
import {
  complete,
  completeOrNull,
  COUNT,
  NULLABLE_COUNT,
  NULLABLE_TEXT,
  TEXT,
  TEXTS,
  type ValueOf,
} from "../../canon/json/schema.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { POLICY_TIME_SCHEMA } from "../../canon/local-time.ts";
import type { PolicyInput } from "../../canon/policy.ts";
import { SORT_KEYS, type ProviderPreferences } from "../../canon/request.ts";
import { POLICY_INPUT_SCHEMA } from "../../policy/input-schema.ts";
import { CHANGE_KINDS } from "../change-kind.ts";
import { USAGE } from "../evidence/seen-usage.ts";
import { mapScalars } from "../request-scalars.ts";
import { VIEWS, type SampleRequest } from "../sample-request.ts";
import { SETTING_EFFECTS, type SettingEffect } from "../settings/setting-effect.ts";

/** Placeholder for a name that no file declares yet; real names have no parentheses. */
export const NOT_DECLARED = "(not declared)";

const list = <const Items extends object>(items: Items) => ({ type: "array", items }) as const;
const oneOf = <const Value>(...values: readonly Value[]) => ({ enum: values }) as const;

/** Members that may be absent come last. */
function partial<
  const Required extends Readonly<Record<string, object>>,
  const Optional extends Readonly<Record<string, object>>,
>(required: Required, optional: Optional) {
  const isName = (name: string): name is keyof Required & string => Object.hasOwn(required, name);
  return {
    type: "object",
    required: Object.keys(required).filter(isName),
    properties: { ...required, ...optional },
  } as const;
}

/** A schema of values of a type that other code defines. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the type
function typed<Type>(schema: object): { readonly const: Type };
function typed(schema: object) {
  return schema;
}

/** The same for an object; every member of the type has to be there. */
const schemaOf = <Type>(properties: { readonly [Member in keyof Type]-?: object }) =>
  typed<Type>({ type: "object", properties });
const nullable = <Type>(schema: { readonly const: Type }) =>
  typed<Type | null>({ ...schema, type: ["object", "null"] });

const BOOLEAN = { type: "boolean" } as const;
const NUMBER = { type: "number" } as const;
const NULLABLE_NUMBER = { type: ["number", "null"] } as const;
const SIDE_NAME = oneOf("base", "head");

const PERCENTILES = {
  type: "object",
  properties: { p50: NUMBER, p75: NUMBER, p90: NUMBER, p99: NUMBER },
};

const PREFERENCES = schemaOf<ProviderPreferences>({
  order: TEXTS,
  only: TEXTS,
  ignore: TEXTS,
  allow_fallbacks: BOOLEAN,
  sort: complete({ by: oneOf(...SORT_KEYS), partition: oneOf("model", "none") }),
  region: TEXTS,
  max_price: { type: "object", properties: { input: NUMBER, output: NUMBER, request: NUMBER } },
  data_collection: oneOf("allow", "deny"),
  zdr: BOOLEAN,
  preferred_max_latency: PERCENTILES,
  preferred_min_throughput: PERCENTILES,
});

const SAMPLE = schemaOf<SampleRequest>({
  workspace: TEXT,
  model: TEXT,
  operation: { enum: OPERATIONS },
  key: partial({ environment: TEXT, workload: TEXT }, { owner: TEXT, labels: TEXTS }),
  needs: list({ enum: CAPABILITY_NAMES }),
  features: list({ enum: FEATURE_NAMES }),
  signatureFamilies: TEXTS,
  ...mapScalars((_, { values }) => ({ enum: values })),
  dimensions: NULLABLE_COUNT,
  preferences: nullable(PREFERENCES),
  time: POLICY_TIME_SCHEMA,
  budget: { enum: BUDGET_STEPS },
});
/** The command line that explains an example on head, without the program's name. */
const EXPLAINED = { example: SAMPLE, explain: TEXTS };

const POSITION = { file: TEXT, line: COUNT, column: COUNT };
const LOCATION = complete(POSITION);
const LOCATION_OR_NULL = completeOrNull(POSITION);
const SIDE_LOCATION = completeOrNull({ ...POSITION, side: SIDE_NAME });

/** One content of a policy. One id may have two: the enforced one and a candidate. */
const POLICY = complete({
  id: TEXT,
  /** Of a removal the one that a store gives it. */
  digest: TEXT,
  slot: oneOf("enforced", "candidate"),
  /** `removal`: the side's files have the policy no more, and promoting that ends it. */
  content: oneOf("rules", "removal"),
  /** `base` on the side of head: enforced until head's candidate is promoted. */
  from: SIDE_NAME,
});

const SIDE = complete({
  /** The ref or folder, as given. */
  name: TEXT,
  /** Commit id; `null` for a folder. */
  commit: NULLABLE_TEXT,
  table_revision: TEXT,
  /** Ids, in the order of the file. */
  workspaces: TEXTS,
  /** By id, what is enforced first. */
  policies: list(POLICY),
  /** Warnings of the compiler; a side with errors gives no report. */
  warnings: list(
    schemaOf<Diagnostic>({
      code: TEXT,
      severity: oneOf("error", "warning"),
      file: TEXT,
      line: COUNT,
      column: COUNT,
      message: TEXT,
      hint: TEXT,
    }),
  ),
});

/** The policy that was evaluated most often. */
const COSTLIEST = complete({
  policy: TEXT,
  evaluations: COUNT,
  /** The member of requests of which it distinguishes most values, and about how many. */
  dimension: TEXT,
  distinguished: COUNT,
});

/** `sets`: of candidates that callers' preferences can leave, at most. */
const WIDEST = complete({ route: TEXT, providers: COUNT, sets: COUNT });

const DIMENSION_CUT = partial(
  {
    dimension: TEXT,
    /** Distinguished values, and how many of them were decided. */
    values: COUNT,
    kept: COUNT,
  },
  {
    /** The costliest policy, where policies took the time. */
    costliest: COSTLIEST,
    /**
     * The route with most providers, where callers can leave more sets of them than `costliest`
     * distinguishes values.
     */
    widest: WIDEST,
    /** Where it was not the time. */
    ended_by: { const: "memory" },
  },
);

const DIMENSION = complete({
  name: TEXT,
  /** Number of values, and the most that are distinguished. */
  values: COUNT,
  distinguished: COUNT,
  /** Readers: policies (`policy:<id>`), the table (`table`) and assertions (`assertions`). */
  read_by: TEXTS,
  /** Why similar values are distinguished, such as `policy eu-residency calls startswith`. */
  reason: NULLABLE_TEXT,
});

const CANDIDATE = complete({
  endpoint: TEXT,
  model: TEXT,
  provider: TEXT,
  region: TEXT,
  /** Counted from 0. Endpoints of one tier share requests by `balance`. */
  tier: COUNT,
  balance: { enum: BALANCES },
  weight: NUMBER,
  /** Of the provider's address. */
  host: TEXT,
});

const RESULT = complete({
  outcome: oneOf("route", "deny"),
  plan: list(CANDIDATE),
  denial: completeOrNull({ policy: TEXT, constraint: TEXT, reason: TEXT }),
  edits: completeOrNull({ max_output_tokens: NULLABLE_COUNT, strip_fields: TEXTS }),
});

const CONDITIONS = list(complete({ dimension: TEXT, values: TEXTS }));

/** Classes that change in the same way on the same routes. */
const GROUP = partial(
  {
    /** Twelve hexadecimal digits; the same while the change stays the same. */
    id: TEXT,
    kinds: list({ enum: CHANGE_KINDS }),
    routes: TEXTS,
    workspaces: TEXTS,
    operations: TEXTS,
    /** Values of dimensions that not every request has: `needs: tools`. */
    conditions: CONDITIONS,
    classes: COUNT,
    /** Decimal digits: it may be larger than a number holds. */
    shapes: TEXT,
    base: RESULT,
    head: RESULT,
    ...EXPLAINED,
    /** In base's files for a rule that is in force from there only; `null` where unknown. */
    location: SIDE_LOCATION,
    /** Requests of the evidence in these classes; `null` without evidence. */
    seen: NULLABLE_COUNT,
    /** `null` without evidence, and where none of the requests was seen. */
    seen_usage: completeOrNull(USAGE),
  },
  {
    /** Absent where every workspace requests every route. */
    members: list(complete({ workspace: TEXT, routes: TEXTS })),
    /** Where only some plain requests with these conditions are in the group: those that are. */
    // `any`: one condition suffices. Empty where no such list describes them.
    plain_requests: complete({ any: BOOLEAN, conditions: CONDITIONS }),
    /** Where the example is no plain request: whose plain requests are all in the group too. */
    plain_members: list(complete({ workspace: TEXT, routes: TEXTS })),
  },
);

/** A provider in a region under one host. */
const REACHED = {
  provider: TEXT,
  region: TEXT,
  host: TEXT,
  /** The provider's host on the other side, where it differs. */
  other_host: NULLABLE_TEXT,
  /** The provider's address where the host differs, otherwise the route; `null` where unknown. */
  location: SIDE_LOCATION,
};

const ROUTE_PATH = complete({
  workspace: TEXT,
  route: TEXT,
  operations: TEXTS,
  ...REACHED,
  ...EXPLAINED,
});

const DATA_PATH = complete({
  workspace: TEXT,
  operation: TEXT,
  ...REACHED,
  routes: TEXTS,
  ...EXPLAINED,
});

const COMPARISON = complete({
  /** Of every class: what head allows against what base allows. */
  access: oneOf("equivalent", "more_permissive", "less_permissive", "incomparable"),
  changed_classes: COUNT,
  changed_shapes: TEXT,
  /** Classes and shapes by kind of change; kinds without any are omitted. */
  kinds: list(complete({ kind: { enum: CHANGE_KINDS }, classes: COUNT, shapes: TEXT })),
  /**
   * Changes that recorded requests met first, then the largest: denials, new destinations, the
   * rest. Equally large ones by calls, tokens, cost.
   */
  groups: list(GROUP),
  /** Destinations that a route reaches for a workspace in head and not in base. */
  new_route_paths: list(ROUTE_PATH),
  /** Destinations that a workspace reaches in head and not in base, by any route. */
  new_data_paths: list(DATA_PATH),
  lost_data_paths: list(DATA_PATH),
});

/** An endpoint with what a reviewer must know of it. */
const DESTINATION_MEMBERS = {
  endpoint: TEXT,
  model: TEXT,
  provider: TEXT,
  region: TEXT,
  /** With the port, where one is written. */
  host: TEXT,
  retention: { enum: RETENTIONS },
  trains_on_data: BOOLEAN,
  /** US dollars: of a million tokens, and of a call. */
  price: completeOrNull({ input: NUMBER, output: NUMBER, request: NUMBER }),
  /** Tokens. */
  context_window: NULLABLE_COUNT,
};
const DESTINATION = complete(DESTINATION_MEMBERS);

const ENTRY_KIND = oneOf(
  "region_group",
  "provider",
  "model",
  "endpoint",
  "route",
  "workspace",
  "policy",
  "policy_setting",
  "vocabulary",
  "assertion",
  "overlay",
  "setting",
);

/** An entry of routes.yaml, the policies or the assertions that differs. */
const ENTRY = partial(
  {
    /** As the file writes it: `routes.chat-eu.fallbacks`, `policies/eu-residency`. */
    path: TEXT,
    kind: ENTRY_KIND,
    /** The row's name: `chat-eu`. */
    subject: TEXT,
    change: oneOf("added", "removed", "changed"),
    /** At most 160 characters; `null` where there is none. Of a workspace's row tier and labels. */
    before: NULLABLE_TEXT,
    after: NULLABLE_TEXT,
    /** The changed line; in base's files where head has none. */
    location: SIDE_LOCATION,
  },
  {
    /** Decides nothing: comments, spacing, order of rules, titles, files; order of a list. */
    only: oneOf("text", "order"),
    /** Of a policy whose rules differ. */
    title: TEXT,
  },
);

/** A row whose name changed and whose content did not. */
const RENAME = partial(
  { kind: ENTRY_KIND, from: TEXT, to: TEXT },
  /** Policies that can distinguish the names: for them it is a change like any other. */
  { distinguished_by: TEXTS },
);

/** One changed entry of the files, or several that only together change what they change. */
const CAUSE = complete({
  /** Twelve hexadecimal digits; the same while the change stays the same. */
  id: TEXT,
  /** The most important first; empty for groups whose cause was not found. */
  entries: list(ENTRY),
  renames: list(RENAME),
  /** Ids of groups that follow as declared, and of those that promotion makes or makes larger. */
  groups: TEXTS,
  promoted_groups: TEXTS,
  /** Those of them whose results differ by a changed name only. */
  renamed_groups: TEXTS,
  /** Of groups whose plain requests head newly denies: preferences that head still serves. */
  exceptions: list(complete({ group: TEXT, preferences: list(PREFERENCES) })),
  /** Endpoints, providers or regions that plain requests reach in head only, and in base only. */
  gains: list(DESTINATION),
  loses: list(DESTINATION),
  /** Routes that the groups request or the entries name. */
  routes: list(
    partial(
      { id: TEXT, title: TEXT, primary: completeOrNull(DESTINATION_MEMBERS) },
      /** Base's, where another endpoint comes first now. */
      { former_primary: DESTINATION },
    ),
  ),
  /** Workspaces that may use a route and see no change; `why`: the approval that they lack. */
  unaffected: list(complete({ workspace: TEXT, why: NULLABLE_TEXT })),
  /** Workspaces that may use none of the routes. */
  without_routes: COUNT,
});

/** Made-up requests for which a policy decides otherwise, although no request of today does. */
const FUTURE_CHANGE = complete({
  policy: TEXT,
  /** `declared`: without any promotion. */
  view: oneOf(...VIEWS),
  /** `weaker`: head passes what base refused, or no longer obliges to something. */
  direction: oneOf("weaker", "stricter"),
  /** The constraint that refuses, or the obligation. */
  rule: TEXT,
  kind: oneOf("constraint", "obligation"),
  /** Common values of these requests by members of the policy's input; others have any. */
  where: list(complete({ path: TEXT, values: TEXTS })),
  /** Whether every request with these values is concerned, or some of them. */
  every: BOOLEAN,
  combinations: COUNT,
  /** The input of one of them, which a policy's test can repeat. */
  example: typed<PolicyInput>(POLICY_INPUT_SCHEMA),
  location: SIDE_LOCATION,
});

/** Changes by changed policies for rows with other values of the closed lists. */
const FUTURE_ROWS = partial(
  {
    /** `false`: `tried` of `of` combinations were tried. */
    complete: BOOLEAN,
    tried: COUNT,
    of: TEXT,
    changes: list(FUTURE_CHANGE),
  },
  /**
   * Changed policies that see more of names than whether they are equal, by the built-ins that do:
   * names that were not tried may be decided otherwise.
   */
  { looks_into_names: list(complete({ policy: TEXT, calls: TEXTS })) },
);

/** A setting of the files that differs. */
const SETTING = complete({
  /** As routes.yaml writes it, an endpoint by its id; a file of policies; `assertions.ID`. */
  path: TEXT,
  /**
   * As YAML in one line, of a file the first digits of its digest; `null` on the side that does not
   * have it. Never a secret, only its name.
   */
  before: NULLABLE_TEXT,
  after: NULLABLE_TEXT,
  /** In base's files for what head does not have. */
  location: SIDE_LOCATION,
  /** Its effect, or the reason why it does not change where requests go. */
  effect: typed<SettingEffect>({ enum: Object.keys(SETTING_EFFECTS) }),
  /** The value of `--fail-on` that it meets; `null` for most. */
  gate: oneOf("higher_ceiling", "weaker_obligation", "assertions", null),
});

/** A part of head that no request uses. */
const FINDING = complete({
  kind: oneOf(
    "policy_without_effect",
    "constraint_never_fails",
    "constraint_never_passes",
    "reason_never_given",
    "route_never_chosen",
    "endpoint_never_chosen",
    "fallback_never_used",
  ),
  /** `eu-residency`, `eu-residency/processed_in_eu`, `chat-large`, `chat-large → gpt-5-us`. */
  subject: TEXT,
  /** Whether it was so in base already. */
  in_base: BOOLEAN,
  location: LOCATION_OR_NULL,
});

const SEEN_CALLS = complete({
  /** Groups that were seen, and decisions in them. */
  groups: COUNT,
  decisions: COUNT,
  /** The same decisions by workspace and day in UTC; both are `null` in the sum of further rows. */
  calls: list(
    complete({
      workspace: NULLABLE_TEXT,
      day: NULLABLE_TEXT,
      calls: COUNT,
      /** Ids of the first of them, where records have ids. */
      requests: TEXTS,
    }),
  ),
  /**
   * All answers of the routes whose cost differs, by month in UTC; `null` in the sum of further
   * rows.
   */
  costs: list(complete({ route: NULLABLE_TEXT, month: NULLABLE_TEXT, calls: COUNT, ...USAGE })),
});

const EVIDENCE = completeOrNull({
  /** Decisions of inference that were read. */
  decisions: COUNT,
  /** Those that base would make otherwise: under another table, or for what old records lack. */
  not_reproduced: COUNT,
  /** Lines that are no evidence. */
  unreadable: COUNT,
  /** RFC 3339, of the first and the last decision; `null` without any. */
  from: NULLABLE_TEXT,
  to: NULLABLE_TEXT,
  /** Decisions that head's files cannot express; base's may, so others count them too. */
  unrepresentable: list(complete({ why: TEXT, decisions: COUNT })),
  declared: SEEN_CALLS,
  promoted: SEEN_CALLS,
});

const ASSERTION = complete({
  id: TEXT,
  title: TEXT,
  kind: TEXT,
  status: oneOf("PASS", "FAIL", "WAIVED"),
  /** Whether base's files fail it too; `null` where it holds, or was not tried on base. */
  fails_in_base: { type: ["boolean", "null"] },
  view: oneOf(...VIEWS, "both"),
  /** Classes that it was held against; an assertion that meets none fails. */
  classes: COUNT,
  violations: COUNT,
  /** One sentence about the first violation, or why it fails without one. */
  message: NULLABLE_TEXT,
  example: nullable(SAMPLE),
  explain: { type: ["array", "null"], items: TEXT },
  waiver: completeOrNull({ until: TEXT, reason: TEXT, owner: TEXT, expired: BOOLEAN }),
  location: LOCATION,
});

const COVERAGE = partial(
  {
    what: oneOf("constraints", "reasons", "routes", "fallback_edges"),
    covered: COUNT,
    of: COUNT,
    /** Per cent, 0 to 100; `null` where no gate was set. */
    required: NULLABLE_NUMBER,
    status: oneOf("PASS", "FAIL"),
    missing: TEXTS,
    location: LOCATION_OR_NULL,
  },
  /** Of one that fails: base's requests cover less than required too. */
  { fails_in_base: { const: true } },
);

const ASSERTIONS = completeOrNull({
  file: TEXT,
  results: list(ASSERTION),
  coverage: list(COVERAGE),
  passed: COUNT,
  failed: COUNT,
  waived: COUNT,
});

/**
 * `signalbox simulate --format json`: versioned, its members in a fixed order, the same bytes for
 * the same two trees whatever the number of workers, so that an approver can sign its SHA-256.
 * Every other format is made from this value alone.
 */
export const REPORT_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  ...partial(
    {
      format: { const: "signalbox.simulation.v4" },
      base: SIDE,
      head: SIDE,
      /** Whether both sides are compared as new installations (`--fresh`). */
      fresh: BOOLEAN,
      /** `false`: not every class was decided; `cut` has what was left out. */
      complete: BOOLEAN,
      cut: list(DIMENSION_CUT),
      space: complete({
        /** Of the decided requests: those of one state of approvals with the same results. */
        classes: COUNT,
        shapes: TEXT,
        dimensions: list(DIMENSION),
      }),
      /** Head on a server that runs base: base's content stays enforced until a promotion. */
      declared: COMPARISON,
      /** As if the candidates of `promoted_policies` were promoted in head. */
      promoted: COMPARISON,
      promoted_policies: TEXTS,
      /** Every changed entry of the files with the groups that follow from it, the worst first. */
      causes: list(CAUSE),
      findings: list(FINDING),
      /** Every setting that differs, also those that decide nothing about where requests go. */
      changed_settings: list(SETTING),
      /** `null` where no evidence was given. */
      evidence: EVIDENCE,
      /** `null` where there is no assertions file. */
      assertions: ASSERTIONS,
    },
    /** Absent where no policy changed. */
    { future_rows: FUTURE_ROWS },
  ),
} as const;

export type SimulationReport = ValueOf<typeof REPORT_SCHEMA>;
export type SideReport = ValueOf<typeof SIDE>;
export type DimensionCut = ValueOf<typeof DIMENSION_CUT>;
export type CostliestPolicy = ValueOf<typeof COSTLIEST>;
export type WidestRoute = ValueOf<typeof WIDEST>;
export type DimensionReport = ValueOf<typeof DIMENSION>;
export type SourceLocation = ValueOf<typeof LOCATION>;
export type SideLocation = NonNullable<ValueOf<typeof SIDE_LOCATION>>;
export type CandidateReport = ValueOf<typeof CANDIDATE>;
export type ResultReport = ValueOf<typeof RESULT>;
export type ChangeGroup = ValueOf<typeof GROUP>;
export type RoutePath = ValueOf<typeof ROUTE_PATH>;
export type DataPath = ValueOf<typeof DATA_PATH>;
export type ComparisonReport = ValueOf<typeof COMPARISON>;
export type DestinationReport = ValueOf<typeof DESTINATION>;
export type ChangedEntry = ValueOf<typeof ENTRY>;
export type Rename = ValueOf<typeof RENAME>;
export type CauseReport = ValueOf<typeof CAUSE>;
export type LatentChange = ValueOf<typeof FUTURE_CHANGE>;
export type LatentReport = ValueOf<typeof FUTURE_ROWS>;
export type SettingChange = ValueOf<typeof SETTING>;
export type UnusedFinding = ValueOf<typeof FINDING>;
export type EvidenceReport = NonNullable<ValueOf<typeof EVIDENCE>>;
export type AssertionResult = ValueOf<typeof ASSERTION>;
export type CoverageResult = ValueOf<typeof COVERAGE>;
export type AssertionsReport = NonNullable<ValueOf<typeof ASSERTIONS>>;
