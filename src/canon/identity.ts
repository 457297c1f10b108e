import type { Narrowing } from "./credentials/narrowing.ts";
import type { Scope } from "./scope.ts";
import type { KeyLimits } from "./workspace/limits.ts";

/**
 * Who calls. Made only by key verification; nothing in a request can add to it.
 * `keyId` is the public id of the key, which may be logged; no member holds any part of the secret.
 */
export interface Identity {
  readonly workspace: string;
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The environment that the key was made for, such as `production`. */
  readonly environment: string;
  /** The workload that the key was made for; empty when none was given. */
  readonly workload: string;
  readonly labels: readonly string[];
  /** When the key stops working, milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Public id of the first of the keys that this one replaced, one after the other: limits hold for all of them together. Absent and `null`: none. */
  readonly lineage?: string | null;
  /** The key's own limits; those of its workspace's `per_key` where it has none. */
  readonly limits?: KeyLimits | null;
  /** What is left of the key's grant where the caller has a token of it; absent and `null` mean the key itself. */
  readonly narrowed?: Narrowing | null;
}
