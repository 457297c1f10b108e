import { BUDGET_STEPS, type BudgetStep } from "../../canon/limits.ts";
import {
  CAPABILITY_NAMES,
  FEATURE_NAMES,
  type Capability,
  type Feature,
} from "../../canon/capability.ts";
import { NO_FAMILY } from "../../canon/generate/signature.ts";
import { MODEL_OPERATION_OF, OPERATIONS, type Operation } from "../../canon/operation.ts";
import type { PolicyTime } from "../../canon/policy.ts";
import { ALWAYS_USED } from "../../canon/request.ts";
import type { RoutingTable, Vocabulary } from "../../canon/table.ts";
import { scalarValues, type ScalarValues } from "../request-scalars.ts";
import type { Times } from "./times.ts";
import { DEFAULT_ENVIRONMENT } from "../explain/explain-arguments.ts";

/** Values of every member of one operation's requests that a decision may read. */
export interface OperationUniverse extends ScalarValues {
  readonly needs: readonly Capability[];
  /** Those that a request may have or not; sorted. */
  readonly features: readonly Feature[];
  /** Those that every request has. */
  readonly always: readonly Feature[];
  /** `null`: the request names no length. */
  readonly dimensions: readonly (number | null)[];
  /** Families of requests with signed reasoning; two of them represent several at once. */
  readonly signatureFamilies: readonly (readonly string[])[];
}

/**
 * Every request that two tables can decide. It is finite because a decision reads finite values
 * only (docs/policies.md#what-a-policy-may-read).
 */
export interface Universe extends Required<Vocabulary> {
  readonly workspaces: readonly string[];
  /** Route names; the empty one for moderations, where the workspace chooses it. */
  readonly models: readonly string[];
  readonly operations: ReadonlyMap<Operation, OperationUniverse>;
  /**
   * One where no policy or assertion reads them: requests are not counted by members that no answer
   * depends on.
   */
  readonly budgets: readonly BudgetStep[];
  readonly times: readonly PolicyTime[];
  /** How reports name a time. */
  readonly timeName: (time: PolicyTime) => string;
  readonly preferences: PreferenceUniverse;
}

/** The values of an operation that the universe has. */
export function valuesOf({ operations }: Universe, operation: Operation): OperationUniverse {
  const found = operations.get(operation);
  if (found === undefined)
    throw new Error(`simulation: the universe has no operation ${operation}`);
  return found;
}

/**
 * Callers' preferences for providers. They act by the candidates that they leave and by their order
 * (`preference-effects.ts`), and by three flags that policies see.
 */
export interface PreferenceUniverse {
  readonly allowFallbacks: readonly boolean[];
  readonly dataCollection: readonly ("allow" | "deny")[];
  readonly zdr: readonly boolean[];
  /** The members, besides the flags, by which a request may leave candidates out. */
  readonly narrowing: readonly ("only" | "ignore" | "region" | "max_price")[];
  /** Whether a request may name an order of candidates. */
  readonly orders: boolean;
}

/** Environment, workload or owner of a key where neither vocabulary has it. */
export const OUTSIDE_VOCABULARY = "other";

const UNARY_FEATURES: readonly Feature[] = ["token_inputs", "input_purpose", "document_limit"];
const NATIVE_FEATURES: readonly Feature[] = [
  "native_chat",
  "native_completions",
  "native_responses",
  "native_messages",
];
/** Found while a conversation is read, which these surfaces have and plain completions have not. */
const CONVERSATIONAL = FEATURE_NAMES.filter(
  (name) =>
    !UNARY_FEATURES.includes(name) && !NATIVE_FEATURES.includes(name) && name !== "count_tokens",
);

/**
 * Features that the parsers of each surface can find in a body; others would show differences for
 * requests that cannot exist.
 */
const FEATURES_OF: Readonly<Record<Operation, readonly Feature[]>> = {
  "chat.completions": [...CONVERSATIONAL, "native_chat"],
  completions: [
    "native_completions",
    "logit_bias",
    "penalties",
    "penalties_outside_0_1",
    "sampling",
    "seed",
    "stop_sequences",
    "stop_sequences_blank",
    "stop_sequences_over_4",
    "temperature_above_1",
    "token_logprobs",
  ],
  responses: [...CONVERSATIONAL, "native_responses"],
  messages: [...CONVERSATIONAL, "native_messages"],
  "messages.count_tokens": [...CONVERSATIONAL, "native_messages"],
  embeddings: ["input_purpose", "token_inputs"],
  rerank: ["document_limit"],
  moderations: ["image_url"],
};

const NEEDS_OF: Readonly<Partial<Record<Operation, readonly Capability[]>>> = {
  completions: ["logprobs", "multiple_choices"],
  embeddings: ["image_input"],
  rerank: [],
  moderations: ["image_input"],
};

/**
 * All requests that either table can get. @param readsBudget whether a policy or an assertion does.
 */
export function universeOf(
  base: RoutingTable,
  head: RoutingTable,
  readsBudget: boolean,
  { times, nameOf }: Times,
): Universe {
  const tables = [base, head];
  const namesOf = (of: NamesOf): readonly string[] => [...new Set(tables.flatMap(of))].toSorted();
  const keyNames = (names: "environments" | "workloads" | "owners", common = OUTSIDE_VOCABULARY) =>
    first(
      common,
      namesOf(({ vocabulary }) => [...(vocabulary[names] ?? []), OUTSIDE_VOCABULARY]),
    );
  const families = namesOf((table) =>
    Object.values(table.models)
      .filter(({ operations }) => operations.includes("generate"))
      .map(({ signatureFamily }) => signatureFamily ?? NO_FAMILY),
  );
  const dimensions = [
    ...new Set(
      tables.flatMap((table) => Object.values(table.models).flatMap((model) => model.dimensions)),
    ),
  ].toSorted((left, right) => left - right);
  return {
    workspaces: namesOf(NAMES.workspaces),
    models: ["", ...namesOf(NAMES.routes)],
    operations: new Map(
      OPERATIONS.map((operation) => [
        operation,
        operationUniverse(operation, families, dimensions),
      ]),
    ),
    environments: keyNames("environments", DEFAULT_ENVIRONMENT),
    workloads: keyNames("workloads"),
    owners: keyNames("owners"),
    budgets: readsBudget ? BUDGET_STEPS : BUDGET_STEPS.slice(0, 1),
    labels: namesOf(({ vocabulary }) => vocabulary.labels),
    preferences: {
      allowFallbacks: [true, false],
      dataCollection: ["deny", "allow"],
      zdr: [false, true],
      narrowing: ["only", "ignore", "region", "max_price"],
      orders: true,
    },
    times,
    timeName: nameOf,
  };
}

/** The names of one kind that a table has; some more than once. */
type NamesOf = (table: RoutingTable) => readonly string[];

export const NAMES = {
  workspaces: ({ workspaces }) => Object.keys(workspaces),
  tiers: ({ workspaces }) => Object.values(workspaces).map(({ tier }) => tier),
  labels: ({ workspaces }) => Object.values(workspaces).flatMap(({ labels }) => labels),
  routes: ({ routes }) => Object.keys(routes),
  providers: ({ providers }) => Object.keys(providers),
  models: ({ models }) => Object.keys(models),
  endpoints: ({ endpoints }) => Object.keys(endpoints),
  dialects: ({ endpoints }) => Object.values(endpoints).map(({ dialect }) => dialect),
  region_groups: ({ regionGroups }) => Object.keys(regionGroups),
  regions: ({ regionGroups, providers, endpoints }) => [
    ...Object.values(regionGroups).flat(),
    ...Object.values(providers).map(({ region }) => region),
    ...Object.values(endpoints).map(({ region }) => region),
  ],
  signature_families: ({ models }) =>
    Object.values(models).map(({ signatureFamily }) => signatureFamily ?? NO_FAMILY),
} as const satisfies Readonly<Record<string, NamesOf>>;

/** Regions and region groups that a request may name. */
export function regionNames({ regionGroups, providers }: RoutingTable): readonly string[] {
  return [
    ...Object.entries(regionGroups).flat(2),
    ...Object.values(providers).map(({ region }) => region),
  ];
}

/** The first value represents all where no reader distinguishes them. */
function first(value: string, values: readonly string[]) {
  return values.includes(value) ? [value, ...values.filter((other) => other !== value)] : values;
}

function operationUniverse(
  operation: Operation,
  families: readonly string[],
  dimensions: readonly number[],
): OperationUniverse {
  const generates = MODEL_OPERATION_OF[operation] === "generate";
  const always = ALWAYS_USED[operation] ?? [];
  const several = families.length > 1 ? [families.slice(0, 2)] : [];
  return {
    needs: (NEEDS_OF[operation] ?? CAPABILITY_NAMES).toSorted(),
    features: FEATURES_OF[operation].filter((name) => !always.includes(name)).toSorted(),
    always,
    ...scalarValues(operation),
    dimensions: operation === "embeddings" ? [null, ...dimensions] : [null],
    signatureFamilies: generates ? [...families.map((family) => [family]), ...several] : [],
  };
}
