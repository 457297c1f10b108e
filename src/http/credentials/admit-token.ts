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
 * @param operation what the endpoint does; `null` where no provider is called. Requests for one are refused once a ceiling of the token is reached;
 * {@link takeFromToken} counts them.
 */
export async function admitToken(
  tokens: Tokens,
  text: string,
  headers: IncomingHttpHeaders,
  scopes: readonly Scope[],
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
  if (!scopes.some((scope) => identity.scopes.has(scope)))
    return refused(`The token lacks the scope ${scopes.join(" or ")}.`, "insufficient_scope");
  if (operation === null) return identity;
  if (!mayDo(identity, operation)) return refused(`The token is not for ${operation}.`, "insufficient_scope");
  const reached = tokens.reached(identity);
  return reached === null ? identity : exhausted(identity, reached, now);
}

/** Counts a request that has been read against the ceilings of the token that it came with; gives the refusal where one is reached. */
export function takeFromToken(tokens: Tokens | undefined, identity: Identity): ServiceError | null {
  if (tokens === undefined || (identity.narrowed ?? null) === null) return null;
  const now = Date.now();
  const reached = tokens.take(identity, now);
  return reached === null ? null : exhausted(identity, reached, now);
}

/** Headers of a refusal: official clients repeat a 429 within seconds, whatever it says (protocols.md §0.2), and a token does not come back. */
export function retryAdvice({ code }: ServiceError): readonly string[] {
  return code === "budget_exhausted" ? ["x-should-retry", "false"] : [];
}

function exhausted({ expiresAt }: Identity, reached: "requests" | "tokens", now: number): ServiceError {
  return serviceError(
    429,
    "rate_limit",
    "budget_exhausted",
    `The token has used all ${reached === "requests" ? "requests" : "tokens"} that it was made for; ask for a new one.`,
    { retryAfter: Math.max(expiresAt - now, 1_000) },
  );
}

function refused(sentence: string, code: string): ServiceError {
  return serviceError(403, "insufficient_scope", code, sentence);
}
