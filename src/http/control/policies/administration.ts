import type { PolicyContract, PolicyIdentity } from "../../../canon/policy.ts";
import type { PolicyLifecycle } from "../../../lifecycle/lifecycle.ts";
import type { PolicyLogStore } from "../../../lifecycle/records.ts";
import type { SimulationFault } from "../../../simulate/promotion-simulator.ts";
import type { SimulatedPromotion } from "../../../simulate/simulate-promotion.ts";
import type { ShadowSource } from "../policy-shadow.ts";

/**
 * Reads and changes policies, for handlers; a server without a policy log has
 * none.
 */
export interface PolicyAdministration {
  readonly lifecycle: PolicyLifecycle;
  /**
   * Resolves when this process decides by the newest rows of the log: a change calls it before the
   * answer, so that the next request of the same caller is decided with it. Rejects where that
   * fails: the former set keeps deciding, `/status` lists `policies`, and it is retried. The change
   * itself stands.
   */
  readonly apply: () => Promise<void>;
  /**
   * The content that the store keeps under a digest, verified; `null` where it keeps none, as of a
   * removal and of contents of older versions.
   *
   * @throws {Error} where the stored content is damaged (the message has no text of the policy), or
   * the store cannot be read.
   */
  readonly content: (digest: string) => Promise<KeptContent | null>;
  /**
   * The server's own simulation of one promotion: the enforced policies of now, against the same
   * with this content in its policy's enforced slot, under the serving table. It runs on another
   * thread, and gives the same bytes on every server with the same table, contents and assertions.
   *
   * Rejects over bugs only.
   */
  readonly simulate: (
    policy: string,
    digest: string,
  ) => Promise<PromotionSimulation | PromotionSimulationFault>;
  /** Digests of this server's files, by policy id, as of the last successful start or reload. */
  readonly files: () => ReadonlyMap<string, string>;
  /**
   * Candidates that this process does not evaluate any more, because they took more than an
   * evaluation may take.
   */
  readonly suspended: () => readonly PolicyIdentity[];
  /** Digests of contents whose stored module differs from their compiled sources. */
  readonly differing: () => ReadonlySet<string>;
  /** Rows of the log, of all policies. */
  readonly rows: PolicyLogStore["read"];
  /** Counts and evidence of shadow verdicts, of every workspace. */
  readonly shadow: ShadowSource;
}

export interface PromotionSimulation extends SimulatedPromotion {
  /** Of the table that it was made under. */
  readonly tableRevision: string;
  /**
   * Digest of the policy's enforced content that the promotion would replace; `null`: nothing is
   * enforced.
   */
  readonly enforced: string | null;
}

/**
 * `unknown_content`: nothing is kept under the digest. `no_change`: the content is enforced
 * already. `unavailable`: the store cannot be read.
 */
export type PromotionSimulationFault =
  | SimulationFault
  | "unknown_content"
  | "no_change"
  | "unavailable";

/** The readable parts of a content. */
export interface KeptContent {
  /** Lower-case hexadecimal SHA-256 of contract and sources. */
  readonly digest: string;
  /** SHA-256 of the module's bytes as kept. */
  readonly moduleSha256: string;
  readonly contract: PolicyContract;
  /** The policy's module and the libraries that it needs, sorted by package. */
  readonly sources: readonly { readonly package: string; readonly source: string }[];
}
