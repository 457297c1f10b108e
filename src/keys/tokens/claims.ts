import type { JWTPayload } from "jose";

import { TOKEN_SCOPES, type TokenGrant } from "../../canon/credentials/narrowing.ts";
import { TOKEN_LIFETIME } from "../../canon/credentials/service-key.ts";
import { isOperation } from "../../canon/operation.ts";
import { isScope, type Narrowing, type Scope } from "../../canon/identity.ts";
import { WORKLOAD_SCOPES } from "../../canon/workload-identity.ts";

export const ISSUER = "signalbox";

/**
 * `typ` of the header: a JWT of another kind that the same key had signed would be no token (RFC
 * 9068 §2.1, RFC 8725 §3.11).
 */
export const TOKEN_TYPE = "at+jwt";

/**
 * How far the clocks of two replicas may be apart, seconds: from so long before its making a token
 * is good.
 */
const CLOCK_SKEW = 30;

/** The claims of a token. Its holder can read all of them; none is secret. */
export interface Token {
  readonly keyId: string;
  readonly workspace: string;
  readonly scopes: readonly Scope[];
  readonly narrowed: Narrowing;
  /** Digest of the rule by which a workload has it; `null`: it is of a key. */
  readonly rule: string | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * @param rule as of {@link Token}. @param issuedAt seconds since the epoch. @param expiresAt the
 * same; not after the key's own.
 */
export function tokenClaims(
  id: string,
  key: { readonly keyId: string; readonly workspace: string },
  grant: TokenGrant,
  rule: string | null,
  issuedAt: number,
  expiresAt: number,
): JWTPayload {
  const { scopes, operations, routes, origin, ceilings } = grant;
  return {
    iss: ISSUER,
    sub: key.keyId,
    jti: id,
    iat: issuedAt,
    nbf: issuedAt - CLOCK_SKEW,
    exp: expiresAt,
    workspace: key.workspace,
    scope: scopes.join(" "),
    operations,
    routes,
    origin,
    max_requests: ceilings.requests,
    max_tokens: ceilings.tokens,
    ...(rule !== null && { rule }),
  };
}

/**
 * Reads claims whose signature and times are right; `null` where a member is missing or of another
 * kind. Nothing missing reads as "no bound".
 */
export function readClaims(claims: JWTPayload): Token | null {
  const {
    sub,
    jti,
    iat,
    exp,
    workspace,
    scope,
    operations,
    routes,
    origin,
    max_requests,
    max_tokens,
    rule = null,
  } = claims;
  if (typeof sub !== "string" || typeof jti !== "string" || !/^[\w-]{1,64}$/.test(jti)) return null;
  if (typeof iat !== "number" || typeof exp !== "number" || exp - iat > TOKEN_LIFETIME.maximum)
    return null;
  if (typeof workspace !== "string" || typeof scope !== "string") return null;
  const scopes = scope.split(" ").filter(isScope);
  if (rule !== null && typeof rule !== "string") return null;
  const possible: readonly Scope[] = rule === null ? TOKEN_SCOPES : WORKLOAD_SCOPES;
  if (scopes.length === 0 || !scopes.every((held) => possible.includes(held))) return null;
  const kinds = readList(operations);
  const names = readList(routes);
  const requests = readCount(max_requests);
  const tokens = readCount(max_tokens);
  if (kinds === undefined || names === undefined || requests === undefined || tokens === undefined)
    return null;
  if (origin !== null && typeof origin !== "string") return null;
  return {
    keyId: sub,
    workspace,
    scopes,
    narrowed: {
      tokenId: jti,
      operations: kinds?.filter(isOperation) ?? null,
      routes: names,
      origin,
      ceilings: { requests, tokens },
    },
    rule,
    expiresAt: exp * 1_000,
  };
}

function readList(value: unknown): readonly string[] | null | undefined {
  if (value === null) return null;
  if (!Array.isArray(value)) return undefined;
  const texts = value.filter((item) => typeof item === "string");
  return texts.length === value.length ? texts : undefined;
}

function readCount(value: unknown): number | null | undefined {
  return value === null || (typeof value === "number" && Number.isSafeInteger(value))
    ? value
    : undefined;
}
