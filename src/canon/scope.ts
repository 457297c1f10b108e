/** The separate authorities of a service key (docs/keys.md#scopes). A key has none that it does not list. */
export const SCOPES = [
  "inference",
  "catalogue:read",
  "route:simulate",
  "governance:read",
  "spend:read",
  "operations:manage",
  "policies:approve",
] as const;

export type Scope = (typeof SCOPES)[number];

export function isScope(value: string): value is Scope {
  return SCOPES.some((scope) => scope === value);
}
