import type { IncomingHttpHeaders } from "node:http";
import { serviceError, type ServiceError } from "../canon/error.ts";
import type { Identity } from "../canon/identity.ts";
import type { Operation } from "../canon/operation.ts";
import type { Scope } from "../canon/scope.ts";
import { admitToken } from "./credentials/admit-token.ts";
import type { Runtime } from "./runtime.ts";

const BEARER = /^bearer +(\S+)$/i;

/**
 * Who calls, and whether they may (decisions.md, "Credentials"). `x-api-key` counts under `/api/v1/` alone, where clients send it by
 * default; two different keys in one request are nobody's. No answer tells a wrong key from an unknown one.
 *
 * A key that was made a moment ago elsewhere is looked for in the store, once. Known keys never wait; how often strangers may make us look is bounded
 * by the key ring.
 *
 * @param scopes one of which is enough.
 * @param operation what the endpoint does; `null` where no provider is called.
 */
export async function admit(
  runtime: Runtime,
  headers: IncomingHttpHeaders,
  path: string,
  scopes: readonly Scope[],
  operation: Operation | null,
): Promise<Identity | ServiceError> {
  const token = readToken(headers, path.startsWith("/api/v1/"));
  if (typeof token !== "string") return token;
  if (runtime.tokens?.isToken(token) === true) return admitToken(runtime.tokens, token, headers, scopes, operation);
  const identity = admitKey(runtime, token, scopes);
  if (!("code" in identity) || identity.code !== "invalid_api_key" || runtime.lookUp === undefined) return identity;
  return (await runtime.lookUp(token)) ? admitKey(runtime, token, scopes) : identity;
}

function admitKey(runtime: Runtime, token: string, scopes: readonly Scope[]): Identity | ServiceError {
  const verified = runtime.verify(token, Date.now());
  if (!verified.ok) {
    const sentence =
      verified.code === "expired_api_key"
        ? "The service key has expired; ask whoever made it for a new one."
        : "The service key is not valid: it is mistyped, unknown or revoked.";
    return serviceError(401, "authentication", verified.code, sentence);
  }
  if (!scopes.some((scope) => verified.identity.scopes.has(scope))) {
    const sentence = `The service key lacks the scope ${scopes.join(" or ")}; it has ${[...verified.identity.scopes].toSorted().join(", ")}.`;
    return serviceError(403, "insufficient_scope", "insufficient_scope", sentence);
  }
  return verified.identity;
}

function readToken(headers: IncomingHttpHeaders, acceptApiKey: boolean): string | ServiceError {
  const apiKey = acceptApiKey ? headers["x-api-key"] : undefined;
  const { authorization } = headers;
  if (authorization === undefined) {
    if (typeof apiKey === "string" && apiKey !== "") return apiKey;
    return unauthenticated("No service key: send it as `Authorization: Bearer sbx_…`.");
  }
  const token = BEARER.exec(authorization)?.[1];
  if (token === undefined) return unauthenticated("The Authorization header must read `Bearer` and one service key.");
  if (apiKey !== undefined && apiKey !== token) {
    return unauthenticated("Authorization and x-api-key hold different keys; send one.");
  }
  return token;
}

function unauthenticated(message: string): ServiceError {
  return serviceError(401, "authentication", "invalid_api_key", message);
}
