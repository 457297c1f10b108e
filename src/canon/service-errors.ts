import { FORBIDDEN, INVALID, NOT_FOUND, UNAVAILABLE, errorAt, final, passing } from "./error.ts";

const UNAUTHENTICATED = final(401, "authentication");
const QUOTA = final(402, "quota");
/** RFC 8693 §2.2.2: an exchange that is refused answers 400. */
const NOT_GRANTED = final(400, "insufficient_scope");
/** Passes as soon as running requests end. */
const BUSY = passing(429, "rate_limit", 1000);

/** The connection, the address, the caller and the state of the server. */
export const SERVICE_ERRORS = {
  malformed_request: errorAt(INVALID)(
    "The bytes received are not an HTTP/1.1 request.",
    "TLS bytes sent to a plain port.",
    "Check scheme and port; look for a proxy that changes requests.",
  ),
  malformed_url: errorAt(INVALID, "everywhere")(
    "The path cannot be decoded.",
    "`GET /v1/routes/%zz`.",
    "Percent-encode the path correctly.",
  ),
  missing_host: errorAt(INVALID, "everywhere")(
    "An HTTP/1.1 request has no single Host header.",
    "Two `Host` headers.",
    "Send one.",
  ),
  body_timeout: errorAt(passing(408, "timeout"), "with_body")(
    "The body did not arrive in time.",
    "A connection that stalls in the middle of a body.",
    "Send again; look at the network between client and server.",
  ),
  header_timeout: errorAt(passing(408, "timeout"))(
    "The headers did not arrive in time.",
    "A connection opened and left alone.",
    "Send again; close connections that are not used.",
  ),
  headers_too_large: errorAt(final(431, "too_large"))(
    "The headers are larger than the server takes.",
    "A cookie of many kilobytes.",
    "Send fewer and shorter headers.",
  ),
  too_many_headers: errorAt(final(431, "too_large"), "everywhere")(
    "The request has more header fields than the server takes.",
    "A proxy that adds a field at every hop.",
    "Send fewer header fields; check the proxies between client and server.",
  ),
  url_too_long: errorAt(final(414, "too_large"), "everywhere")(
    "The request's URL is longer than the server takes.",
    "`GET /v1/policies/…` with a query of many kilobytes.",
    "Send a shorter URL.",
  ),
  server_overloaded: errorAt(UNAVAILABLE, "with_body")(
    "The process has as many requests under way, or as many bytes of bodies in memory, as it allows.",
    "More requests at once than `--max-in-flight` allows.",
    "Try again after `retry-after`; operators add memory or replicas, or raise `--max-in-flight`.",
  ),
  fair_share_exceeded: errorAt(BUSY, "with_body")(
    "The workspace or its key has as many requests under way as one process allows to one of several workspaces.",
    "A client that opens hundreds of connections and sends its bodies slowly.",
    "Send fewer requests at once, and whole bodies; operators see the bounds in docs/operations.md.",
  ),
  request_too_large: errorAt(final(413, "too_large"), "with_body")(
    "The body is larger than the server or the provider accepts.",
    "A conversation with many images.",
    "Send less; operators may raise the limit of bodies.",
  ),
  unsupported_media_type: errorAt(final(415, "invalid_request"), "with_body")(
    "The body is not application/json.",
    "`content-type: text/plain`.",
    "Send `content-type: application/json`.",
  ),
  unsupported_encoding: errorAt(final(415, "invalid_request"), "with_body")(
    "The body is compressed.",
    "`content-encoding: br`.",
    "Send it as it is.",
  ),
  unsupported_expectation: errorAt(final(417, "invalid_request"), "everywhere")(
    "`Expect` has a value other than `100-continue`.",
    "`Expect: 200-ok`.",
    "Leave the header out.",
  ),
  unknown_path: errorAt(NOT_FOUND, "path_parameter")(
    "No endpoint has this method and path, or a path parameter is empty.",
    "`POST /v1/chat/completion`.",
    "Compare with /openapi.json; check whether your client needs the base URL with or without `/v1` (docs/api.md).",
  ),
  not_supported: errorAt(NOT_FOUND)(
    "The path belongs to a supported protocol, but Signalbox does not serve it.",
    "`POST /v1/files`.",
    "Use another endpoint; the message names the alternatives.",
  ),
  invalid_api_key: errorAt(UNAUTHENTICATED, "keyed")(
    "The service key is missing, mistyped, unknown or revoked; or the token is no longer valid.",
    "A request without `Authorization`.",
    "Send `Authorization: Bearer sbx_…`; make keys with `signalbox keys create`.",
  ),
  expired_api_key: errorAt(UNAUTHENTICATED, "keyed")(
    "The service key has expired.",
    "A key made with `--expires-in 30d`, a month later.",
    "Request a new one from the team that issued it: `signalbox keys rotate`.",
  ),
  insufficient_scope: errorAt(FORBIDDEN, "keyed")(
    "The key or token is valid and lacks the scope that the endpoint requires.",
    "`POST /v1/keys` with a key of `inference:invoke`.",
    "Use a key with the scope that the message names.",
  ),
  service_key_in_browser: errorAt(FORBIDDEN, "keyed")(
    "A web page sent a service key (`Origin` with `Sec-Fetch-Mode: cors`). Every visitor of the page can read it.",
    "A service key as `apiKey` of an SDK in a page, with `dangerouslyAllowBrowser`.",
    "Revoke the key. Let a backend exchange another key for a token for the page.",
  ),
  origin_not_allowed: errorAt(FORBIDDEN, "keyed")(
    "The token is bound to another origin.",
    "A token for one site, used from a page of another.",
    "Exchange a token for the origin.",
  ),
  origin_too_far: errorAt(FORBIDDEN, "policy_change")(
    "The chain of keys that created this key is too long to identify its owner.",
    "A promotion with a key that was made by a key that was made by another, many times over.",
    "Create a key at the terminal, for a workspace that manages policies.",
  ),
  exchange_not_granted: errorAt(NOT_GRANTED, "exchangeKey")(
    "The key may not be exchanged for tokens.",
    "A token exchange with a key that was made without `--exchange`.",
    "Create a key with an exchange grant: `signalbox keys create --exchange 10m`.",
  ),
  subject_token_invalid: errorAt(INVALID, "exchangeKey")(
    "The JWT of a workload is malformed, its issuer is none of routes.yaml, or its issuer has not signed it.",
    "A JWT of another cluster, or one that was cut off.",
    "Compare the claim `iss` with `workload_identity.issuers`, and the header `kid` with the issuer's keys.",
  ),
  subject_token_expired: errorAt(INVALID, "exchangeKey")(
    "The JWT of a workload has expired, or is not valid yet. Clocks may differ by 30 seconds.",
    "A projected token of Kubernetes that was read once, when the pod started.",
    "Read the token from its file for each exchange. If it is new, compare the clocks.",
  ),
  workload_not_granted: errorAt(NOT_GRANTED, "exchangeKey")(
    "The JWT of a workload is genuine, but no rule of routes.yaml has its audience and its claims.",
    "A service account of another namespace, or a token for the audience of the Kubernetes API.",
    "Compare `aud` and the claims with `workload_identity.rules`.",
  ),
  workload_ambiguous: errorAt(NOT_GRANTED, "exchangeKey")(
    "Several rules of routes.yaml match the JWT of a workload, so none of them is used.",
    "One rule for `system:serviceaccount:shop:*`, and one for the namespace `shop` by another claim.",
    "Make the claims of the rules that the message names exclude each other.",
  ),
  issuer_unavailable: errorAt(passing(503, "unavailable", 5_000), "exchangeKey")(
    "The keys of the issuer of a JWT cannot be fetched, and those that were fetched are older than an hour.",
    "An issuer behind a firewall, or a private address without `network: private`.",
    "Operators: the log event `issuer_keys_unavailable` has the cause; an issuer that cannot be reached needs `jwks_file`.",
  ),
  evidence_unavailable: errorAt(UNAVAILABLE, "keyed")(
    "The decision was not on disk in time (a second, or the request's own deadline), so no answer was given; a provider may have been called.",
    "A full disk, a PostgreSQL that is not reachable, or `x-request-timeout-ms: 2`.",
    "Operators: look at the store (`evidence` of `/status`, `/readyz`, docs/storage.md). Callers: try again later.",
  ),
  internal_error: errorAt(passing(500, "internal"), "everywhere")(
    "A bug in Signalbox. The log line has the same decision id.",
    "None is known.",
    "Operators: report it with the log line.",
  ),
  not_ready: errorAt(passing(503, "unavailable"), "getReadiness")(
    "The server is starting, draining or cannot write evidence.",
    "`GET /readyz` during a drain.",
    "Send requests to another replica; the body names what is missing.",
  ),
  no_healthy_endpoint: errorAt(passing(503, "unavailable", 5000), "inference")(
    "The request is allowed, and no endpoint that may serve it can be used now: ejected, or without credentials.",
    "Every provider of a route failed within its `health` limits.",
    "Try again after `retry-after`; operators look at `/metrics` and at the providers' secrets.",
  ),
  key_revoked: errorAt(UNAUTHENTICATED, "keyed_body")(
    "The service key was revoked while the request was under way: no provider is called for it any more. A stream gets it as its last event.",
    "A key that was revoked while it was in use, or the key of an exchanged token.",
    "Request a new key from the team that issued it. Operators let running answers finish with `on_revoke: finish` of the workspace.",
  ),
  server_stopping: errorAt(UNAVAILABLE, "with_body")(
    "The server is being stopped, and the time limit for requests under way has passed. A stream gets it as its last event.",
    "A long answer during a deployment.",
    "Try again: another process answers. Operators give more time with `--drain`.",
  ),
  saturated: errorAt(UNAVAILABLE, "inference")(
    "Every endpoint of the plan has as many calls under way as routes.yaml allows.",
    "`max_concurrency: 1` and two requests at once.",
    "Try again; operators raise `max_concurrency` or add endpoints.",
  ),
  store_unavailable: errorAt(UNAVAILABLE, "by_session")(
    "The store could not be reached. Nothing was changed, or the result is unknown.",
    "`POST /v1/keys` while PostgreSQL is not reachable.",
    "Check whether the change was made, then try again.",
  ),
  summary_unavailable: errorAt(UNAVAILABLE, "getGovernanceSummary", "retrievePolicyShadow")(
    "The counts could not be read.",
    "`GET /v1/governance/summary` while the store is not reachable.",
    "Try again later.",
  ),
  decisions_unavailable: errorAt(
    UNAVAILABLE,
    "listDecisions",
    "retrieveDecision",
    "explainDecision",
  )(
    "The decisions could not be read.",
    "`GET /v1/decisions` while the store is not reachable.",
    "Try again later.",
  ),
  summaries_waiting: errorAt(BUSY, "getGovernanceSummary", "retrievePolicyShadow")(
    "Too many summaries are being added up at once.",
    "A dashboard that requests thirty days twenty times at once.",
    "Try again after `retry-after`.",
  ),
} as const;

/** Failures of providers together; `dispatch` has one code for each kind besides. */
export const PROVIDER_ERRORS = {
  upstream_exhausted: errorAt(passing(502, "upstream"), "inference")(
    "Every provider that was tried failed; the message names each with its failure.",
    "A route with two endpoints whose providers are both down.",
    "Try again; add a fallback to the route. `signalbox evidence` shows every attempt.",
  ),
} as const;

/** Sessions of the console, and signing in to it. */
export const SESSION_ERRORS = {
  session_ended: errorAt(UNAUTHENTICATED, "by_session")(
    "The console's session was ended, was not used for too long, or its key is revoked or expired.",
    "A request of the console's page, half an hour after the last one.",
    "Sign in again.",
  ),
  csrf_failed: errorAt(FORBIDDEN, "by_session")(
    "A request with a session does not come from a page of the console, or lacks the header of its session.",
    "A form of another site, sent by a browser that is signed in.",
    "Send `x-signalbox-csrf` as `GET /console/session` answers it, from the console's own origin; scripts use a key.",
  ),
  sign_in_failed: errorAt(FORBIDDEN)(
    "The identity provider refused a sign-in to the console, or its answer does not belong to a sign-in that the console began.",
    "A sign-in page that was left open for longer than ten minutes.",
    "Start again at `/console/`.",
  ),
  no_role: errorAt(FORBIDDEN)(
    "The person is signed in at the identity provider, but none of their groups has a role in `console.roles` of routes.yaml.",
    "The first sign-in of a new colleague.",
    "Ask for one of the groups that the message names; operators look at `groups_claim`.",
  ),
  sign_in_unavailable: errorAt(UNAVAILABLE)(
    "The identity provider could not be reached.",
    "A provider that is down, or an `issuer` that this machine cannot reach.",
    "Try again later; operators look at `console.oidc` of routes.yaml.",
  ),
  workspace_not_allowed: errorAt(FORBIDDEN, "by_session")(
    "`x-signalbox-workspace` names a workspace that the session may not see.",
    "`x-signalbox-workspace: payments` in a session for `search`.",
    "Name one of `workspaces` of `GET /console/session`.",
  ),
} as const;

const LIMIT_FIX =
  "Wait for `retry-after`; operators look with `signalbox limits` and change `limits` of the workspace.";

/** Limits of workspaces and keys. */
export const LIMIT_ERRORS = {
  requests_per_minute: errorAt(
    passing(429, "rate_limit", 60000),
    "inference",
    "simulateRoute",
    "explainDecision",
  )(
    "The requests of this minute are used up.",
    "`requests_per_minute: 1` and two requests.",
    LIMIT_FIX,
  ),
  tokens_per_minute: errorAt(passing(429, "rate_limit", 60000), "inference")(
    "The tokens left in this minute are fewer than the request may use.",
    "A request with a large output limit.",
    `${LIMIT_FIX} A smaller \`max_tokens\` reserves less.`,
  ),
  budget_exhausted: errorAt(QUOTA, "inference")(
    "The budget of the period is used up; or an exchanged token has used up its own limit.",
    "`budget: {usd: 1, per: day}` in the afternoon.",
    "Wait until the budget renews (the message says when), or have it raised. A token does not renew: exchange the key for a new one.",
  ),
  exceeds_remaining_budget: errorAt(QUOTA, "inference")(
    "The rest of the budget is less than this request may use, but not spent.",
    "`budget: {usd: 1, per: day}` in the afternoon, and a request with a long output.",
    "Lower `max_tokens` or send less input; or wait until the budget renews.",
  ),
  budget_reserved: errorAt(BUSY, "inference")(
    "The rest of the budget is reserved by requests under way, which may not need all of it.",
    "Four requests at once near the end of a budget.",
    "Try again after `retry-after`. A smaller `max_tokens` reserves less.",
  ),
  exceeds_limit: errorAt(QUOTA, "inference")(
    "This request alone may use more than a whole limit, so waiting does not help.",
    "`tokens_per_minute: 1000` and a request with `max_tokens: 5000`.",
    "Lower `max_tokens`, send less input, or have the limit raised.",
  ),
  concurrency: errorAt(BUSY, "inference")(
    "The workspace or key has as many requests under way as its limit allows.",
    "`concurrency: 1` and two requests at once.",
    LIMIT_FIX,
  ),
  limits_unavailable: errorAt(UNAVAILABLE, "inference")(
    "The router could not read the limit counters, so it does not send the request.",
    "The database of the shared counters is not reachable.",
    "Try again; operators look at the store.",
  ),
} as const;
