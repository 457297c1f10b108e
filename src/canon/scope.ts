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
 * Authority over every workspace's keys: it is given at the terminal or by a role, and by no key
 * over HTTP.
 */
export const PLATFORM_SCOPE = "platform:manage" satisfies Scope;

/** What a key may be given over HTTP. */
export const GRANTABLE_SCOPES = SCOPES.filter((scope) => scope !== PLATFORM_SCOPE);

export function isScope(value: string): value is Scope {
  return SCOPES.some((scope) => scope === value);
}
