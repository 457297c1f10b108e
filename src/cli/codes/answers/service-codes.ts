import type { LimitCode } from "../../../limits/refusal.ts";
import { answer, type AnswerCode } from "./answer-code.ts";

/** The connection, the address, the caller and the state of the server. */
const DOOR_CODES = {
  malformed_request: answer(
    400,
    "What arrived is no HTTP/1.1 request.",
    "TLS bytes sent to a plain port.",
    "Check scheme and port; look for a proxy that changes requests.",
  ),
  malformed_url: answer(
    400,
    "The path cannot be decoded.",
    "`GET /v1/routes/%zz`.",
    "Percent-encode the path correctly.",
  ),
  missing_host: answer(400, "An HTTP/1.1 request has no single Host header.", "Two `Host` headers.", "Send one."),
  body_timeout: answer(
    408,
    "The body did not arrive in time.",
    "A connection that stalls in the middle of a body.",
    "Send again; look at the network between client and server.",
  ),
  header_timeout: answer(
    408,
    "The headers did not arrive in time.",
    "A connection opened and left alone.",
    "Send again; close connections that are not used.",
  ),
  headers_too_large: answer(
    431,
    "The headers are larger than the server takes.",
    "A cookie of many kilobytes.",
    "Send fewer and shorter headers.",
  ),
  too_many_headers: answer(
    431,
    "The request has more header fields than the server takes.",
    "A proxy that adds a field at every hop.",
    "Send fewer header fields; look at what stands between client and server.",
  ),
  url_too_long: answer(
    414,
    "The request's URL is longer than the server takes.",
    "`GET /v1/policies/…` with a query of many kilobytes.",
    "Send a shorter URL.",
  ),
  server_overloaded: answer(
    503,
    "As many requests are under way, or as many bytes of bodies in memory, as the process takes.",
    "More requests at once than `--max-in-flight` allows.",
    "Try again after `retry-after`; operators add workers or replicas, or raise `--max-in-flight` or `--body-memory`.",
  ),
  fair_share_exceeded: answer(
    429,
    "The workspace, or its key, has as much under way as one process leaves to one of several workspaces.",
    "A client that opens hundreds of connections and sends its bodies slowly.",
    "Send fewer requests at once, and whole bodies; operators see the bounds in docs/operations.md.",
  ),
  request_too_large: answer(
    413,
    "The body is larger than the server takes; or a provider said so.",
    "A conversation with many images.",
    "Send less; operators may raise the limit of bodies.",
  ),
  unsupported_media_type: answer(
    415,
    "The body is not application/json.",
    "`content-type: text/plain`.",
    "Send `content-type: application/json`.",
  ),
  unsupported_encoding: answer(415, "The body is compressed.", "`content-encoding: br`.", "Send it as it is."),
  unsupported_expectation: answer(
    417,
    "`Expect` asks for something other than `100-continue`.",
    "`Expect: 200-ok`.",
    "Leave the header out.",
  ),
  unknown_path: answer(
    404,
    "No endpoint has this method and path.",
    "`POST /v1/chat/completion`.",
    "Compare with /openapi.json; clients want the base URL with or without `/v1` as docs say.",
  ),
  not_supported: answer(
    404,
    "The path is one of the protocol that Signalbox does not serve.",
    "`POST /v1/files`.",
    "Use another endpoint; the message says what there is.",
  ),
  invalid_api_key: answer(
    401,
    "There is no service key, or it is mistyped, unknown or revoked; a token is over.",
    "A request without `Authorization`.",
    "Send `Authorization: Bearer sbx_…`; make keys with `signalbox keys create`.",
  ),
  expired_api_key: answer(
    401,
    "The service key has expired.",
    "A key made with `--expires-in 30d`, a month later.",
    "Ask whoever made it for a new one: `signalbox keys rotate`.",
  ),
  insufficient_scope: answer(
    403,
    "The key or token is valid and lacks the scope that the endpoint asks for.",
    "`POST /v1/keys` with a key of `inference:invoke`.",
    "Use a key with the scope that the message names.",
  ),
  service_key_in_browser: answer(
    403,
    "A web page sent a service key, which everybody who opens the page can read.",
    "A service key as `apiKey` of an SDK in a page, with `dangerouslyAllowBrowser`.",
    "Revoke the key. Let a backend exchange another key for a token for the page.",
  ),
  origin_not_allowed: answer(
    403,
    "The token is bound to another origin.",
    "A token for one site, used from a page of another.",
    "Exchange a token for the origin.",
  ),
  origin_too_far: answer(
    403,
    "A change of policies was asked for through credentials that are too far from a person's key.",
    "A promotion with an exchanged token.",
    "Ask with a service key of a managing workspace.",
  ),
  exchange_not_granted: answer(
    400,
    "The key may not be exchanged for tokens.",
    "A token exchange with a key that was made without `--exchange`.",
    "Create a key with an exchange grant: `signalbox keys create --exchange 10m`.",
  ),
  evidence_unavailable: answer(
    503,
    "The decision was not on disk in time (a second, or the request's own deadline), so no answer was given; a provider may have been asked.",
    "A full disk, a PostgreSQL that is away, or `x-request-timeout-ms: 2`.",
    "Operators: look at the store (`evidence` of `/status`, `/readyz`, docs/storage.md). Callers: try again later.",
  ),
  internal_error: answer(
    500,
    "A bug of ours. The log has the same decision id.",
    "None is known.",
    "Operators: report it with the log line.",
  ),
  not_ready: answer(
    503,
    "The server is starting, draining or cannot write evidence.",
    "`GET /readyz` during a drain.",
    "Send requests to another replica; the body says what is missing.",
  ),
  no_healthy_endpoint: answer(
    503,
    "The request is allowed, and no endpoint that may serve it can be used now: ejected, or without credentials.",
    "Every provider of a route failed within its `health` limits.",
    "Try again after `retry-after`; operators look at `/metrics` and at the providers' secrets.",
  ),
  key_revoked: answer(
    401,
    "The service key was revoked while the request was under way: no provider is called for it any more. A stream gets it as its last event.",
    "A key that was revoked while it was in use, or the key of an exchanged token.",
    "Ask whoever made the key for a new one. Operators let running answers finish with `on_revoke: finish` of the workspace.",
  ),
  server_stopping: answer(
    503,
    "The server is being stopped, and the time that it gives to requests under way is over. A stream gets it as its last event.",
    "A long answer during a deployment.",
    "Try again: another process answers. Operators give more time with `--drain`.",
  ),
  saturated: answer(
    503,
    "As many calls are under way to every endpoint of the plan as routes.yaml allows.",
    "`max_concurrency: 1` and two requests at once.",
    "Try again; operators raise `max_concurrency` or add places.",
  ),
  store_unavailable: answer(
    503,
    "The store could not be asked, so nothing was changed or it is not known whether it was.",
    "`POST /v1/keys` while PostgreSQL is away.",
    "Look first, then try again.",
  ),
  summary_unavailable: answer(
    503,
    "The counts could not be read.",
    "`GET /v1/governance/summary` while the store is away.",
    "Try again later.",
  ),
  summaries_waiting: answer(
    429,
    "Too many summaries are being added up at once.",
    "A dashboard that asks for thirty days ten times at once.",
    "Try again after `retry-after`.",
  ),
} as const satisfies Readonly<Record<string, AnswerCode>>;

const LIMIT_FIX =
  "Wait for `retry-after`; operators look with `signalbox limits` and change `limits` of the workspace.";

const LIMIT_ANSWERS: Readonly<Record<LimitCode | "limits_unavailable", AnswerCode>> = {
  requests_per_minute: answer(
    429,
    "The requests of this minute are used up.",
    "`requests_per_minute: 1` and two requests.",
    LIMIT_FIX,
  ),
  tokens_per_minute: answer(
    429,
    "The tokens of this minute do not suffice for what the request may use.",
    "A request with a large output limit.",
    `${LIMIT_FIX} A smaller \`max_tokens\` reserves less.`,
  ),
  budget_exhausted: answer(
    402,
    "The budget of the period does not suffice for what the request may use; or a token has used all that it was made for.",
    "`budget: {usd: 1, per: day}` in the afternoon.",
    "Wait until the budget renews (the message says when), or have it raised. A token does not renew: ask for a new one.",
  ),
  budget_reserved: answer(
    429,
    "What is left of the budget is reserved by requests under way, which may not need all of it.",
    "Four requests at once near the end of a budget.",
    "Try again after `retry-after`. A smaller `max_tokens` reserves less.",
  ),
  exceeds_limit: answer(
    402,
    "This request alone may use more than a whole limit, so waiting does not help.",
    "`tokens_per_minute: 1000` and a request with `max_tokens: 5000`.",
    "Ask for less output (`max_tokens`), send less input, or have the limit raised.",
  ),
  concurrency: answer(
    429,
    "As many requests of the workspace or key are under way as may be.",
    "`concurrency: 1` and two requests at once.",
    LIMIT_FIX,
  ),
  limits_unavailable: answer(
    503,
    "What is left of the limits could not be found out, and nothing is sent beyond them.",
    "The shared counters' database is away.",
    "Try again; operators look at the store.",
  ),
};

export const SERVICE_CODES: Readonly<Record<string, AnswerCode>> = { ...DOOR_CODES, ...LIMIT_ANSWERS };
