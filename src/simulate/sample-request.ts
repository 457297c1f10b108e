import type { Candidate } from "../canon/decision.ts";
import type { BudgetStep } from "../canon/limits.ts";
import type { PolicyTime } from "../canon/policy.ts";
import type { ProviderPreferences, RequestShape } from "../canon/request.ts";
import type { EndpointRow } from "../canon/table.ts";
import type { ChangeKind } from "./change-kind.ts";
import { PLAIN_SCALARS, perScalar } from "./request-scalars.ts";

/**
 * One request with every member that a decision can depend on: the sample of a class, which a
 * reader can try again. Plain JSON.
 */
export interface SampleRequest extends RequestShape {
  readonly workspace: string;
  /**
   * The route's name as a caller would write it; empty for moderations, where the workspace chooses
   * it.
   */
  readonly model: string;
  readonly key: {
    readonly environment: string;
    readonly workload: string;
    /** Absent for one outside of the vocabulary. */
    readonly owner?: string;
    readonly labels: readonly string[];
  };
  readonly preferences: ProviderPreferences | null;
  readonly time: PolicyTime;
  /** The rest of the caller's budgets; absent: it has none. */
  readonly budget?: BudgetStep;
}

/** A request with the default of every member, without workspace and route. */
export const PLAIN_SAMPLE: SampleRequest = {
  workspace: "",
  model: "",
  operation: "chat.completions",
  key: { environment: "", workload: "", labels: [] },
  needs: [],
  features: [],
  signatureFamilies: [],
  ...PLAIN_SCALARS,
  dimensions: null,
  preferences: null,
  time: { day: "weekday", hour: "morning" },
};

/** A destination of a request, with every fact that matters to a reviewer. */
export interface PlannedEndpoint
  extends
    Pick<EndpointRow, "model" | "provider" | "region">,
    Pick<Candidate, "tier" | "balance" | "weight"> {
  readonly endpoint: string;
}

export interface OutcomeDenial {
  /** Policy id, `approvals` or `preferences`. */
  readonly policy: string;
  readonly constraint: string;
  readonly reason: string;
}

/** The outcome of a request on one side. */
export interface Outcome {
  /** In the order of trying; empty for a denial. */
  readonly plan: readonly PlannedEndpoint[];
  /** `null`: all of the plan. */
  readonly maxCandidates: number | null;
  readonly denial: OutcomeDenial | null;
  /** The most output tokens and members to take out; `null` for a denial. */
  readonly edits: {
    readonly maxOutputTokens: number | null;
    readonly stripFields: readonly string[];
  } | null;
  /** Whether an enforced constraint could not be evaluated. */
  readonly indeterminate: boolean;
}

/** The slots of a view: as declared in the files, or as if candidates were promoted. */
export const VIEWS = ["declared", "promoted"] as const;
export type View = (typeof VIEWS)[number];

/** One thing for each side of a comparison. */
export interface OfSides<Value> {
  readonly base: Value;
  readonly head: Value;
}
export type SideName = keyof OfSides<unknown>;
export const OTHER_SIDE = { base: "head", head: "base" } as const;

export interface OutcomePair extends OfSides<Outcome> {
  /** In the order of `CHANGE_KINDS`; empty where nothing changes. */
  readonly kinds: readonly ChangeKind[];
}

/** A workspace and the route name of its requests. */
export interface Member {
  readonly workspace: string;
  readonly model: string;
}

/** One class of requests, decided on both sides. */
export interface ClassComparison {
  /** Represents every request of the class. */
  readonly sample: SampleRequest;
  /**
   * The workspaces and routes of the class; no rule distinguishes them. The sample is of one of
   * them.
   */
  readonly members: readonly [Member, ...Member[]];
  /** How many request shapes the class covers, all members together. */
  readonly shapes: bigint;
  readonly declared: OutcomePair;
  readonly promoted: OutcomePair;
  /**
   * With base's outcome for the compared request, where the caller names something that base lacks
   * or accepts no fallback; `null` for others.
   */
  readonly reaching: Readonly<Record<View, OutcomePair>> | null;
}

/**
 * Distinctions of readers other than policies; no class has two requests that differ in them.
 */
export interface Distinctions {
  /** Ids, capabilities, features, labels and other names that must be distinguished. */
  readonly strings: readonly string[];
  /**
   * Paths of `PolicyInput`, such as `input.key.environment`, that are read; besides them
   * `input.request.features`, `input.request.signature_families` and {@link NARROWED}. Names that
   * are not listed are equal to the reader, but differ from none.
   */
  readonly reads: readonly string[];
}

/** Whether the caller has excluded endpoints, which no policy sees. */
export const NARROWED = "preferences.narrowed";

/** Whether a caller excludes some endpoints of the route. */
export function isNarrowed(preferences: ProviderPreferences | null): boolean {
  const { only, region, ignore, max_price: price } = preferences ?? {};
  return (
    choosesOne(preferences) || [only, region, ignore, price].some((member) => member !== undefined)
  );
}

/** Whether a caller takes the first candidate of its own order and no other. */
export function choosesOne(preferences: ProviderPreferences | null): boolean {
  const { order, sort, allow_fallbacks: mayFallBack } = preferences ?? {};
  return mayFallBack === false && (order !== undefined || sort !== undefined);
}

/**
 * Number of conditions beyond those of every caller: preferences, needs, labels, sizes. 0: a plain
 * request.
 */
export function conditionCount(sample: SampleRequest): number {
  const { preferences, needs, features, signatureFamilies, key } = sample;
  const sizes = perScalar((member) => sample[member] !== PLAIN_SAMPLE[member]);
  return (
    Object.values(preferences ?? {}).filter((value) => value !== undefined).length +
    needs.length +
    features.length +
    signatureFamilies.length +
    key.labels.length +
    sizes.filter(Boolean).length
  );
}

/**
 * The values of preferences by member, as reports show them; absent members have a text too.
 */
export function preferenceValues(
  preferences: ProviderPreferences | null,
): readonly (readonly [string, readonly string[]])[] {
  const { only, region, ignore, max_price: price, order, sort } = preferences ?? {};
  const parts = Object.entries(price ?? {}).map(([part, most]) => `${part} ${most}`);
  return [
    ["only", [only?.join(" or ") ?? "any"]],
    ["region", [region?.join(" or ") ?? "any"]],
    ["ignore", [ignore?.join(" and ") ?? "none"]],
    ["max_price", [price === undefined ? "any" : parts.join(" and ") || "known"]],
    ["order", [order?.join(" then ") ?? "any"]],
    ["sort", [sort === undefined ? "any" : `${sort.by} by ${sort.partition}`]],
    ["allow_fallbacks", [String(preferences?.allow_fallbacks !== false)]],
    ["data_collection", [preferences?.data_collection ?? "deny"]],
    ["zdr", [String(preferences?.zdr === true)]],
  ];
}
