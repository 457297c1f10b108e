import type { IncomingHttpHeaders } from "node:http";
import { mayComeFrom, mayDo } from "../../canon/credentials/narrowing.ts";
import { serviceError, type ServiceError } from "../../canon/error.ts";
import type { Identity } from "../../canon/identity.ts";
import type { Operation } from "../../canon/operation.ts";
import type { Scope } from "../../canon/scope.ts";
import type { Tokens } from "./token-port.ts";

/**
 * Who holds an exchanged token, and whether this request is one that it was made for.
 *
 * @param operation what the endpoint does; `null` where no provider is called. Requests for one count against the token's ceilings, those that are
 * refused before a decision too.
 */
export async function admitToken(
  tokens: Tokens,
  text: string,
  headers: IncomingHttpHeaders,
  scope: Scope,
  operation: Operation | null,
): Promise<Identity | ServiceError> {
  const now = Date.now();
  const verified = await tokens.verify(text, now);
  if (!verified.ok) {
    return serviceError(401, "authentication", "invalid_api_key", "The token is not valid; ask for a new one.");
  }
  const { identity } = verified;
  if (!mayComeFrom(identity, headers.origin))
    return refused("The token is bound to another origin.", "origin_not_allowed");
  if (!identity.scopes.has(scope)) return refused(`The token lacks the scope ${scope}.`, "insufficient_scope");
  if (operation === null) return identity;
  if (!mayDo(identity, operation)) return refused(`The token is not for ${operation}.`, "insufficient_scope");
  const reached = tokens.take(identity, now);
  if (reached === null) return identity;
  return serviceError(
    429,
    "rate_limit",
    "budget_exhausted",
    `The token has used all ${reached === "requests" ? "requests" : "tokens"} that it was made for; ask for a new one.`,
    { retryAfter: Math.max(identity.expiresAt - now, 1_000) },
  );
}

function refused(sentence: string, code: string): ServiceError {
  return serviceError(403, "insufficient_scope", code, sentence);
}
