import { createHash } from "node:crypto";
import { canonicalJson } from "../canon/json.ts";
import { referenceOf, type PolicyStatus } from "./policy-states.ts";

/**
 * The strong entity tag of a policy (RFC 9110 §8.8.3): over what stands in its slots and when that came to be. Approvals do not change it, or every
 * approver would stand in the way of who wants to promote.
 */
export function entityTag(status: PolicyStatus): string {
  const slots = {
    policy: status.id,
    moved: status.moved,
    enforced: referenceOf(status, "enforced"),
    candidate: referenceOf(status, "candidate"),
  };
  return `"${createHash("sha256").update(canonicalJson(slots)).digest("hex").slice(0, 32)}"`;
}

/** What a policy that is no longer in the files has for a digest. */
export function removalDigest(policy: string): string {
  return createHash("sha256")
    .update(canonicalJson({ removal: policy }))
    .digest("hex");
}
