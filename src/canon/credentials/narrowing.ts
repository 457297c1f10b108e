import { TOKEN_LIFETIME, type ExchangeGrant } from "./service-key.ts";
import { OPERATIONS, isOperation, type Operation } from "../operation.ts";
import type { Identity, Narrowing, Scope, TokenCeilings } from "../identity.ts";

/** Why a key exchange is refused. */
export type ExchangeFault =
  | { readonly fault: "not_granted" | "too_large" | "unavailable" }
  | { readonly fault: "option"; readonly field: TokenRefusal["field"]; readonly fix: string };

/** A token before it is handed out. */
export interface PreparedToken {
  readonly id: string;
  readonly scopes: readonly string[];
  /** Seconds. */
  readonly lifetime: number;
  readonly sign: () => Promise<{ readonly token: string } | ExchangeFault>;
}

/** A service key, checked. */
export type KeyVerification =
  | { readonly ok: true; readonly identity: Identity }
  | { readonly ok: false; readonly code: "invalid_api_key" | "expired_api_key" };

/**
 * A refusal of a token that we signed (expired, or of a key that is revoked) has the `identity` of
 * its holder.
 */
export type TokenVerification =
  | { readonly ok: true; readonly identity: Identity }
  | { readonly ok: false; readonly code: "invalid_api_key"; readonly identity?: Identity };

/** Exchanged tokens, for the request path. Times are milliseconds since the epoch. */
export interface Tokens {
  /** Whether a credential looks like a token; it may still be invalid. */
  readonly isToken: (text: string) => boolean;
  /** The holder of the token; all refusals look alike to callers. Never rejects. */
  readonly verify: (text: string, now: number) => Promise<TokenVerification>;
  /** The ceiling of the token that is reached; does not count a request. */
  readonly reached: (identity: Identity) => "requests" | "tokens" | null;
  /**
   * Counts requests against the token's ceilings; returns the one that is exceeded. @param requests
   * default: 1.
   */
  readonly take: (
    identity: Identity,
    now: number,
    requests?: number,
  ) => "requests" | "tokens" | null;
  readonly prepare: (identity: Identity, requested: TokenRequest) => PreparedToken | ExchangeFault;
  /**
   * Whether an active key may be exchanged for tokens that are bound to this web origin by name.
   */
  readonly allowsOrigin: (origin: string, now: number) => boolean;
}

/**
 * Scopes that the token of a key can have: none to manage, to simulate or to read the operator's
 * data.
 */
export const TOKEN_SCOPES = ["inference", "catalogue:read"] as const satisfies readonly Scope[];

/** Token that a backend requests; `null`: the value of the grant. */
export interface TokenRequest {
  readonly scopes: readonly string[] | null;
  readonly operations: readonly string[] | null;
  readonly routes: readonly string[] | null;
  readonly origin: string | null;
  /** Seconds. */
  readonly lifetime: number | null;
  readonly ceilings: TokenCeilings;
}

/** Token that it gets, within the rights of the key and its grant. */
export interface TokenGrant extends Omit<Narrowing, "tokenId"> {
  readonly scopes: readonly Scope[];
  /** Seconds. */
  readonly lifetime: number;
}

interface TokenRefusal {
  /** The member of the request. */
  readonly field:
    | "scope"
    | "operations"
    | "routes"
    | "origin"
    | "lifetime"
    | "max_requests"
    | "max_tokens";
  /** A request that would succeed; repeats no value of the caller. */
  readonly fix: string;
}

const MAXIMUM_CEILING = 1_000_000_000;

/** @see narrow */
interface ScopeBounds {
  /** Scopes that a token can have. */
  readonly possible: readonly Scope[];
  /** Scopes of a token that requests none; `null`: all possible ones. */
  readonly defaults: readonly Scope[] | null;
}

const OF_KEYS: ScopeBounds = { possible: TOKEN_SCOPES, defaults: ["inference"] };

/**
 * The token for a key with this grant, or the refusal. A request that exceeds the grant is refused,
 * never reduced.
 *
 * @example narrow(identity, grant, { ...request, scopes: ["inference"] })
 */
export function narrow(
  parent: Pick<Identity, "scopes">,
  grant: ExchangeGrant,
  requested: TokenRequest,
  bounds: ScopeBounds = OF_KEYS,
): TokenGrant | TokenRefusal {
  const granted = bounds.possible.filter((scope) => parent.scopes.has(scope));
  const requestedScopes: readonly string[] = requested.scopes ?? bounds.defaults ?? granted;
  const scopes = granted.filter((scope) => requestedScopes.includes(scope));
  if (scopes.length === 0 || scopes.length < new Set(requestedScopes).size) {
    return { field: "scope", fix: `request one or more of ${granted.join(" ")}` };
  }
  const operations = within(grant.operations, requested.operations, isOperation);
  if (operations === undefined) {
    const possible = grant.operations ?? OPERATIONS;
    return {
      field: "operations",
      fix: `request one or more of ${possible.join(" ")}, or leave it out`,
    };
  }
  const routes = within(grant.routes, requested.routes, isRouteName);
  if (routes === undefined) {
    return { field: "routes", fix: "request routes of the key's grant, or leave the member out" };
  }
  const { origin } = requested;
  const isBoundToOrigin = origin === null ? grant.origins === null : isOrigin(origin);
  if (!isBoundToOrigin || (origin !== null && grant.origins?.includes(origin) === false)) {
    return {
      field: "origin",
      fix: "name one origin, such as https://app.example.com; if the grant lists origins, one of them",
    };
  }
  const lifetime = requested.lifetime ?? grant.maximumLifetime;
  const { minimum } = TOKEN_LIFETIME;
  if (!Number.isSafeInteger(lifetime) || lifetime < minimum || lifetime > grant.maximumLifetime) {
    return {
      field: "lifetime",
      fix: `request whole seconds from ${minimum} to ${grant.maximumLifetime}`,
    };
  }
  if (!isValidCeiling(requested.ceilings.requests))
    return { field: "max_requests", fix: CEILING_FIX };
  if (!isValidCeiling(requested.ceilings.tokens)) return { field: "max_tokens", fix: CEILING_FIX };
  return { scopes, operations, routes, origin, lifetime, ceilings: requested.ceilings };
}

const CEILING_FIX = `request a whole number from 1 to ${MAXIMUM_CEILING}, or leave it out`;

/**
 * The requested list if all of it is granted, or the granted one if none is requested; otherwise
 * `undefined`.
 */
function within<Item extends string>(
  granted: readonly Item[] | null,
  requested: readonly string[] | null,
  isItem: (text: string) => text is Item,
): readonly Item[] | null | undefined {
  if (requested === null) return granted;
  const items = [...new Set(requested)]
    .filter(isItem)
    .filter((item) => granted === null || granted.includes(item));
  return items.length > 0 && items.length === new Set(requested).size
    ? items.toSorted()
    : undefined;
}

function isValidCeiling(count: number | null) {
  return count === null || (Number.isSafeInteger(count) && count >= 1 && count <= MAXIMUM_CEILING);
}

/**
 * Whether the credential allows the operation; keys allow all, within their scopes.
 *
 * @example allowsOperation({ narrowed: null }, "rerank") // true
 */
export function allowsOperation({ narrowed }: Identity, operation: Operation): boolean {
  const operations = narrowed?.operations ?? null;
  return operations === null || operations.includes(operation);
}

/**
 * Whether the credential may see a route of the workspace.
 *
 * @example allowsRoute({ narrowed: { routes: ["chat"] } }, "embed") // false
 */
export function allowsRoute({ narrowed }: Identity, route: string): boolean {
  const routes = narrowed?.routes ?? null;
  return routes === null || routes.includes(route);
}

/**
 * Whether the request has the origin that the token is bound to.
 *
 * @example matchesOrigin({ narrowed: null }, undefined) // true
 *
 * @param origin the `Origin` header; absent: none.
 */
export function matchesOrigin({ narrowed }: Identity, origin: string | undefined): boolean {
  const bound = narrowed?.origin ?? null;
  return bound === null || bound === origin;
}

/**
 * Whether a route may have this name. The route need not exist: tables change.
 *
 * @example isRouteName("chat small") // false
 */
export function isRouteName(name: string): name is string {
  return /^[\x21-\x7e]{1,256}$/.test(name);
}

/**
 * A web origin exactly as a browser's `Origin` header has it (RFC 6454 §6.2): lower case, no path,
 * no default port.
 *
 * @example isOrigin("https://app.example.com/") // false
 */
export function isOrigin(text: string): boolean {
  if (text.length > 255 || !/^https?:\/\//.test(text) || !URL.canParse(text)) return false;
  return new URL(text).origin === text;
}
