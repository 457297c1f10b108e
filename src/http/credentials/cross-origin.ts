import type { IncomingMessage, ServerResponse } from "node:http";
import { takesTokens } from "../contract/endpoint.ts";
import { ENDPOINTS } from "../contract/endpoints.ts";
import type { Runtime } from "../runtime.ts";
import { commonHeaders } from "../send.ts";

/** Headers that a page may send; the official clients send `x-stainless-…`. */
const REQUEST_HEADERS =
  /^(accept|authorization|content-type|x-api-key|anthropic-(version|beta|dangerous-direct-browser-access)|x-client-request-id|x-request-timeout-ms|x-max-attempts|x-max-batch-size|idempotency-key|x-stainless-[a-z-]{1,40})$/;

/** Headers of answers that a page may read (decisions.md, "Every response"). */
const ANSWER_HEADERS = [
  "x-request-id",
  "request-id",
  "x-client-request-id",
  "x-signalbox-decision",
  "x-signalbox-route",
  "x-signalbox-table",
  "x-signalbox-attempts",
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

const PATHS = ENDPOINTS.filter(takesTokens).map(
  ({ path }) => new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
);

/**
 * The Fetch standard's CORS protocol for origins that a key's leave to be exchanged names, and for nobody else: others get the same bytes as ever, which
 * their browser keeps from them. Never with credentials of the browser's own: who calls is in a header that the page sets.
 *
 * @returns whether it was a preflight, which has been answered.
 */
export function answerCrossOrigin(runtime: Runtime, incoming: IncomingMessage, response: ServerResponse): boolean {
  if (runtime.tokens === undefined) return false;
  const path = (incoming.url ?? "/").split("?", 1)[0] ?? "/";
  if (!PATHS.some((served) => served.test(path))) return false;
  // Whatever the answer: a cache must not give one origin's to another.
  response.setHeader("vary", "origin");
  const { origin } = incoming.headers;
  if (origin === undefined || !runtime.tokens.allowsOrigin(origin, Date.now())) return false;
  response.setHeader("access-control-allow-origin", origin);
  if (incoming.method !== "OPTIONS" || incoming.headers["access-control-request-method"] === undefined) {
    response.setHeader("access-control-expose-headers", ANSWER_HEADERS);
    return false;
  }
  const asked = (incoming.headers["access-control-request-headers"] ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase());
  response.setHeader("access-control-allow-methods", "GET, POST");
  response.setHeader("access-control-allow-headers", asked.filter((name) => REQUEST_HEADERS.test(name)).join(", "));
  response.setHeader("access-control-max-age", String(REMEMBERED));
  response.writeHead(204, [...commonHeaders(runtime.newRequestId(), null)]);
  response.end();
  return true;
}
