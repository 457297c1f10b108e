import type { MissingRequirement } from "../canon/promotion.ts";
import type { ContentReference } from "./records.ts";

/** Why something was not done. Each caller has its own message for it (`http/control/policies/`, `cli/policy/lifecycle/`). */
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
