import type { ServiceKey } from "./service-key.ts";
import type { KeyLimits } from "../limits.ts";

/** What a key may be exchanged for. */
export interface NewExchange {
  /** Seconds. */
  readonly maximumLifetime: number;
  readonly operations: readonly string[] | null;
  readonly routes: readonly string[] | null;
  readonly origins: readonly string[] | null;
}

/** What a new key is to be; unchecked texts. */
export interface NewKey {
  readonly workspace: string;
  readonly scopes: readonly string[];
  /** Who answers for the key, such as `group:payments` or an address. */
  readonly owner: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Default `production`. */
  readonly environment?: string;
  /** Default empty: not bound to a workload. */
  readonly workload?: string;
  readonly labels?: readonly string[];
  /** Default `null`: the key cannot be exchanged for tokens. */
  readonly exchange?: NewExchange | null;
  /** Default `null`: no limits of its own. */
  readonly limits?: KeyLimits | null;
  /** Public id of the key or person that requests it, or `bootstrap`, `cli`. */
  readonly createdBy: string;
}

export interface Rotation {
  /** How long the replaced key still works, milliseconds; 0: not at all. Default: a day. */
  readonly overlap?: number;
  /**
   * Milliseconds since the epoch. Default: the new key lives as long as the old one was to live.
   */
  readonly expiresAt?: number;
  readonly createdBy: string;
}

/**
 * Why a key could not be made, read or changed. `fix` is a sentence without any value that was
 * given.
 */
export type KeyFault =
  | { readonly fault: "option" | "differs"; readonly field: string; readonly fix: string }
  | { readonly fault: "absent" | "not_active" | "rotated" | "too_many" | "taken" | "unavailable" };

/** A key that is not stored yet: it exists once `store` has resolved without a fault. */
export interface PreparedKey {
  /** The whole key, to be shown once. */
  readonly text: string;
  readonly key: ServiceKey;
  /** The key that it replaces, as that is to be. */
  readonly previous: ServiceKey | null;
  /** Durable when it resolves; gives the replaced key as it then is. */
  readonly store: () => Promise<{ readonly previous: ServiceKey | null } | KeyFault>;
}

interface KeyPage {
  readonly workspace: string;
  /**
   * Only active keys without a replacement that expire between these times, milliseconds since the
   * epoch; `null`: all keys.
   */
  readonly expiring: { readonly after: number; readonly before: number } | null;
  /** The last key of the page before; `null` for the first page. */
  readonly after: ServiceKey | null;
  readonly limit: number;
}

/** A key of a name that is there already. */
export interface ExistingKey {
  readonly existing: ServiceKey;
  /** What is to be changed so that it is as wanted; `null` where it is. */
  readonly change: {
    /** Names of the grants that change. */
    readonly grants: readonly string[];
    /** Durable, and known to this process, when it resolves; gives the key as it then is. */
    readonly store: () => Promise<ServiceKey | KeyFault>;
  } | null;
}

/**
 * The keys as http needs them; `keys/key-management.ts` over the store. Nothing here throws or
 * rejects but for a bug.
 */
export interface KeyManagement {
  readonly get: (id: string) => Promise<ServiceKey | KeyFault>;
  /**
   * At most `limit` keys: newest first, or those that expire soonest where only expiring ones are
   * wanted.
   */
  readonly page: (query: KeyPage) => Promise<readonly ServiceKey[] | KeyFault>;
  readonly create: (options: NewKey) => Promise<PreparedKey | KeyFault>;
  /**
   * The key of a name after those that rotations have replaced; none where the workspace has never
   * had the name.
   */
  readonly named: (workspace: string, name: string) => Promise<readonly ServiceKey[] | KeyFault>;
  /** The key of a name as it is wanted: the one that is there, or one that is not stored yet. */
  readonly put: (name: string, options: NewKey) => Promise<PreparedKey | ExistingKey | KeyFault>;
  readonly rotate: (id: string, options: Rotation) => Promise<PreparedKey | KeyFault>;
  /**
   * Durable, and refused by this process, when it resolves. Revoking twice keeps the first time.
   */
  readonly revoke: (id: string) => Promise<ServiceKey | KeyFault>;
}
