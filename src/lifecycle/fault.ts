import type { ContentReference } from "./records.ts";

/** What is missing of what a promotion requires; numbers as they are and as they must be. */
export type MissingRequirement =
  | { readonly requirement: "approvals"; readonly have: number; readonly need: number }
  /** `roles`: those that no approver has. */
  | { readonly requirement: "roles"; readonly roles: readonly string[] }
  /** Milliseconds. */
  | { readonly requirement: "soak"; readonly have: number; readonly need: number }
  | { readonly requirement: "decisions"; readonly have: number; readonly need: number }
  /** `have`: how many verdicts were indeterminate. */
  | { readonly requirement: "no_indeterminate"; readonly have: number }
  /** `claimed`: approvals with a report that no server has verified. `outdated`: verified under another table, or against other enforced content. */
  | { readonly requirement: "report"; readonly claimed: number; readonly outdated: number }
  /** `have`: how many assertions failed in the verified reports; 0 where there is none with assertions. */
  | { readonly requirement: "assertions"; readonly have: number };

/** Why something was not done. The caller says it in words of its own (`http/control/policies/`, `cli/policy/lifecycle/`). */
export type LifecycleFault =
  | { readonly fault: "unknown_policy" }
  | { readonly fault: "unknown_content" }
  /** The caller looked at another state than the present one. */
  | {
      readonly fault: "changed";
      readonly etag: string;
      readonly candidate: ContentReference | null;
      readonly enforced: ContentReference | null;
    }
  | { readonly fault: "no_candidate" }
  /** What is held must be released before it can be promoted. */
  | { readonly fault: "held"; readonly revision: number }
  | { readonly fault: "requirements"; readonly missing: readonly MissingRequirement[] }
  | { readonly fault: "nothing_to_roll_back_to" }
  | { readonly fault: "not_held" }
  | { readonly fault: "not_approved" }
  /** The bytes of the content are not kept, or cannot be loaded. */
  | { readonly fault: "no_bytes"; readonly revision: number }
  /** Too many others changed policies at the same time. */
  | { readonly fault: "busy" }
  | { readonly fault: "unavailable" };

export function isFault(value: object): value is LifecycleFault {
  return "fault" in value;
}
