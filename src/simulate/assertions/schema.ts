import {
  choose,
  list,
  object,
  range,
  ref,
  refs,
  type Schema,
  text,
} from "../../compile/authored/schema.ts";
import { CHANGE_KINDS, type ChangeKind } from "../change-kind.ts";
import { type SampleRequest, type View, VIEWS } from "../sample-request.ts";
import { BUDGET_STEPS } from "../../canon/limits.ts";
import { CAPABILITY_NAMES, FEATURE_NAMES } from "../../canon/capability.ts";
import type { ValueOf } from "../../canon/json/schema.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { DAY_BUCKETS, HOUR_BUCKETS, type PolicyContract } from "../../canon/policy.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../canon/request.ts";
import { OWNER_PATTERN, RETENTIONS, type RoutingTable } from "../../canon/table.ts";
import type { SourceLocation } from "../report/report.ts";

const nameSchema = text("^[A-Za-z0-9][A-Za-z0-9._:/-]{0,126}$", "a name as routes.yaml has it");

const owner = text(OWNER_PATTERN, "an owner as routes.yaml has it");

const name = { $ref: "#/$defs/name" } as const;

/** Several items, of which one must fit. */
const some = <const Item extends Schema>(description: string, item: Item) =>
  ({ ...list(description, item), minItems: 1 }) as const;

const names = (description: string) => some(description, name);

const value = <const Value extends string>(values: readonly Value[]) =>
  ({ type: "string", enum: values }) as const;

const oneOf = <const Value extends string>(description: string, values: readonly Value[]) =>
  some(description, value(values));

/** A mapping with at least one of its keys. */
const nonEmpty = <const Mapping extends Schema>(mapping: Mapping) =>
  ({ ...mapping, minProperties: 1 }) as const;

/** One of some values. */
const choice = <const Value extends string>(
  description: string,
  values: readonly Value[],
  rest: { readonly default?: Value } = {},
) => ({ ...value(values), ...rest, description }) as const;

const flag = (description: string) => ({ type: "boolean", description }) as const;

/** A condition on a set: a list is short for `any`. */
function set<const Item extends Schema>(description: string, item: Item) {
  const conditions = nonEmpty(
    object(`${description} All conditions must be met.`, {
      all: some("All of these are there.", item),
      any: some("At least one of these is there.", item),
      none: some("None of these is there.", item),
      only: list("Nothing but these is there; `[]`: nothing at all.", item),
    }),
  );
  return {
    description,
    ...choose("object", conditions, some(`${description} At least one of these is there.`, item)),
  };
}

const requestSelector = nonEmpty(
  object(
    "Which requests are selected: all given members must match, of a list one of its members.",
    {
      workspaces: names("Workspace ids."),
      tiers: names("Tiers of workspaces."),
      labels: set("Labels of the workspace.", name),
      routes: names(
        "Route ids; a moderation request that names no route uses its workspace's own.",
      ),
      operations: oneOf("The operation of the request.", OPERATIONS),
      needs: set("Capabilities that the request needs.", value(CAPABILITY_NAMES)),
      features: set("Features of a wire protocol that the request requires.", value(FEATURE_NAMES)),
      signature_families: set("Families whose signed reasoning is in the history.", name),
      environments: names("Environments of the key; `other`: one outside the vocabulary."),
      workloads: names("Workloads of the key; `other`: one outside the vocabulary."),
      owners: some("Owners of the key; `other`: one outside the vocabulary.", owner),
      key_labels: set("Labels of the key.", name),
      stream: flag("Whether the answer is streamed."),
      context: oneOf("Estimated size of the input.", TOKEN_BUCKETS),
      max_output: oneOf("The most output that the request allows.", TOKEN_BUCKETS),
      reasoning_effort: oneOf("Reasoning effort.", REASONING_EFFORTS),
      dimensions: some(
        "Requested lengths of vectors; 0: the request has none.",
        range("integer", 0, 65_536),
      ),
      allow_fallbacks: flag("Whether the caller accepts fallbacks; default: true."),
      data_collection: choice(
        "Whether the caller accepts providers that train on data; default: `deny`.",
        ["allow", "deny"],
      ),
      zdr: flag("Whether the caller requires providers that keep nothing; default: false."),
      budgets: oneOf("What is left of the caller's budgets.", BUDGET_STEPS),
      days: oneOf("Days (UTC) of the decision.", DAY_BUCKETS),
      hours: oneOf("Hours (UTC) of the decision.", HOUR_BUCKETS),
    },
  ),
);

const endpointSelector = nonEmpty(
  object(
    "Which endpoints are selected: all given members must match, of a list one of its members.",
    {
      providers: names("Provider ids."),
      regions: names("Regions, or region groups for all regions in them."),
      models: names("Model ids."),
      endpoints: names("Endpoint ids."),
      retention: oneOf("How long the provider keeps requests and answers.", RETENTIONS),
      trains_on_data: flag("Whether the provider trains on requests and answers."),
    },
  ),
);

const denialSelector = nonEmpty(
  object("What a denial names: all given members must match.", {
    policy: ref("name", "Policy id; `approvals` or `preferences` for denials by the table."),
    constraint: ref("name", "Name of the constraint."),
    reason: ref("name", "Code of the reason."),
  }),
);

const caseRequest = object(
  "One request. Members that are left out have the simplest value: no needs, no features, a small input, no preferences.",
  {
    workspace: ref("name", "Workspace id."),
    model: ref("name", "The route's id; only moderations may leave it out."),
    operation: choice("The operation of the request.", OPERATIONS),
    environment: ref("name", "Environment of the key.", { default: "other" }),
    workload: ref("name", "Workload of the key.", { default: "other" }),
    owner: { ...owner, description: "Owner of the key.", default: "other" },
    key_labels: list("Labels of the key.", name),
    budget: choice("What is left of the caller's budgets.", BUDGET_STEPS, { default: "unlimited" }),
    needs: list("Capabilities that the request needs.", value(CAPABILITY_NAMES)),
    features: list("Features of a wire protocol that the request requires.", value(FEATURE_NAMES)),
    signature_families: list("Families whose signed reasoning is in the history.", name),
    stream: flag("Whether the answer is streamed."),
    context: choice("Estimated size of the input.", TOKEN_BUCKETS, { default: "to_1k" }),
    max_output: choice("The most output that the request allows.", TOKEN_BUCKETS, {
      default: "unspecified",
    }),
    reasoning_effort: choice("Reasoning effort.", REASONING_EFFORTS, { default: "unspecified" }),
    dimensions: {
      ...range("integer", 1, 65_536),
      description: "Requested length of the vectors.",
    },
    allow_fallbacks: flag("`provider.allow_fallbacks` of the request."),
    data_collection: choice("`provider.data_collection`.", ["allow", "deny"]),
    zdr: flag("`provider.zdr` of the request."),
    only: list("`provider.only`: provider ids.", name),
    ignore: list("`provider.ignore`: provider ids.", name),
    order: list("`provider.order`: provider ids.", name),
    region: list("`provider.region`: regions or region groups.", name),
    day: choice("Day (UTC) of the decision.", DAY_BUCKETS, { default: "weekday" }),
    hour: choice("Hour (UTC) of the decision.", HOUR_BUCKETS, { default: "morning" }),
  },
  ["workspace", "operation"],
);

/** Parts of the kinds of assertions, as `$defs` of the schema. */
export const SELECTOR_DEFINITIONS = {
  name: nameSchema,
  request_selector: requestSelector,
  endpoint_selector: endpointSelector,
  denial_selector: denialSelector,
  case_request: caseRequest,
} as const;

/** The members of a shape, as a type. */
type Authored<Shape> = ValueOf<Shape, typeof SELECTOR_DEFINITIONS>;

/**
 * Selects requests: all given members must match, of a list one item. Names are those of the file.
 */
export type RequestSelector = Authored<typeof requestSelector>;
/** A condition on a set: a list means `any`. */
export type SetCondition = NonNullable<RequestSelector["labels"]>;
/** Selects endpoints: all given members must match, of a list one item. */
export type EndpointSelector = Authored<typeof endpointSelector>;
export type DenialSelector = Authored<typeof denialSelector>;
/** The request of a case; members that are left out have their defaults. */
export type CaseRequest = Authored<typeof caseRequest>;

/** `$id` of the schema; a name, not an address to fetch. */
const SCHEMA_ID = "urn:signalbox:assertions:1";

const line = (description: string) =>
  ({
    ...text("^[^\\u0000-\\u001f\\u007f]{1,200}$", "one line of at most 200 characters"),
    description,
  }) as const;

const outcome = choice("Whether the request is routed or denied.", ["route", "deny"]);

const waiver = object(
  "A failure that is accepted for a while: WAIVED until the end of the day, FAIL afterwards.",
  {
    until: {
      ...text("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "a date such as `2026-12-31`"),
      description: "Last day of the waiver, in UTC.",
    },
    reason: line("Why the failure is accepted."),
    owner: line("Who is responsible for ending it."),
  },
  ["until", "reason", "owner"],
);

const common = {
  id: {
    ...text(
      "^(?=.{1,63}$)[a-z0-9]+(?:-[a-z0-9]+)*$",
      "kebab-case of at most 63 characters, such as `no-new-access`",
    ),
    description: "Name of the assertion in reports. Unique in the file.",
  },
  title: line("What is asserted, in one sentence."),
  view: choice(
    "`declared`: as the files say. `promoted`: as if every candidate were promoted. `both`: each must hold.",
    [...VIEWS, "both"],
    { default: "both" },
  ),
  waiver,
} as const;

const selection = {
  for: ref("request_selector", "Requests that are selected. All unless set."),
  except: ref("request_selector", "Requests that are excluded."),
  may_be_empty: {
    type: "boolean",
    default: false,
    description: "Whether it may select no request at all; otherwise that is a failure.",
  },
} as const;

/** A kind of assertion with keys of its own. */
function kind<
  const Kind extends string,
  const Keys extends Readonly<Record<string, Schema>>,
  const Required extends keyof Keys & string = never,
>(kindName: Kind, description: string, keys: Keys, required: readonly Required[] = []) {
  const properties = {
    kind: { const: kindName, description: "Kind of the assertion." },
    ...common,
    ...keys,
  } as const;
  return object<typeof properties, "kind" | "id" | "title" | Required>(description, properties, [
    "kind",
    "id",
    "title",
    ...required,
  ]);
}

const KINDS = {
  no_new_access: kind(
    "no_new_access",
    "Requests reach no provider in a region in head that they do not reach there in base.",
    { ...selection, to: ref("endpoint_selector", "Endpoints that are selected. All unless set.") },
  ),
  access_not_granted: kind(
    "access_not_granted",
    "No plan of these requests contains such an endpoint in head.",
    { ...selection, to: ref("endpoint_selector", "Endpoints that must not be reached.") },
    ["to"],
  ),
  always_routable: kind("always_routable", "These requests are routed in head.", {
    ...selection,
    min_endpoints: {
      type: "integer",
      minimum: 1,
      maximum: 100,
      default: 1,
      description: "Number of endpoints that a request must at least be able to reach.",
    },
  }),
  implies: kind(
    "implies",
    "Every decision of head that meets `if` also meets `then`.",
    {
      ...selection,
      if: nonEmpty(
        object("The condition that selects decisions.", {
          outcome,
          reaches: ref("endpoint_selector", "Some endpoint of the plan is one of these."),
          denied_by: ref("denial_selector", "The request is denied by this."),
        }),
      ),
      // oxlint-disable-next-line unicorn/no-thenable -- a key of the file; no code awaits a schema
      then: nonEmpty(
        object(
          "The condition that they must meet. A denial meets every `every_endpoint`, and no `some_endpoint`.",
          {
            outcome,
            every_endpoint: ref("endpoint_selector", "Every endpoint of the plan is one of these."),
            some_endpoint: ref("endpoint_selector", "Some endpoint of the plan is one of these."),
            primary: ref("endpoint_selector", "The first endpoint of the plan is one of these."),
            denied_by: ref("denial_selector", "The request is denied by this."),
          },
        ),
      ),
    },
    ["if", "then"],
  ),
  equivalent: kind("equivalent", "These requests have the same outcome in base and in head.", {
    ...selection,
    ignoring: list("Changes that do not matter.", value(CHANGE_KINDS)),
  }),
  cases: kind(
    "cases",
    "Single requests and their decisions in head.",
    {
      cases: {
        type: "array",
        minItems: 1,
        description: "The requests.",
        items: object(
          "One request and its expected decision.",
          {
            name: line("What the case is about. Its number unless set."),
            request: ref("case_request", "The request."),
            expect: nonEmpty(
              object("Its decision; all given members must match. Endpoints by id.", {
                outcome,
                plan: refs("name", "All endpoints in the order of trying."),
                primary: ref("name", "The first endpoint."),
                contains: refs("name", "Endpoints that are in the plan."),
                lacks: refs("name", "Endpoints that are not in the plan."),
                denied_by: ref("denial_selector", "The request is denied by this."),
              }),
            ),
          },
          ["request", "expect"],
        ),
      },
    },
    ["cases"],
  ),
} as const;

export const ASSERTION_KINDS = Object.keys(KINDS);

const share = (description: string) =>
  ({ type: "number", minimum: 0, maximum: 100, description }) as const;

const coverage = object("How much of head all classes together must use, in per cent.", {
  constraints: share("Constraints that some request passes and some request fails."),
  reasons: share("Declared reasons that some request is given."),
  routes: share("Routes that some request goes to."),
  fallback_edges: share("Fallbacks of routes that are in at least one plan."),
  except: list(
    "What does not count: `policy/constraint`, `policy/constraint/REASON`, a route, or `route -> endpoint`.",
    text("^[^\\u0000-\\u001f\\u007f]{1,300}$", "one line of at most 300 characters"),
  ),
});

/**
 * The schema of `policies/assertions.yaml`, from which `schemas/assertions.schema.json` and the
 * tables of `docs/assertions.md` are generated. `check-names.ts` checks whether names exist.
 */
export const ASSERTIONS_SCHEMA: Schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: SCHEMA_ID,
  title: "assertions.yaml",
  ...object(
    "The assertions that `signalbox simulate` checks a change against. Unknown keys are errors.",
    {
      version: { const: 1, description: "Version of this format." },
      assertions: {
        type: "array",
        description: "What is unacceptable, one row each.",
        items: {
          type: "object",
          properties: {
            kind: {
              enum: ASSERTION_KINDS,
              description: "Kind of the assertion; it determines the other keys.",
            },
          },
          required: ["kind"],
          discriminator: { propertyName: "kind" },
          oneOf: ASSERTION_KINDS.map((kindName) => ({ $ref: `#/$defs/${kindName}` })),
        },
      },
      coverage,
    },
    ["version", "assertions"],
  ),
  $defs: { ...KINDS, ...SELECTOR_DEFINITIONS },
};

/** One row of the file, before any name is looked up. */
export type AuthoredAssertion = {
  [Kind in keyof typeof KINDS]: Authored<(typeof KINDS)[Kind]>;
}[keyof typeof KINDS];
type OfKind<Kind extends AuthoredAssertion["kind"]> = Extract<
  AuthoredAssertion,
  { readonly kind: Kind }
>;
export type AuthoredCase = OfKind<"cases">["cases"][number];
/** The expected outcome of a case on head; endpoints by id. */
export type CaseExpectation = AuthoredCase["expect"];
/** `if` of an implication; all given members must match. */
export type DecisionCondition = OfKind<"implies">["if"];
/**
 * `then` of an implication. A denial has no endpoints: it meets every `every_endpoint` and no
 * `some_endpoint` or `primary`.
 */
export type DecisionDemand = OfKind<"implies">["then"];
type Waiver = Authored<typeof waiver>;

/** The file as its schema has it. */
export interface AuthoredAssertions {
  readonly version: 1;
  readonly assertions: readonly AuthoredAssertion[];
  readonly coverage?: Authored<typeof coverage>;
}

/** The table and contracts in which names of an assertions file are looked up. */
export interface AssertionSide {
  readonly table: RoutingTable;
  /**
   * `null`: unknown; names of policies, constraints and reasons are then not checked.
   */
  readonly contracts: readonly PolicyContract[] | null;
}

export interface SampleCase {
  readonly name: string;
  readonly sample: SampleRequest;
  readonly expect: CaseExpectation;
}

interface ForClasses {
  readonly for: RequestSelector;
  readonly except: RequestSelector | null;
}

/** The demand of an assertion on its classes or requests. */
export type Demand =
  | ({ readonly kind: "no_new_access"; readonly to: EndpointSelector } & ForClasses)
  | ({ readonly kind: "access_not_granted"; readonly to: EndpointSelector } & ForClasses)
  | ({ readonly kind: "always_routable"; readonly min_endpoints: number } & ForClasses)
  | ({
      readonly kind: "implies";
      readonly if: DecisionCondition;
      readonly then: DecisionDemand;
    } & ForClasses)
  | ({ readonly kind: "equivalent"; readonly ignoring: readonly ChangeKind[] } & ForClasses)
  | { readonly kind: "cases"; readonly cases: readonly SampleCase[] };

/**
 * One assertion of the file, with its defaults written out. Plain data: it can be sent to another
 * thread.
 */
export type Assertion = Demand & {
  readonly id: string;
  readonly title: string;
  readonly view: View | "both";
  readonly waiver: Waiver | null;
  /**
   * Whether it may select no request at all. Otherwise that is a failure: a typo must not read as a
   * pass.
   */
  readonly may_be_empty: boolean;
  readonly location: SourceLocation;
};

/** An assertion about classes of requests; cases are decided one by one. */
export type ClassAssertion = Exclude<Assertion, { readonly kind: "cases" }>;

/** Measures of coverage. */
export const COVERAGE_MEASURES = ["constraints", "reasons", "routes", "fallback_edges"] as const;
export type CoverageMeasure = (typeof COVERAGE_MEASURES)[number];

interface CoverageGate {
  readonly what: CoverageMeasure;
  /** Per cent, 0 to 100. */
  readonly required: number;
  readonly location: SourceLocation;
}

export interface CoverageDemand {
  readonly gates: readonly CoverageGate[];
  /**
   * Subjects that do not count, such as `eu-residency/processed_in_eu` and `chat-large → gpt-5-eu`.
   */
  readonly except: readonly string[];
}

/** The content of `policies/assertions.yaml`. */
export interface Assertions {
  /** In the order of the file. */
  readonly assertions: readonly Assertion[];
  readonly coverage: CoverageDemand;
}

/**
 * End of a day (UTC), milliseconds since the epoch; `null` for a day that does not exist.
 */
export function lastMoment(day: string): number | null {
  const midnight = Date.parse(`${day}T00:00:00.000Z`);
  // `2026-02-30` would be read as the second of March by some engines.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day) return null;
  return midnight + 86_400_000;
}

/**
 * Whether assertions of a kind hold wherever a request has the same result on both sides; they may
 * have names of base alone.
 */
export function comparesSides(kindName: Demand["kind"]): boolean {
  return kindName === "no_new_access" || kindName === "equivalent";
}
