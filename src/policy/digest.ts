import { createHash } from "node:crypto";
import { canonicalJson } from "../canon/json.ts";
import type { PolicyContract, PolicyIdentity } from "../canon/policy.ts";
import type { PolicySource } from "./compiled.ts";

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
  return createHash("sha256")
    .update(canonicalJson({ contract: { ...contract, obligations }, data: {}, modules: sources }))
    .digest("hex");
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
  return createHash("sha256")
    .update(canonicalJson(list))
    .digest()
    .toString("hex", 0, SET_DIGITS / 2);
}

/** By id, the enforced slot first. An id has no space in it. */
function sortKey({ id, slot, digest }: Pick<PolicyIdentity, "id" | "slot" | "digest">): string {
  return `${id} ${slot === "enforced" ? 0 : 1} ${digest}`;
}
