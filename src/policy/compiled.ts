import { hash } from "node:crypto";
import { canonicalJson } from "../canon/json.ts";
import { isTimeZone } from "../canon/local-time.ts";
import type { PolicyContract, PolicyIdentity } from "../canon/policy.ts";

/**
 * The identity of a policy (docs/policies.md#identity): SHA-256 over the RFC 8785 form of its
 * contract, its modules with the libraries that they import, and its own data, which policies do
 * not have yet. Path, line endings, tests and compiler have no influence.
 *
 * @param sources sorted by package.
 */
export function policyDigest(contract: PolicyContract, sources: readonly PolicySource[]): string {
  // Left out where there are none: contents that were numbered before obligations existed keep
  // their digests.
  const obligations = contract.obligations.length === 0 ? undefined : contract.obligations;
  const identity = { contract: { ...contract, obligations }, data: {}, modules: sources };
  return hash("sha256", canonicalJson(identity), "hex");
}

/**
 * How many digits of its digest name a set: they are in every decision's record, and one
 * installation has few sets.
 */
const SET_DIGITS = 16;

/**
 * Names the deciding contents: those in the slots, in any order. Two processes with one id decide
 * alike where their tables are alike. Revisions take no part, so that a simulation of the same
 * contents has the same id without a store.
 */
export function policySetId(
  slots: readonly Pick<PolicyIdentity, "id" | "slot" | "digest">[],
): string {
  const list = slots
    .map(({ id, slot, digest }) => ({ id, slot, digest }))
    .toSorted((left, right) => (sortKey(left) < sortKey(right) ? -1 : 1));
  return hash("sha256", canonicalJson(list), "hex").slice(0, SET_DIGITS);
}

/** By id, the enforced slot first. An id has no space in it. */
function sortKey({ id, slot, digest }: Pick<PolicyIdentity, "id" | "slot" | "digest">) {
  return `${id} ${slot === "enforced" ? 0 : 1} ${digest}`;
}

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
   * `inspects`, strings of input and data of which {@link nameTest} is false can be permuted: the
   * answer is then permuted in the same way.
   */
  readonly strings: readonly string[];
  /**
   * Built-ins and other constructs that see more of strings than whether they are equal; sorted.
   */
  readonly inspects: readonly string[];
  /**
   * Texts that it looks for in other strings with `contains`, `startswith` or `endswith`; sorted.
   * Absent from what older releases kept: they list these built-ins in `inspects`.
   */
  readonly searches?: readonly string[];
}

/** JSON writes other characters as escapes, in which a search may find a text. */
const UNESCAPED = /^[\w .,:;/@+*()-]*$/;

/**
 * Whether a policy without `inspects` can distinguish a name from every other one: it contains the
 * name, or searches for a text that the name has.
 */
export function nameTest({
  strings,
  searches = [],
}: Pick<StringUse, "strings" | "searches">): (name: string) => boolean {
  const literals = new Set(strings);
  if (searches.length === 0) return (name) => literals.has(name);
  return (name) =>
    literals.has(name) || !UNESCAPED.test(name) || searches.some((text) => name.includes(text));
}

/** Names with a region, and UTC: `Japan` alone is more likely a label. */
export function isPolicyZone(name: string): boolean {
  return /^(?:UTC|[A-Z]\w*(?:\/[A-Z][\w+-]*)+)$/.test(name) && isTimeZone(name);
}

/**
 * The time zones that a policy names. A zone is looked up by a string of the policy: other strings
 * find none.
 */
export function zonesOf({
  reads,
  stringUse,
}: Pick<CompiledPolicy, "reads" | "stringUse">): readonly string[] {
  const readsTime = reads.some((path) => path === "input" || path.startsWith("input.local_time"));
  return readsTime ? stringUse.strings.filter(isPolicyZone) : [];
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
   * Dotted paths from `input` or `data` that it reads, sorted; a path covers everything below
   * it.
   */
  readonly reads: readonly string[];
  /**
   * Whether it may compare two strings of input and data with each other. Otherwise it compares
   * them with its own strings alone.
   */
  readonly relates: boolean;
  readonly stringUse: StringUse;
  /**
   * The numbers with which it compares hours of `input.local_time`; `null` where each hour may give
   * another answer.
   */
  readonly hours: readonly number[] | null;
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
}

export interface PolicyUnit {
  readonly policy: CompiledPolicy;
  /** Evaluates this unit alone. */
  readonly entrypoint: string;
}
