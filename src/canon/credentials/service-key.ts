import type { KeyLimits } from "../limits.ts";
import { nearestName } from "../nearest-name.ts";
import type { Operation } from "../operation.ts";
import type { Scope } from "../identity.ts";
import type { RoutingTable } from "../table.ts";

/** Tokens that a key may be exchanged for. */
export interface NewExchange {
  /** Seconds. */
  readonly maximumLifetime: number;
  readonly operations: readonly string[] | null;
  readonly routes: readonly string[] | null;
  readonly origins: readonly string[] | null;
}

/** Requested properties of a new key; unchecked text. */
export interface NewKey {
  readonly workspace: string;
  /** For people; several keys may have it. Default `null`: none. */
  readonly name?: string | null | undefined;
  readonly scopes: readonly string[];
  /** Who answers for the key, such as `group:payments` or an address. */
  readonly owner: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Default `production`. */
  readonly environment?: string | undefined;
  /** Default empty: not bound to a workload. */
  readonly workload?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  /** Default `null`: the key cannot be exchanged for tokens. */
  readonly exchange?: NewExchange | null;
  /** Default `null`: no limits of its own. */
  readonly limits?: KeyLimits | null;
  /** Public id of the key or person that requests it, or `bootstrap`, `cli`. */
  readonly createdBy: string;
}

export interface Rotation {
  /** How long the replaced key still works, milliseconds; 0: not at all. Default: a day. */
  readonly overlap?: number | undefined;
  /** Milliseconds since the epoch. Default: the lifetime of the old key. */
  readonly expiresAt?: number | undefined;
  readonly createdBy: string;
}

/**
 * Why a key could not be created, read or changed. `fix` repeats no value of the caller.
 */
export type KeyFault =
  | { readonly fault: "option" | "differs"; readonly field: string; readonly fix: string }
  | { readonly fault: "absent" | "not_active" | "rotated" | "too_many" | "taken" | "unavailable" };

/** Methods of {@link KeyManagement} reject with it, and with bugs. */
export class KeyFaultError extends Error {
  override readonly name = "KeyFaultError";
  readonly fault: KeyFault;
  constructor(fault: KeyFault) {
    super(fault.fault);
    this.fault = fault;
  }
}

/** A key that is not stored yet: it exists once `store` has resolved. */
export interface PreparedKey {
  /** The whole key, to be shown once. */
  readonly text: string;
  readonly key: ServiceKey;
  /** The key that it replaces, in its new state. */
  readonly previous: ServiceKey | null;
  /** Resolves to the replaced key, when the change is durable. */
  readonly store: () => Promise<ServiceKey | null>;
}

export interface KeyPage {
  readonly workspace: string;
  /**
   * Only active keys without a replacement that expire between these times, milliseconds since the
   * epoch; `null`: all keys.
   */
  readonly expiring: { readonly after: number; readonly before: number } | null;
  /** The last key of the page before; `null` for the first page. */
  readonly after: Pick<ServiceKey, "id" | "createdAt" | "expiresAt"> | null;
  /** At least 1. */
  readonly limit: number;
}

/** An existing key of the requested name. */
export interface ExistingKey {
  readonly existing: ServiceKey;
  /** The change that makes it match the request; `null` where it matches. */
  readonly change: {
    /** Names of the grants that change. */
    readonly grants: readonly string[];
    /** Resolves to the key, when the change is durable and in effect in this process. */
    readonly store: () => Promise<ServiceKey>;
  } | null;
}

/**
 * The keys as http needs them; `keys/key-management.ts` over the store.
 *
 * @throws {KeyFaultError}
 */
export interface KeyManagement {
  /** `null` where there is no such key. */
  readonly get: (id: string) => Promise<ServiceKey | null>;
  /**
   * At most `limit` keys: newest first, or those that expire soonest where only expiring ones are
   * wanted.
   */
  readonly page: (query: KeyPage) => Promise<readonly ServiceKey[]>;
  readonly create: (options: NewKey) => Promise<PreparedKey>;
  /**
   * The key of a name, after those that rotations have replaced; empty if the workspace never had
   * the name.
   */
  readonly findByName: (workspace: string, name: string) => Promise<readonly ServiceKey[]>;
  /** The key of a name: the existing one, or one that is not stored yet. */
  readonly put: (name: string, options: NewKey) => Promise<PreparedKey | ExistingKey>;
  readonly rotate: (id: string, options: Rotation) => Promise<PreparedKey>;
  /**
   * Durable, and refused by this process, when it resolves. Revoking twice keeps the first time.
   */
  readonly revoke: (id: string) => Promise<ServiceKey>;
}

/**
 * Members of a new key that are compared with names in routes.yaml. Absent: the default, which
 * needs no declaration.
 */
export interface DeclaredValues {
  readonly environment?: string | undefined;
  readonly workload?: string | undefined;
  readonly owner?: string;
  readonly labels?: readonly string[] | undefined;
  readonly exchange?: { readonly routes: readonly string[] | null } | null;
}

/** The first value of a key that nothing declares, without repeating it. */
interface UndeclaredValue {
  readonly field: keyof typeof LIST_OF;
  readonly fix: string;
}

const LIST_OF = {
  environment: "vocabulary.environments",
  workload: "vocabulary.workloads",
  owner: "vocabulary.owners",
  labels: "vocabulary.labels",
  "exchange.routes": "routes",
} as const;

/**
 * Why a key cannot have its environment, workload, owner, labels or routes: policies are compiled
 * against `vocabulary` of routes.yaml, so a value outside it has no effect, and tokens that may use
 * only a route that does not exist are refused everywhere.
 *
 * @example undeclaredValue({ workload: "web" }, table)?.fix
 *
 * @returns `null` where all values are declared
 */
export function undeclaredValue(
  key: DeclaredValues,
  { vocabulary, routes }: Pick<RoutingTable, "vocabulary" | "routes">,
): UndeclaredValue | null {
  const { environment = "", workload = "", owner = "", labels = [], exchange } = key;
  const { environments, workloads, owners = [] } = vocabulary;
  // Without a list no policy can name its values: teams that only report by workload declare none.
  const single = (
    field: "environment" | "workload" | "owner",
    value: string,
    declared: readonly string[],
  ) => undeclared(field, value === "" || declared.length === 0 ? [] : [value], declared);
  return (
    single("environment", environment, environments) ??
    single("workload", workload, workloads) ??
    single("owner", owner, owners) ??
    undeclared("labels", labels, vocabulary.labels) ??
    undeclared("exchange.routes", exchange?.routes ?? [], Object.keys(routes))
  );
}

function undeclared(
  field: UndeclaredValue["field"],
  values: readonly string[],
  declared: readonly string[],
): UndeclaredValue | null {
  const unknown = values.find((value) => !declared.includes(value));
  if (unknown === undefined) return null;
  const near = nearestName(unknown, declared);
  const hint = near === null ? "add it there first" : `did you mean ${near}?`;
  const subject = field === "labels" || field === "exchange.routes" ? "one of them" : "it";
  return { field, fix: `${LIST_OF[field]} of routes.yaml does not declare ${subject}; ${hint}` };
}

type KeyStatus = "active" | "revoked";

/** Shortest and longest life of an exchanged token, seconds. */
export const TOKEN_LIFETIME = { minimum: 60, maximum: 900 } as const;

/** Environment of a key or a workload for which none is named. */
export const DEFAULT_KEY_ENVIRONMENT = "production";

/**
 * Permission to exchange the key for short-lived tokens with fewer rights (RFC 8693). Tokens get
 * only rights that the lists name.
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
  /** Given when the key is made; rotations keep it. `null`: none. */
  readonly name: string | null;
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
