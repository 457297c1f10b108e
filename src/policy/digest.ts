import { createHash } from "node:crypto";
import { canonicalJson } from "../canon/json.ts";
import type { PolicyContract } from "../canon/policy.ts";
import type { PolicySource } from "./compiled.ts";

/**
 * What makes a policy this policy (policy.md §3): SHA-256 over the RFC 8785 form of its contract, its modules with the
 * libraries that they need, and its own data, which policies do not have yet. Neither path, nor line endings, nor tests,
 * nor the compiler take part.
 *
 * @param sources sorted by package.
 */
export function policyDigest(contract: PolicyContract, sources: readonly PolicySource[]): string {
  // Left out where there are none: contents that were numbered before obligations existed keep their digests.
  const obligations = contract.obligations.length === 0 ? undefined : contract.obligations;
  return createHash("sha256")
    .update(canonicalJson({ contract: { ...contract, obligations }, data: {}, modules: sources }))
    .digest("hex");
}
