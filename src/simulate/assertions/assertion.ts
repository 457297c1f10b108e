import type { PolicyContract } from "../../canon/policy.ts";
import type { RoutingTable } from "../../canon/table.ts";
import type { ChangeKind } from "../change-kind.ts";
import type { SampleRequest, View } from "../sample-request.ts";
import type {
  EndpointSelector,
  RequestSelector,
  CaseExpectation,
  DecisionCondition,
  DecisionDemand,
  Waiver,
} from "./schema.ts";
import type { SourceLocation } from "../report/report.ts";

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
  | ({ readonly kind: "always_routable"; readonly min_places: number } & ForClasses)
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
export function comparesSides(kind: Demand["kind"]): boolean {
  return kind === "no_new_access" || kind === "equivalent";
}
