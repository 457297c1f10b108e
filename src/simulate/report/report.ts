import type { Diagnostic } from "../../canon/diagnostic.ts";
import type { Balance } from "../../canon/table.ts";
import type { CauseReport } from "./cause-report.ts";
import type { ChangeKind } from "../change-kind.ts";
import type { SeenUsage } from "../evidence/seen-usage.ts";
import type { LatentReport } from "./latent-report.ts";
import type { SideLocation, SourceLocation } from "./location.ts";
import type { OutcomeDenial, SampleRequest } from "../sample-request.ts";
import type { SettingGate } from "../settings/raised.ts";
import type { SettingEffect } from "../settings/setting-effect.ts";

/**
 * What `signalbox simulate --format json` prints: versioned, its members in a fixed order, the same
 * bytes for the same two trees whatever the number of workers, so that an approver can sign its
 * SHA-256. Every other format is made from this value alone.
 */
export interface SimulationReport {
  readonly format: "signalbox.simulation.v3";
  readonly base: SideReport;
  readonly head: SideReport;
  /** Whether both sides are taken as stores would start them that have seen neither (`--fresh`). */
  readonly fresh: boolean;
  /** `false`: not every class was decided; `cut` has what was left out. */
  readonly complete: boolean;
  readonly cut: readonly DimensionCut[];
  readonly space: SpaceReport;
  /**
   * Head in a store that has seen base: what base enforced stays enforced until other content is
   * promoted.
   */
  readonly declared: ComparisonReport;
  /**
   * As if the candidates named in `promoted_policies` were promoted in head (all of both sides,
   * unless the call names some).
   */
  readonly promoted: ComparisonReport;
  readonly promoted_policies: readonly string[];
  /** Every changed entry of the files with the groups that follow from it, the worst first. */
  readonly causes: readonly CauseReport[];
  readonly findings: readonly UnusedFinding[];
  /** Absent where no policy changed. */
  readonly latent?: LatentReport;
  /**
   * Every setting of the files that differs, with both values: also what decides nothing about
   * where requests go, with the reason.
   */
  readonly changed_settings: readonly SettingChange[];
  /** `null` where no evidence was given. */
  readonly evidence: EvidenceReport | null;
  /** `null` where there is no assertions file. */
  readonly assertions: AssertionsReport | null;
}

/** One content of a policy. One id may have two: the enforced one and a candidate. */
export interface PolicyReport {
  readonly id: string;
  /** Of a removal the one that a store gives it. */
  readonly digest: string;
  readonly slot: "enforced" | "candidate";
  /** `removal`: the side's files have the policy no more, and promoting that ends it. */
  readonly content: "rules" | "removal";
  /**
   * Whose files it comes from: `base` on the side of head is what a server goes on enforcing until
   * head's candidate is promoted.
   */
  readonly from: "base" | "head";
}

export interface SideReport {
  /** The ref or folder, as given. */
  readonly name: string;
  /** Commit id; `null` for a folder. */
  readonly commit: string | null;
  readonly table_revision: string;
  /** By id, what is enforced first. */
  readonly policies: readonly PolicyReport[];
  /** Warnings of the compiler; a side with errors gives no report. */
  readonly warnings: readonly Diagnostic[];
}

export interface DimensionCut {
  readonly dimension: string;
  /** Distinguished values, and how many of them were decided. */
  readonly values: number;
  readonly kept: number;
  /** What took the time, where policies did. */
  readonly costliest?: CostliestPolicy;
  /**
   * The route with most providers, where callers can leave more sets of them than `costliest`
   * distinguishes values.
   */
  readonly widest?: WidestRoute;
  /** Where it was not the time. */
  readonly ended_by?: "memory";
}

/** `sets`: of candidates that callers' preferences can leave, at most. */
export type WidestRoute = Readonly<{ route: string; providers: number; sets: number }>;

/** The policy that was evaluated most often. */
export interface CostliestPolicy {
  readonly policy: string;
  readonly evaluations: number;
  /** The member of requests of which it distinguishes most values, and about how many. */
  readonly dimension: string;
  readonly distinguished: number;
}

interface SpaceReport {
  /**
   * Of the requests that were decided: those of one state of the table's approvals with the same
   * results on both sides.
   */
  readonly classes: number;
  /** Decimal digits: it may be larger than a number holds. */
  readonly shapes: string;
  readonly dimensions: readonly DimensionReport[];
}

export interface DimensionReport {
  readonly name: string;
  /** How many values the dimension has, and into how many they collapse at most. */
  readonly values: number;
  readonly distinguished: number;
  /**
   * Policies (`policy:<id>`), the table (`table`) and assertions (`assertions`) that look at it.
   */
  readonly read_by: readonly string[];
  /**
   * Why similar values are distinguished, such as `policy eu-residency calls startswith`; `null`
   * where they are not.
   */
  readonly reason: string | null;
}

export interface ComparisonReport {
  /** Of every class: what head allows against what base allows. */
  readonly access: "equivalent" | "more_permissive" | "less_permissive" | "incomparable";
  readonly changed_classes: number;
  readonly changed_shapes: string;
  /** How many classes and shapes each kind of change has; kinds without any are left out. */
  readonly words: readonly {
    readonly word: ChangeKind;
    readonly classes: number;
    readonly shapes: string;
  }[];
  /**
   * What recorded requests met first, then the largest change: denials, new destinations, the rest.
   * Equally large ones by calls, tokens, cost.
   */
  readonly groups: readonly ChangeGroup[];
  /**
   * Routes by which a workspace reaches a destination in head and does not in base, although
   * another route may have led there.
   */
  readonly new_route_paths: readonly RoutePath[];
  /** Reachable in base and not in head. */
  readonly lost_route_paths: readonly RoutePath[];
  /** Reachable in head and not in base, by whatever route. */
  readonly new_data_paths: readonly DataPath[];
  /** Reachable in base and not in head. */
  readonly lost_data_paths: readonly DataPath[];
}

/** Classes that change in the same way on the same routes. */
export interface ChangeGroup {
  /** Twelve hexadecimal digits; the same while the change stays the same. */
  readonly id: string;
  readonly words: readonly ChangeKind[];
  readonly routes: readonly string[];
  readonly workspaces: readonly string[];
  readonly operations: readonly string[];
  /**
   * What else the requests have in common, where not every value of a dimension is concerned:
   * `needs: tools`.
   */
  readonly conditions: readonly {
    readonly dimension: string;
    readonly values: readonly string[];
  }[];
  readonly classes: number;
  readonly shapes: string;
  readonly base: ResultReport;
  readonly head: ResultReport;
  readonly example: SampleRequest;
  /** The command line that explains the example on head, without the program's name. */
  readonly explain: readonly string[];
  /**
   * The location in head's files, or in base's for a rule that is in force from there only; `null`
   * where unknown.
   */
  readonly place: SideLocation | null;
  /** Requests of the evidence in these classes; `null` without evidence. */
  readonly seen: number | null;
  /**
   * What the answers of these requests used; `null` without evidence, and where none of them was
   * seen.
   */
  readonly seen_usage: SeenUsage | null;
}

export interface ResultReport {
  readonly outcome: "route" | "deny";
  readonly plan: readonly CandidateReport[];
  readonly denial: OutcomeDenial | null;
  readonly edits: {
    readonly max_output_tokens: number | null;
    readonly strip_fields: readonly string[];
  } | null;
}

export interface CandidateReport {
  readonly endpoint: string;
  readonly model: string;
  readonly provider: string;
  readonly region: string;
  /** Counted from 0. Endpoints of one tier share requests by `balance`. */
  readonly tier: number;
  readonly balance: Balance;
  readonly weight: number;
  /** Of the provider's address. */
  readonly host: string;
}

/** A provider in a region under one host. */
export interface ReachedDestination {
  readonly provider: string;
  readonly region: string;
  readonly host: string;
  /**
   * The provider's host on the other side, where it differs; `null` where it is the same, or the
   * provider is not there.
   */
  readonly other_host: string | null;
  /** The provider's address where the host differs, otherwise the route; `null` where unknown. */
  readonly place: SideLocation | null;
}

export interface RoutePath extends ReachedDestination {
  readonly workspace: string;
  readonly route: string;
  readonly operations: readonly string[];
  readonly example: SampleRequest;
  readonly explain: readonly string[];
}

export interface DataPath extends ReachedDestination {
  readonly workspace: string;
  readonly operation: string;
  readonly routes: readonly string[];
  readonly example: SampleRequest;
  readonly explain: readonly string[];
  readonly seen: number | null;
}

/** A setting of the files that differs. */
export interface SettingChange {
  /**
   * As routes.yaml writes it, an endpoint by its id: `providers.openai-us.base_url`; a file of
   * policies; `assertions.ID`.
   */
  readonly path: string;
  /**
   * As YAML in one line, of a file the first digits of its digest; `null` on the side that does not
   * have it. Never a secret, only its name.
   */
  readonly before: string | null;
  readonly after: string | null;
  /** In head's files; in base's for what head does not have. */
  readonly where: SideLocation | null;
  /** What it does, or why it decides nothing about where requests go. */
  readonly effect: SettingEffect;
  /** The value of `--fail-on` that it meets; `null` for most. */
  readonly gate: SettingGate | null;
}

/** A part of head that no request uses. */
export interface UnusedFinding {
  readonly kind:
    | "policy_without_effect"
    | "constraint_never_fails"
    | "constraint_never_passes"
    | "reason_never_given"
    | "route_never_chosen"
    | "endpoint_never_chosen"
    | "fallback_never_used";
  /** `eu-residency`, `eu-residency/processed_in_eu`, `chat-large`, `chat-large → gpt-5-us`. */
  readonly subject: string;
  /** Whether it was so in base already. */
  readonly in_base: boolean;
  readonly place: SourceLocation | null;
}

export interface EvidenceReport {
  /** Decisions of inference that were read. */
  readonly decisions: number;
  /**
   * Decisions that base would make otherwise than they were made: under another table, or by what
   * an older record does not have.
   */
  readonly not_reproduced: number;
  /** Lines that are no evidence. */
  readonly unreadable: number;
  /** RFC 3339, of the first and the last decision; `null` without any. */
  readonly from: string | null;
  readonly to: string | null;
  /**
   * Decisions that head's files cannot express, by what is missing: a workspace, route or value
   * that is gone. Where base has it, they are among the others too.
   */
  readonly unrepresentable: readonly { readonly why: string; readonly decisions: number }[];
  /** Groups that were seen, and decisions in them, for both views. */
  readonly declared: { readonly groups: number; readonly decisions: number };
  readonly promoted: { readonly groups: number; readonly decisions: number };
}

export interface AssertionsReport {
  readonly file: string;
  readonly results: readonly AssertionResult[];
  readonly coverage: readonly CoverageResult[];
  readonly passed: number;
  readonly failed: number;
  readonly waived: number;
}

export interface AssertionResult {
  readonly id: string;
  readonly title: string;
  readonly kind: string;
  readonly status: "PASS" | "FAIL" | "WAIVED";
  /**
   * Whether it fails for base's files too, so that this change is not the reason; `null` where it
   * holds, or was not tried on base.
   */
  readonly fails_in_base: boolean | null;
  readonly standpoint: "declared" | "promoted" | "both";
  /** Classes that it was held against; an assertion that meets none fails. */
  readonly classes: number;
  readonly violations: number;
  /** One sentence about the first violation, or why it fails without one. */
  readonly message: string | null;
  readonly example: SampleRequest | null;
  readonly explain: readonly string[] | null;
  readonly waiver: {
    readonly until: string;
    readonly reason: string;
    readonly owner: string;
    readonly expired: boolean;
  } | null;
  readonly place: SourceLocation;
}

export interface CoverageResult {
  readonly what: "constraints" | "reasons" | "routes" | "fallback_edges";
  readonly covered: number;
  readonly of: number;
  /** Per cent, 0 to 100; `null` where no gate was set. */
  readonly required: number | null;
  readonly status: "PASS" | "FAIL";
  /** Of one that fails: base's requests cover less than required too. */
  readonly fails_in_base?: true;
  readonly missing: readonly string[];
  readonly place: SourceLocation | null;
}
