import type { Capability } from "../../canon/capability.ts";
import type { Feature } from "../../canon/generate/feature.ts";
import type { Operation } from "../../canon/operation.ts";
import type { PolicyContract, PolicyTime } from "../../canon/policy.ts";
import type { ReasoningEffort, TokenBucket } from "../../canon/request.ts";
import type { Retention } from "../../canon/retention.ts";
import type { RoutingTable } from "../../canon/table.ts";
import type { ChangeWord, SampleRequest, View } from "../sample-request.ts";
import type { SourceLocation } from "../report/report.ts";

/** One thing for each side of a comparison. */
export interface OfSides<Value> {
  readonly base: Value;
  readonly head: Value;
}

/** What the words of an assertions file are looked up in. */
export interface AssertionSide {
  readonly table: RoutingTable;
  /** `null` where they are not known: names of policies, constraints and reasons are then believed. */
  readonly contracts: readonly PolicyContract[] | null;
}

/** A list stands for `any`. Everything that is said must hold. */
export type SetCondition =
  | readonly string[]
  | {
      /** All of these are in the set. */
      readonly all?: readonly string[];
      /** At least one of these is in the set. */
      readonly any?: readonly string[];
      /** None of these is in the set. */
      readonly none?: readonly string[];
      /** Nothing but these is in the set; an empty list means an empty set. */
      readonly only?: readonly string[];
    };

/** Which requests are meant: everything that is said must hold, of a list one member. Names are those of the file. */
export interface RequestSelector {
  readonly workspaces?: readonly string[];
  readonly tiers?: readonly string[];
  /** Of the workspace. */
  readonly labels?: SetCondition;
  readonly routes?: readonly string[];
  readonly operations?: readonly Operation[];
  readonly needs?: SetCondition;
  readonly features?: SetCondition;
  readonly signature_families?: SetCondition;
  /** Of the key; `other` for words outside the vocabulary, as policies see them. */
  readonly environments?: readonly string[];
  readonly workloads?: readonly string[];
  readonly key_labels?: SetCondition;
  readonly stream?: boolean;
  readonly context?: readonly TokenBucket[];
  readonly max_output?: readonly TokenBucket[];
  readonly reasoning_effort?: readonly ReasoningEffort[];
  /** Lengths of vectors; 0: none was asked for. */
  readonly dimensions?: readonly number[];
  readonly allow_fallbacks?: boolean;
  readonly data_collection?: "allow" | "deny";
  readonly zdr?: boolean;
  readonly days?: readonly PolicyTime["day"][];
  readonly hours?: readonly PolicyTime["hour"][];
}

/** Which places are meant: everything that is said must hold, of a list one member. */
export interface EndpointSelector {
  readonly providers?: readonly string[];
  /** Regions or region groups of head. */
  readonly regions?: readonly string[];
  readonly models?: readonly string[];
  readonly endpoints?: readonly string[];
  readonly retention?: readonly Retention[];
  readonly trains_on_data?: boolean;
}

export interface DenialSelector {
  /** Policy id, `approvals` or `preferences`. */
  readonly policy?: string;
  readonly constraint?: string;
  readonly reason?: string;
}

export type OutcomeWord = "route" | "deny";

/** `if` of an implication; everything that is said must hold. */
export interface DecisionCondition {
  readonly outcome?: OutcomeWord;
  /** Some place of the plan is one of these. */
  readonly reaches?: EndpointSelector;
  readonly denied_by?: DenialSelector;
}

/** `then` of an implication. A denial has no places: it keeps to every `every_place` and to no `some_place` or `primary`. */
export interface DecisionDemand {
  readonly outcome?: OutcomeWord;
  readonly every_place?: EndpointSelector;
  readonly some_place?: EndpointSelector;
  /** The first place of the plan. */
  readonly primary?: EndpointSelector;
  readonly denied_by?: DenialSelector;
}

/** What a point case expects of head; endpoints by id. */
export interface CaseExpectation {
  readonly outcome?: OutcomeWord;
  /** All places in the order of trying. */
  readonly plan?: readonly string[];
  readonly primary?: string;
  readonly contains?: readonly string[];
  readonly lacks?: readonly string[];
  readonly denied_by?: DenialSelector;
}

export interface PointCase {
  readonly name: string;
  readonly point: SampleRequest;
  readonly expect: CaseExpectation;
}

export interface Waiver {
  /** `2026-12-31`: the last day (UTC) on which a failure is waived. */
  readonly until: string;
  readonly reason: string;
  readonly owner: string;
}

interface ForClasses {
  readonly for: RequestSelector;
  readonly except: RequestSelector | null;
}

/** What is demanded of the classes or requests that an assertion is about. */
export type Demand =
  | ({ readonly kind: "no_new_access"; readonly to: EndpointSelector } & ForClasses)
  | ({ readonly kind: "access_not_granted"; readonly to: EndpointSelector } & ForClasses)
  | ({ readonly kind: "always_routable"; readonly min_places: number } & ForClasses)
  | ({ readonly kind: "implies"; readonly if: DecisionCondition; readonly then: DecisionDemand } & ForClasses)
  | ({ readonly kind: "equivalent"; readonly ignoring: readonly ChangeWord[] } & ForClasses)
  | { readonly kind: "cases"; readonly cases: readonly PointCase[] };

export const ASSERTION_KINDS = [
  "no_new_access",
  "access_not_granted",
  "always_routable",
  "implies",
  "equivalent",
  "cases",
] as const satisfies readonly Demand["kind"][];

/** One assertion as the file says it, with its defaults written out. Plain data: it can be handed to another thread. */
export type Assertion = Demand & {
  readonly id: string;
  readonly title: string;
  readonly standpoint: View | "both";
  readonly waiver: Waiver | null;
  /** Whether it may meet no request at all; otherwise that is a failure, because a typo must not read as a pass. */
  readonly may_be_empty: boolean;
  readonly place: SourceLocation;
};

/** What can be covered. */
export const COVERAGE_MEASURES = ["constraints", "reasons", "routes", "fallback_edges"] as const;
export type CoverageMeasure = (typeof COVERAGE_MEASURES)[number];

export interface CoverageGate {
  readonly what: CoverageMeasure;
  /** Per cent, 0 to 100. */
  readonly required: number;
  readonly place: SourceLocation;
}

export interface CoverageDemand {
  readonly gates: readonly CoverageGate[];
  /** Subjects that do not count, such as `eu-residency/processed_in_eu` and `chat-large → gpt-5-eu`. */
  readonly except: readonly string[];
}

/** What `policies/assertions.yaml` says. */
export interface Assertions {
  /** In the order of the file. */
  readonly assertions: readonly Assertion[];
  readonly coverage: CoverageDemand;
}

/** What a request of a point case says; what is left out is the plainest request there is. */
export interface CaseRequest {
  readonly workspace: string;
  /** The route's name; may be left out for moderations only. */
  readonly model?: string;
  readonly operation: Operation;
  readonly environment?: string;
  readonly workload?: string;
  readonly key_labels?: readonly string[];
  readonly needs?: readonly Capability[];
  readonly features?: readonly Feature[];
  readonly signature_families?: readonly string[];
  readonly stream?: boolean;
  readonly context?: TokenBucket;
  readonly max_output?: TokenBucket;
  readonly reasoning_effort?: ReasoningEffort;
  readonly dimensions?: number;
  readonly allow_fallbacks?: boolean;
  readonly data_collection?: "allow" | "deny";
  readonly zdr?: boolean;
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  readonly order?: readonly string[];
  readonly region?: readonly string[];
  readonly day?: PolicyTime["day"];
  readonly hour?: PolicyTime["hour"];
}
