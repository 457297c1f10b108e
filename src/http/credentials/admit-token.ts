import type { IncomingHttpHeaders } from "node:http";
import { mayComeFrom, mayDo } from "../../canon/credentials/narrowing.ts";
import { serviceError, type ServiceError } from "../../canon/error.ts";
import { codedError } from "../../canon/errors/coded-error.ts";
import type { Identity } from "../../canon/identity.ts";
import type { Operation } from "../../canon/operation.ts";
import type { Scope } from "../../canon/scope.ts";
import type { Tokens } from "./token-port.ts";

/**
 * Whether the caller is let in. `identity` of a refusal is whose key or token it was, where that was recognised: so the refusal is recorded under the
 * key and in its workspace. A public id alone recognises nobody, because ids stand in logs.
 */
export type Admitted =
  | { readonly error: null; readonly identity: Identity }
  | { readonly error: ServiceError; readonly identity: Identity | null };

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
): Promise<Admitted> {
  const verified = await tokens.verify(text, Date.now());
  if (!verified.ok) {
    const error = serviceError(401, "authentication", "invalid_api_key", "The token is not valid; get a new one.");
    return { error, identity: verified.identity ?? null };
  }
  const { identity } = verified;
  return { error: refusalOf(tokens, identity, headers, scopes, operation), identity };
}

function refusalOf(
  tokens: Tokens,
  identity: Identity,
  headers: IncomingHttpHeaders,
  scopes: readonly Scope[],
  operation: Operation | null,
): ServiceError | null {
  if (!mayComeFrom(identity, headers.origin))
    return refused("The token is bound to another origin.", "origin_not_allowed");
  if (!scopes.some((scope) => identity.scopes.has(scope)))
    return refused(
      `The token lacks the scope ${scopes.join(" or ")}; the backend requests it in \`scope\` when it exchanges its key.`,
      "insufficient_scope",
    );
  if (operation === null) return null;
  if (!mayDo(identity, operation)) return refused(`The token is not for ${operation}.`, "insufficient_scope");
  const reached = tokens.reached(identity);
  return reached === null ? null : exhausted(reached);
}

/**
 * Counts a request that has been read against the ceilings of the token that it came with; gives the refusal where one does not allow it.
 * @param requests more than 1 for the further calls of a batch.
 */
export function takeFromToken(tokens: Tokens | undefined, identity: Identity, requests = 1): ServiceError | null {
  if (tokens === undefined || (identity.narrowed ?? null) === null) return null;
  const reached = tokens.take(identity, Date.now(), requests);
  return reached === null ? null : exhausted(reached);
}

/** A token does not renew, so there is no time to name. */
function exhausted(reached: "requests" | "tokens"): ServiceError {
  return codedError(
    "budget_exhausted",
    `The token has used all ${reached === "requests" ? "requests" : "tokens"} that it may use; get a new one.`,
  );
}

function refused(sentence: string, code: string): ServiceError {
  return serviceError(403, "insufficient_scope", code, sentence);
}
