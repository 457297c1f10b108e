import type { KeyLimits } from "./limits.ts";
import type { Operation } from "./operation.ts";

/**
 * The separate authorities of a service key (docs/keys.md#scopes). A key has none that it does not
 * list.
 */
export const SCOPES = [
  "inference",
  "catalogue:read",
  "route:simulate",
  "governance:read",
  "spend:read",
  "operations:manage",
  "policies:approve",
  "platform:manage",
] as const;

export type Scope = (typeof SCOPES)[number];

/**
 * Authority over every workspace's keys. Only the terminal or a role grants it, never a key over
 * HTTP.
 */
export const PLATFORM_SCOPE = "platform:manage" satisfies Scope;

/** Scopes that a key can get over HTTP. */
export const GRANTABLE_SCOPES = SCOPES.filter((scope) => scope !== PLATFORM_SCOPE);

/** @example isScope("inference") // true */
export function isScope(value: string): value is Scope {
  return SCOPES.some((scope) => scope === value);
}

/** Owner of a session: the holder of a key, or a person signed in at an identity provider. */
export type SessionHolder = KeyHolder | Person;

interface KeyHolder {
  /** Public id of the key. */
  readonly key: string;
}

/**
 * A person at a provider of OpenID Connect. Issuer and subject together are the identity; the rest
 * was true at the sign-in.
 */
export interface Person {
  readonly issuer: string;
  readonly subject: string;
  /** `null` unless the configuration requests names. */
  readonly name: string | null;
  /** Those of their groups that had a role at the sign-in. */
  readonly groups: readonly string[];
}

/** How long sessions last, milliseconds. */
export interface SessionTimes {
  /** After the last request. */
  readonly idle: number;
  /** After the sign-in. */
  readonly absolute: number;
}

/** Values that the redirect back from the provider must match. */
export interface SignInCheck {
  readonly state: string;
  readonly nonce: string;
  /** PKCE (RFC 7636). */
  readonly verifier: string;
}

/**
 * `refused`: by the provider. `invalid`: the return does not belong to the sign-in that began.
 * `unverified`: the provider's ID token does not verify. `unavailable`: the provider cannot be
 * reached, or fails.
 */
export type SignInFault = { readonly fault: "refused" | "invalid" | "unverified" | "unavailable" };

/**
 * Pseudonym of a person in evidence and keys: the same for the same issuer and subject, and reveals
 * neither.
 *
 * @param digest SHA-256 of {@link personText}, hexadecimal.
 * @example personId("ab".repeat(32)) // "person_abababababababababababab"
 */
export function personId(digest: string): string {
  return `person_${digest.slice(0, 24)}`;
}

/**
 * Whether a recorded actor is a person, not a key.
 *
 * @example isPersonId("key_1") // false
 */
export function isPersonId(id: string): boolean {
  return /^person_[0-9a-f]{24}$/.test(id);
}

/**
 * Identifies the owner of a session: equal for all sessions of one key or person.
 *
 * @example holderText({ key: "4f9c" }) // "key:4f9c"
 */
export function holderText(holder: SessionHolder): string {
  return "key" in holder ? `key:${holder.key}` : personText(holder);
}

/**
 * Issuers have no `#` (OpenID Connect Core §2: no fragment), so the first one ends the issuer.
 *
 * @example personText({ issuer: "https://id.example", subject: "7" }) // "oidc:https://id.example#7"
 */
export function personText({ issuer, subject }: Pick<Person, "issuer" | "subject">): string {
  return `oidc:${issuer}#${subject}`;
}

/**
 * The caller. Made only by key verification; no part of a request can add to it. `keyId` is the
 * public id of the key, which may be logged; no member holds any part of the secret.
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
   * Restrictions of the caller's token, compared with its key; absent and `null`: the caller has
   * the key itself.
   */
  readonly narrowed?: Narrowing | null;
}

/** Restrictions of an exchanged token, compared with its key. */
export interface Narrowing {
  /** The token's id, for the evidence; the token itself is not stored. */
  readonly tokenId: string;
  /** `null`: every operation. */
  readonly operations: readonly Operation[] | null;
  /** `null`: every route of the workspace. */
  readonly routes: readonly string[] | null;
  /** The required `Origin`; `null`: any. */
  readonly origin: string | null;
  readonly ceilings: TokenCeilings;
}

/**
 * Quota of one token over its lifetime, counted per process; `null`: unlimited.
 */
export interface TokenCeilings {
  readonly requests: number | null;
  /** Input and output together, of requests that have ended. */
  readonly tokens: number | null;
}
