import type { Operation } from "../canon/operation.ts";
import type { PolicyContract } from "../canon/policy.ts";

/** A module of Rego as the digest sees it: no path, lines that end in LF. */
export interface PolicySource {
  /** Such as `signalbox.policy.eu_residency`. */
  readonly package: string;
  readonly source: string;
}

/** How a policy with its libraries can distinguish strings (`tools/rego/words.go`). */
export interface StringUse {
  /**
   * String literals of it, those of references and its reasons included; sorted. With an empty
   * `inspects`, other strings of input and data can be permuted: the answer is then permuted in the
   * same way.
   */
  readonly strings: readonly string[];
  /**
   * Built-ins and other constructs that see more of strings than whether they are equal; sorted.
   */
  readonly inspects: readonly string[];
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
  /**
   * What it reads, as dotted paths from `input` or `data`, sorted; a path covers everything below
   * it.
   */
  readonly reads: readonly string[];
  readonly stringUse: StringUse;
  /** Path of the policy's source as it was given, for messages; not part of the digest. */
  readonly path: string;
  /**
   * The first `pass.<constraint>` rule of each constraint; line and column from 1. Not part of the
   * digest.
   */
  readonly locations: Readonly<Record<string, { readonly line: number; readonly column: number }>>;
}

/**
 * Several contents compiled into one WASM module. It may contain the same policy twice with
 * different contents.
 */
export interface PolicyModule {
  readonly bytes: Uint8Array;
  readonly units: readonly PolicyUnit[];
  /**
   * The entrypoint that evaluates every unit that applies to an operation; without one where none
   * does.
   */
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
