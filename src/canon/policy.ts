import type { Capability } from "./capability.ts";
import type { Operation } from "./operation.ts";
import type { ReasoningEffort, TokenBucket } from "./request.ts";
import type { Retention } from "./table.ts";

/**
 * `gate`: must pass. `require_all`: every eligible candidate must pass, otherwise the request is denied.
 * `filter`: candidates that do not pass are left out; none left means denied (policy.md §2).
 */
export const CONSTRAINT_EFFECTS = ["gate", "require_all", "filter"] as const;
export type ConstraintEffect = (typeof CONSTRAINT_EFFECTS)[number];

export interface ConstraintContract {
  readonly name: string;
  readonly effect: ConstraintEffect;
  /** Closed list; the first one speaks for a constraint that fails without a reason of its own. */
  readonly reasons: readonly [string, ...string[]];
}

/** The METADATA block of a policy, validated. */
export interface PolicyContract {
  readonly contract: 1;
  readonly id: string;
  readonly title: string;
  readonly owners: readonly string[];
  /** Sorted; all operations where the policy names none. */
  readonly operations: readonly Operation[];
  /** In the order of their names. */
  readonly constraints: readonly ConstraintContract[];
}

/** The slot a policy's content stands in: enforced content acts, candidate (shadow) content is recorded only. */
export type PolicySlot = "enforced" | "candidate";

export interface PolicyIdentity {
  readonly id: string;
  /** Rises by one exactly when the digest changes; 0 where no store has seen the content (CLI without a store). */
  readonly revision: number;
  /** SHA-256 of the policy's canonical content, independent of path and line endings. */
  readonly digest: string;
  readonly slot: PolicySlot;
}

export type Verdict = "pass" | "fail" | "indeterminate";

/** What one constraint of one slot of one policy said of one request. Holds no text that a policy could choose freely. */
export interface PolicyVerdict {
  readonly policy: PolicyIdentity;
  readonly constraint: string;
  readonly effect: ConstraintEffect;
  readonly verdict: Verdict;
  /** From the declared list; `null` for `pass`. `EVALUATION_INDETERMINATE` for `indeterminate`. */
  readonly reason: string | null;
  /** Ids of the candidates that did not pass; empty for a gate. In plan order. */
  readonly failing: readonly string[];
}

/** What a policy may know. Content-free and finite: see policy.md §2. Member names are the ones Rego sees. */
export interface PolicyInput {
  readonly operation: Operation;
  readonly workspace: { readonly id: string; readonly tier: string; readonly labels: readonly string[] };
  readonly key: { readonly environment: string; readonly workload: string; readonly labels: readonly string[] };
  readonly request: {
    readonly route: string;
    readonly needs: readonly Capability[];
    readonly stream: boolean;
    readonly context: TokenBucket;
    readonly max_output: TokenBucket;
    readonly reasoning_effort: ReasoningEffort;
    /** Vector length asked for; 0 where none was. One of the lengths the table's models declare. */
    readonly dimensions: number;
    readonly allow_fallbacks: boolean;
    readonly data_collection: "allow" | "deny";
    readonly zdr: boolean;
  };
  readonly candidates: readonly PolicyCandidate[];
}

export interface PolicyCandidate {
  /** Endpoint id. */
  readonly id: string;
  readonly rank: "primary" | "fallback";
  readonly model: string;
  readonly provider: string;
  readonly region: string;
  readonly dialect: string;
  readonly retention: Retention;
  readonly trains_on_data: boolean;
  readonly capabilities: readonly Capability[];
  /** `none` where the model signs nothing. */
  readonly signature_family: string;
}

/** Data that policies may read besides their input, made from the table: `data.approved`, `data.regions`. */
export interface PolicyData {
  readonly approved: {
    readonly regions: Readonly<Record<string, readonly string[]>>;
    readonly providers: Readonly<Record<string, readonly string[]>>;
    readonly routes: Readonly<Record<string, readonly string[]>>;
    readonly capabilities: Readonly<Record<string, readonly Capability[]>>;
    readonly dimensions: Readonly<Record<string, readonly number[]>>;
  };
  /** Region group → regions. */
  readonly regions: Readonly<Record<string, readonly string[]>>;
}

/** Every policy that acts or is watched. Evaluation is synchronous, never throws, and never leaves a constraint out. */
export interface PolicySet {
  /** Sorted by id, the enforced slot first. */
  readonly policies: readonly { readonly identity: PolicyIdentity; readonly contract: PolicyContract }[];
  /** A verdict for every constraint of every slot that applies to the input's operation, in the order of `policies`. */
  evaluate(input: PolicyInput): readonly PolicyVerdict[];
}
