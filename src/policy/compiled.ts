import type { Operation } from "../canon/operation.ts";
import type { PolicyContract } from "../canon/policy.ts";

/** A module of Rego as the digest sees it: no path, lines that end in LF. */
export interface PolicySource {
  /** Such as `signalbox.policy.eu_residency`. */
  readonly package: string;
  readonly source: string;
}

/** One content of one policy. */
export interface CompiledPolicy {
  readonly contract: PolicyContract;
  /** Lower-case hexadecimal SHA-256; see `policyDigest`. */
  readonly digest: string;
  /** The policy's module and the libraries that it needs, directly or not, sorted by package. */
  readonly sources: readonly PolicySource[];
  /** Constraints with a reason rule, sorted. */
  readonly reasoned: readonly string[];
  /** What it reads, as dotted paths from `input` or `data`, sorted; a path covers everything below it. */
  readonly reads: readonly string[];
}

/** Several contents compiled into one WASM module. The same policy may stand in it twice with different contents. */
export interface PolicyModule {
  readonly bytes: Uint8Array;
  readonly units: readonly PolicyUnit[];
  /** The entrypoint that evaluates every unit that applies to an operation; without one where none does. */
  readonly passes: Readonly<Partial<Record<Operation, PolicyPass>>>;
}

export interface PolicyUnit {
  readonly policy: CompiledPolicy;
  /** Evaluates this unit alone. */
  readonly entrypoint: string;
}

/** The result is an array with a document for each unit, in this order. */
export interface PolicyPass {
  readonly entrypoint: string;
  /** Indices into `units`. */
  readonly units: readonly number[];
}
