import type { Scope } from "./scope.ts";
import type { KeyLimits } from "./limits.ts";
import type { Person } from "./credentials/session.ts";
import type { Operation } from "./operation.ts";

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
  /** Owner of the key; absent where the caller has none, such as a person. */
  readonly owner?: string;
  /** When the key stops working, milliseconds since the epoch. */
  readonly expiresAt: number;
  /**
   * Public id of the first of the keys that this one replaced, one after the other: limits hold for
   * all of them together. Absent and `null`: none.
   */
  readonly lineage?: string | null;
  /** The key's own limits; those of its workspace's `per_key` where it has none. */
  readonly limits?: KeyLimits | null;
  /**
   * The person whose session it is; `keyId` is their {@link personId} then. Absent and `null`: any
   * holder of the key.
   */
  readonly person?: Person | null;
  /**
   * What is left of the key's grant where the caller has a token of it; absent and `null` mean the
   * key itself.
   */
  readonly narrowed?: Narrowing | null;
}

/** What an exchanged token may do less than its key. */
export interface Narrowing {
  /** The token's id, for the evidence; the token itself stands nowhere. */
  readonly tokenId: string;
  /** `null`: every operation. */
  readonly operations: readonly Operation[] | null;
  /** `null`: every route of the workspace. */
  readonly routes: readonly string[] | null;
  /** The `Origin` that requests must have; `null`: not looked at. */
  readonly origin: string | null;
  readonly ceilings: TokenCeilings;
}

/**
 * What one token may use in its whole life, counted by each process for itself; `null`: no ceiling.
 */
export interface TokenCeilings {
  readonly requests: number | null;
  /** Input and output together, of requests that have ended. */
  readonly tokens: number | null;
}
