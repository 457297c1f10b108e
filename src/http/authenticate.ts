import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { ServiceError } from "../canon/error.ts";
import type { Identity, Scope } from "../canon/identity.ts";
import type { Endpoint } from "./contract/endpoint.ts";
import { allowReading } from "./cross-origin.ts";
import { matchesOrigin, allowsOperation, type Tokens } from "../canon/credentials/narrowing.ts";
import type { RequestRuntime } from "./runtime.ts";
import { codedError } from "../canon/error-codes.ts";
import type { Operation } from "../canon/operation.ts";

const BEARER = /^bearer +(\S+)$/i;

/**
 * Authenticates the caller and checks the scope (docs/api.md#credentials). `x-api-key` counts under
 * `/api/v1/` only, where clients send it by default; two different keys in one request are refused.
 * A wrong key and an unknown one get the same answer. Pages of the origin that a token is bound to
 * may read the answer.
 *
 * A key that another process made a moment ago is looked up in the store, once. Known keys never
 * wait; the key ring bounds the look-ups for anonymous callers.
 *
 * @returns at once for a known key: nearly every request has one.
 */
export function admit(
  runtime: RequestRuntime,
  incoming: IncomingMessage,
  response: ServerResponse,
  endpoint: Endpoint,
): Admitted | Promise<Admitted> {
  const { headers } = incoming;
  const { scopes } = endpoint;
  const token = readToken(headers, endpoint.path.startsWith("/api/v1/"));
  if (typeof token !== "string") return { error: token, identity: null };
  if (runtime.tokens.isToken(token)) {
    const operation = endpoint.kind === "inference" ? endpoint.operation : null;
    return admitToken(runtime.tokens, token, headers, scopes, operation).then((admitted) => {
      allowReading(runtime, incoming, response, admitted.identity);
      return admitted;
    });
  }
  const admitted = admitKey(runtime, token, headers, scopes);
  if (admitted.error?.code !== "invalid_api_key") return admitted;
  return runtime
    .lookUp(token)
    .then((isFound) => (isFound ? admitKey(runtime, token, headers, scopes) : admitted));
}

function admitKey(
  runtime: RequestRuntime,
  token: string,
  headers: IncomingHttpHeaders,
  scopes: readonly Scope[],
): Admitted {
  const verified = runtime.verify(token, Date.now());
  if (!verified.ok) {
    const sentence =
      verified.code === "expired_api_key"
        ? "The service key has expired; request a new one from the team that issued it."
        : "The service key is not valid: it is mistyped, unknown or revoked.";
    const error = codedError(verified.code, sentence);
    return { error, identity: runtime.recognise(token) };
  }
  const { identity } = verified;
  if (isCrossOriginFetch(headers)) return { error: keyFromPage(), identity };
  if (!scopes.some((scope) => identity.scopes.has(scope))) {
    const sentence = `The service key lacks the scope ${scopes.join(" or ")}; it has ${[...identity.scopes].toSorted().join(", ")}.`;
    return { error: codedError("insufficient_scope", sentence), identity };
  }
  return { error: null, identity };
}

/**
 * Whether a script of a web page or of a browser's extension sends the request (Fetch Metadata,
 * W3C): a page cannot change these two headers. Servers send one of them at most: Node's `fetch`
 * sends `Sec-Fetch-Mode: cors` without `Origin`.
 */
function isCrossOriginFetch(headers: IncomingHttpHeaders) {
  return headers.origin !== undefined && headers["sec-fetch-mode"] === "cors";
}

function keyFromPage() {
  return codedError(
    "service_key_in_browser",
    "The request comes from a web page (Origin, Sec-Fetch-Mode: cors) and has a service key, which every visitor of the page can read. Revoke the key, and let your backend exchange a new one for a token for the page: POST /v1/credentials/exchange.",
  );
}

/** Whether the credential is meant as a token; it may be invalid. */
export function hasToken(
  { tokens }: Pick<RequestRuntime, "tokens">,
  headers: IncomingHttpHeaders,
): boolean {
  const token = readToken(headers, true);
  return typeof token === "string" && tokens.isToken(token);
}

function readToken(headers: IncomingHttpHeaders, acceptApiKey: boolean): string | ServiceError {
  const apiKey = acceptApiKey ? headers["x-api-key"] : undefined;
  const { authorization } = headers;
  if (authorization === undefined) {
    if (typeof apiKey === "string" && apiKey !== "") return apiKey;
    return unauthenticated("No service key: send it as `Authorization: Bearer sbx_…`.");
  }
  const token = BEARER.exec(authorization)?.[1];
  if (token === undefined)
    return unauthenticated("The Authorization header must read `Bearer` and one service key.");
  if (apiKey !== undefined && apiKey !== token) {
    return unauthenticated("Authorization and x-api-key contain different keys; send one.");
  }
  return token;
}

function unauthenticated(message: string) {
  return codedError("invalid_api_key", message);
}

/**
 * Whether the caller is let in. `identity` of a refusal is whose key or token it was, where that
 * was recognised: so the refusal is recorded under the key and in its workspace. A public id alone
 * does not authenticate, because logs contain ids.
 */
export type Admitted =
  /**
   * `identities`: the caller in each workspace that they may read with the endpoint's scope; the
   * default: the identity alone.
   */
  | { readonly error: null; readonly identity: Identity; readonly identities?: readonly Identity[] }
  | { readonly error: ServiceError; readonly identity: Identity | null };

/**
 * Who holds an exchanged token, and whether this request is one that it was made for.
 *
 * @param operation of the endpoint; `null` where no provider is called. Requests for one are
 * refused once a ceiling of the token is reached; {@link takeFromToken} counts them.
 */
async function admitToken(
  tokens: Tokens,
  text: string,
  headers: IncomingHttpHeaders,
  scopes: readonly Scope[],
  operation: Operation | null,
): Promise<Admitted> {
  const verified = await tokens.verify(text, Date.now());
  if (!verified.ok) {
    const error = codedError("invalid_api_key", "The token is not valid; get a new one.");
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
  if (!matchesOrigin(identity, headers.origin))
    return codedError("origin_not_allowed", "The token is bound to another origin.");
  if (!scopes.some((scope) => identity.scopes.has(scope)))
    return codedError(
      "insufficient_scope",
      `The token lacks the scope ${scopes.join(" or ")}; the backend requests it in \`scope\` when it exchanges its key.`,
    );
  if (operation === null) return null;
  if (!allowsOperation(identity, operation))
    return codedError("insufficient_scope", `The token is not for ${operation}.`);
  const reached = tokens.reached(identity);
  return reached === null ? null : exhausted(reached);
}

/**
 * Counts a request that has been read against the ceilings of the token that it came with; gives
 * the refusal where one does not allow it.
 * @param requests more than 1 for the further calls of a batch.
 */
export function takeFromToken(
  tokens: Tokens,
  identity: Identity,
  requests = 1,
): ServiceError | null {
  if ((identity.narrowed ?? null) === null) return null;
  const reached = tokens.take(identity, Date.now(), requests);
  return reached === null ? null : exhausted(reached);
}

/** A token does not renew, so there is no time to name. */
function exhausted(reached: "requests" | "tokens") {
  return codedError(
    "budget_exhausted",
    `The token has used all ${reached === "requests" ? "requests" : "tokens"} that it may use; get a new one.`,
  );
}
