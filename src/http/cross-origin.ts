import type { IncomingMessage, ServerResponse } from "node:http";
import type { Identity } from "../canon/identity.ts";
import { acceptsTokens, type EndpointFacts } from "./contract/endpoint.ts";
import { ENDPOINTS } from "./contract/endpoints.ts";
import type { RequestRuntime } from "./runtime.ts";
import { commonHeaders } from "./heads.ts";

/** Headers that a page may send; the official clients send `x-stainless-…`. */
const REQUEST_HEADERS =
  /^(accept|authorization|content-type|x-api-key|anthropic-(version|beta|dangerous-direct-browser-access)|x-client-request-id|x-request-timeout-ms|x-max-attempts|x-max-batch-size|idempotency-key|x-stainless-[a-z-]{1,40})$/;

/** Headers of answers that a page may read (docs/api.md#headers-of-answers). */
const ANSWER_HEADERS = [
  "x-request-id",
  "request-id",
  "x-client-request-id",
  "x-signalbox-decision",
  "x-signalbox-route",
  "x-signalbox-table",
  "x-signalbox-attempts",
  "x-signalbox-edits",
  "x-signalbox-simulated",
  "x-should-retry",
  "retry-after",
  ...["limit", "remaining", "reset"].flatMap((figure) =>
    ["requests", "tokens"].flatMap((measure) => [
      `x-ratelimit-${figure}-${measure}`,
      `anthropic-ratelimit-${measure}-${figure}`,
    ]),
  ),
  "server-timing",
].join(", ");

/** How long a browser may remember a preflight, seconds. */
const REMEMBERED = 600;

const PATHS = ENDPOINTS.filter(acceptsTokens).map(({ path }) => path);
const WHOLE_PATHS: ReadonlySet<string> = new Set(PATHS);
const TEMPLATES = PATHS.filter((path) => path.includes("{")).map(
  (path) => new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
);

const VARY: readonly string[] = ["vary", "origin"];
const NONE: readonly string[] = [];

/**
 * Headers of every answer on a path that web pages may call: a cache must not give one origin's
 * answer to another. Names and values by turns. They are not set with `setHeader`: after it,
 * node:http checks and copies every header of `writeHead` three times.
 */
export function varyHeaders(incoming: IncomingMessage): readonly string[] {
  return allowsPages(incoming) ? VARY : NONE;
}

/** The same of an endpoint, whose path need not be read again. */
export function varyHeadersOf(endpoint: EndpointFacts): readonly string[] {
  return acceptsTokens(endpoint) ? VARY : NONE;
}

/**
 * Answers an OPTIONS request that is a preflight of the Fetch standard's CORS protocol, for origins
 * that a good key's grant of exchange names, and for no others. A preflight has no credential, so
 * it does not reveal whose key that is. The answers to the requests themselves: {@link
 * allowReading}.
 *
 * @returns whether it was a preflight, which has been answered.
 */
export function answerPreflight(
  runtime: RequestRuntime,
  incoming: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (incoming.headers["access-control-request-method"] === undefined) return false;
  if (!allowsPages(incoming)) return false;
  const { origin } = incoming.headers;
  if (origin === undefined || !runtime.tokens.allowsOrigin(origin, Date.now())) return false;
  const requested = (incoming.headers["access-control-request-headers"] ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase());
  response.writeHead(204, [
    ...commonHeaders(runtime.newRequestId(), null, VARY),
    "access-control-allow-origin",
    origin,
    "access-control-allow-methods",
    "GET, POST",
    "access-control-allow-headers",
    requested.filter((name) => REQUEST_HEADERS.test(name)).join(", "),
    "access-control-max-age",
    String(REMEMBERED),
  ]);
  response.end();
  return true;
}

/**
 * Lets pages of the origin that a token is bound to read its answer, and pages of no other. Never
 * with credentials of the browser's own: who calls is in a header that the page sets.
 *
 * @param identity whose token it is; `null` where that is not known, as of a token that expired
 * long ago. Its answer is a refusal without content, and the page has to read it to request a new
 * token: all origins that may have tokens can.
 */
export function allowReading(
  { tokens }: Pick<RequestRuntime, "tokens">,
  incoming: IncomingMessage,
  response: ServerResponse,
  identity: Identity | null,
): void {
  const { origin } = incoming.headers;
  if (tokens === undefined || origin === undefined || !allowsPages(incoming)) return;
  const isAllowedOrigin =
    identity === null
      ? tokens.allowsOrigin(origin, Date.now())
      : identity.narrowed?.origin === origin;
  if (!isAllowedOrigin) return;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", ANSWER_HEADERS);
}

function allowsPages(incoming: IncomingMessage): boolean {
  const { url = "/" } = incoming;
  const query = url.indexOf("?");
  const path = query === -1 ? url : url.slice(0, query);
  return WHOLE_PATHS.has(path) || TEMPLATES.some((served) => served.test(path));
}
