import type { Operation } from "../operation.ts";
import type { Scope } from "../scope.ts";
import type { KeyLimits } from "../limits.ts";

type KeyStatus = "active" | "revoked";

/** Shortest and longest life of an exchanged token, seconds. */
export const TOKEN_LIFETIME = { minimum: 60, maximum: 900 } as const;

/** Environment of a key or a workload for which none is named. */
export const DEFAULT_KEY_ENVIRONMENT = "production";

/**
 * Leave for a key to trade itself for tokens (RFC 8693) that can do less than it, for minutes. What
 * a list does not name, no token of the key gets.
 */
export interface ExchangeGrant {
  /** Longest life of a token, seconds; {@link TOKEN_LIFETIME}. */
  readonly maximumLifetime: number;
  /** Operations that tokens may be for; `null`: any that the key may do. */
  readonly operations: readonly Operation[] | null;
  /** Routes that tokens may be for; `null`: any that the workspace may use. */
  readonly routes: readonly string[] | null;
  /**
   * Web origins, one of which every token must be bound to; `null`: a token may be bound to any
   * origin, or to none.
   */
  readonly origins: readonly string[] | null;
}

/**
 * A service key as its owner may see it: no part of the secret, and no digest of it. All times are
 * milliseconds since the epoch.
 */
export interface ServiceKey {
  /** Public id; may be logged. */
  readonly id: string;
  readonly workspace: string;
  readonly scopes: readonly Scope[];
  readonly owner: string;
  readonly environment: string;
  readonly workload: string;
  readonly labels: readonly string[];
  readonly expiresAt: number;
  readonly createdAt: number;
  /** Public id of the key that made it, or `bootstrap`, `cli`. */
  readonly createdBy: string;
  /** Approximate: can be a few minutes behind. */
  readonly lastUsedAt: number | null;
  /** Public id of the key that this one replaces. */
  readonly rotatedFrom: string | null;
  /** Public id of the key that a rotation has replaced it by; a key is rotated once. */
  readonly replacedBy: string | null;
  /**
   * Public id of the first key of the row of rotations that this one is in; `null` where it
   * replaces none.
   */
  readonly lineage: string | null;
  readonly status: KeyStatus;
  readonly revokedAt: number | null;
  /** `null`: the key cannot be exchanged. */
  readonly exchange: ExchangeGrant | null;
  /** Limits of the key's own, beside its workspace's; `null`: none. */
  readonly limits: KeyLimits | null;
}
