import type { SecretReference } from "./secret-reference.ts";

/** What people may do on the console (docs/console.md#roles). */
export const ROLES = ["viewer", "approver", "operator", "administrator"] as const;

export type Role = (typeof ROLES)[number];

/** The section `console` of routes.yaml. Times are milliseconds. */
export interface ConsoleSettings {
  /** Origin at which browsers reach the console. */
  readonly url: string;
  /** A session ends when it has not been used for so long. */
  readonly idle: number;
  /** A session ends so long after its start. */
  readonly absolute: number;
  /** `null`: people sign in with keys only. */
  readonly oidc: OidcSettings | null;
  readonly roles: readonly ConsoleRole[];
}

/** A provider of OpenID Connect. */
export interface OidcSettings {
  /** What the button of the sign-in calls it. */
  readonly label: string;
  readonly issuer: string;
  readonly clientId: string;
  /** `null`: a public client, which proves itself by PKCE alone. */
  readonly clientSecret: SecretReference | null;
  /** Besides `openid`. */
  readonly scopes: readonly string[];
  /** Claim of the ID token that lists a person's groups. */
  readonly groupsClaim: string;
  /**
   * Claim of the ID token whose value is kept and shown as the person's name; `null`: no name is
   * read.
   */
  readonly nameClaim: string | null;
}

interface ConsoleRole {
  readonly group: string;
  readonly role: Role;
  /** `null`: all. */
  readonly workspaces: readonly string[] | null;
}

/** Where the section does not say otherwise, milliseconds. */
export const SESSION_TIMES = { idle: 30 * 60_000, absolute: 12 * 3_600_000 } as const;
