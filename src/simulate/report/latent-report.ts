import type { PolicyInput } from "../../canon/policy.ts";
import type { View } from "../sample-request.ts";
import type { SideLocation } from "./location.ts";

/**
 * What changed policies would do with rows that no file has yet: an endpoint, a workspace or a
 * route with other values of the closed lists.
 */
export interface LatentReport {
  /** `false`: `tried` of `of` combinations were tried. */
  readonly complete: boolean;
  readonly tried: number;
  /** Decimal digits: it may be larger than a number holds. */
  readonly of: string;
  readonly changes: readonly LatentChange[];
}

/**
 * Made-up requests for which a policy decides otherwise than before, although no request of today
 * shows it.
 */
export interface LatentChange {
  readonly policy: string;
  /** `declared`: without any promotion. */
  readonly view: View;
  /** `weaker`: head passes what base refused, or no longer obliges to something. */
  readonly direction: "weaker" | "stricter";
  /** The constraint that refuses, or the obligation. */
  readonly rule: string;
  readonly kind: "constraint" | "obligation";
  /**
   * What these requests have in common, by members of the policy's input; others have any value.
   */
  readonly where: readonly { readonly path: string; readonly values: readonly string[] }[];
  /** Whether every request with these values is concerned, or some of them. */
  readonly every: boolean;
  readonly combinations: number;
  /** The input of one of them, which a policy's test can repeat. */
  readonly example: PolicyInput;
  readonly place: SideLocation | null;
}
