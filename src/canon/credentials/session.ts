/** Whose session it is: who signed in with a key, or a person whom an identity provider named. */
export type SessionHolder = KeyHolder | Person;

interface KeyHolder {
  /** Public id of the key. */
  readonly key: string;
}

/**
 * A person, as a provider of OpenID Connect names them. Issuer and subject together say who it is;
 * the rest is as it was at the sign-in.
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
  /** Without a use. */
  readonly idle: number;
  /** However much it is used. */
  readonly absolute: number;
}

/** What a browser's return from the provider is checked with. */
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
 * What evidence and keys call a person: equal for the same issuer and subject, and it names
 * neither. @param digest SHA-256 of {@link personText}, hexadecimal.
 */
export function personId(digest: string): string {
  return `person_${digest.slice(0, 24)}`;
}

/** Whether a recorded actor is a person, not a key. */
export function isPersonId(id: string): boolean {
  return /^person_[0-9a-f]{24}$/.test(id);
}

/** A holder in one text: equal for all sessions of the same key or person, and for no others. */
export function holderText(holder: SessionHolder): string {
  return "key" in holder ? `key:${holder.key}` : personText(holder);
}

/** Issuers have no `#` (OpenID Connect Core §2: no fragment), so the first one ends the issuer. */
export function personText({ issuer, subject }: Pick<Person, "issuer" | "subject">): string {
  return `oidc:${issuer}#${subject}`;
}
