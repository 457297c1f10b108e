import { BUDGET_STEPS } from "../../canon/limits.ts";
import { CAPABILITY_NAMES, FEATURE_NAMES } from "../../canon/capability.ts";
import type { ValueOf } from "../../canon/json/schema.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { DAY_BUCKETS, HOUR_BUCKETS } from "../../canon/policy.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../canon/request.ts";
import { OWNER_PATTERN, RETENTIONS } from "../../canon/table.ts";
import {
  choose,
  list,
  object,
  ref,
  type Schema,
  range,
  text,
} from "../../compile/authored/schema.ts";

const nameSchema = text("^[A-Za-z0-9][A-Za-z0-9._:/-]{0,126}$", "a name as routes.yaml has it");

const owner = text(OWNER_PATTERN, "an owner as routes.yaml has it");

const name = { $ref: "#/$defs/name" } as const;

/** Several items, of which one must fit. */
const some = <const Item extends Schema>(description: string, item: Item) =>
  ({ ...list(description, item), minItems: 1 }) as const;

const names = (description: string) => some(description, name);

const oneOf = <const Value extends string>(description: string, values: readonly Value[]) =>
  some(description, { type: "string", enum: values });

/** A mapping with at least one of its keys. */
export const given = <const Mapping extends Schema>(mapping: Mapping) =>
  ({ ...mapping, minProperties: 1 }) as const;

/** One of some values. */
export const choice = <const Value extends string>(
  description: string,
  values: readonly Value[],
  rest: { readonly default?: Value } = {},
) => ({ type: "string", enum: values, ...rest, description }) as const;

const flag = (description: string) => ({ type: "boolean", description }) as const;

/** A condition on a set: a list is short for `any`. */
function set<const Item extends Schema>(description: string, item: Item) {
  const conditions = given(
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

const requestSelector = given(
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
      needs: set("Capabilities that the request needs.", {
        type: "string",
        enum: CAPABILITY_NAMES,
      }),
      features: set("Features of a wire protocol that the request requires.", {
        type: "string",
        enum: FEATURE_NAMES,
      }),
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

const endpointSelector = given(
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

const denialSelector = given(
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
    needs: list("Capabilities that the request needs.", { type: "string", enum: CAPABILITY_NAMES }),
    features: list("Features of a wire protocol that the request requires.", {
      type: "string",
      enum: FEATURE_NAMES,
    }),
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
  place_selector: endpointSelector,
  denial_selector: denialSelector,
  case_request: caseRequest,
} as const;

/** The members of a shape, as a type. */
export type Authored<Shape> = ValueOf<Shape, typeof SELECTOR_DEFINITIONS>;

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
